"""The audit log: actions with user and time."""

from __future__ import annotations

from datetime import datetime
from typing import TYPE_CHECKING, Any

import sqlalchemy as sa

from rankgate.core.frozen import dataclass
from rankgate.store.rows import list_values, new_id, now
from rankgate.store.tables.people_tables import audit_log

if TYPE_CHECKING:
    from sqlalchemy import Connection

    from rankgate.core.value_types import JsonObject


@dataclass(frozen=True)
class Entry:
    """An entry of the audit log: one action.

    Attributes:
        id: the number; later entries have larger numbers.
        at: the time of the action.
        user: the user who acted; None for a program.
        actor: the name of the user or program at that time, such as ``command line``.
        action: the action, such as ``user.add``.
        project: the project, if the action belongs to one.
        subject: the object of the action.
        details: further data, without secrets.
    """

    id: int
    at: datetime
    user: int | None
    actor: str
    action: str
    project: int | None
    subject: str
    details: JsonObject


@dataclass(frozen=True)
class Actor:
    """The user or program that performs an action.

    Attributes:
        name: the name of the user or program.
        user: the number of the user.
        project: the project of the actions, unless an action names one.
        token: the name of the API token of the user.
    """

    name: str
    user: int | None = None
    project: int | None = None
    token: str = ""

    def record(
        self,
        connection: Connection,
        action: str,
        subject: str = "",
        *,
        project: int | None = None,
        **details: Any,
    ) -> None:
        """Add an action to the audit log."""
        new_id(
            connection,
            audit_log,
            at=now(),
            user=self.user,
            actor=self.name,
            action=action,
            project=self.project if project is None else project,
            subject=subject,
            details=details | ({"token": self.token} if self.token else {}),
        )


COMMAND_LINE, NOBODY = Actor("command line"), Actor("nobody")


def entries(
    connection: Connection, project: int | None = None, *, before: int | None = None, most: int = 100
) -> list[Entry]:
    """The latest entries, newest first.

    Args:
        connection: a connection to a store.
        project: the number of one project; all by default.
        before: only entries with smaller numbers, for the next page.
        most: the largest number of entries.
    """
    statement = sa.select(audit_log).order_by(audit_log.c.id.desc()).limit(most)
    if project is not None:
        statement = statement.where(audit_log.c.project == project)
    if before is not None:
        statement = statement.where(audit_log.c.id < before)
    return list_values(connection, Entry, statement)

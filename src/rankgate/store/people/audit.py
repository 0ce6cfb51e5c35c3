"""The audit log: actions with user and time."""

from __future__ import annotations

from datetime import datetime
from typing import TYPE_CHECKING

import sqlalchemy as sa

from rankgate.core.frozen import dataclass
from rankgate.store.rows import new_id, now, value_of
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
    """The user or program that performs an action."""

    name: str
    user: int | None = None


COMMAND_LINE = Actor("command line")


def record(
    connection: Connection,
    actor: Actor,
    action: str,
    subject: str = "",
    *,
    project: int | None = None,
    details: JsonObject | None = None,
) -> int:
    """Add an entry; return its number."""
    return new_id(
        connection,
        audit_log,
        at=now(),
        user=actor.user,
        actor=actor.name,
        action=action,
        project=project,
        subject=subject,
        details=dict(details or {}),
    )


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
    return [value_of(Entry, row) for row in connection.execute(statement)]

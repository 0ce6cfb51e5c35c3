"""Raters: people, users or not, and models by their identity."""

from __future__ import annotations

import json
from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

import sqlalchemy as sa

from rankgate.core.errors import UsageError
from rankgate.core.frozen import dataclass
from rankgate.store.rows import insert, new_id, now, unknown_error, value_of
from rankgate.store.tables.facts import raters
from rankgate.store.tables.people import users
from rankgate.store.tables.work import assignments, tasks

if TYPE_CHECKING:
    from sqlalchemy import Connection

PERSON, MODEL = "person", "model"


@dataclass(frozen=True)
class Rater:
    """Somebody, or a model, that rates.

    Attributes:
        id: the number.
        kind: ``person`` or ``model``.
        name: as in ratings.
        user: the user, if they sign in.
        identity: of a model: model, prompt and settings.
    """

    id: int
    kind: str
    name: str
    user: int | None
    identity: Mapping[str, Any]


def rater_of_user(connection: Connection, user: int) -> Rater:
    """The rater of a user, added if there is none.

    Ratings under the user's name that were imported become theirs: who adds users says who they
    are.

    Raises:
        UsageError: no such user; the name is that of another user's rater.
    """
    row = connection.execute(sa.select(raters).where(raters.c.user == user)).first()
    if row is not None:
        return value_of(Rater, row)
    name = connection.scalar(sa.select(users.c.name).where(users.c.id == user))
    if name is None:
        raise unknown_error("user", user)
    statement = insert(connection, raters).on_conflict_do_nothing()
    connection.execute(statement, {"kind": PERSON, "name": name, "user": user, "created_at": now()})
    is_same_name = sa.and_(raters.c.kind == PERSON, raters.c.name == name)
    connection.execute(
        sa.update(raters).where(is_same_name, raters.c.user.is_(None)).values(user=user)
    )
    row = connection.execute(sa.select(raters).where(raters.c.user == user)).first()
    if row is None:
        raise UsageError(f"another user rates as {name!r}.", code="name-taken")
    return value_of(Rater, row)


def ensure(
    connection: Connection,
    name: str,
    kind: str = PERSON,
    identity: Mapping[str, Any] | None = None,
) -> Rater:
    """A rater by name, added if there is none.

    Raises:
        UsageError: a model of this name with another identity: a changed model, prompt or setting
            is another rater and needs another name.
    """
    is_same_name = sa.and_(raters.c.kind == kind, raters.c.name == name)
    row = connection.execute(sa.select(raters).where(is_same_name)).first()
    if row is None:
        new_id(
            connection,
            raters,
            kind=kind,
            name=name,
            identity=dict(identity or {}),
            created_at=now(),
        )
        row = connection.execute(sa.select(raters).where(is_same_name)).one()
    rater = value_of(Rater, row)
    if identity is not None and _identity_text(rater.identity) != _identity_text(identity):
        raise UsageError(
            f"{name!r} is a model with other settings; a changed model, prompt or setting is "
            "another rater: name it otherwise.",
            code="other-rater",
        )
    return rater


def _identity_text(identity: Mapping[str, Any]) -> str:
    return json.dumps(dict(identity), sort_keys=True)


def list_raters(connection: Connection) -> list[Rater]:
    """Every rater, by number."""
    statement = sa.select(raters).order_by(raters.c.id)
    return [value_of(Rater, row) for row in connection.execute(statement)]


def raters_of_project(connection: Connection, project: int) -> dict[str, int]:
    """The raters who have answered a task of a project: name and number."""
    statement = sa.select(raters.c.name, raters.c.id).where(
        sa.exists().where(
            assignments.c.rater == raters.c.id,
            assignments.c.state == "answered",
            sa.exists().where(tasks.c.id == assignments.c.task, tasks.c.project == project),
        )
    )
    return {name: number for name, number in connection.execute(statement)}  # noqa: C416 - rows

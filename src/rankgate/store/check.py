"""Check a store: the database, the blobs, and whether tasks agree with the ratings."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import TYPE_CHECKING

import sqlalchemy as sa

from rankgate.errors import InputError
from rankgate.store.database import failure
from rankgate.store.rating.ratings import WITHDRAWN
from rankgate.store.tables.facts import ratings
from rankgate.store.tables.results import blobs
from rankgate.store.tables.work import assignments

if TYPE_CHECKING:
    from sqlalchemy import Connection

    from rankgate.store.store import Store


@dataclass(frozen=True)
class Finding:
    """Something that is wrong.

    Attributes:
        code: what, for programs.
        subject: of which row or blob.
        problem: one sentence.
    """

    code: str
    subject: str
    problem: str


def check(store: Store) -> tuple[Finding, ...]:
    """Everything that is wrong with a store; empty if nothing is.

    Raises:
        UsageError: the database cannot be reached.
    """
    with store.read() as connection:
        found = [*_database(connection), *_blobs(store, connection), *_answers(connection)]
    return tuple(found)


def _database(connection: Connection) -> Iterator[Finding]:
    if connection.dialect.name != "sqlite":
        return
    try:
        for (words,) in connection.exec_driver_sql("PRAGMA integrity_check"):
            if words != "ok":
                yield Finding("damaged-database", "", f"the database is damaged: {words}.")
        for table, row, other, _ in connection.exec_driver_sql("PRAGMA foreign_key_check"):
            yield Finding("missing-row", f"{table} {row}", f"a row of {other} is missing.")
    except sa.exc.DBAPIError as error:
        yield Finding("damaged-database", "", str(failure(error, connection.engine.url)))


def _blobs(store: Store, connection: Connection) -> Iterator[Finding]:
    for name in connection.scalars(sa.select(blobs.c.sha256)).all():
        try:
            store.blobs.get(name)
        except InputError as error:
            yield Finding(error.code, name, error.problem)


def _answers(connection: Connection) -> Iterator[Finding]:
    """Tasks whose last answers are not the last ratings of their raters."""
    key = (ratings.c.task, ratings.c.rater)
    last = (
        sa.select(sa.func.max(ratings.c.id).label("id"))
        .where(ratings.c.task.is_not(None), ratings.c.final.is_(False))
        .group_by(*key)
        .subquery()
    )
    said = (
        sa.select(*key, ratings.c.grade, ratings.c.reason)
        .join(last, last.c.id == ratings.c.id)
        .subquery()
    )
    same = sa.and_(assignments.c.task == said.c.task, assignments.c.rater == said.c.rater)
    chosen = sa.select(said, assignments.c.state, assignments.c.grade.label("kept")).select_from(
        said.outerjoin(assignments, same)
    )
    for row in connection.execute(chosen):
        back = row.reason == WITHDRAWN
        if (row.state == "answered") is back or (not back and row.kept != row.grade):
            problem = "the task does not show the rater's last rating; rate it again."
            yield Finding("stale-task", f"task {row.task}, rater {row.rater}", problem)

"""Check a store: the database, the blobs, and whether tasks agree with the ratings."""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING

import sqlalchemy as sa

from rankgate.core.errors import InputError
from rankgate.core.frozen import dataclass
from rankgate.store.database import failure
from rankgate.store.material.content import content_hash
from rankgate.store.rating.ratings import WITHDRAWN
from rankgate.store.tables.facts import ratings
from rankgate.store.tables.material import documents
from rankgate.store.tables.records import records
from rankgate.store.tables.results import blobs, judgments, results, runs
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
        found += _documents(connection)
    return tuple(found)


_REFERENCES = (runs.c.blob, runs.c.states, judgments.c.blob, results.c.blob, records.c.blob,
               records.c.per_query)  # fmt: skip
_YOUNG = 3600.0  # seconds: a transaction that is under way may refer to it soon


def unused(store: Store) -> tuple[tuple[str, ...], int]:
    """Blobs that nothing refers to, and their bytes: of what was removed, or was never finished.

    Those of the last hour are left out, as somebody may be adding what refers to them.

    Raises:
        UsageError: the database cannot be reached.
    """
    with store.read() as connection:
        rows = connection.execute(sa.select(blobs.c.sha256, blobs.c.bytes))
        known = {row.sha256: int(row.bytes) for row in rows}
        used = {name for column in _REFERENCES for name in connection.scalars(sa.select(column))}
    names = {*known, *store.blobs.names()} - used
    found = sorted(name for name in names if _old(store, name))
    return tuple(found), sum(known.get(name, 0) for name in found)


def _old(store: Store, name: str) -> bool:
    try:
        return store.blobs.age(name) > _YOUNG
    except FileNotFoundError:  # only its row is there
        return True


def clean(store: Store) -> tuple[int, int]:
    """Delete the blobs that nothing refers to; how many, and their bytes.

    Raises:
        UsageError: the database cannot be reached.
    """
    names, size = unused(store)
    gone = 0
    with store.write() as connection:
        chosen = (sa.select(column).where(column.in_(names)) for column in _REFERENCES)
        again = {name for each in chosen for name in connection.scalars(each)}
        for name in names:
            if name not in again and _old(store, name):  # who adds it now makes it young
                connection.execute(sa.delete(blobs).where(blobs.c.sha256 == name))
                store.blobs.remove(name)
                gone += 1
    return gone, size


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


def _documents(connection: Connection) -> Iterator[Finding]:
    """Documents that are not what raters saw: something else than rankgate changed them."""
    names = ("id", "doc_id", "fields", "url", "image", "sha256")
    chosen = sa.select(*(documents.c[name] for name in names))
    for row in connection.execute(chosen.execution_options(yield_per=1000)):
        if row.sha256 != content_hash(row.fields, row.url, row.image):
            problem = f"document '{row.doc_id}' is not what was added; restore a backup."
            yield Finding("changed-document", f"document {row.id}", problem)


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

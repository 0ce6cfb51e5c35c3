"""Check a store, and count the rows of its large tables.

The check covers the database, the blobs, and whether tasks and kept counts agree with the ratings.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING

import sqlalchemy as sa

from rankgate.core.errors import InputError
from rankgate.core.frozen import dataclass
from rankgate.core.present.number_formats import count_noun
from rankgate.store.database import database_error
from rankgate.store.material.queries_documents import content_hash
from rankgate.store.people import second_factors
from rankgate.store.rating import kept_counts
from rankgate.store.rating.ratings import WITHDRAWN
from rankgate.store.tables.model_tables import blobs, judgments, results, runs
from rankgate.store.tables.people_tables import projects, users
from rankgate.store.tables.rating_tables import assignments, documents, queries, ratings
from rankgate.store.tables.record_tables import (
    alerts,
    notifications,
    record_values,
    records,
    scheduled_jobs,
    scheduled_runs,
)

if TYPE_CHECKING:
    from sqlalchemy import Connection

    from rankgate.store.store import Store


@dataclass(frozen=True)
class Finding:
    """A problem that a check found.

    Attributes:
        code: the code of the problem, for programs.
        subject: the row or blob.
        problem: one sentence.
    """

    code: str
    subject: str
    problem: str


def check(store: Store) -> tuple[Finding, ...]:
    """Find the problems of a store; the list may be empty.

    Kept counts of answers that are wrong are also rebuilt.

    Raises:
        UsageError: the database cannot be reached.
    """
    with store.read() as connection:
        findings = [
            *_database_findings(connection),
            *_blob_findings(store, connection),
            *_answer_findings(connection),
            *_secret_findings(connection),
        ]
        findings += _document_findings(connection)
        differences = kept_counts.count_differences(connection)
    if differences:
        with store.write() as connection:
            kept_counts.rebuild(connection)
        problem = "kept counts differed from the answers; all answers were counted again."
        findings.append(Finding("stale-counts", count_noun(differences, "count"), problem))
    return tuple(findings)


def _secret_findings(connection: Connection) -> Iterator[Finding]:
    """Second factors that the keys of the environment do not open: nobody can sign in with them."""
    for user, problem in second_factors.find_unreadable(connection):
        yield Finding("unreadable-secret", f"second factor of user {user}", problem)


_REFERENCES = (
    runs.c.blob,
    runs.c.states,
    judgments.c.blob,
    results.c.blob,
    records.c.blob,
    records.c.per_query,
)
_MIN_AGE = 3600.0  # seconds: an open transaction may soon refer to the blob


def unused_blobs(store: Store) -> tuple[tuple[str, ...], int]:
    """The unreferenced blobs and their bytes, left by deletions or unfinished writes.

    Blobs of the last hour are left out, because an open transaction may still refer to them.

    Raises:
        UsageError: the database cannot be reached.
    """
    with store.read() as connection:
        rows = connection.execute(sa.select(blobs.c.sha256, blobs.c.bytes))
        bytes_of_blob = {row.sha256: int(row.bytes) for row in rows}
        referenced = {name for column in _REFERENCES for name in connection.scalars(sa.select(column))}
    names = {*bytes_of_blob, *store.blobs.names()} - referenced
    unused_names = sorted(name for name in names if _is_old(store, name))
    return tuple(unused_names), sum(bytes_of_blob.get(name, 0) for name in unused_names)


def _is_old(store: Store, name: str) -> bool:
    try:
        return store.blobs.age(name) > _MIN_AGE
    except FileNotFoundError:  # only the row of the blob exists
        return True


def delete_unused_blobs(store: Store) -> tuple[int, int]:
    """Delete the unreferenced blobs; return their number and bytes.

    Raises:
        UsageError: the database cannot be reached.
    """
    names, size = unused_blobs(store)
    deleted = 0
    with store.write() as connection:
        statements = (sa.select(column).where(column.in_(names)) for column in _REFERENCES)
        referenced = {name for statement in statements for name in connection.scalars(statement)}
        for name in names:
            if name not in referenced and _is_old(store, name):  # adding a blob renews its age
                connection.execute(sa.delete(blobs).where(blobs.c.sha256 == name))
                store.blobs.remove(name)
                deleted += 1
    return deleted, size


def _database_findings(connection: Connection) -> Iterator[Finding]:
    if connection.dialect.name != "sqlite":
        return
    try:
        for (message,) in connection.exec_driver_sql("PRAGMA integrity_check"):
            if message != "ok":
                yield Finding("damaged-database", "", f"the database is damaged: {message}.")
        for table, row, other_table, _ in connection.exec_driver_sql("PRAGMA foreign_key_check"):
            yield Finding("missing-row", f"{table} {row}", f"a row of {other_table} is missing.")
    except sa.exc.DBAPIError as error:
        yield Finding("damaged-database", "", str(database_error(error, connection.engine.url)))


def _blob_findings(store: Store, connection: Connection) -> Iterator[Finding]:
    for name in connection.scalars(sa.select(blobs.c.sha256)).all():
        try:
            store.blobs.get(name)
        except InputError as error:
            yield Finding(error.code, name, error.problem)


def _document_findings(connection: Connection) -> Iterator[Finding]:
    """Find documents that were changed outside of rankgate after raters saw them."""
    names = ("id", "doc_id", "fields", "url", "image", "sha256")
    statement = sa.select(*(documents.c[name] for name in names))
    for row in connection.execute(statement.execution_options(yield_per=1000)):
        if row.sha256 != content_hash(row.fields, row.url, row.image):
            problem = f"document '{row.doc_id}' differs from the added text; restore a backup."
            yield Finding("changed-document", f"document {row.id}", problem)


def _answer_findings(connection: Connection) -> Iterator[Finding]:
    """Find tasks whose last answers differ from the last ratings of their raters."""
    key = (ratings.c.task, ratings.c.rater)
    last = (
        sa.select(sa.func.max(ratings.c.id).label("id"))
        .where(ratings.c.task.is_not(None), ratings.c.final.is_(False))
        .group_by(*key)
        .subquery()
    )
    last_ratings = (
        sa.select(*key, ratings.c.grade, ratings.c.reason).join(last, last.c.id == ratings.c.id).subquery()
    )
    is_same_pair = sa.and_(
        assignments.c.task == last_ratings.c.task, assignments.c.rater == last_ratings.c.rater
    )
    statement = sa.select(last_ratings, assignments.c.state, assignments.c.grade.label("kept")).select_from(
        last_ratings.outerjoin(assignments, is_same_pair)
    )
    for row in connection.execute(statement):
        is_withdrawn = row.reason == WITHDRAWN
        if (row.state == "answered") is is_withdrawn or (not is_withdrawn and row.kept != row.grade):
            problem = "the task does not show the rater's last rating; rate it again."
            yield Finding("stale-task", f"task {row.task}, rater {row.rater}", problem)


COUNTED_TABLES = (
    projects,
    users,
    queries,
    documents,
    runs,
    judgments,
    results,
    ratings,
    blobs,
    records,
    record_values,
    alerts,
    scheduled_jobs,
    scheduled_runs,
)


def count_rows(store: Store) -> dict[str, int]:
    """Count rows by table, in one state of the store.

    Raises:
        UsageError: the database cannot be reached.
    """
    count_queries = (
        sa.select(sa.func.count()).select_from(table).scalar_subquery() for table in COUNTED_TABLES
    )
    with store.read(once=True) as connection:
        row = connection.execute(sa.select(*count_queries)).one()
    return {table.name: int(count) for table, count in zip(COUNTED_TABLES, row, strict=True)}


def count_by_state(store: Store) -> dict[str, dict[str, int]]:
    """Count alerts, notifications and job runs by state.

    Raises:
        UsageError: the database cannot be reached.
    """
    counts_of_table: dict[str, dict[str, int]] = {}
    for table in (alerts, notifications, scheduled_runs):
        statement = sa.select(table.c.state, sa.func.count()).group_by(table.c.state)
        with store.read(once=True) as connection:
            counts_of_table[table.name] = {
                state: int(count) for state, count in connection.execute(statement)
            }
    return counts_of_table

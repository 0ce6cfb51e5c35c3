"""Numbers of tasks: of a batch, by pair, and those that a rater answered."""

from __future__ import annotations

from typing import TYPE_CHECKING

import sqlalchemy as sa

from rankgate.store.tables.material import documents, queries
from rankgate.store.tables.work import QUERY_SHOWN, assignments, batches, tasks

if TYPE_CHECKING:
    from sqlalchemy import Connection


def tasks_of_batch(connection: Connection, batch: int) -> list[int]:
    """The numbers of a batch's tasks of single documents, without archived queries."""
    condition = sa.and_(
        tasks.c.batch == batch,
        tasks.c.document.is_not(None),
        tasks.c.other_document.is_(None),
        QUERY_SHOWN,
    )
    return list(connection.scalars(sa.select(tasks.c.id).where(condition).order_by(tasks.c.id)))


def tasks_by_pair(connection: Connection, project: int) -> dict[tuple[str, str], int]:
    """The first task of each query and document that people or models rate, by their ids."""
    statement = (
        sa.select(queries.c.query_id, documents.c.doc_id, tasks.c.id)
        .join(queries, queries.c.id == tasks.c.query)
        .join(documents, documents.c.id == tasks.c.document)
        .join(batches, batches.c.id == tasks.c.batch)
        .where(tasks.c.project == project, batches.c.kind == "rating")
        .order_by(tasks.c.id.desc())
    )
    return {(query, doc): task for query, doc, task in connection.execute(statement)}


def tasks_answered_by(connection: Connection, project: int, rater: int) -> set[int]:
    """The tasks of a project that a rater has answered."""
    statement = (
        sa.select(assignments.c.task)
        .join(tasks, tasks.c.id == assignments.c.task)
        .where(
            tasks.c.project == project,
            assignments.c.rater == rater,
            assignments.c.state == "answered",
        )
    )
    return set(connection.scalars(statement))


def tasks_by_numbers(connection: Connection, project: int) -> dict[tuple[int, int], int]:
    """The first task of each query and document, by their numbers; known grades are left out."""
    statement = (
        sa.select(tasks.c.query, tasks.c.document, tasks.c.id)
        .join(batches, batches.c.id == tasks.c.batch)
        .where(tasks.c.project == project, batches.c.kind == "rating", tasks.c.gold.is_(None))
        .order_by(tasks.c.id.desc())
    )
    return {(query, document): task for query, document, task in connection.execute(statement)}

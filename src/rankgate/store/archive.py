"""Archive or delete what a project no longer needs; archiving hides and keeps it."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from datetime import datetime
from typing import TYPE_CHECKING, Any

import sqlalchemy as sa

from rankgate.core.errors import UsageError
from rankgate.core.frozen import dataclass
from rankgate.store import deletion
from rankgate.store.material import projects as material
from rankgate.store.models.jobs import UNDER_WAY
from rankgate.store.rows import now, unknown_error
from rankgate.store.tables.material import queries
from rankgate.store.tables.models import job_tasks, model_jobs
from rankgate.store.tables.people import projects
from rankgate.store.tables.results import judgments, runs
from rankgate.store.tables.work import batches, tasks

if TYPE_CHECKING:
    from sqlalchemy import Connection

KINDS: Mapping[str, sa.Table] = {
    "run": runs,
    "judgments": judgments,
    "batch": batches,
    "query": queries,
}
"""Kinds that can be archived in a project."""

_IDS_PER_STATEMENT = 5_000
"""Ids that one statement names."""

_MAX_LISTED = 200
"""Archived queries that are listed."""


@dataclass(frozen=True)
class Archivable:
    """Something that can be archived.

    Attributes:
        kind: of ``KINDS``.
        id: the number.
        name: in the project; of a query its id.
        created_at: when it was added; None for a query.
        archived_at: since when it is hidden; None where it is not.
    """

    kind: str
    id: int
    name: str
    created_at: datetime | None
    archived_at: datetime | None


def _columns(kind: str) -> tuple[sa.ColumnElement[Any], ...]:
    table = KINDS[kind]
    if kind == "query":
        return (table.c.id, table.c.query_id, sa.null(), table.c.archived_at)
    return (table.c.id, table.c.name, table.c.created_at, table.c.archived_at)


def list_archivables(connection: Connection, project: int) -> list[Archivable]:
    """Everything of a project that can be archived, by kind, the oldest first.

    Of queries only the first 200 that are archived.
    """
    archivables = []
    for kind, table in KINDS.items():
        statement = (
            sa.select(*_columns(kind)).where(table.c.project == project).order_by(table.c.id)
        )
        if kind == "query":
            statement = statement.where(table.c.archived_at.is_not(None)).limit(_MAX_LISTED)
        archivables += [Archivable(kind, *row) for row in connection.execute(statement)]
    return archivables


def get(connection: Connection, project: int, kind: str, number: int) -> Archivable:
    """An item of a project.

    Raises:
        UsageError: there is none.
    """
    table = KINDS[kind]
    statement = sa.select(*_columns(kind)).where(table.c.project == project, table.c.id == number)
    row = connection.execute(statement).first()
    if row is None:
        raise unknown_error(kind, number)
    return Archivable(kind, *row)


def set_archived(connection: Connection, archivable: Archivable, *, archived: bool) -> None:
    """Hide an item, or show it again."""
    table = KINDS[archivable.kind]
    values = {"archived_at": now() if archived else None}
    connection.execute(sa.update(table).where(table.c.id == archivable.id).values(values))


def dependents(connection: Connection, archivable: Archivable) -> dict[str, int]:
    """Count the rows that are deleted with an item, by kind."""
    return deletion.counts(connection, deletion.dependent_rows(*_row_condition(archivable)))


def delete(connection: Connection, archivable: Archivable) -> dict[str, int]:
    """Delete an item with what depends on it; its blobs go with ``rankgate store check``.

    Returns:
        What was deleted with it, as `dependents`.

    Raises:
        UsageError: a model rates tasks that would go.
    """
    return _delete(connection, *_row_condition(archivable))


def _row_condition(archivable: Archivable) -> tuple[sa.Table, sa.ColumnElement[bool]]:
    table = KINDS[archivable.kind]
    return table, table.c.id == archivable.id


def _delete(
    connection: Connection, table: sa.Table, condition: sa.ColumnElement[bool]
) -> dict[str, int]:
    rows = deletion.dependent_rows(table, condition)
    with deletion.without_triggers(connection, [table, *rows]):
        _refuse_busy(connection, rows)
        counts = deletion.counts(connection, rows)
        deletion.delete_rows(connection, {table: condition, **rows})
    return counts


def _refuse_busy(connection: Connection, rows: deletion.Rows) -> None:
    """Refuse to delete tasks that a model is rating, or its job."""
    job_conditions: list[sa.ColumnElement[bool]] = []
    if job_tasks in rows:
        job_conditions.append(
            model_jobs.c.id.in_(sa.select(job_tasks.c.job).where(rows[job_tasks]))
        )
    if model_jobs in rows:
        job_conditions.append(rows[model_jobs])
    if not job_conditions:
        return
    active_job = sa.select(model_jobs.c.id).where(
        sa.or_(*job_conditions), model_jobs.c.state.in_(UNDER_WAY)
    )
    if (job := connection.scalar(active_job)) is not None:
        problem = f"job {job} of a model is under way; cancel it, and try again when it has ended."
        raise UsageError(problem, code="in-use")


def archive_queries(
    connection: Connection, project: int, ids: Iterable[str], *, archived: bool
) -> int:
    """Hide queries, or show them again; return their number.

    Raises:
        UsageError: some of them are not in the project.
    """
    query_ids = list(dict.fromkeys(ids))
    in_project = queries.c.project == project
    values = {"archived_at": now() if archived else None}
    for begin in range(0, len(query_ids), _IDS_PER_STATEMENT):
        chunk = query_ids[begin : begin + _IDS_PER_STATEMENT]
        condition = sa.and_(in_project, queries.c.query_id.in_(chunk))
        stored_ids = set(connection.scalars(sa.select(queries.c.query_id).where(condition)))
        if missing := [name for name in chunk if name not in stored_ids]:
            raise unknown_error("query", missing[0])
        connection.execute(sa.update(queries).where(condition).values(values))
    return len(query_ids)


def queries_of_batch(connection: Connection, batch: int) -> list[str]:
    """The ids of the queries that a batch has tasks of, in the order in which they were added."""
    of_batch = sa.select(tasks.c.query).where(tasks.c.batch == batch)
    statement = sa.select(queries.c.query_id).where(queries.c.id.in_(of_batch))
    return list(connection.scalars(statement.order_by(queries.c.id)))


def _archived_queries(project: int) -> sa.ColumnElement[bool]:
    return sa.and_(queries.c.project == project, queries.c.archived_at.is_not(None))


def count_archived_queries(connection: Connection, project: int) -> int:
    """Count the archived queries of a project."""
    count = sa.select(sa.func.count()).where(_archived_queries(project))
    return connection.scalar(count) or 0


def dependents_of_archived_queries(connection: Connection, project: int) -> dict[str, int]:
    """Count the rows that are deleted with all archived queries, by kind."""
    return deletion.counts(connection, deletion.dependent_rows(queries, _archived_queries(project)))


def delete_archived_queries(connection: Connection, project: int) -> dict[str, int]:
    """Delete all archived queries of a project with what depends on them.

    Returns:
        What was deleted with them, as `dependents_of_archived_queries`.

    Raises:
        UsageError: a model rates tasks of them.
    """
    return _delete(connection, queries, _archived_queries(project))


def project_dependents(connection: Connection, project: int) -> dict[str, int]:
    """Count the rows that are deleted with a project, by kind."""
    return deletion.counts(connection, deletion.dependent_rows(projects, projects.c.id == project))


def delete_project(connection: Connection, project: int) -> dict[str, int]:
    """Delete an archived project with all that it has; its audit log stays.

    Returns:
        What was deleted with it, as `project_dependents`.

    Raises:
        UsageError: it is not archived; a model rates in it.
    """
    rows = deletion.dependent_rows(projects, projects.c.id == project)
    with deletion.without_triggers(connection, rows):
        if material.get(connection, project).archived_at is None:
            raise UsageError(
                "the project is not archived; archive it first, so that nobody writes into it.",
                code="in-use",
            )
        _refuse_busy(connection, rows)
        counts = deletion.counts(connection, rows)
        deletion.delete_rows(connection, rows)
    material.clear_name(connection, project)
    return counts

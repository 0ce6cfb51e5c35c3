"""Archive or delete data that a project no longer needs.

Deleting removes rows and every row that depends on them, including facts. No other operation
bypasses the triggers that protect facts. Archiving hides data and keeps it.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from contextlib import contextmanager
from datetime import datetime
from typing import TYPE_CHECKING, Any

import sqlalchemy as sa

from rankgate.core.errors import UsageError
from rankgate.core.frozen import dataclass
from rankgate.store.material import projects as material
from rankgate.store.models.model_jobs_table import UNDER_WAY
from rankgate.store.rating import kept_counts
from rankgate.store.rows import now, unknown_error
from rankgate.store.tables import METADATA
from rankgate.store.tables.model_tables import (
    job_tasks,
    judgments,
    model_jobs,
    open_requests,
    page_results,
    runs,
)
from rankgate.store.tables.people_tables import audit_log, projects
from rankgate.store.tables.rating_tables import (
    answer_counts,
    assignments,
    batches,
    cursors,
    pair_counts,
    queries,
    tasks,
)
from rankgate.store.tables.record_tables import record_values

if TYPE_CHECKING:
    from sqlalchemy import Connection


Rows = Mapping[sa.Table, sa.ColumnElement[bool]]
"""Tables with conditions for rows; a table comes after the tables that its rows depend on."""

_DETAILS = {
    answer_counts,
    assignments,
    cursors,
    job_tasks,
    open_requests,
    page_results,
    pair_counts,
    record_values,
}
"""Tables whose rows are parts of other rows or follow from them, and are not counted separately."""


def dependent_rows(table: sa.Table, condition: sa.ColumnElement[bool]) -> Rows:
    """Rows of other tables with foreign keys to these rows; the audit log is left out."""
    rows = {table: condition}
    for other_table in METADATA.sorted_tables:
        if other_table in {table, audit_log}:
            continue
        keys = [key for key in other_table.foreign_keys if key.column.table in rows]
        direct = [key for key in keys if key.column.table is table]
        conditions = [
            key.parent.in_(sa.select(key.column).where(rows[key.column.table])) for key in direct or keys
        ]
        if conditions:
            rows[other_table] = sa.or_(*conditions)
    del rows[table]
    return rows


def count_rows(connection: Connection, rows: Rows) -> dict[str, int]:
    """Count rows by table name; empty tables and detail tables are left out."""
    totals = {
        table.name.replace("_", " "): connection.scalar(
            sa.select(sa.func.count()).select_from(table).where(condition)
        )
        for table, condition in rows.items()
        if table not in _DETAILS
    }
    return {name: count for name, count in totals.items() if count}


def delete_rows(connection: Connection, rows: Rows) -> None:
    """Delete rows after the rows that depend on them; facts need `without_triggers`."""
    for table, condition in reversed(list(rows.items())):
        connection.execute(sa.delete(table).where(condition))


@contextmanager
def without_triggers(connection: Connection, tables: Iterable[sa.Table]) -> Iterator[None]:
    """Disable the triggers of facts inside this transaction, while no other transaction can write.

    Both databases undo this change with the transaction, so a deletion that fails or is killed
    leaves the triggers and the rows as they were.
    """
    names = [table.name for table in tables]
    if connection.dialect.name == "sqlite":  # only one transaction writes at a time
        trigger_query = sa.text(
            "SELECT name, sql FROM sqlite_master WHERE type = 'trigger' AND tbl_name IN :names"
        ).bindparams(sa.bindparam("names", expanding=True))
        triggers = connection.execute(trigger_query, {"names": names}).all()
        lift_statements = [f"DROP TRIGGER {trigger.name}" for trigger in triggers]
        restore = [trigger.sql for trigger in triggers]
    else:
        quoted = ", ".join(f'"{name}"' for name in names)
        connection.exec_driver_sql(f"LOCK TABLE {quoted} IN SHARE ROW EXCLUSIVE MODE")
        lift_statements = [f'ALTER TABLE "{name}" DISABLE TRIGGER USER' for name in names]
        restore = [f'ALTER TABLE "{name}" ENABLE TRIGGER USER' for name in names]
    with connection.begin_nested():  # an error that the caller catches also restores the triggers
        for statement in lift_statements:
            connection.exec_driver_sql(statement)
        yield
        for statement in restore:
            connection.exec_driver_sql(statement)


KINDS: Mapping[str, sa.Table] = {"run": runs, "judgments": judgments, "batch": batches, "query": queries}
"""The kinds of items that can be archived in a project."""

_IDS_PER_STATEMENT = 5_000
"""The largest number of ids in one statement."""

_MAX_LISTED = 200
"""The largest number of archived queries in a list."""


@dataclass(frozen=True)
class Archivable:
    """An item that can be archived.

    Attributes:
        kind: a kind from ``KINDS``.
        id: the number.
        name: the name in the project; for a query, its id.
        created_at: the time when the item was added; None for a query.
        archived_at: the time when the item was hidden; None if it is visible.
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
    """The items of a project that can be archived, by kind, the oldest first.

    For queries, only the first 200 archived queries.
    """
    archivables = []
    for kind, table in KINDS.items():
        statement = sa.select(*_columns(kind)).where(table.c.project == project).order_by(table.c.id)
        if kind == "query":
            statement = statement.where(table.c.archived_at.is_not(None)).limit(_MAX_LISTED)
        archivables += [Archivable(kind, *row) for row in connection.execute(statement)]
    return archivables


def get(connection: Connection, project: int, kind: str, number: int) -> Archivable:
    """An item of a project.

    Raises:
        UsageError: no item has this number.
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
    return count_rows(connection, dependent_rows(*_row_condition(archivable)))


def delete(connection: Connection, archivable: Archivable) -> dict[str, int]:
    """Delete an item with its dependent rows; ``rankgate store check`` removes its blobs.

    Returns:
        The number of dependent rows deleted, as in `dependents`.

    Raises:
        UsageError: a model is rating tasks that would be deleted.
    """
    table, condition = _row_condition(archivable)
    project = connection.scalar(sa.select(table.c.project).where(condition))
    return _delete(connection, project, table, condition)


def _row_condition(archivable: Archivable) -> tuple[sa.Table, sa.ColumnElement[bool]]:
    table = KINDS[archivable.kind]
    return table, table.c.id == archivable.id


def _delete(
    connection: Connection, project: int | None, table: sa.Table, condition: sa.ColumnElement[bool]
) -> dict[str, int]:
    rows = dependent_rows(table, condition)
    with without_triggers(connection, [table, *rows]):
        _refuse_busy(connection, rows)
        counts = count_rows(connection, rows)
        delete_rows(connection, {table: condition, **rows})
    if project is not None and not {"ratings", "preferences"}.isdisjoint(counts):
        kept_counts.rebuild(connection, project)
    return counts


def _refuse_busy(connection: Connection, rows: Rows) -> None:
    """Refuse to delete a model's active job, or tasks that a model is rating."""
    job_conditions: list[sa.ColumnElement[bool]] = []
    if job_tasks in rows:
        job_conditions.append(model_jobs.c.id.in_(sa.select(job_tasks.c.job).where(rows[job_tasks])))
    if model_jobs in rows:
        job_conditions.append(rows[model_jobs])
    if not job_conditions:
        return
    active_job = sa.select(model_jobs.c.id).where(sa.or_(*job_conditions), model_jobs.c.state.in_(UNDER_WAY))
    if (job := connection.scalar(active_job)) is not None:
        problem = f"job {job} of a model is under way; cancel it, and try again when it has ended."
        raise UsageError(problem, code="in-use")


def archive_queries(connection: Connection, project: int, ids: Iterable[str], *, archived: bool) -> int:
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
    """The ids of the queries with tasks in a batch, in the order in which they were added."""
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
    return count_rows(connection, dependent_rows(queries, _archived_queries(project)))


def delete_archived_queries(connection: Connection, project: int) -> dict[str, int]:
    """Delete all archived queries of a project with their dependent rows.

    Returns:
        The number of dependent rows deleted, as in `dependents_of_archived_queries`.

    Raises:
        UsageError: a model is rating tasks of these queries.
    """
    return _delete(connection, project, queries, _archived_queries(project))


def project_dependents(connection: Connection, project: int) -> dict[str, int]:
    """Count the rows that are deleted with a project, by kind."""
    return count_rows(connection, dependent_rows(projects, projects.c.id == project))


def delete_project(connection: Connection, project: int) -> dict[str, int]:
    """Delete an archived project with all its data; its audit log stays.

    Returns:
        The number of dependent rows deleted, as in `project_dependents`.

    Raises:
        UsageError: the project is not archived; a model is rating in it.
    """
    rows = dependent_rows(projects, projects.c.id == project)
    with without_triggers(connection, rows):
        if material.get(connection, project).archived_at is None:
            raise UsageError(
                "the project is not archived; archive it first, so that it does not change.", code="in-use"
            )
        _refuse_busy(connection, rows)
        counts = count_rows(connection, rows)
        delete_rows(connection, rows)
    material.clear_name(connection, project)
    return counts

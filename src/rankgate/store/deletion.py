"""Delete rows with every row that depends on them, facts too: the one way past their triggers."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from contextlib import contextmanager
from typing import TYPE_CHECKING

import sqlalchemy as sa

from rankgate.store.tables import METADATA
from rankgate.store.tables.models import job_tasks, open_requests
from rankgate.store.tables.people import audit_log
from rankgate.store.tables.records import record_values
from rankgate.store.tables.work import assignments, cursors

if TYPE_CHECKING:
    from sqlalchemy import Connection

Rows = Mapping[sa.Table, sa.ColumnElement[bool]]
"""Rows of tables, each by its condition; a table comes after those that its rows need."""

_DETAILS = {assignments, cursors, job_tasks, open_requests, record_values}
"""Rows that are part of tasks, jobs and records, which are counted themselves."""


def dependent_rows(table: sa.Table, condition: sa.ColumnElement[bool]) -> Rows:
    """The rows of other tables that need these rows by foreign keys; none of the audit log."""
    rows = {table: condition}
    for other_table in METADATA.sorted_tables:
        if other_table in {table, audit_log}:
            continue
        keys = [key for key in other_table.foreign_keys if key.column.table in rows]
        direct = [key for key in keys if key.column.table is table]
        conditions = [
            key.parent.in_(sa.select(key.column).where(rows[key.column.table]))
            for key in direct or keys
        ]
        if conditions:
            rows[other_table] = sa.or_(*conditions)
    del rows[table]
    return rows


def counts(connection: Connection, rows: Rows) -> dict[str, int]:
    """Count rows by the name of their table, without empty tables and details."""
    totals = {
        table.name.replace("_", " "): connection.scalar(
            sa.select(sa.func.count()).select_from(table).where(condition)
        )
        for table, condition in rows.items()
        if table not in _DETAILS
    }
    return {name: count for name, count in totals.items() if count}


def delete_rows(connection: Connection, rows: Rows) -> None:
    """Delete rows, those that depend on others first; facts only where `without_triggers`."""
    for table, condition in reversed(list(rows.items())):
        connection.execute(sa.delete(table).where(condition))


@contextmanager
def without_triggers(connection: Connection, tables: Iterable[sa.Table]) -> Iterator[None]:
    """Lift the triggers of facts inside this transaction, while no other one can write.

    Both databases undo it with the transaction, so a deletion that fails or is killed leaves the
    triggers and the rows as they were.
    """
    names = [table.name for table in tables]
    if connection.dialect.name == "sqlite":  # a transaction that writes is the only one
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
    with connection.begin_nested():  # an error that the caller catches restores the triggers too
        for statement in lift_statements:
            connection.exec_driver_sql(statement)
        yield
        for statement in restore:
            connection.exec_driver_sql(statement)

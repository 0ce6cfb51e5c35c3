"""Counts of rows of the large tables of a store."""

from __future__ import annotations

from typing import TYPE_CHECKING

import sqlalchemy as sa

from rankgate.store.tables.facts import ratings
from rankgate.store.tables.material import documents, queries
from rankgate.store.tables.people import projects, users
from rankgate.store.tables.records import record_values, records
from rankgate.store.tables.results import blobs, judgments, results, runs
from rankgate.store.tables.watching import alerts, notifications, scheduled_jobs, scheduled_runs

if TYPE_CHECKING:
    from rankgate.store.store import Store

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
    """Count rows by table, of one state of the store.

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
    """Count alerts, notifications and runs of jobs by state.

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

"""How many rows the large tables of a store have."""

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

COUNTED = (projects, users, queries, documents, runs, judgments, results, ratings, blobs, records,
           record_values, alerts, scheduled_jobs, scheduled_runs)  # fmt: skip


def counted(store: Store) -> dict[str, int]:
    """How many rows by table, of one state of the store.

    Raises:
        UsageError: the database cannot be reached.
    """
    every = (sa.select(sa.func.count()).select_from(each).scalar_subquery() for each in COUNTED)
    with store.read(once=True) as connection:
        row = connection.execute(sa.select(*every)).one()
    return {each.name: int(count) for each, count in zip(COUNTED, row, strict=True)}


def by_state(store: Store) -> dict[str, dict[str, int]]:
    """How many alerts, notifications and runs of jobs are in each state.

    Raises:
        UsageError: the database cannot be reached.
    """
    found: dict[str, dict[str, int]] = {}
    for table in (alerts, notifications, scheduled_runs):
        chosen = sa.select(table.c.state, sa.func.count()).group_by(table.c.state)
        with store.read(once=True) as connection:
            found[table.name] = {state: int(count) for state, count in connection.execute(chosen)}
    return found

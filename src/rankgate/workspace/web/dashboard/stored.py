"""Runs and judgments that the store has, as tables that are read once."""

from __future__ import annotations

from typing import TYPE_CHECKING

from rankgate.store.kept import judgments, runs
from rankgate.workspace.web.cache import Cache

if TYPE_CHECKING:
    import polars as pl
    from sqlalchemy import Connection

    from rankgate.store.kept.judgments import StoredJudgments
    from rankgate.store.kept.runs import StoredRun
    from rankgate.workspace.web.asked import Asked

_TABLES: Cache[pl.DataFrame] = Cache(24)


def judgments_table(
    connection: Connection, asked: Asked, found: StoredJudgments
) -> pl.DataFrame:  # fmt: skip
    """The rows of judgments."""
    key = (asked.store.name, found.blob)
    return _TABLES.get(
        key,
        lambda: judgments.read(connection, asked.store.blobs, asked.project.id, found.name).table,
    )


def run_table(asked: Asked, found: StoredRun) -> pl.DataFrame:
    """The rows of a run."""
    key = (asked.store.name, found.blob)
    return _TABLES.get(key, lambda: runs.rankings(found, asked.store.blobs).table)

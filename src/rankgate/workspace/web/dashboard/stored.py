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
    from rankgate.workspace.web.asked import WebRequest

_TABLES: Cache[pl.DataFrame] = Cache(24)


def read_judgments_table(
    connection: Connection, request: WebRequest, stored_judgments: StoredJudgments
) -> pl.DataFrame:
    """The rows of judgments."""
    key = (request.store.name, stored_judgments.blob)
    return _TABLES.get(
        key,
        lambda: (
            judgments.read_judgments(
                connection, request.store.blobs, request.project.id, stored_judgments.name
            ).table
        ),
    )


def read_run_table(request: WebRequest, stored_run: StoredRun) -> pl.DataFrame:
    """The rows of a run."""
    key = (request.store.name, stored_run.blob)
    return _TABLES.get(key, lambda: runs.rankings(stored_run, request.store.blobs).table)

"""The figures of a snapshot: latency, failed queries, queries without results."""

from __future__ import annotations

from datetime import UTC, datetime
from typing import TYPE_CHECKING

import polars as pl

from rankgate.workspace.records.figures.figures import Figures, means_of

if TYPE_CHECKING:
    from rankgate.engines.snapshots.snapshot import Snapshot

_LOWER = ("latency_ms", "failed", "zero_results")


def figures(result: Snapshot) -> Figures:
    """Mean latency, the share of queries that failed, and of those without results."""
    asked = result.queries.filter(pl.col("state") != "not_run")
    state = pl.col("state")
    per_query = asked.select(
        pl.lit(result.engine).alias("system"),
        "query_id",
        "latency_ms",
        (state == "failed").cast(pl.Float64).alias("failed"),
        (state == "zero").cast(pl.Float64).alias("zero_results"),
    )
    values = means_of(per_query, _LOWER)
    started = asked["started_at"].drop_nulls()
    run = {} if result.run is None else {result.engine: result.run.sha256}
    return Figures(
        tuple(values), result.engine, per_query, runs=run, at=_moment(started),
        summary={"states": dict(result.states), "configuration": result.configuration},
    )  # fmt: skip


def _moment(started: pl.Series) -> datetime | None:
    if started.is_empty():
        return None
    found = datetime.fromisoformat(str(started.max()))
    return found if found.tzinfo else found.replace(tzinfo=UTC)

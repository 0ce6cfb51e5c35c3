"""The figures of a snapshot: latency, failed queries, queries without results."""

from __future__ import annotations

from datetime import UTC, datetime
from typing import TYPE_CHECKING

import polars as pl

from rankgate.workspace.records.figures.figures import Figures, compute_means

if TYPE_CHECKING:
    from rankgate.engines.snapshots.snapshot import Snapshot

_LOWER_IS_BETTER = ("latency_ms", "failed", "zero_results")


def snapshot_figures(result: Snapshot) -> Figures:
    """Mean latency, the share of queries that failed, and of those without results."""
    queries = result.queries.filter(pl.col("state") != "not_run")
    state = pl.col("state")
    per_query = queries.select(
        pl.lit(result.engine).alias("system"),
        "query_id",
        "latency_ms",
        (state == "failed").cast(pl.Float64).alias("failed"),
        (state == "zero").cast(pl.Float64).alias("zero_results"),
    )
    values = compute_means(per_query, _LOWER_IS_BETTER)
    started = queries["started_at"].drop_nulls()
    run = {} if result.run is None else {result.engine: result.run.sha256}
    return Figures(
        tuple(values),
        result.engine,
        per_query,
        runs=run,
        at=_last_start(started),
        summary={"states": dict(result.states), "configuration": result.configuration},
    )


def _last_start(started: pl.Series) -> datetime | None:
    if started.is_empty():
        return None
    moment = datetime.fromisoformat(str(started.max()))
    return moment if moment.tzinfo else moment.replace(tzinfo=UTC)

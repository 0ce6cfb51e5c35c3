"""Latency of each stage, and of the pipeline to its end."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

import polars as pl

if TYPE_CHECKING:
    from rankgate.decisions.pipelines.taken import StageRun

LATENCY: dict[str, Any] = {
    "stage": pl.String,
    "does": pl.String,
    "inputs": pl.String,
    "ok": pl.Int64,
    "zero": pl.Int64,
    "failed": pl.Int64,
    "n": pl.Int64,
    "mean": pl.Float64,
    "p50": pl.Float64,
    "p95": pl.Float64,
    "waits": pl.Float64,
    "total": pl.Float64,
    "total_p50": pl.Float64,
    "total_p95": pl.Float64,
    "file": pl.String,
}


def latency_table(stages: Sequence[StageRun]) -> pl.DataFrame:
    """The latency of each stage alone, and of the pipeline up to it.

        total(stage) = own(stage) + max over its inputs of total(input)

    for each query: stages in a row add up, and of branches that run at the same time the slowest
    one counts. Queries that the stage did not answer have no latency.

    Args:
        stages: the stages, inputs first.

    Returns:
        ``stage``, ``does``, ``inputs``; ``ok``, ``zero`` and ``failed`` queries; ``n`` queries
        with a latency; in milliseconds ``mean``, ``p50`` and ``p95`` of the stage alone,
        ``waits`` (the mean time until its inputs are there), ``total`` (mean), ``total_p50`` and
        ``total_p95`` up to its end; ``file``, the stage's run.
    """
    totals: dict[str, pl.DataFrame] = {}
    rows = []
    for taken_stage in stages:
        latencies_alone = taken_stage.states.select("query_id", own="latency_ms").drop_nulls()
        waits = _waiting_time([totals[name] for name in taken_stage.stage.inputs], latencies_alone)
        latencies_to_here = latencies_alone.join(waits, on="query_id", maintain_order="left")
        latencies_to_here = latencies_to_here.with_columns(total=pl.col("own") + pl.col("waits"))
        totals[taken_stage.stage.name] = latencies_to_here.select("query_id", "total")
        states = dict(taken_stage.states.group_by("state").len().iter_rows())
        rows.append(
            {
                "stage": taken_stage.stage.name,
                "does": taken_stage.does,
                "inputs": ", ".join(taken_stage.stage.inputs),
                **{state: states.get(state, 0) for state in ("ok", "zero", "failed")},
                "n": len(latencies_to_here),
                "mean": latencies_to_here["own"].mean(),
                "p50": latencies_to_here["own"].quantile(0.5, "linear"),
                "p95": latencies_to_here["own"].quantile(0.95, "linear"),
                "waits": latencies_to_here["waits"].mean(),
                "total": latencies_to_here["total"].mean(),
                "total_p50": latencies_to_here["total"].quantile(0.5, "linear"),
                "total_p95": latencies_to_here["total"].quantile(0.95, "linear"),
                "file": str(taken_stage.path),
            }
        )
    return pl.DataFrame(rows, schema=LATENCY)


def _waiting_time(inputs: Sequence[pl.DataFrame], latencies_alone: pl.DataFrame) -> pl.DataFrame:
    """``query_id`` and ``waits``: the time at which the last of the inputs is there."""
    if not inputs:
        return latencies_alone.select("query_id", waits=pl.lit(0.0))
    return pl.concat(inputs).group_by("query_id").agg(waits=pl.col("total").max())


def describe_failures(taken_stage: StageRun) -> str:
    """The number of failed queries, with the most frequent error; empty if none failed."""
    errors = taken_stage.states.filter(pl.col("state") == "failed")["error"].fill_null("no reason")
    if errors.is_empty():
        return ""
    top_error = errors.value_counts(sort=True)["error"][0]
    return f"{len(errors):,} of {len(taken_stage.states):,} queries failed, most often: {top_error}"

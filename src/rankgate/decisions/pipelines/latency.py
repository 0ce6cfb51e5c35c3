"""How long each stage takes, and how long the pipeline takes to its end."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

import polars as pl

if TYPE_CHECKING:
    from rankgate.decisions.pipelines.taken import TakenStage

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


def latencies(taken: Sequence[TakenStage]) -> pl.DataFrame:
    """The latency of each stage alone, and of the pipeline up to it.

        total(stage) = own(stage) + max over its inputs of total(input)

    for each query: stages in a row add up, and of branches that run at the same time the slowest
    one counts. Queries that the stage did not answer have no latency.

    Args:
        taken: the stages, inputs first.

    Returns:
        ``stage``, ``does``, ``inputs``; ``ok``, ``zero`` and ``failed`` queries; ``n`` queries
        with a latency; in milliseconds ``mean``, ``p50`` and ``p95`` of the stage alone,
        ``waits`` (the mean time until its inputs are there), ``total`` (mean), ``total_p50`` and
        ``total_p95`` up to its end; ``file``, the stage's run.
    """
    totals: dict[str, pl.DataFrame] = {}
    rows = []
    for each in taken:
        own = each.states.select("query_id", own="latency_ms").drop_nulls()
        waits = _slowest([totals[name] for name in each.stage.inputs], own)
        both = own.join(waits, on="query_id", maintain_order="left")
        both = both.with_columns(total=pl.col("own") + pl.col("waits"))
        totals[each.stage.name] = both.select("query_id", "total")
        states = dict(each.states.group_by("state").len().iter_rows())
        rows.append(
            {
                "stage": each.stage.name,
                "does": each.does,
                "inputs": ", ".join(each.stage.inputs),
                **{state: states.get(state, 0) for state in ("ok", "zero", "failed")},
                "n": len(both),
                "mean": both["own"].mean(),
                "p50": both["own"].quantile(0.5, "linear"),
                "p95": both["own"].quantile(0.95, "linear"),
                "waits": both["waits"].mean(),
                "total": both["total"].mean(),
                "total_p50": both["total"].quantile(0.5, "linear"),
                "total_p95": both["total"].quantile(0.95, "linear"),
                "file": str(each.path),
            }
        )
    return pl.DataFrame(rows, schema=LATENCY)


def _slowest(inputs: Sequence[pl.DataFrame], own: pl.DataFrame) -> pl.DataFrame:
    """``query_id`` and ``waits``: when the last of the inputs is there."""
    if not inputs:
        return own.select("query_id", waits=pl.lit(0.0))
    return pl.concat(inputs).group_by("query_id").agg(waits=pl.col("total").max())


def failure(taken: TakenStage) -> str:
    """How many queries of a stage failed, and why most often; empty where none did."""
    errors = taken.states.filter(pl.col("state") == "failed")["error"].fill_null("no reason")
    if errors.is_empty():
        return ""
    most = errors.value_counts(sort=True)["error"][0]
    return f"{len(errors):,} of {len(taken.states):,} queries failed, most often: {most}"

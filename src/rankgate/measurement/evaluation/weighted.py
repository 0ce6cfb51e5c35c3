"""Means over the queries that a sample was drawn from, with design-based intervals."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from typing import TYPE_CHECKING, Any

import numpy as np
import polars as pl

from rankgate.core.errors import UsageError
from rankgate.core.present.frames import frame
from rankgate.data.sample import Sample, refuse_without
from rankgate.measurement.metrics.declare import NO_MEANS
from rankgate.measurement.metrics.views import LISTS
from rankgate.measurement.stats.interval import t_interval
from rankgate.measurement.stats.represented import Weighing, represented

if TYPE_CHECKING:
    from rankgate.data.inputs import TableLike
    from rankgate.data.scores import Scores
    from rankgate.measurement.metrics.declare import Metric

WEIGHTED: dict[str, Any] = {
    "run": pl.String, "metric": pl.String, "queries": pl.Int64, "effective": pl.Float64,
    "mean": pl.Float64, "low": pl.Float64, "high": pl.Float64, "level": pl.Float64,
}  # fmt: skip
"""One row a run and metric: the mean over the population with the ends of its interval; as many
queries of equal weight as ``effective`` tell as much."""

LEVEL = 0.95


def weighted(
    runs: Sequence[Scores], metrics: Sequence[tuple[str, Metric]], sample: Sample | TableLike
) -> tuple[tuple[Scores, ...], pl.DataFrame]:
    """Scores with the means of the population, and `WEIGHTED`.

    Raises:
        InputError: a sample that cannot be read, or lacks a judged query.
        UsageError: a metric whose number over queries is no mean.
    """
    for label, metric in metrics:
        if metric.view == LISTS or metric.aggregate in NO_MEANS:
            raise UsageError(
                f"{label} is no mean over queries, and cannot be weighted; leave it or --sample "
                "out.",
                code="unsupported-metric",
            )
    drawn = Sample.of(sample)
    refuse_without(None, drawn)
    rows: list[dict[str, Any]] = []
    results = []
    for run in runs:
        means = dict(run.means)
        for label, _ in metrics:
            values = run.values[label]
            known = ~np.isnan(values)
            queries = run.query_ids.filter(pl.Series(known)).to_list()
            weights, strata = drawn.weights(queries)
            row: dict[str, Any] = {"run": run.run, "metric": label, "queries": len(queries),
                                   "level": LEVEL}  # fmt: skip
            if queries:
                certain = None if drawn.population is not None else drawn.certain(queries)
                found = represented(
                    values[known], weights, strata, total=drawn.population, certain=certain
                )
                weighing, degrees = None, None
                if weights is not None:
                    weighing = Weighing.of(weights, strata, certain)
                    undecided = weighing.problem(found) is not None
                    degrees = float("nan") if undecided else weighing.degrees
                ends = t_interval(found.values, LEVEL, degrees=degrees)
                size = weighing.worth(found) if weighing else len(queries)
                means[label] = found.mean
                row |= {"effective": float(size), "mean": found.mean,
                        "low": float(ends.low[0]), "high": float(ends.high[0])}  # fmt: skip
            rows.append(row)
        results.append(replace(run, means=means))
    return tuple(results), frame(rows, WEIGHTED)

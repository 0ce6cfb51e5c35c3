"""Means over the queries that a sample was drawn from, with design-based intervals."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from typing import TYPE_CHECKING, Any

import numpy as np
import polars as pl

from rankgate.core.errors import UsageError
from rankgate.core.present.frames import make_frame
from rankgate.data.sample import Sample, check_predicted_sample
from rankgate.measurement.metrics.declare import NO_MEANS
from rankgate.measurement.stats.interval import t_interval
from rankgate.measurement.stats.represented import WeightPrecision, estimate_population

if TYPE_CHECKING:
    from rankgate.data.inputs import TableLike
    from rankgate.data.scores import RunScores
    from rankgate.measurement.metrics.declare import Metric

WEIGHTED: dict[str, Any] = {
    "run": pl.String,
    "metric": pl.String,
    "queries": pl.Int64,
    "effective": pl.Float64,
    "mean": pl.Float64,
    "low": pl.Float64,
    "high": pl.Float64,
    "level": pl.Float64,
}
"""One row a run and metric: the mean over the population with the ends of its interval;
``effective`` is the number of queries of equal weight with the same information."""

LEVEL = 0.95


def weight_scores(
    runs: Sequence[RunScores], metrics: Sequence[tuple[str, Metric]], sample: Sample | TableLike
) -> tuple[tuple[RunScores, ...], pl.DataFrame]:
    """Scores with the means of the population, and `WEIGHTED`.

    Raises:
        InputError: a sample that cannot be read, or lacks a judged query.
        UsageError: a metric whose number over queries is no mean.
    """
    for label, metric in metrics:
        if metric.aggregate in NO_MEANS or all(label not in run.values for run in runs):
            raise UsageError(
                f"{label} is no mean over queries, and cannot be weighted; leave it or --sample "
                "out.",
                code="unsupported-metric",
            )
    query_sample = Sample.of(sample)
    check_predicted_sample(None, query_sample)
    rows: list[dict[str, Any]] = []
    results = []
    for run in runs:
        means = dict(run.means)
        for label, _ in metrics:
            values = run.values[label]
            is_defined = ~np.isnan(values)
            queries = run.query_ids.filter(pl.Series(is_defined)).to_list()
            weights, strata = query_sample.weights(queries)
            row: dict[str, Any] = {
                "run": run.run,
                "metric": label,
                "queries": len(queries),
                "level": LEVEL,
            }
            if queries:
                certain = (
                    None if query_sample.population is not None else query_sample.certain(queries)
                )
                estimate = estimate_population(
                    values[is_defined],
                    weights,
                    strata,
                    total=query_sample.population,
                    certain=certain,
                )
                weighing, degrees = None, None
                if weights is not None:
                    weighing = WeightPrecision.of(weights, strata, certain)
                    has_no_interval = weighing.problem(estimate) is not None
                    degrees = float("nan") if has_no_interval else weighing.degrees
                ends = t_interval(estimate.values, LEVEL, degrees=degrees)
                size = weighing.worth(estimate) if weighing else len(queries)
                means[label] = estimate.mean
                row |= {
                    "effective": float(size),
                    "mean": estimate.mean,
                    "low": float(ends.low[0]),
                    "high": float(ends.high[0]),
                }
            rows.append(row)
        of_bounds: dict[str, Any] = {
            name: _weighted_means(getattr(run, name), query_sample) for name in _BOUND_FIELDS
        }
        results.append(replace(run, means=means, **of_bounds))
    return tuple(results), make_frame(rows, WEIGHTED)


_BOUND_FIELDS = ("low", "high", "all_irrelevant", "all_best")
"""Scores of a run besides its values, if bounds were asked for."""


def _weighted_means(run: RunScores | None, sample: Sample) -> RunScores | None:
    """Scores of a run with the means of the population alone."""
    if run is None:
        return None
    means = dict(run.means)
    for label, values in run.values.items():
        is_defined = ~np.isnan(values)
        queries = run.query_ids.filter(pl.Series(is_defined)).to_list()
        weights, strata = sample.weights(queries)
        if queries:
            means[label] = estimate_population(
                values[is_defined], weights, strata, total=sample.population
            ).mean
    return replace(run, means=means)

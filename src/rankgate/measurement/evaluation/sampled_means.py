"""Means with confidence intervals: of queries, slices, and sampled populations."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from typing import TYPE_CHECKING, Any

import numpy as np
import polars as pl

from rankgate.core.errors import UsageError
from rankgate.core.present.result_frames import make_frame
from rankgate.data.query_sample import Sample, check_predicted_sample
from rankgate.data.score_parts import Need, Supply
from rankgate.measurement.evaluation.evaluation_columns import INTERVALS, WEIGHTED
from rankgate.measurement.metrics.metric_declaration import NO_MEANS
from rankgate.measurement.stats.mean_intervals import t_interval
from rankgate.measurement.stats.weighted_means import WeightPrecision, estimate_population

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from rankgate.data.input_types import TableLike, TagsLike
    from rankgate.data.run_scores import RunScores
    from rankgate.measurement.metrics.metric_declaration import Metric


LEVEL = 0.95

_ROUNDING = 1e-9
_SAMPLE_SUPPLY = Supply(
    frozenset({"values"}),
    "the queries are a sample of others, with weights",
    "take the means and intervals in `weighted`",
)


def interval_of_mean(n: int, mean: float, sd: float, level: float = LEVEL) -> tuple[object, ...]:
    """The interval columns of `INTERVALS`, with mean ± t(n - 1) · sd / √n."""
    from rankgate.measurement.stats.special_functions import stdtrit

    half_width = float(stdtrit(n - 1, (1 + level) / 2)) * sd / n**0.5 if n > 1 else np.nan
    return n, mean, sd, mean - half_width, mean + half_width, level


def no_plain_mean(mean: float, level: float = LEVEL) -> tuple[object, ...]:
    """The interval columns of `INTERVALS` for a number that is not a mean of values."""
    return None, mean, None, None, None, level


def table_of(rows: list[tuple[object, ...]]) -> pl.DataFrame:
    """A table with the columns of `INTERVALS`; undefined numbers are null."""
    return make_frame(rows, INTERVALS).fill_nan(None)


def intervals_of(
    runs: Sequence[RunScores],
    metrics: Sequence[str],
    slices: pl.DataFrame | None = None,
    tags: TagsLike | None = None,
    sample: object = None,
    id_rules: str | None = None,
) -> pl.DataFrame:
    """The intervals of runs with values for single queries.

    Args:
        runs: the runs with values.
        metrics: the labels of the metrics.
        slices: the means of slices, by `slices.SCHEMA`, if any.
        tags: the tags of the queries, if there are slices.
        sample: the sample design of the queries, if given.
        id_rules: see ``Collection.ids``.

    Raises:
        UsageError: a sample design is given.
    """
    if sample is not None:
        raise _SAMPLE_SUPPLY.error("`intervals`", Need("intervals"))
    rows: list[tuple[object, ...]] = []
    for run in runs:
        for label in metrics:
            values = run.values.get(label, np.zeros(0))
            rows.append((None, None, run.run, label, *_interval_of_values(values, run.means[label])))
    if slices is not None and tags is not None:
        rows += _slice_rows(runs, slices, tags, id_rules)
    return table_of(rows)


def _interval_of_values(values: NDArray[np.float64], mean: float) -> tuple[object, ...]:
    """The interval columns of `INTERVALS` for one run and metric."""
    defined = values[~np.isnan(values)]
    if not len(defined) or abs(defined.mean() - mean) > _ROUNDING:
        return no_plain_mean(mean)
    return interval_of_mean(len(defined), mean, float(defined.std(ddof=1)) if len(defined) > 1 else np.nan)


def _slice_rows(
    runs: Sequence[RunScores], slices: pl.DataFrame, tags: TagsLike, id_rules: str | None
) -> list[tuple[object, ...]]:
    """Rows for the values of tags, in the order of the slices of the scores."""
    from rankgate.data.query_tags import matching_tags

    names = slices["tag"].unique(maintain_order=True).to_list()
    table = matching_tags(tags, runs[0].query_ids.alias("query_id"), names, id_rules)
    groups: dict[tuple[Any, ...], Any] = {}
    for tag in names:
        tagged = table.select("query_id", pl.col(tag).fill_null("(none)").alias("tag_value"))
        for run in runs:
            joined = run.table.join(tagged, on="query_id", maintain_order="left")
            parts = joined.partition_by("tag_value", "metric", as_dict=True)
            groups |= {(tag, key[0], run.run, key[1]): group["value"] for key, group in parts.items()}
    return [
        (*key, *_interval_of_values(groups[key].cast(pl.Float64).fill_null(np.nan).to_numpy(), mean))
        for *key_columns, mean in slices.select("tag", "value", "run", "metric", "mean").iter_rows()
        if (key := tuple(key_columns)) in groups
    ]


def weight_scores(
    runs: Sequence[RunScores], metrics: Sequence[tuple[str, Metric]], sample: Sample | TableLike
) -> tuple[tuple[RunScores, ...], pl.DataFrame]:
    """Scores with the means over the population, and the table `WEIGHTED`.

    Raises:
        InputError: the sample cannot be read, or lacks a judged query.
        UsageError: a metric is not a mean over queries.
    """
    for label, metric in metrics:
        if metric.aggregate in NO_MEANS or all(label not in run.values for run in runs):
            raise UsageError(
                f"{label} is not a mean over queries and cannot be weighted; leave out the metric or "
                "--sample.",
                code="unsupported-metric",
            )
    query_sample = Sample.read(sample)
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
            row: dict[str, Any] = {"run": run.run, "metric": label, "queries": len(queries), "level": LEVEL}
            if queries:
                certain = None if query_sample.population is not None else query_sample.certain(queries)
                estimate = estimate_population(
                    values[is_defined], weights, strata, total=query_sample.population, certain=certain
                )
                weighing, degrees = None, None
                if weights is not None:
                    weighing = WeightPrecision.from_weights(weights, strata, certain)
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
"""Scores of a run besides its values, if bounds were requested."""


def _weighted_means(run: RunScores | None, sample: Sample) -> RunScores | None:
    """Scores of a run with only the means over the population."""
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

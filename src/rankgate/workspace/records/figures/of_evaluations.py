"""The figures of an evaluation."""

from __future__ import annotations

import math
from dataclasses import replace
from typing import TYPE_CHECKING

import numpy as np
import polars as pl

from rankgate.store.records.new_record import Value
from rankgate.workspace.records.figures.figures import Figures, compute_means

if TYPE_CHECKING:
    from rankgate.data.scores import RunScores
    from rankgate.measurement.evaluation.scores import Scores


def evaluation_figures(result: Scores) -> Figures:
    """Means of every run with intervals, slices, and values per query where they are known."""
    tables = [_values_per_query(run, result.metrics) for run in result.runs if len(run.query_ids)]
    per_query = pl.concat(tables) if tables else None
    intervals = (
        {}
        if per_query is None
        else {(value.system, value.metric): value for value in compute_means(per_query)}
    )
    values = [
        _mean_value(
            run, metric, intervals.get((run.run, metric)), higher=metric not in result.lower
        )
        for run in result.runs
        for metric in result.metrics
    ]
    if result.slices is not None:
        values += [
            Value(
                row["metric"],
                row["run"],
                row["mean"],
                n=row["n"],
                slice=f"{row['tag']}={row['value']}",
                higher_is_better=row["metric"] not in result.lower,
            )
            for row in result.slices.iter_rows(named=True)
        ]
    first = result.runs[0]
    return Figures(
        tuple(values),
        first.run,
        per_query,
        qrels=result.qrels,
        convention=result.convention,
        summary={
            "runs": [run.run for run in result.runs],
            "metrics": list(result.metrics),
            "mean": {name: _without_nan(first.means[name]) for name in result.metrics},
        },
    )


def _values_per_query(run: RunScores, metrics: tuple[str, ...]) -> pl.DataFrame:
    """Values per query of a run, a column for each metric; metrics of all lists have no values."""
    count = len(run.query_ids)
    missing_values = np.full(count, np.nan)
    columns = {name: run.values.get(name, missing_values) for name in metrics if name in run.means}
    system = pl.Series("system", [run.run], dtype=pl.String).new_from_index(0, count)
    values = [pl.Series(name, scores).fill_nan(None) for name, scores in columns.items()]
    return pl.DataFrame([system, run.query_ids.alias("query_id"), *values])


def _mean_value(run: RunScores, metric: str, interval: Value | None, *, higher: bool) -> Value:
    """The mean by the convention, with the interval of the values."""
    mean = _without_nan(run.means[metric])
    if interval is None or interval.value is None or mean is None:
        return Value(metric, run.run, mean, n=run.counts.queries, higher_is_better=higher)
    if not math.isclose(mean, interval.value, rel_tol=1e-9, abs_tol=1e-12):
        interval = replace(interval, low=None, high=None)  # the mean is not the one of the values
    return replace(interval, value=mean, higher_is_better=higher)


def _without_nan(value: float) -> float | None:
    return None if math.isnan(value) else float(value)

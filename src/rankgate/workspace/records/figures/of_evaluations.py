"""The figures of an evaluation."""

from __future__ import annotations

import math
from dataclasses import replace
from typing import TYPE_CHECKING

import numpy as np
import polars as pl

from rankgate.store.records.new_record import Value
from rankgate.workspace.records.figures.figures import Figures, means_of

if TYPE_CHECKING:
    from rankgate.data.scores import Scores
    from rankgate.measurement.evaluation.evaluation import Evaluation


def figures(result: Evaluation) -> Figures:
    """Means of every run with intervals, slices, and values per query where they are known."""
    tables = [_table(run, result.metrics) for run in result.runs if len(run.query_ids)]
    per_query = pl.concat(tables) if tables else None
    intervals = {} if per_query is None else {
        (each.system, each.metric): each for each in means_of(per_query)}  # fmt: skip
    values = [
        _value(run, metric, intervals.get((run.run, metric)), higher=metric not in result.lower)
        for run in result.runs
        for metric in result.metrics
    ]
    if result.slices is not None:
        values += [
            Value(row["metric"], row["run"], row["mean"], n=row["n"],
                  slice=f"{row['tag']}={row['value']}",
                  higher_is_better=row["metric"] not in result.lower)
            for row in result.slices.iter_rows(named=True)
        ]  # fmt: skip
    first = result.runs[0]
    return Figures(
        tuple(values), first.run, per_query, qrels=result.qrels, convention=result.convention,
        summary={
            "runs": [run.run for run in result.runs], "metrics": list(result.metrics),
            "mean": {name: _known(first.means[name]) for name in result.metrics},
        },
    )  # fmt: skip


def _table(run: Scores, metrics: tuple[str, ...]) -> pl.DataFrame:
    """The values of a run, a column a metric; a metric about all lists together has no values."""
    count = len(run.query_ids)
    nothing = np.full(count, np.nan)
    columns = {name: run.values.get(name, nothing) for name in metrics if name in run.means}
    system = pl.Series("system", [run.run], dtype=pl.String).new_from_index(0, count)
    values = [pl.Series(name, each).fill_nan(None) for name, each in columns.items()]
    return pl.DataFrame([system, run.query_ids.alias("query_id"), *values])


def _value(run: Scores, metric: str, found: Value | None, *, higher: bool) -> Value:
    """The mean as the convention has it, with the interval of the values."""
    mean = _known(run.means[metric])
    if found is None or found.value is None or mean is None:
        return Value(metric, run.run, mean, n=run.counts.queries, higher_is_better=higher)
    if not math.isclose(mean, found.value, rel_tol=1e-9, abs_tol=1e-12):
        found = replace(found, low=None, high=None)  # it is another mean than that of the values
    return replace(found, value=mean, higher_is_better=higher)


def _known(value: float) -> float | None:
    return None if math.isnan(value) else float(value)

"""The recorded figures of each kind of result, with values per query.

The figures depend on the kind of result:

- evaluations,
- comparisons, and a gate's verdict,
- scorecards,
- snapshots: latency, failed queries, queries without results,
- logs: KPIs, and arms of an experiment.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Collection, Mapping, Sequence
from dataclasses import field, replace
from datetime import UTC, datetime
from typing import TYPE_CHECKING, Any

import numpy as np
import polars as pl

from rankgate.core.frozen import dataclass
from rankgate.data.table_rows import hash_table
from rankgate.online.indicators.kpi_catalogue import KPIS
from rankgate.store.records.records import Value

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from rankgate.core.present.base_result import Result
    from rankgate.core.value_types import JsonObject
    from rankgate.data.run_scores import RunScores
    from rankgate.decisions.comparison.comparison import Comparison, Comparisons
    from rankgate.decisions.gating.verdict import Verdict
    from rankgate.engines.snapshots.snapshot import Snapshot
    from rankgate.measurement.evaluation.scores import Scores
    from rankgate.online.experiments.experiment_result import Experiment
    from rankgate.online.indicators.kpi_table import KpiTable
    from rankgate.recommenders.scorecard import Scorecard


_KEYS = ("system", "query_id")


@dataclass(frozen=True)
class Figures:
    """The recorded figures of a result.

    Attributes:
        values: the figures.
        system: the system of the result.
        per_query: ``system``, ``query_id``, and a column for each metric.
        qrels: the name of the judgments.
        qrels_sha256: the hash of the judgments, if the result has it.
        convention: the name, hash and axes of the convention; empty without a convention.
        runs: the SHA-256 of each system's run, if the result has it.
        verdict: the verdict of a gate.
        summary: the values shown in lists.
        at: the time that the result itself states.
    """

    values: tuple[Value, ...] = ()
    system: str = ""
    per_query: pl.DataFrame | None = None
    qrels: str = ""
    qrels_sha256: str = ""
    convention: JsonObject = field(default_factory=dict)
    runs: Mapping[str, str] = field(default_factory=dict)
    verdict: str | None = None
    summary: JsonObject = field(default_factory=dict)
    at: datetime | None = None

    @property
    def queries_sha256(self) -> str:
        """The hash of the ids of queries with values; empty without queries."""
        if self.per_query is None or self.per_query.is_empty():
            return ""
        return hash_table(self.per_query.select(pl.col("query_id").unique().sort()))


def compute_means(per_query: pl.DataFrame, lower: Collection[str] = ()) -> list[Value]:
    """The mean of each system and metric with Student's 95 % interval.

    Args:
        per_query: ``system``, ``query_id``, and a column for each metric.
        lower: metrics for which lower values are better.
    """
    means = []
    for (system,), rows in per_query.group_by("system", maintain_order=True):
        for metric in rows.columns[len(_KEYS) :]:
            query_values = rows[metric].drop_nulls().drop_nans().to_numpy()
            value, low, high = mean_with_interval(query_values)
            means.append(
                Value(
                    metric,
                    str(system),
                    value,
                    low,
                    high,
                    len(query_values),
                    higher_is_better=metric not in lower,
                )
            )
    return means


def mean_with_interval(values: NDArray[np.float64]) -> tuple[float | None, float | None, float | None]:
    """A mean with Student's 95 % interval; None for too few values."""
    from rankgate.measurement.stats.mean_intervals import t_interval

    if not len(values):
        return None, None, None
    intervals = t_interval(values)
    low, high = float(intervals.low[0]), float(intervals.high[0])
    mean = float(intervals.mean[0])
    return (mean, None, None) if np.isnan(low) else (mean, low, high)


def evaluation_figures(result: Scores) -> Figures:
    """Means of every run with intervals, slices, and values per query if known."""
    tables = [_values_of_run(run, result.metrics) for run in result.runs if len(run.query_ids)]
    per_query = pl.concat(tables) if tables else None
    intervals = (
        {}
        if per_query is None
        else {(value.system, value.metric): value for value in compute_means(per_query)}
    )
    values = [
        _mean_value(run, metric, intervals.get((run.run, metric)), higher=metric not in result.lower)
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


def _values_of_run(run: RunScores, metrics: tuple[str, ...]) -> pl.DataFrame:
    """Values per query of a run, one column per metric; metrics of all lists have no values."""
    count = len(run.query_ids)
    missing_values = np.full(count, np.nan)
    columns = {name: run.values.get(name, missing_values) for name in metrics if name in run.means}
    system = pl.Series("system", [run.run], dtype=pl.String).new_from_index(0, count)
    values = [pl.Series(name, scores).fill_nan(None) for name, scores in columns.items()]
    return pl.DataFrame([system, run.query_ids.alias("query_id"), *values])


def _mean_value(run: RunScores, metric: str, interval: Value | None, *, higher: bool) -> Value:
    """The mean of the convention, with the interval of the values."""
    mean = _without_nan(run.means[metric])
    if interval is None or interval.value is None or mean is None:
        return Value(metric, run.run, mean, n=run.counts.queries, higher_is_better=higher)
    if not math.isclose(mean, interval.value, rel_tol=1e-9, abs_tol=1e-12):
        interval = replace(interval, low=None, high=None)  # not the mean of the values
    return replace(interval, value=mean, higher_is_better=higher)


def _without_nan(value: float) -> float | None:
    return None if math.isnan(value) else float(value)


def comparison_figures(result: Comparisons) -> Figures:
    """Means and slices of every candidate, and values per query of all systems."""
    return _figures_of_comparisons(result.comparisons)


def verdict_figures(result: Verdict) -> Figures:
    """The figures of a verdict's comparison, and the verdict."""
    digests = dict(result.hashes)
    role_names = zip(("baseline", "candidate"), result.names, strict=True)
    runs = {name: str(digests[key]) for key, name in role_names if digests.get(key)}
    base_figures = (
        Figures(convention=result.convention, qrels_sha256=str(digests.get("qrels") or ""))
        if result.comparison is None
        else _figures_of_comparisons((result.comparison,))
    )
    rules = [
        {"id": rule_result.rule.id, "status": rule_result.outcome.status} for rule_result in result.rules
    ]
    return replace(
        base_figures,
        system=result.names[1],
        verdict=result.verdict,
        runs={**base_figures.runs, **runs},
        summary={**base_figures.summary, "verdict": result.verdict, "rules": rules},
    )


def _figures_of_comparisons(comparisons: Sequence[Comparison]) -> Figures:
    first = comparisons[0]
    candidates = [_values_of_system(comparison, "candidate") for comparison in comparisons]
    per_query = pl.concat([_values_of_system(first, "baseline"), *candidates], how="diagonal")
    # a baseline was evaluated when it was new: it begins no series here
    values = compute_means(pl.concat(candidates, how="diagonal"), first.lower)
    for comparison in comparisons:
        values += [
            Value(
                row["metric"],
                comparison.candidate.name,
                row["candidate"],
                n=row["n"],
                slice=f"{row['tag']}={row['value']}",
                higher_is_better=row["metric"] not in comparison.lower,
            )
            for row in comparison.slices.iter_rows(named=True)
        ]
    runs = {
        system.name: system.sha256
        for system in (first.baseline, *(comparison.candidate for comparison in comparisons))
    }
    differences = [
        {
            "candidate": comparison.candidate.name,
            **{key: row[key] for key in ("metric", "delta", "low", "high", "p_value")},
        }
        for comparison in comparisons
        for row in comparison.metrics.iter_rows(named=True)
    ]
    return Figures(
        tuple(values),
        comparisons[-1].candidate.name,
        per_query,
        first.qrels,
        first.qrels_sha256,
        first.convention,
        runs,
        summary={"baseline": first.baseline.name, "differences": differences},
    )


def _values_of_system(comparison: Comparison, role: str) -> pl.DataFrame:
    """``system``, ``query_id``, and a column for each metric, for the baseline or the candidate."""
    name = getattr(comparison, role).name
    values = comparison.queries.select("query_id", "metric", role).pivot(
        "metric", index="query_id", values=role
    )
    return values.sort("query_id").select(pl.lit(name).alias("system"), pl.all())


def scorecard_figures(result: Scorecard) -> Figures:
    """Every figure of every system with its interval, and slices, without values per user."""
    higher_is_better = {}
    values = []
    for row in result.figures.iter_rows(named=True):
        higher_is_better[row["metric"]] = row["higher_is_better"]
        values.append(
            Value(
                row["metric"],
                row["system"],
                row["value"],
                row["low"],
                row["high"],
                row["users"] or 0,
                higher_is_better=row["higher_is_better"],
            )
        )
    values += [
        Value(
            row["metric"],
            row["system"],
            row["value"],
            row["low"],
            row["high"],
            row["size"] or 0,
            slice=f"{row['slice']}={row['part']}",
            higher_is_better=higher_is_better.get(row["metric"], True),
        )
        for row in result.slices.iter_rows(named=True)
    ]
    return Figures(
        tuple(values),
        result.systems[-1],
        qrels=result.qrels,
        convention=result.convention,
        summary={"systems": list(result.systems), "metrics": list(result.metrics)},
    )


_LOWER_IS_BETTER = ("latency_ms", "failed", "zero_results")


def snapshot_figures(result: Snapshot) -> Figures:
    """Mean latency, the share of failed queries, and the share of queries without results.

    Where queries failed, the mean of the latencies is a lower bound, and has no interval.
    """
    queries = result.queries.filter(pl.col("state") != "not_run")
    state = pl.col("state")
    per_query = queries.select(
        pl.lit(result.engine).alias("system"),
        "query_id",
        "latency_ms",
        (state == "failed").cast(pl.Float64).alias("failed"),
        (state == "zero").cast(pl.Float64).alias("zero_results"),
    )
    is_bound = (queries["state"] == "failed").any()
    values = [
        replace(value, low=None, high=None) if is_bound and value.metric == "latency_ms" else value
        for value in compute_means(per_query, _LOWER_IS_BETTER)
    ]
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


LOG_SYSTEM = "users"
"""The system name of KPIs of a full log."""


def kpi_figures(result: KpiTable) -> Figures:
    """Every KPI in total and by slice; days are not slices, but points of a series."""
    values = tuple(
        Value(
            row["kpi"],
            LOG_SYSTEM,
            row["value"],
            n=row["n"] or 0,
            slice="" if row["by"] == "all" else f"{row['by']}={row['slice']}",
            higher_is_better=_is_higher_better(row["kpi"]),
        )
        for row in result.values.filter(pl.col("by") != "day").iter_rows(named=True)
    )
    return Figures(values, LOG_SYSTEM, summary={"events": result.events}, at=_parse_moment(result.last))


def split_by_day(result: KpiTable) -> list[KpiTable]:
    """Split a table by day, so that each day is a point of a series; keep a table without days."""
    daily_values = result.values.filter(pl.col("by") == "day")
    days = daily_values["slice"].drop_nulls().unique().sort()
    if not len(days):
        return [result]
    total = pl.lit("all")
    return [
        replace(
            result,
            first=day,
            last=day,
            blocked=result.blocked,
            values=daily_values.filter(pl.col("slice") == day).with_columns(by=total, slice=total),
        )
        for day in days
    ]


def experiment_figures(result: Experiment) -> Figures:
    """The figure of each arm for each metric."""
    values: dict[tuple[str, str], Value] = {}
    for row in result.metrics.iter_rows(named=True):
        higher_is_better = row["better"] != "down"
        for arm, value, n in (
            (result.control, row["control"], row["n_control"]),
            (row["variant"], row["treatment"], row["n"]),
        ):
            figure = Value(row["metric"], arm, value, n=n or 0, higher_is_better=higher_is_better)
            values.setdefault((row["metric"], arm), figure)
    return Figures(tuple(values.values()), result.control, at=_parse_moment(result.period[1]))


def _is_higher_better(name: str) -> bool:
    return KPIS[name].better != "down" if name in KPIS else True


def _parse_moment(text: str) -> datetime | None:
    if not text:
        return None
    moment = datetime.fromisoformat(text)
    return moment if moment.tzinfo else moment.replace(tzinfo=UTC)


_FIGURES_OF: dict[str, Callable[[Any], Figures]] = {
    "evaluation": evaluation_figures,
    "comparison": comparison_figures,
    "verdict": verdict_figures,
    "scorecard": scorecard_figures,
    "snapshot": snapshot_figures,
    "kpi_table": kpi_figures,
    "experiment": experiment_figures,
}
"""The function for each kind of result."""


def figures_of(result: Result) -> Figures:
    """The figures of a result; a kind without figures is recorded without them."""
    make_figures = _FIGURES_OF.get(result.kind)
    return Figures() if make_figures is None else make_figures(result)

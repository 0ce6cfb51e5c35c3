"""Align the values of two runs by query; report excluded values."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import TYPE_CHECKING

import numpy as np
import polars as pl

from rankgate.core.errors import UsageError
from rankgate.core.frozen import dataclass
from rankgate.measurement.stats.clusters import QueryClusters

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from rankgate.data.comparison import ScoredRun

    Floats = NDArray[np.float64]

_MAX_NAMED = 3


@dataclass(frozen=True)
class PairedValues:
    """The values of two systems on the queries that are compared.

    Attributes:
        query_ids: (T,).
        metrics: (M,), in the baseline's order.
        baseline, candidate: (T, M), NaN where undefined.
        signs: (M,) 1 if more is better, -1 if less is better.
        excluded: ``query_id``, ``metric``, ``reason``.
        degrees: (M,) degrees of freedom of the error of a column's mean, NaN where nothing can be
            inferred from it; None where they are n − 1 in all columns.
        problems: (M,) why nothing can be inferred from a column, empty where something can; no
            values where that holds for all columns.
    """

    query_ids: list[str]
    metrics: tuple[str, ...]
    baseline: Floats
    candidate: Floats
    signs: Floats
    excluded: pl.DataFrame
    degrees: Floats | None = None
    problems: tuple[str, ...] = ()

    @property
    def gains(self) -> Floats:
        """(T, M) gains of the candidate; below 0 if it is worse."""
        return self.signs * (self.candidate - self.baseline)

    def in_units(self, clusters: Mapping[str, str]) -> PairedValues:
        """The values of clusters, each in the row of its first query; other rows are NaN.

        The mean of a column stays that of its queries. See
        `rankgate.measurement.stats.clusters.QueryClusters.values`.
        """
        if not clusters:
            return self
        is_defined = ~np.isnan(self.baseline + self.candidate)
        baseline, candidate = (
            np.full_like(values, np.nan) for values in (self.baseline, self.candidate)
        )
        degrees = np.full(len(self.metrics), np.nan)
        has_equal_weights, problems = True, [""] * len(self.metrics)
        for j, rows in enumerate(map(np.flatnonzero, is_defined.T)):
            units = QueryClusters.of([self.query_ids[row] for row in rows], clusters)
            delta = (self.candidate - self.baseline)[rows, j]
            baseline[rows[units.first], j] = units.values(self.baseline[rows, j])
            candidate[rows[units.first], j] = units.values(self.candidate[rows, j])
            has_equal_weights = has_equal_weights and units.equal
            if (problem := units.problem(delta)) is None:
                degrees[j] = units.weighing.degrees
            else:
                problems[j] = f"{problem[1]}: no interval is given; leave out copies of queries."
        if has_equal_weights:
            return replace(self, baseline=baseline, candidate=candidate)
        return replace(
            self, baseline=baseline, candidate=candidate, degrees=degrees, problems=tuple(problems)
        )


def pair_values(baseline: ScoredRun, candidate: ScoredRun, unequal: str) -> PairedValues:
    """Join the values of two systems by query, with excluded values and reasons.

    Raises:
        UsageError: queries that only one system ran, where ``unequal`` is ``refuse``.
    """
    baseline_missing, candidate_missing = _missing_queries(baseline), _missing_queries(candidate)
    unequal_queries = sorted(baseline_missing ^ candidate_missing)
    if unequal == "refuse":
        missing_by_system = {
            baseline.name: baseline_missing - candidate_missing,
            candidate.name: candidate_missing - baseline_missing,
        }
        failed = [
            not (baseline_missing ^ candidate_missing).isdisjoint(
                system.queries.filter(state="failed")["query_id"]
            )
            for system in (baseline, candidate)
        ]
        counts = {
            name: (len(query_ids), sorted(query_ids))
            for name, query_ids in missing_by_system.items()
        }
        refuse_unequal(counts, failed=any(failed))
    baseline_scores, candidate_scores = (
        system.scores.select("query_id", "metric", "value", "why")
        for system in (baseline, candidate)
    )
    joined = baseline_scores.join(
        candidate_scores, on=["query_id", "metric"], how="full", coalesce=True, suffix="_other"
    )
    dropped = unequal_queries if unequal == "drop" else []
    joined = joined.filter(~pl.col("query_id").is_in(dropped))
    query_ids = joined["query_id"].unique().sort().to_list()
    metrics = baseline.metrics
    return PairedValues(
        query_ids,
        metrics,
        _matrix(joined, "value", query_ids, metrics),
        _matrix(joined, "value_other", query_ids, metrics),
        metric_signs(metrics, candidate.lower),
        _excluded_rows(dropped, joined),
    )


def metric_signs(metrics: Sequence[str], lower: Sequence[str]) -> Floats:
    """(M,) 1 for a metric that is better when higher, -1 for one that is better when lower."""
    return np.array([-1.0 if metric in lower else 1.0 for metric in metrics])


_EXCLUDED = {"query_id": pl.String, "metric": pl.String, "reason": pl.String}


def _excluded_rows(dropped: list[str], joined: pl.DataFrame) -> pl.DataFrame:
    """Queries and values that only one system has, with the reason of their exclusion."""
    dropped_rows = {"query_id": dropped, "metric": None, "reason": "only one of the systems ran it"}
    hole = joined.filter(pl.col("value").is_null() | pl.col("value_other").is_null())
    reason = pl.coalesce("why", "why_other", pl.lit("no value on one side")).alias("reason")
    return pl.concat(
        [
            pl.DataFrame(dropped_rows, schema=_EXCLUDED),
            hole.select("query_id", "metric", reason).sort("metric", "query_id"),
        ]
    )


def _missing_queries(system: ScoredRun) -> set[str]:
    return set(system.scores.filter(pl.col("why") == "missing")["query_id"].to_list())


def refuse_unequal(
    missing_by_system: Mapping[str, tuple[int, Sequence[str]]], *, failed: bool = False
) -> None:
    """Check that systems ran the same queries.

    Args:
        missing_by_system: by system, the number and the first of the queries that it lacks.
        failed: true if a system failed at some of them, which is not a value of 0.

    Raises:
        UsageError: they ran different queries.
    """
    sentences = [
        f"{name} lacks {count} quer{'y' if count == 1 else 'ies'} that the other ran "
        f"({', '.join(query_ids[:_MAX_NAMED])}{', …' if count > _MAX_NAMED else ''})"
        for name, (count, query_ids) in missing_by_system.items()
        if count
    ]
    if sentences:
        remedy = "set unequal = zero if they returned nothing, to treat them as missing queries"
        if failed:
            remedy = "as they failed, take the snapshot again"
        problem = (
            f"{' and '.join(sentences)}; {remedy}, or unequal = drop to leave them out of both."
        )
        raise UsageError(problem, code="values-differ")


def _matrix(
    table: pl.DataFrame, column: str, query_ids: list[str], metrics: Sequence[str]
) -> Floats:
    row_of_query = {query: i for i, query in enumerate(query_ids)}
    matrix = np.full((len(query_ids), len(metrics)), np.nan)
    for j, metric in enumerate(metrics):
        metric_rows = table.filter(pl.col("metric") == metric)
        rows = (
            metric_rows["query_id"].replace_strict(row_of_query, return_dtype=pl.Int64).to_numpy()
        )
        matrix[rows, j] = metric_rows[column].fill_null(float("nan")).to_numpy()
    return matrix

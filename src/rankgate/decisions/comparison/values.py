"""Align the values of two runs by query; report what is left out."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import TYPE_CHECKING

import numpy as np
import polars as pl

from rankgate.core.errors import UsageError
from rankgate.core.frozen import dataclass
from rankgate.measurement.stats.clusters import Units

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from rankgate.data.comparison import ScoredRun

    Floats = NDArray[np.float64]

_SHOWN = 3


@dataclass(frozen=True)
class PairedValues:
    """The values of two systems on the queries that are compared.

    Attributes:
        query_ids: (T,).
        metrics: (M,), in the baseline's order.
        baseline, candidate: (T, M), NaN where undefined.
        signs: (M,) 1 where more is better, -1 where less is.
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
        """(T, M) by how much the candidate is better; below 0 where it is worse."""
        return self.signs * (self.candidate - self.baseline)

    def in_units(self, clusters: Mapping[str, str]) -> PairedValues:
        """The values of clusters, each in the row of its first query; other rows are NaN.

        The mean of a column stays that of its queries. See
        `rankgate.measurement.stats.clusters.Units.values`.
        """
        if not clusters:
            return self
        known = ~np.isnan(self.baseline + self.candidate)
        base, other = (np.full_like(values, np.nan) for values in (self.baseline, self.candidate))
        degrees = np.full(len(self.metrics), np.nan)
        equal, problems = True, [""] * len(self.metrics)
        for j, rows in enumerate(map(np.flatnonzero, known.T)):
            units = Units.of([self.query_ids[row] for row in rows], clusters)
            delta = (self.candidate - self.baseline)[rows, j]
            base[rows[units.first], j] = units.values(self.baseline[rows, j])
            other[rows[units.first], j] = units.values(self.candidate[rows, j])
            equal = equal and units.equal
            if (problem := units.problem(delta)) is None:
                degrees[j] = units.weighing.degrees
            else:
                problems[j] = f"{problem[1]}: no interval is given; leave out copies of queries."
        if equal:
            return replace(self, baseline=base, candidate=other)
        return replace(
            self, baseline=base, candidate=other, degrees=degrees, problems=tuple(problems)
        )


def values_of(baseline: ScoredRun, candidate: ScoredRun, unequal: str) -> PairedValues:
    """Values side by side, with what is left out and why.

    Raises:
        UsageError: queries that only one system ran, where ``unequal`` is ``refuse``.
    """
    one, two = _lacking(baseline), _lacking(candidate)
    apart = sorted(one ^ two)
    if unequal == "refuse":
        lacking = {baseline.name: one - two, candidate.name: two - one}
        failed = [
            not (one ^ two).isdisjoint(system.queries.filter(state="failed")["query_id"])
            for system in (baseline, candidate)
        ]
        counts = {name: (len(some), sorted(some)) for name, some in lacking.items()}
        refuse_unequal(counts, failed=any(failed))
    ours, theirs = (
        system.scores.select("query_id", "metric", "value", "why")
        for system in (baseline, candidate)
    )
    both = ours.join(theirs, on=["query_id", "metric"], how="full", coalesce=True, suffix="_other")
    dropped = apart if unequal == "drop" else []
    both = both.filter(~pl.col("query_id").is_in(dropped))
    query_ids = both["query_id"].unique().sort().to_list()
    metrics = baseline.metrics
    return PairedValues(
        query_ids,
        metrics,
        _matrix(both, "value", query_ids, metrics),
        _matrix(both, "value_other", query_ids, metrics),
        signs_of(metrics, candidate.lower),
        _excluded(dropped, both),
    )


def signs_of(metrics: Sequence[str], lower: Sequence[str]) -> Floats:
    """(M,) 1 for a metric that is better when higher, -1 for one that is better when lower."""
    return np.array([-1.0 if metric in lower else 1.0 for metric in metrics])


_EXCLUDED = {"query_id": pl.String, "metric": pl.String, "reason": pl.String}


def _excluded(dropped: list[str], both: pl.DataFrame) -> pl.DataFrame:
    """What has no part in the comparison, and why: queries of one system, values of one system."""
    apart = {"query_id": dropped, "metric": None, "reason": "only one of the systems ran it"}
    hole = both.filter(pl.col("value").is_null() | pl.col("value_other").is_null())
    why = pl.coalesce("why", "why_other", pl.lit("no value on one side")).alias("reason")
    return pl.concat(
        [
            pl.DataFrame(apart, schema=_EXCLUDED),
            hole.select("query_id", "metric", why).sort("metric", "query_id"),
        ]
    )


def _lacking(system: ScoredRun) -> set[str]:
    return set(system.scores.filter(pl.col("why") == "missing")["query_id"].to_list())


def refuse_unequal(
    lacking: Mapping[str, tuple[int, Sequence[str]]], *, failed: bool = False
) -> None:
    """Check that systems ran the same queries.

    Args:
        lacking: for each system how many queries only the other ran, and the first of them.
        failed: whether the other system failed at some of them, which is no result of 0.

    Raises:
        UsageError: they did not.
    """
    items = [
        f"{name} lacks {count} quer{'y' if count == 1 else 'ies'} that the other ran "
        f"({', '.join(some[:_SHOWN])}{', …' if count > _SHOWN else ''})"
        for name, (count, some) in lacking.items()
        if count
    ]
    if items:
        remedy = "set unequal = zero if they returned nothing, to treat them as missing queries"
        if failed:
            remedy = "as they failed, take the snapshot again"
        problem = f"{' and '.join(items)}; {remedy}, or unequal = drop to leave them out of both."
        raise UsageError(problem, code="values-differ")


def _matrix(
    table: pl.DataFrame, column: str, query_ids: list[str], metrics: Sequence[str]
) -> Floats:
    place = {query: i for i, query in enumerate(query_ids)}
    found = np.full((len(query_ids), len(metrics)), np.nan)
    for j, metric in enumerate(metrics):
        own = table.filter(pl.col("metric") == metric)
        rows = own["query_id"].replace_strict(place, return_dtype=pl.Int64).to_numpy()
        found[rows, j] = own[column].fill_null(float("nan")).to_numpy()
    return found

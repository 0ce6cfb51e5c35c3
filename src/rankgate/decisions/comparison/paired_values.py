"""Paired values of two runs by query, and their figures.

The values of two runs are aligned by query, and excluded values are reported. Arrays of paired
values have one column per metric, one row per query, and NaN for undefined values.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import TYPE_CHECKING, Literal

import numpy as np
import polars as pl

from rankgate.core.errors import UsageError
from rankgate.core.frozen import dataclass
from rankgate.core.present.number_formats import count_noun
from rankgate.decisions.comparison.inference import MAX_INTERVAL_RESAMPLES
from rankgate.measurement.stats.paired_tests import TIE
from rankgate.measurement.stats.weighted_means import QueryClusters

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from rankgate.core.arrays import Floats
    from rankgate.data.run_scores import ScoredRun
    from rankgate.decisions.comparison.inference import Test
    from rankgate.measurement.stats.mean_intervals import Intervals


_MAX_NAMED = 3


@dataclass(frozen=True)
class PairedValues:
    """The values of two systems on the queries that are compared.

    Attributes:
        query_ids: (T,) the queries.
        metrics: (M,) the metrics, in the baseline's order.
        baseline, candidate: (T, M) the values; NaN if undefined.
        signs: (M,) 1 if more is better, -1 if less is better.
        excluded: ``query_id``, ``metric``, ``reason``.
        degrees: (M,) degrees of freedom of the error of a column's mean, NaN for columns that allow
            no inference; None if they are n − 1 in all columns.
        problems: (M,) the reason why a column allows no inference, else empty; no values if all
            columns allow inference.
        seeds: (T, M, R) the values with each of R seeds, for each system with several; ``baseline``
            and ``candidate`` are then means over seeds.
    """

    query_ids: list[str]
    metrics: tuple[str, ...]
    baseline: Floats
    candidate: Floats
    signs: Floats
    excluded: pl.DataFrame
    degrees: Floats | None = None
    problems: tuple[str, ...] = ()
    seeds: tuple[Floats, ...] = ()

    @property
    def gains(self) -> Floats:
        """(T, M) gains of the candidate; below 0 if it is worse."""
        return self.signs * (self.candidate - self.baseline)

    def in_units(self, clusters: Mapping[str, str]) -> PairedValues:
        """The values of clusters, each in the row of its first query; other rows are NaN.

        The mean of a column stays that of its queries. See
        `rankgate.measurement.stats.weighted_means.QueryClusters.values`.
        """
        if not clusters:
            return self
        is_defined = ~np.isnan(self.baseline + self.candidate)
        baseline, candidate = (np.full_like(values, np.nan) for values in (self.baseline, self.candidate))
        degrees = np.full(len(self.metrics), np.nan)
        has_equal_weights, problems = True, [""] * len(self.metrics)
        for j, rows in enumerate(map(np.flatnonzero, is_defined.T)):
            units = QueryClusters.from_queries([self.query_ids[row] for row in rows], clusters)
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

    def with_seed_error(self, level: float) -> PairedValues:
        """Values with the same mean differences, whose spread has that between seeds in it.

        See `rankgate.measurement.stats.seed_variance.widen`.
        """
        from rankgate.measurement.stats.seed_variance import LEAST_SEEDS, widen

        delta, degrees = self.candidate - self.baseline, np.zeros(len(self.metrics))
        for j, column in enumerate(delta.T):
            rows = np.flatnonzero(~np.isnan(column))
            if len(rows) > 1:
                column[rows], degrees[j] = widen(
                    column[rows], [table[rows, j] for table in self.seeds], level
                )
        problem = f"no interval is given: it needs {LEAST_SEEDS} seeds of a system or more."
        problems = tuple(problem * bool(np.isnan(df)) for df in degrees)
        return replace(self, candidate=self.baseline + delta, degrees=degrees, problems=problems, seeds=())


def pair_values(baseline: ScoredRun, candidate: ScoredRun, unequal: str) -> PairedValues:
    """Join the values of two systems by query, with excluded values and reasons.

    Raises:
        UsageError: queries that only one system ran, if ``unequal`` is ``refuse``.
    """
    return pair_with_candidates(baseline, [candidate], unequal)[0]


def pair_with_candidates(
    baseline: ScoredRun, candidates: Sequence[ScoredRun], unequal: str
) -> list[PairedValues]:
    """Join the values of a baseline with those of each candidate, as `pair_values`.

    Raises:
        UsageError: queries that only one of two systems ran, if ``unequal`` is ``refuse``.
    """
    systems = [baseline, *candidates]
    table = ValueTable.of_runs([*systems, *(seed for system in systems for seed in system.seeds)])
    ends = np.cumsum([len(systems), *(len(system.seeds) for system in systems)])
    missing_in_baseline = _missing_queries(baseline)
    pairs = []
    for column, candidate in enumerate(candidates, 1):
        missing_in_candidate = _missing_queries(candidate)
        unequal_queries = sorted(missing_in_baseline ^ missing_in_candidate)
        if unequal == "refuse" and unequal_queries:
            missing_by_system = {
                baseline.name: missing_in_baseline - missing_in_candidate,
                candidate.name: missing_in_candidate - missing_in_baseline,
            }
            counts = {
                name: (len(query_ids), sorted(query_ids)) for name, query_ids in missing_by_system.items()
            }
            failed_queries = {
                query_id
                for system in (baseline, candidate)
                for query_id in system.queries.filter(state="failed")["query_id"]
            }
            refuse_unequal(counts, failed=not failed_queries.isdisjoint(unequal_queries))
        dropped = unequal_queries if unequal == "drop" else []
        is_compared = table.has_rows[:, [0, column]].any(axis=1)
        if dropped:
            is_compared &= ~table.query_ids.is_in(dropped).to_numpy()
        query_ids = table.query_ids.filter(pl.Series(is_compared)).to_list()
        baseline_values, candidate_values = (
            np.ascontiguousarray(table.values[is_compared, :, system]) for system in (0, column)
        )
        all_defined = not np.isnan(baseline_values + candidate_values).any()
        pairs.append(
            PairedValues(
                query_ids,
                baseline.metrics,
                baseline_values,
                candidate_values,
                metric_signs(baseline.metrics, candidate.lower),
                _excluded_rows(dropped, baseline, candidate, all_defined=all_defined),
                seeds=tuple(
                    table.values[is_compared, :, ends[system] : ends[system + 1]]
                    for system in (0, column)
                    if ends[system + 1] > ends[system] + 1
                ),
            )
        )
    return pairs


@dataclass(frozen=True)
class ValueTable:
    """The values of several systems by the same metrics.

    Attributes:
        query_ids: (T,) the queries of all systems, sorted.
        values: (T, M, S) the values; NaN for missing values.
        has_rows: (T, S) true if a system has rows of a query, with or without values.
    """

    query_ids: pl.Series
    values: Floats
    has_rows: NDArray[np.bool_]

    @classmethod
    def of_runs(cls, runs: Sequence[ScoredRun]) -> ValueTable:
        """Join the values of systems by query and by the metrics of the first system."""
        metrics = list(runs[0].metrics)
        tables = [run.scores.select("query_id", "metric", "value") for run in runs]
        systems = np.repeat(np.arange(len(runs)), [*map(len, tables)])
        rows = pl.concat(tables).with_columns(system=systems)
        rows = rows.filter(pl.col("metric").is_in(metrics))
        query_ids = rows["query_id"].unique().sort()
        query = rows["query_id"].rank("dense").to_numpy() - 1
        metric = rows["metric"].replace_strict(metrics, range(len(metrics)), return_dtype=pl.Int64)
        system = rows["system"].to_numpy()
        values = np.full((len(query_ids), len(metrics), len(runs)), np.nan)
        values[query, metric.to_numpy(), system] = rows["value"].fill_null(float("nan"))
        has_rows = np.zeros((len(query_ids), len(runs)), np.bool_)
        has_rows[query, system] = True
        return cls(query_ids, values, has_rows)


def metric_signs(metrics: Sequence[str], lower: Sequence[str]) -> Floats:
    """(M,) 1 for a metric that is better when higher, -1 for one that is better when lower."""
    return np.array([-1.0 if metric in lower else 1.0 for metric in metrics])


_EXCLUDED = {"query_id": pl.String, "metric": pl.String, "reason": pl.String}


def _excluded_rows(
    dropped: list[str], baseline: ScoredRun, candidate: ScoredRun, *, all_defined: bool
) -> pl.DataFrame:
    """Queries and values that only one system has, with the reason of their exclusion."""
    dropped_rows = {"query_id": dropped, "metric": None, "reason": "only one of the systems ran it"}
    excluded = pl.DataFrame(dropped_rows, schema=_EXCLUDED)
    if all_defined:
        return excluded
    scores, candidate_scores = (
        system.scores.select("query_id", "metric", "value", "why") for system in (baseline, candidate)
    )
    joined = scores.join(
        candidate_scores, on=["query_id", "metric"], how="full", coalesce=True, suffix="_other"
    ).filter(~pl.col("query_id").is_in(dropped))
    hole = joined.filter(pl.col("value").is_null() | pl.col("value_other").is_null())
    reason = pl.coalesce("why", "why_other", pl.lit("no value on one side")).alias("reason")
    return pl.concat([excluded, hole.select("query_id", "metric", reason).sort("metric", "query_id")])


def _missing_queries(system: ScoredRun) -> set[str]:
    return set(system.scores.filter(pl.col("why") == "missing")["query_id"].to_list())


def unequal_warnings(baseline: ScoredRun, candidate: ScoredRun, unequal: str) -> list[str]:
    """A sentence on the queries that only one of two systems ran."""
    query_ids = sorted(_missing_queries(baseline) ^ _missing_queries(candidate))
    effect = "left out" if unequal == "drop" else "counted as 0 for the other one"
    queries = count_noun(len(query_ids), "query was", "queries were")
    return [f"{queries} run by only one system and {effect}, such as {query_ids[0]}."] if query_ids else []


def refuse_unequal(
    missing_by_system: Mapping[str, tuple[int, Sequence[str]]], *, failed: bool = False
) -> None:
    """Check that systems ran the same queries.

    Args:
        missing_by_system: by system, the number of missing queries and the first such query.
        failed: true if a system failed at some of these queries, which is not a value of 0.

    Raises:
        UsageError: the systems ran different queries.
    """
    sentences = [
        f"{name} lacks {count_noun(count, 'query')} that the other ran "
        f"({', '.join(query_ids[:_MAX_NAMED])}{', …' if count > _MAX_NAMED else ''})"
        for name, (count, query_ids) in missing_by_system.items()
        if count
    ]
    if sentences:
        remedy = "set unequal = zero if they returned nothing, to treat them as missing queries"
        if failed:
            remedy = "as they failed, take the snapshot again"
        problem = f"{' and '.join(sentences)}; {remedy}, or unequal = drop to leave them out of both."
        raise UsageError(problem, code="values-differ")


TESTS: dict[str, str] = {
    "t": "paired t: keeps its level where a difference is as likely as its opposite; rejects too often for "
    "few skewed differences of mean 0",
    "randomization": "Fisher's randomization: the same, without assuming a distribution",
    "wilcoxon": "Wilcoxon's signed ranks: tests symmetry, and rejects too often as n grows",
    "sign": "sign test: counts wins and losses, blind to their size, and rejects too often",
    "bootstrap": "bootstrap shift: rejects too often for few queries",
}
"""Tests, and the conditions under which they keep their level (Urbano, Lima and Hanjalic 2019; for
means of 0 that are not symmetric: docs/validity.md)."""

SECONDARY = frozenset({"wilcoxon", "sign", "bootstrap"})
"""Tests that do not keep their level even with exchangeable signs; they give a warning."""


@dataclass(frozen=True)
class PairedFigures:
    """Figures of paired values; arrays (M,), NaN if a figure cannot be estimated.

    Attributes:
        n: the number of queries with a value for both systems.
        baseline, candidate, delta: means over these queries.
        gain: delta, its sign turned for a metric that is better when lower.
        low, high: the interval of delta; NaN if all differences are equal, without spread.
        p_raw: the p-value of the test.
        p_max: corrected over the columns by max-T; NaN unless the test is randomization.
        mc_error: the Monte Carlo error of a drawn p-value.
        gz: Hedges' standardised difference.
        sd: the standard deviation of the differences.
        wins, ties, losses: queries with a gain above the band, within it, below it.
        mde: the smallest true difference that these queries detect in one uncorrected test; NaN if
            all differences are equal.
        needed: the number of queries that detect a difference as large as delta in such a test.
        warnings: warnings about the intervals.
    """

    n: NDArray[np.int64]
    baseline: Floats
    candidate: Floats
    delta: Floats
    gain: Floats
    low: Floats
    high: Floats
    p_raw: Floats
    p_max: Floats
    mc_error: Floats
    gz: Floats
    sd: Floats
    wins: NDArray[np.int64]
    ties: NDArray[np.int64]
    losses: NDArray[np.int64]
    mde: Floats
    needed: Floats
    warnings: tuple[tuple[str, ...], ...]


def compute_figures(values: PairedValues, test: Test, *, sizes: bool = True) -> PairedFigures:
    """Compute `PairedFigures` from the values of two systems; ``needed`` is NaN without sizes."""
    baseline, candidate = values.baseline, values.candidate
    is_defined = ~np.isnan(candidate - baseline)
    delta = _equalise_rounding(candidate - baseline, is_defined)
    n = is_defined.sum(axis=0).astype(np.int64)
    p, p_max, error = _test_columns(np.where(is_defined, delta, 0.0), delta, is_defined, test)
    degrees: list[float | None] = [None] * len(is_defined.T)
    if values.degrees is not None:
        degrees = [float(df) for df in values.degrees]
        p = np.where(np.isnan(values.degrees), np.nan, p)
        p_max = np.where(np.isnan(values.degrees), np.nan, p_max)
        if test.method == "t":
            p = _weighted_p_values(delta, is_defined, values.degrees)
    columns = [
        _column_figures(baseline[k, j], candidate[k, j], delta[k, j], test, degrees[j], sizes=sizes)
        for j, k in enumerate(is_defined.T)
    ]
    gains = np.where(is_defined, values.gains, 0.0)
    wins = (gains > test.tie_band).sum(axis=0).astype(np.int64)
    losses = (gains < -test.tie_band).sum(axis=0).astype(np.int64)
    figure = {
        name: np.array([column_figures[name] for column_figures, _ in columns]) for name in _FIGURE_NAMES
    }
    return PairedFigures(
        n=n,
        gain=values.signs * figure["delta"],
        p_raw=p,
        p_max=p_max,
        mc_error=error,
        wins=wins,
        ties=n - wins - losses,
        losses=losses,
        warnings=tuple(
            (values.problems[j],) if values.problems and values.problems[j] else warnings
            for j, (_, warnings) in enumerate(columns)
        ),
        **figure,
    )


def compute_with_seeds(
    values: PairedValues, test: Test, *, sizes: bool = True
) -> tuple[PairedValues, PairedFigures]:
    """The figures, and the values behind their intervals; see `PairedValues.with_seed_error`."""
    figures = compute_figures(values, test, sizes=sizes)
    if not values.seeds:
        return values, figures
    weighed = values.with_seed_error(test.level)
    widened = compute_figures(weighed, test, sizes=False)
    nan = np.full(len(values.metrics), np.nan)
    inference = {name: getattr(widened, name) for name in ("low", "high", "p_raw", "warnings")}
    return weighed, replace(figures, **inference, mde=nan, needed=nan)


_FIGURE_NAMES = ("baseline", "candidate", "delta", "low", "high", "gz", "sd", "mde", "needed")


def _equalise_rounding(delta: Floats, is_defined: NDArray[np.bool_]) -> Floats:
    """Set differences to one value if they are equal except for rounding, by column."""
    columns = [
        np.where(k, np.median(column[k]), column) if k.any() and _is_constant(column[k]) else column
        for column, k in zip(delta.T, is_defined.T, strict=True)
    ]
    return np.stack(columns, axis=1) if columns else delta


def _is_constant(delta: Floats) -> bool:
    return bool(np.ptp(delta) <= TIE)


def _weighted_p_values(delta: Floats, is_defined: NDArray[np.bool_], degrees: Floats) -> Floats:
    """The p-value of the t-test of each column with the degrees of freedom of its weights."""
    from rankgate.measurement.stats.paired_tests import student_test

    return np.array(
        [
            float(student_test(delta[k, j], df).p_value[0]) if k.sum() > 1 else np.nan
            for j, (k, df) in enumerate(zip(is_defined.T, degrees, strict=True))
        ]
    )


def _column_figures(
    baseline: Floats, candidate: Floats, delta: Floats, test: Test, degrees: float | None, *, sizes: bool
) -> tuple[dict[str, float], tuple[str, ...]]:
    from rankgate.measurement.stats.paired_tests import hedges_g
    from rankgate.measurement.stats.query_power import detectable_difference, queries_for_power

    n = len(delta)
    nan = float("nan")
    if not n:
        return dict.fromkeys(_FIGURE_NAMES, nan), ("no query has a value on both sides.",)
    result = _interval(delta, test, degrees)
    level = _is_constant(delta)
    is_undecided = degrees is not None and np.isnan(degrees)
    sd = nan if n < 2 else 0.0 if level else float(delta.std(ddof=1))
    mean = float(delta.mean())
    alpha = 1 - test.level
    needs_size = sizes and n > 1 and mean and sd
    figure = {
        "baseline": float(baseline.mean()),
        "candidate": float(candidate.mean()),
        "delta": mean,
        "low": nan if level or is_undecided else float(result.low[0]),
        "high": nan if level or is_undecided else float(result.high[0]),
        "gz": nan if level else float(hedges_g(baseline, candidate)[0]),
        "sd": sd,
        "mde": float(detectable_difference(sd, n, alpha, test.power)) if n > 1 and sd else nan,
        "needed": queries_for_power(mean, sd, alpha, test.power) if needs_size else nan,
    }
    return figure, result.warnings


def _interval(delta: Floats, test: Test, degrees: float | None) -> Intervals:
    # simultaneous intervals are widened later, over all pairs
    if test.interval == "t" or test.interval == "simultaneous":  # noqa: PLR1714 - mypy narrows
        from rankgate.measurement.stats.mean_intervals import t_interval

        return t_interval(delta, test.level, degrees=degrees)
    from rankgate.measurement.stats.resampling_tests import bootstrap_interval

    resamples = min(test.resamples, MAX_INTERVAL_RESAMPLES)
    if test.interval == "studentised":
        from rankgate.measurement.stats.resampling_tests import studentised_interval

        return studentised_interval(delta, test.level, samples=resamples, seed=test.seed)
    method: Literal["bca", "percentile", "basic"] = test.interval
    return bootstrap_interval(delta, test.level, method, samples=resamples, seed=test.seed)


def _test_columns(
    filled: Floats, delta: Floats, is_defined: NDArray[np.bool_], test: Test
) -> tuple[Floats, Floats, Floats]:
    """The p-value, max-T p and Monte-Carlo error by column; filled zeros do not change sums."""
    undefined = np.full(delta.shape[1], np.nan)
    has_pairs = is_defined.sum(axis=0) > 1
    if test.method == "randomization":
        from rankgate.measurement.stats.resampling_tests import randomization

        randomized = randomization(filled, samples=test.resamples, seed=test.seed)
        return (
            np.where(has_pairs, randomized.p_value, np.nan),
            np.where(has_pairs, randomized.p_max, np.nan),
            randomized.mc_error,
        )
    p, error = undefined.copy(), np.zeros_like(undefined)
    for j, rows in enumerate(is_defined.T):
        if has_pairs[j]:
            p[j], error[j] = _test_column(delta[rows, j], test)
    return p, undefined, error


def _test_column(delta: Floats, test: Test) -> tuple[float, float]:
    from rankgate.measurement.stats import paired_tests, resampling_tests

    if test.method == "bootstrap":
        bootstrapped = resampling_tests.bootstrap_test(delta, samples=test.resamples, seed=test.seed)
        return float(bootstrapped.p_value[0]), float(bootstrapped.mc_error[0])
    if test.method == "sign":
        return float(paired_tests.sign_test(delta, band=test.band).p_value[0]), 0.0
    if test.method == "wilcoxon":
        return _signed_ranks(delta, test), 0.0
    return float(paired_tests.student_test(delta).p_value[0]), 0.0


def _signed_ranks(delta: Floats, test: Test) -> float:
    """Return the p-value of Wilcoxon's test.

    Raises:
        UsageError: more differences than can be counted exactly.
    """
    from rankgate.measurement.stats.paired_tests import MAX_EXACT as COUNTED
    from rankgate.measurement.stats.paired_tests import signed_ranks

    if test.signed_ranks == "exact" and len(delta) > COUNTED:
        raise UsageError(
            f"{len(delta):,} queries are too many to count all signs (at most {COUNTED:,}); leave out "
            "--signed-ranks exact.",
            code="out-of-range",
        )
    return float(signed_ranks(delta, zeros=test.zeros, way=test.signed_ranks).p_value[0])

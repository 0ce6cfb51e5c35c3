"""The figures of paired values: one column a metric, one row a query, NaN where undefined."""

from __future__ import annotations

from typing import TYPE_CHECKING, Literal

import numpy as np

from rankgate.core.errors import UsageError
from rankgate.core.frozen import dataclass
from rankgate.decisions.comparison.inference import MAX_INTERVAL_RESAMPLES

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from rankgate.decisions.comparison.inference import Test
    from rankgate.decisions.comparison.values import PairedValues
    from rankgate.measurement.stats.interval import Intervals

    Floats = NDArray[np.float64]


TESTS: dict[str, str] = {
    "t": "paired t: keeps its level where a difference is as likely as its opposite; rejects too "
    "often for few skewed differences of mean 0",
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
    """Figures of paired values; arrays (M,), NaN where they cannot be estimated.

    Attributes:
        n: pairs where both have a value.
        baseline, candidate, delta: means over these.
        gain: delta, its sign turned for a metric that is better when lower.
        low, high: interval of delta; NaN where all differences are equal, and show no spread.
        p_raw: of the test.
        p_max: corrected over the columns by max-T; NaN unless the test is randomization.
        mc_error: of p, where it was drawn.
        gz: Hedges' standardised difference.
        sd: of the differences.
        wins, ties, losses: queries whose gain is above the band, within it, below it.
        mde: smallest true difference these queries show in one uncorrected test; NaN where no two
            of them differ.
        needed: queries that show a difference as large as delta in such a test.
        warnings: of the intervals.
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


def compute_figures(values: PairedValues, test: Test) -> PairedFigures:
    """Compute `PairedFigures` from the values of two systems."""
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
        _column_figures(baseline[k, j], candidate[k, j], delta[k, j], test, degrees[j])
        for j, k in enumerate(is_defined.T)
    ]
    gains = np.where(is_defined, values.gains, 0.0)
    wins = (gains > test.band).sum(axis=0).astype(np.int64)
    losses = (gains < -test.band).sum(axis=0).astype(np.int64)
    figure = {
        name: np.array([column_figures[name] for column_figures, _ in columns])
        for name in _FIGURE_NAMES
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


_FIGURE_NAMES = ("baseline", "candidate", "delta", "low", "high", "gz", "sd", "mde", "needed")


_ROUNDING = 1e-9  # rounding error of equal differences of unequal values


def _equalise_rounding(delta: Floats, is_defined: NDArray[np.bool_]) -> Floats:
    """Set differences that are equal except for rounding to one value, by column."""
    columns = [
        np.where(k, np.median(column[k]), column) if k.any() and _is_constant(column[k]) else column
        for column, k in zip(delta.T, is_defined.T, strict=True)
    ]
    return np.stack(columns, axis=1) if columns else delta


def _is_constant(delta: Floats) -> bool:
    return bool(np.ptp(delta) <= _ROUNDING)


def _weighted_p_values(delta: Floats, is_defined: NDArray[np.bool_], degrees: Floats) -> Floats:
    """The p-value of the t-test of each column with the degrees of freedom of its weights."""
    from rankgate.measurement.stats.paired import student_test

    return np.array(
        [
            float(student_test(delta[k, j], df).p_value[0]) if k.sum() > 1 else np.nan
            for j, (k, df) in enumerate(zip(is_defined.T, degrees, strict=True))
        ]
    )


def _column_figures(
    baseline: Floats, candidate: Floats, delta: Floats, test: Test, degrees: float | None
) -> tuple[dict[str, float], tuple[str, ...]]:
    from rankgate.measurement.stats.effect import effect
    from rankgate.measurement.stats.planning.power import detectable_difference, queries_for_power

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
    figure = {
        "baseline": float(baseline.mean()),
        "candidate": float(candidate.mean()),
        "delta": mean,
        "low": nan if level or is_undecided else float(result.low[0]),
        "high": nan if level or is_undecided else float(result.high[0]),
        "gz": nan if level else float(effect(baseline, candidate).gz[0]),
        "sd": sd,
        "mde": float(detectable_difference(sd, n, alpha, test.power)) if n > 1 and sd else nan,
        "needed": queries_for_power(mean, sd, alpha, test.power) if n > 1 and mean and sd else nan,
    }
    return figure, result.warnings


def _interval(delta: Floats, test: Test, degrees: float | None) -> Intervals:
    # simultaneous intervals are widened later, from all pairs
    if test.interval == "t" or test.interval == "simultaneous":  # noqa: PLR1714 - mypy narrows
        from rankgate.measurement.stats.interval import t_interval

        return t_interval(delta, test.level, degrees=degrees)
    from rankgate.measurement.stats.resampling.bootstrap import bootstrap_interval

    resamples = min(test.resamples, MAX_INTERVAL_RESAMPLES)
    if test.interval == "studentised":
        from rankgate.measurement.stats.resampling.bootstrap_t import studentised_interval

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
        from rankgate.measurement.stats.resampling.randomization import randomization

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
    from rankgate.measurement.stats import paired
    from rankgate.measurement.stats.resampling import bootstrap

    if test.method == "bootstrap":
        bootstrapped = bootstrap.bootstrap_test(delta, samples=test.resamples, seed=test.seed)
        return float(bootstrapped.p_value[0]), float(bootstrapped.mc_error[0])
    if test.method == "sign":
        return float(paired.sign_test(delta, band=test.band).p_value[0]), 0.0
    if test.method == "wilcoxon":
        return _signed_ranks(delta, test), 0.0
    return float(paired.student_test(delta).p_value[0]), 0.0


def _signed_ranks(delta: Floats, test: Test) -> float:
    """Return p of Wilcoxon's test.

    Raises:
        UsageError: more differences than can be counted exactly.
    """
    from rankgate.measurement.stats.ranks.signed_ranks import MAX_EXACT as COUNTED
    from rankgate.measurement.stats.ranks.signed_ranks import signed_ranks

    if test.signed_ranks == "exact" and len(delta) > COUNTED:
        raise UsageError(
            f"{len(delta):,} queries are too many to count all signs (at most {COUNTED:,}); "
            "leave out --signed-ranks exact.",
            code="out-of-range",
        )
    return float(signed_ranks(delta, zeros=test.zeros, way=test.signed_ranks).p_value[0])

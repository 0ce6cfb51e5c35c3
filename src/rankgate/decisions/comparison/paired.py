"""The figures of paired values: one column a metric, one row a query, NaN where undefined."""

from __future__ import annotations

from typing import TYPE_CHECKING, Literal

import numpy as np

from rankgate.core.errors import UsageError
from rankgate.core.frozen import dataclass
from rankgate.decisions.comparison.inference import MOST

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
"""What each test is, and where it keeps its level (Urbano, Lima and Hanjalic 2019; what holds for
means of 0 that are not symmetric: docs/validity.md)."""

SECONDARY = frozenset({"wilcoxon", "sign", "bootstrap"})
"""Tests that do not keep their level even where signs are exchangeable; a warning says so."""


@dataclass(frozen=True)
class Figures:
    """What paired values say; arrays (M,), NaN where there is too little to say it.

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


def figures(values: PairedValues, test: Test) -> Figures:
    """Everything in `Figures`, from the values of two systems."""
    baseline, candidate = values.baseline, values.candidate
    known = ~np.isnan(candidate - baseline)
    delta = _levelled(candidate - baseline, known)
    n = known.sum(axis=0).astype(np.int64)
    p, p_max, error = _tested(np.where(known, delta, 0.0), delta, known, test)
    degrees: list[float | None] = [None] * len(known.T)
    if values.degrees is not None:
        degrees = [float(df) for df in values.degrees]
        p = np.where(np.isnan(values.degrees), np.nan, p)
        p_max = np.where(np.isnan(values.degrees), np.nan, p_max)
        if test.method == "t":
            p = _of_weights(delta, known, values.degrees)
    items = [
        _column(baseline[k, j], candidate[k, j], delta[k, j], test, degrees[j])
        for j, k in enumerate(known.T)
    ]
    bare = np.where(known, values.gains, 0.0)
    wins = (bare > test.band).sum(axis=0).astype(np.int64)
    losses = (bare < -test.band).sum(axis=0).astype(np.int64)
    figure = {name: np.array([each[name] for each, _ in items]) for name in _NUMBERS}
    return Figures(
        n=n,
        gain=values.signs * figure["delta"],
        p_raw=p,
        p_max=p_max,
        mc_error=error,
        wins=wins,
        ties=n - wins - losses,
        losses=losses,
        warnings=tuple(
            (values.problems[j],) if values.problems and values.problems[j] else words
            for j, (_, words) in enumerate(items)
        ),
        **figure,
    )


_NUMBERS = ("baseline", "candidate", "delta", "low", "high", "gz", "sd", "mde", "needed")


_ROUNDING = 1e-9  # equal differences of unequal values differ by less


def _levelled(delta: Floats, known: NDArray[np.bool_]) -> Floats:
    """The differences; a column whose values are equal but for rounding has exactly one value."""
    columns = [
        np.where(k, np.median(column[k]), column) if k.any() and _level(column[k]) else column
        for column, k in zip(delta.T, known.T, strict=True)
    ]
    return np.stack(columns, axis=1) if columns else delta


def _level(delta: Floats) -> bool:
    return bool(np.ptp(delta) <= _ROUNDING)


def _of_weights(delta: Floats, known: NDArray[np.bool_], degrees: Floats) -> Floats:
    """The p-value of the t-test of each column with the degrees of freedom of its weights."""
    from rankgate.measurement.stats.paired import student

    return np.array(
        [
            float(student(delta[k, j], df).p_value[0]) if k.sum() > 1 else np.nan
            for j, (k, df) in enumerate(zip(known.T, degrees, strict=True))
        ]
    )


def _column(
    before: Floats, after: Floats, delta: Floats, test: Test, degrees: float | None
) -> tuple[dict[str, float], tuple[str, ...]]:
    from rankgate.measurement.stats.effect import effect
    from rankgate.measurement.stats.planning.power import detectable, needed

    n = len(delta)
    nan = float("nan")
    if not n:
        return dict.fromkeys(_NUMBERS, nan), ("no query has a value on both sides.",)
    result = _interval(delta, test, degrees)
    level = _level(delta)
    undecided = degrees is not None and np.isnan(degrees)
    sd = nan if n < 2 else 0.0 if level else float(delta.std(ddof=1))
    mean = float(delta.mean())
    alpha = 1 - test.level
    figure = {
        "baseline": float(before.mean()),
        "candidate": float(after.mean()),
        "delta": mean,
        "low": nan if level or undecided else float(result.low[0]),
        "high": nan if level or undecided else float(result.high[0]),
        "gz": nan if level else float(effect(before, after).gz[0]),
        "sd": sd,
        "mde": float(detectable(sd, n, alpha, test.power)) if n > 1 and sd else nan,
        "needed": needed(mean, sd, alpha, test.power) if n > 1 and mean and sd else nan,
    }
    return figure, result.warnings


def _interval(delta: Floats, test: Test, degrees: float | None) -> Intervals:
    # simultaneous ones are widened once all pairs are known
    if test.interval == "t" or test.interval == "simultaneous":  # noqa: PLR1714 - mypy narrows
        from rankgate.measurement.stats.interval import t_interval

        return t_interval(delta, test.level, degrees=degrees)
    from rankgate.measurement.stats.resampling.bootstrap import bootstrap_interval

    resamples = min(test.resamples, MOST)
    if test.interval == "studentised":
        from rankgate.measurement.stats.resampling.bootstrap_t import studentised_interval

        return studentised_interval(delta, test.level, samples=resamples, seed=test.seed)
    method: Literal["bca", "percentile", "basic"] = test.interval
    return bootstrap_interval(delta, test.level, method, samples=resamples, seed=test.seed)


def _tested(
    filled: Floats, delta: Floats, known: NDArray[np.bool_], test: Test
) -> tuple[Floats, Floats, Floats]:
    """p, max-T p and Monte-Carlo error of each column; a 0 in its place never moves a sum."""
    none = np.full(delta.shape[1], np.nan)
    enough = known.sum(axis=0) > 1
    if test.method == "randomization":
        from rankgate.measurement.stats.resampling.randomization import randomization

        drawn = randomization(filled, samples=test.resamples, seed=test.seed)
        return (
            np.where(enough, drawn.p_value, np.nan),
            np.where(enough, drawn.p_max, np.nan),
            drawn.mc_error,
        )
    p, error = none.copy(), np.zeros_like(none)
    for j, rows in enumerate(known.T):
        if enough[j]:
            p[j], error[j] = _one(delta[rows, j], test)
    return p, none, error


def _one(delta: Floats, test: Test) -> tuple[float, float]:
    from rankgate.measurement.stats import paired
    from rankgate.measurement.stats.resampling import bootstrap

    if test.method == "bootstrap":
        drawn = bootstrap.bootstrap_test(delta, samples=test.resamples, seed=test.seed)
        return float(drawn.p_value[0]), float(drawn.mc_error[0])
    if test.method == "sign":
        return float(paired.sign(delta, band=test.band).p_value[0]), 0.0
    if test.method == "wilcoxon":
        return _signed_ranks(delta, test), 0.0
    return float(paired.student(delta).p_value[0]), 0.0


def _signed_ranks(delta: Floats, test: Test) -> float:
    """Return p of Wilcoxon's test.

    Raises:
        UsageError: more differences than can be counted exactly.
    """
    from rankgate.measurement.stats.ranks.signed_ranks import MOST as COUNTED
    from rankgate.measurement.stats.ranks.signed_ranks import signed_ranks

    if test.signed_ranks == "exact" and len(delta) > COUNTED:
        raise UsageError(
            f"{len(delta):,} queries are too many to count all signs (at most {COUNTED:,}); "
            "leave out --signed-ranks exact.",
            code="out-of-range",
        )
    return float(signed_ranks(delta, zeros=test.zeros, way=test.signed_ranks).p_value[0])

"""Confidence bounds of many samples at once."""

from __future__ import annotations

from typing import TYPE_CHECKING, Literal

import numpy as np

from rankgate.core.errors import UsageError
from rankgate.measurement.stats.bounded import betting_exceeds, betting_low
from rankgate.measurement.stats.interval import FEW, SKEWED, guarded_interval, skewness
from rankgate.measurement.stats.resampling.bootstrap import bootstrap_interval
from rankgate.measurement.stats.sequential import one_look_level

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from rankgate.decisions.gating.evidence import Terms

    Floats = NDArray[np.float64]
    Range = tuple[float, float]

SLACK = 1e-9
"""What a sum of floats may be off: a share that is at its bound is not beyond it."""

LEAST = 10
"""Fewer queries than this decide nothing."""


def statuses(
    table: Floats, bound: Floats, terms: Terms, limits: Range | None = None
) -> NDArray[np.str_]:
    """(S,) pass, fail or inconclusive of each column of (n, S) values, compared with (S,) bounds.

    Raises:
        UsageError: a guaranteed interval of values without a range, or outside of it.
    """
    if len(table) < terms.least or terms.undecided is not None:
        return np.full(table.shape[1], "inconclusive")
    if terms.interval == "guaranteed":
        low, high = ranged(table, limits)
        above = betting_exceeds(np.clip(table, low, high), bound, low, high, terms.alpha)
        share = terms.alpha / terms.tests
        below = betting_exceeds(-np.clip(table, low, high), -bound, -high, -low, share)
    else:
        passing, failing = ends(table, terms, limits)
        above, below = passing > bound, failing < bound
    result = np.where(above, "pass", np.where(below, "fail", "inconclusive"))
    return np.where(too_few(table, terms), "inconclusive", result)


def ends(table: Floats, terms: Terms, limits: Range | None = None) -> tuple[Floats, Floats]:
    """(S,) each: the bounds that a pass and a fail need, of each column of (n, S) values.

    A column without spread has the guaranteed bounds, NaN where its values have no range.
    """
    if terms.interval == "guaranteed":
        return _guaranteed(table, terms, ranged(table, limits))
    passing = _interval(table, terms.alpha, terms)[0]
    failing = _interval(table, terms.alpha / terms.tests, terms)[1]
    if (still := flat(table)).any():
        some = table[:, still]
        nothing = np.full(some.shape[1], np.nan)
        safe = _guaranteed(some, terms, limits) if limits else (nothing, nothing)
        passing, failing = passing.copy(), failing.copy()
        passing[still], failing[still] = safe
    return passing, failing


def flat(table: Floats) -> NDArray[np.bool_]:
    """(S,) whether all values of a column are equal, but for rounding."""
    return np.asarray(np.ptp(table, axis=0) <= SLACK, np.bool_)


def too_few(table: Floats, terms: Terms) -> NDArray[np.bool_]:
    """(S,) whether a column is too short for its skew."""
    if terms.interval == "guaranteed" or len(table) >= FEW:
        return np.zeros(table.shape[1], np.bool_)
    return np.asarray(np.abs(skewness(table)) > SKEWED, np.bool_)


def ranged(table: Floats, limits: Range | None) -> Range:
    """The range that values lie in, as guaranteed bounds need it.

    Raises:
        UsageError: there is none, or a value lies outside of it.
    """
    if limits is None:
        raise UsageError(
            'interval = "guaranteed" needs a metric with a lowest and a highest value; use '
            'interval = "t", or take another metric.',
            code="unbounded-metric",
        )
    low, high = limits
    if table.min() < low - SLACK or table.max() > high + SLACK:
        raise UsageError(
            f"a value lies outside of the range from {low:g} to {high:g} that its metric declares, "
            'so that interval = "guaranteed" would guarantee nothing; fix the metric.',
            code="out-of-range",
        )
    return limits


def _guaranteed(table: Floats, terms: Terms, limits: Range) -> tuple[Floats, Floats]:
    low, high = limits
    inside = np.clip(table, low, high)
    return (
        betting_low(inside, low, high, terms.alpha),
        -betting_low(-inside, -high, -low, terms.alpha / terms.tests),
    )


def _interval(table: Floats, alpha: float, terms: Terms) -> tuple[Floats, Floats]:
    """(S,) each: lower and upper bounds at one-sided level 1 − alpha."""
    size = len(table) if terms.degrees is None else int(terms.degrees + 1)
    alpha = at_look(size, alpha, terms)
    if not alpha:
        nowhere = np.full(table.shape[1], np.inf)
        return -nowhere, nowhere
    if terms.interval == "t":
        result = guarded_interval(table, 1 - 2 * alpha, terms.degrees)
    else:
        method: Literal["bca", "percentile"] = "bca" if terms.interval == "bca" else "percentile"
        result = bootstrap_interval(table, 1 - 2 * alpha, method, seed=terms.seed)
    return result.low, result.high


def at_look(n: int, alpha: float, terms: Terms) -> float:
    """The level of this look; alpha where there is only one."""
    return one_look_level(n, alpha) if terms.anytime else alpha

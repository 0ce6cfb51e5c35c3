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

ROUNDING = 1e-9
"""The rounding error of a sum of floats: a share that is at its bound is not beyond it."""

MIN_QUERIES = 10
"""Fewer queries than this decide nothing."""


def decide_statuses(
    table: Floats, bound: Floats, terms: Terms, limits: Range | None = None
) -> NDArray[np.str_]:
    """(S,) pass, fail or inconclusive of each column of (n, S) values, compared with (S,) bounds.

    Raises:
        UsageError: a guaranteed interval of values without a range, or outside of it.
    """
    if len(table) < terms.least or terms.undecided is not None:
        return np.full(table.shape[1], "inconclusive")
    if terms.interval == "guaranteed":
        low, high = require_range(table, limits)
        is_above = betting_exceeds(np.clip(table, low, high), bound, low, high, terms.alpha)
        share = terms.alpha / terms.tests
        is_below = betting_exceeds(-np.clip(table, low, high), -bound, -high, -low, share)
    else:
        pass_bound, fail_bound = bound_ends(table, terms, limits)
        is_above, is_below = pass_bound > bound, fail_bound < bound
    result = np.where(is_above, "pass", np.where(is_below, "fail", "inconclusive"))
    return np.where(is_too_short(table, terms), "inconclusive", result)


def bound_ends(table: Floats, terms: Terms, limits: Range | None = None) -> tuple[Floats, Floats]:
    """(S,) each: the bounds that a pass and a fail need, of each column of (n, S) values.

    A column without spread has the guaranteed bounds, NaN where its values have no range.
    """
    if terms.interval == "guaranteed":
        return _guaranteed(table, terms, require_range(table, limits))
    pass_bound = _interval(table, terms.alpha, terms)[0]
    fail_bound = _interval(table, terms.alpha / terms.tests, terms)[1]
    if (is_flat := is_column_flat(table)).any():
        flat_columns = table[:, is_flat]
        no_bounds = np.full(flat_columns.shape[1], np.nan)
        safe = _guaranteed(flat_columns, terms, limits) if limits else (no_bounds, no_bounds)
        pass_bound, fail_bound = pass_bound.copy(), fail_bound.copy()
        pass_bound[is_flat], fail_bound[is_flat] = safe
    return pass_bound, fail_bound


def is_column_flat(table: Floats) -> NDArray[np.bool_]:
    """(S,) True where all values of a column are equal, but for rounding."""
    return np.asarray(np.ptp(table, axis=0) <= ROUNDING, np.bool_)


def is_too_short(table: Floats, terms: Terms) -> NDArray[np.bool_]:
    """(S,) True where a column is too short for its skew."""
    if terms.interval == "guaranteed" or len(table) >= FEW:
        return np.zeros(table.shape[1], np.bool_)
    return np.asarray(np.abs(skewness(table)) > SKEWED, np.bool_)


def require_range(table: Floats, limits: Range | None) -> Range:
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
    if table.min() < low - ROUNDING or table.max() > high + ROUNDING:
        raise UsageError(
            f"a value lies outside of the range from {low:g} to {high:g} that its metric declares, "
            'so that interval = "guaranteed" would guarantee nothing; fix the metric.',
            code="out-of-range",
        )
    return limits


def _guaranteed(table: Floats, terms: Terms, limits: Range) -> tuple[Floats, Floats]:
    low, high = limits
    clipped = np.clip(table, low, high)
    return (
        betting_low(clipped, low, high, terms.alpha),
        -betting_low(-clipped, -high, -low, terms.alpha / terms.tests),
    )


def _interval(table: Floats, alpha: float, terms: Terms) -> tuple[Floats, Floats]:
    """(S,) each: lower and upper bounds at one-sided level 1 − alpha."""
    size = len(table) if terms.degrees is None else int(terms.degrees + 1)
    alpha = alpha_at_look(size, alpha, terms)
    if not alpha:
        nowhere = np.full(table.shape[1], np.inf)
        return -nowhere, nowhere
    if terms.interval == "t":
        result = guarded_interval(table, 1 - 2 * alpha, terms.degrees)
    else:
        method: Literal["bca", "percentile"] = "bca" if terms.interval == "bca" else "percentile"
        result = bootstrap_interval(table, 1 - 2 * alpha, method, seed=terms.seed)
    return result.low, result.high


def alpha_at_look(n: int, alpha: float, terms: Terms) -> float:
    """The level of this look; alpha where there is only one."""
    return one_look_level(n, alpha) if terms.anytime else alpha

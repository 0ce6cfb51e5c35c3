"""The power of a set of queries, the difference it can detect, and the queries a difference needs.

Exact, by the noncentral t of the paired t-test (Cohen 1988; Sakai 2018).
"""

from __future__ import annotations

from functools import lru_cache
from typing import TYPE_CHECKING

import numpy as np

if TYPE_CHECKING:
    from collections.abc import Callable

    from rankgate.measurement.stats.paired import Floats

_MOST = 1e9


def power(delta: float, sd: float, n: float, alpha: float = 0.05, sides: int = 2) -> float:
    """The chance that a paired t-test of n queries rejects, if the true difference is delta.

    Args:
        delta: the true mean difference.
        sd: standard deviation of the differences.
        n: queries, 2 or more.
        alpha: level of the test.
        sides: 1 or 2.
    """
    from scipy.special import nctdtr, ndtr, stdtrit  # `scipy.stats` takes half a second to import

    if sd <= 0:
        return 1.0 if delta else alpha
    df = n - 1
    shift = delta * np.sqrt(n) / sd
    bound = stdtrit(df, 1 - alpha / sides)
    upper_tail = float(1 - nctdtr(df, shift, bound))
    if np.isnan(upper_tail):  # few degrees of freedom and a large shift
        upper_tail = float(ndtr(shift - bound))
    lower_tail = float(nctdtr(df, shift, -bound)) if sides == 2 else 0.0
    return upper_tail + (0.0 if np.isnan(lower_tail) else lower_tail)


def detectable_difference(
    sd: Floats | float, n: int, alpha: float = 0.05, wanted: float = 0.8, sides: int = 2
) -> Floats:
    """The smallest true difference that n queries show with the wanted power (MDE).

    Args:
        sd: standard deviations of the differences, any shape.
        n: queries.
        alpha: level of the test.
        wanted: power.
        sides: 1 or 2.

    Returns:
        the difference for each sd, in the metric's units; NaN for fewer than two queries.
    """
    deviations = np.asarray(sd, dtype=np.float64)
    if n < 2:  # one difference has no spread
        return np.full(deviations.shape, np.nan)
    return np.asarray(deviations * _detectable_effect(n, alpha, wanted, sides), np.float64)


@lru_cache(maxsize=1024)
def _detectable_effect(n: int, alpha: float, target_power: float, sides: int) -> float:
    """The result of `detectable_difference` for a standard deviation of 1."""

    def lacking(size: float) -> float:
        return power(size, 1.0, n, alpha, sides) - target_power

    top = 1.0
    while lacking(top) < 0:
        top *= 2
    return _root(lacking, 0.0, top)


def queries_for_power(
    delta: float, sd: float, alpha: float = 0.05, wanted: float = 0.8, sides: int = 2
) -> float:
    """The number of queries that show a true difference of this size with the wanted power.

    Returns:
        a number that need not be whole (round it up); infinity for a difference of 0.
    """
    if not delta:
        return float("inf")
    size = abs(delta)

    def lacking(n: float) -> float:
        return power(size, sd, n, alpha, sides) - wanted

    low, high = 2.0, 4.0
    if sd <= 0 or lacking(low) >= 0:
        return low
    while lacking(high) < 0:
        high *= 2
        if high > _MOST:
            return float("inf")
    return _root(lacking, low, high)


def _root(function: Callable[[float], float], low: float, high: float) -> float:
    """The root of a rising function between low and high, to the last bit.

    Halving takes some fifty calls, in less time than the import of `scipy.optimize`.
    """
    while low < (middle := (low + high) / 2) < high:
        if function(middle) < 0:
            low = middle
        else:
            high = middle
    return high

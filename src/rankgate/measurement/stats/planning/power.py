"""What a set of queries can detect, and how many a wanted difference needs.

Exact, by the noncentral t of the paired t-test (Cohen 1988; Sakai 2018).
"""

from __future__ import annotations

from functools import lru_cache
from typing import TYPE_CHECKING

import numpy as np

if TYPE_CHECKING:
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
    from scipy.special import ndtr, stdtrit
    from scipy.stats import nct

    if sd <= 0:
        return 1.0 if delta else alpha
    df = n - 1
    shift = delta * np.sqrt(n) / sd
    bound = stdtrit(df, 1 - alpha / sides)
    above = float(nct.sf(bound, df, shift))
    if np.isnan(above):  # few degrees of freedom and a large shift
        above = float(ndtr(shift - bound))
    below = float(nct.cdf(-bound, df, shift)) if sides == 2 else 0.0
    return above + (0.0 if np.isnan(below) else below)


def detectable(
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
    spread = np.asarray(sd, dtype=np.float64)
    if n < 2:  # one difference has no spread
        return np.full(spread.shape, np.nan)
    return np.asarray(spread * _detectable_effect(n, alpha, wanted, sides), np.float64)


@lru_cache(maxsize=1024)
def _detectable_effect(n: int, alpha: float, wanted: float, sides: int) -> float:
    """What `detectable` gives for a standard deviation of 1."""
    from scipy.optimize import brentq

    def lacking(size: float) -> float:
        return power(size, 1.0, n, alpha, sides) - wanted

    top = 1.0
    while lacking(top) < 0:
        top *= 2
    return float(brentq(lacking, 0.0, top, xtol=1e-12))


def needed(
    delta: float, sd: float, alpha: float = 0.05, wanted: float = 0.8, sides: int = 2
) -> float:
    """How many queries show a true difference of this size with the wanted power.

    Returns:
        a number that need not be whole (round it up); infinity for a difference of 0.
    """
    if not delta:
        return float("inf")
    from scipy.optimize import brentq

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
    return float(brentq(lacking, low, high, xtol=1e-9))

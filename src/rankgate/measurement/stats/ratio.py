"""The relative difference of two paired means, with its own interval."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from rankgate.core.frozen import dataclass

Floats = NDArray[np.float64]


@dataclass(frozen=True)
class Relative:
    """(candidate − baseline) / |baseline| of means.

    Attributes:
        value: NaN where the baseline's mean is 0.
        low, high: Fieller's interval; infinite ends where the baseline's mean is not clearly
            different from 0, so that every ratio is possible.
    """

    value: float
    low: float
    high: float


def fieller(baseline: Floats, candidate: Floats, level: float = 0.95) -> Relative:
    """Fieller's (1954) interval of the relative difference of two paired means.

    It holds the ratios ρ for which a paired t-test does not reject mean(candidate − ρ·baseline)
    = 0: the roots of

        (b² − t²s_bb) ρ² − 2(bc − t²s_bc) ρ + c² − t²s_cc = 0,

    with the means b and c, the variances and covariance of the means, and t(n−1). An interval
    that takes the baseline's mean as known is too short. Where the first factor is not above 0
    the baseline's mean may be 0, and no finite interval has the level.

    Args:
        baseline: (n,) values.
        candidate: (n,) values of the same queries.
        level: of the interval.
    """
    from scipy.special import stdtrit

    n, b, c = len(baseline), float(np.mean(baseline)), float(np.mean(candidate))
    nan, inf = float("nan"), float("inf")
    if not b:
        return Relative(nan, nan, nan)
    sign = 1.0 if b > 0 else -1.0
    value = sign * (c / b - 1)
    if n < 2:  # one query has no spread
        return Relative(value, nan, nan)
    covariance = np.cov(baseline, candidate) / n
    square = float(stdtrit(n - 1, (1 + level) / 2)) ** 2
    first = b**2 - square * covariance[0, 0]
    middle = b * c - square * covariance[0, 1]
    last = c**2 - square * covariance[1, 1]
    if first <= 0:
        return Relative(value, -inf, inf)
    root = np.sqrt(max(0.0, middle**2 - first * last))
    ends = sorted(sign * (edge / first - 1) for edge in (middle - root, middle + root))
    return Relative(value, float(ends[0]), float(ends[1]))


def relative_gain(baseline: Floats, candidate: Floats, share: float) -> Floats:
    """(n,) candidate − (1 − share) · baseline: above 0 in the mean where the loss is less.

    The linear form of Fieller's interval: a test of its mean knows that the margin is an estimate.
    """
    return np.asarray(candidate - (1 - share) * baseline, np.float64)

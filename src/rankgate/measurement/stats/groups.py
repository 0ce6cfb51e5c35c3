"""Do several groups of numbers have the same mean?"""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

import numpy as np

if TYPE_CHECKING:
    from rankgate.measurement.stats.paired import Floats


def one_way(groups: Sequence[Floats]) -> float:
    """The p-value of H₀, all means are equal, by Welch's one-way analysis of variance (Welch 1951).

    Groups with fewer than two numbers or no spread are left out; NaN where fewer than two are
    left.
    """
    from scipy.special import fdtrc

    used = [each for each in groups if len(each) > 1 and np.ptp(each) > 0]
    k = len(used)
    if k < 2:  # nothing to compare
        return float("nan")
    n = np.array([len(each) for each in used], np.float64)
    means = np.array([each.mean() for each in used])
    weight = n / np.array([each.var(ddof=1) for each in used])
    share = weight / weight.sum()
    grand = (share * means).sum()
    lost = ((1 - share) ** 2 / (n - 1)).sum()
    between = (weight * (means - grand) ** 2).sum() / (k - 1)
    f = between / (1 + 2 * (k - 2) / (k**2 - 1) * lost)
    return float(fdtrc(k - 1, (k**2 - 1) / (3 * lost), f))


def apart(one: Floats, other: Floats, level: float = 0.95) -> tuple[float, float, float, float]:
    """How far the means of two groups lie apart: one − other, its interval, and p (Welch 1947).

    NaN for all but the difference where a group has fewer than two numbers, or neither any spread.

    >>> [round(each, 4) for each in apart(np.array([1.0, 2.0, 3.0]), np.array([2.0, 4.0]))]
    [-1.0, -6.977, 4.977, 0.4921]
    """
    from scipy.special import stdtr, stdtrit

    nan = float("nan")
    delta = float(one.mean() - other.mean()) if len(one) and len(other) else nan
    if min(len(one), len(other)) < 2:  # one number has no spread
        return delta, nan, nan, nan
    parts = np.array([each.var(ddof=1) / len(each) for each in (one, other)])
    if not parts.sum():
        return delta, nan, nan, nan
    df = parts.sum() ** 2 / (parts**2 / (np.array([len(one), len(other)]) - 1)).sum()
    error = float(np.sqrt(parts.sum()))
    reach = float(stdtrit(df, (1 + level) / 2)) * error
    return delta, delta - reach, delta + reach, float(2 * stdtr(df, -abs(delta) / error))

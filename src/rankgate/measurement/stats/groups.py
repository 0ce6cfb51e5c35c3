"""Tests of equal means of several groups, by Welch."""

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

    usable = [group for group in groups if len(group) > 1 and np.ptp(group) > 0]
    k = len(usable)
    if k < 2:  # nothing to compare
        return float("nan")
    n = np.array([len(group) for group in usable], np.float64)
    means = np.array([group.mean() for group in usable])
    weight = n / np.array([group.var(ddof=1) for group in usable])
    share = weight / weight.sum()
    grand_mean = (share * means).sum()
    lost = ((1 - share) ** 2 / (n - 1)).sum()
    between_variance = (weight * (means - grand_mean) ** 2).sum() / (k - 1)
    f = between_variance / (1 + 2 * (k - 2) / (k**2 - 1) * lost)
    return float(fdtrc(k - 1, (k**2 - 1) / (3 * lost), f))


def mean_difference(
    first: Floats, second: Floats, level: float = 0.95
) -> tuple[float, float, float, float]:
    """The difference of the means of two groups, first − second, its interval, and p (Welch 1947).

    NaN for all but the difference where a group has fewer than two numbers, or neither any spread.

    >>> [round(each, 4)
    ...  for each in mean_difference(np.array([1.0, 2.0, 3.0]), np.array([2.0, 4.0]))]
    [-1.0, -6.977, 4.977, 0.4921]
    """
    from scipy.special import stdtr, stdtrit

    nan = float("nan")
    delta = float(first.mean() - second.mean()) if len(first) and len(second) else nan
    if min(len(first), len(second)) < 2:  # one number has no spread
        return delta, nan, nan, nan
    parts = np.array([group.var(ddof=1) / len(group) for group in (first, second)])
    if not parts.sum():
        return delta, nan, nan, nan
    df = parts.sum() ** 2 / (parts**2 / (np.array([len(first), len(second)]) - 1)).sum()
    error = float(np.sqrt(parts.sum()))
    half_width = float(stdtrit(df, (1 + level) / 2)) * error
    return delta, delta - half_width, delta + half_width, float(2 * stdtr(df, -abs(delta) / error))

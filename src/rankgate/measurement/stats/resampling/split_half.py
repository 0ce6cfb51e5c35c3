"""Split-half reliability: agreement of two halves of the queries on systems."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from rankgate.core.frozen import dataclass
from rankgate.measurement.stats.ranks.correlation import product_moment
from rankgate.measurement.stats.ranks.order import tau

if TYPE_CHECKING:
    from rankgate.measurement.stats.paired import Floats

SPLITS = 200
"""Random splits of the queries."""


@dataclass(frozen=True)
class SplitHalf:
    """Agreement of two halves of the queries on systems.

    Attributes:
        value: the mean over splits of Pearson's r between the halves' means of systems, stepped
            up to all queries by Spearman and Brown: 2r/(1 + r).
        low, high: 95 % of the splits.
        tau: the mean of Kendall's tau b between the halves' orders, not stepped up.
        splits: in which both halves have a spread.
    """

    value: float
    low: float
    high: float
    tau: float
    splits: int


def split_half(matrix: Floats, *, splits: int = SPLITS, seed: int = 0) -> SplitHalf:
    """Split queries at random into halves, again and again (Spearman 1910; Brown 1910).

    With an odd number of queries one is left out of each split. The range over splits says how
    much the choice of the split matters; it is no confidence interval.

    Args:
        matrix: (n, S) values, all finite.
        splits: how many.
        seed: of the splits.
    """
    n, systems = matrix.shape
    nan, half = float("nan"), n // 2
    if half < 1 or systems < 3:  # two systems correlate by ±1 whatever they are
        return SplitHalf(nan, nan, nan, nan, 0)
    rng = np.random.default_rng(seed)
    correlations, orders = [], []
    for _ in range(splits):
        order = rng.permutation(n)
        first_means, second_means = (
            matrix[rows].mean(axis=0) for rows in (order[:half], order[half : 2 * half])
        )
        r = product_moment(first_means, second_means)
        if np.isfinite(r) and r > -1:
            correlations.append(spearman_brown(r))
            orders.append(tau(first_means, second_means))
    if not correlations:
        return SplitHalf(nan, nan, nan, nan, 0)
    low, high = np.quantile(correlations, [0.025, 0.975])
    return SplitHalf(
        float(np.mean(correlations)),
        float(low),
        float(high),
        float(np.nanmean(orders)),
        len(correlations),
    )


def spearman_brown(r: float, times: float = 2.0) -> float:
    """The reliability of a test of k times the length: k·r / (1 + (k − 1)·r).

    >>> spearman_brown(0.5)
    0.6666666666666666
    """
    return times * r / (1 + (times - 1) * r)

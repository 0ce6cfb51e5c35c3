"""Differences of the quantiles of two paired samples, with bootstrap intervals."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from rankgate.core.frozen import dataclass

if TYPE_CHECKING:
    from collections.abc import Sequence

    from numpy.typing import NDArray

    Floats = NDArray[np.float64]

_BLOCK = 1 << 21  # places drawn at once


@dataclass(frozen=True)
class QuantileDifferences:
    """Differences of means and quantiles.

    Attributes:
        one, two: (S,) the statistics of both samples: the mean, then each quantile.
        low, high: (S,) intervals of two - one; NaN for fewer than two pairs.
    """

    one: Floats
    two: Floats
    low: Floats
    high: Floats


def quantile_differences(
    first: Floats,
    second: Floats,
    shares: Sequence[float],
    *,
    level: float = 0.95,
    samples: int = 2000,
    seed: int = 0,
) -> QuantileDifferences:
    """The mean and quantiles of both samples, and percentile intervals of their differences.

    Pairs are drawn with replacement, so that what both samples share does not widen an interval
    (Efron and Tibshirani 1993, chapter 8).

    Args:
        first: (n,) a sample.
        second: (n,) the other sample, pair by pair.
        shares: of the quantiles, as in 0.95.
        level: of the intervals.
        samples: resamples.
        seed: of the resampling.

    >>> found = quantile_differences(np.array([1.0, 2, 3]), np.array([2.0, 3, 4]), [0.5])
    >>> (found.two - found.one).tolist(), found.low.round(9).tolist()
    ([1.0, 1.0], [1.0, 1.0])
    """
    n = len(first)
    if not n:
        empty = np.full(1 + len(shares), np.nan)
        return QuantileDifferences(empty, empty, empty, empty)
    statistics = _statistics(first[None], shares)[0], _statistics(second[None], shares)[0]
    if n < 2:
        empty = np.full(1 + len(shares), np.nan)
        return QuantileDifferences(*statistics, empty, empty)
    rng = np.random.default_rng(seed)
    step = max(1, _BLOCK // n)
    differences = []
    for begin in range(0, samples, step):
        places = rng.integers(0, n, size=(min(step, samples - begin), n))
        differences.append(_statistics(second[places], shares) - _statistics(first[places], shares))
    low, high = np.quantile(np.concatenate(differences), [(1 - level) / 2, (1 + level) / 2], axis=0)
    return QuantileDifferences(*statistics, low, high)


def _statistics(rows: Floats, shares: Sequence[float]) -> Floats:
    """The mean and the quantiles of each row, ``(B, 1 + len(shares))``."""
    return np.column_stack([rows.mean(axis=1), np.quantile(rows, list(shares), axis=1).T])

"""Limits of a mean difference where few queries differ from the others.

Where all differences are equal, or nearly all are 0, their spread says nothing about the queries that
a sample missed. The Clopper-Pearson limit of the share of other queries, times the largest
difference that a query can have, bounds what they can add to the mean.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from rankgate.measurement.stats.paired_tests import TIE, as_columns

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from rankgate.core.arrays import Floats


FEW_CHANGES = 8
"""Below this number of other differences their limit applies (docs/validity.md)."""


def has_rare_changes(delta: Floats) -> NDArray[np.bool_]:
    """(M,) True if fewer than `FEW_CHANGES` differences are not 0, or if all are equal."""
    return _common_values(as_columns(delta))[1] < FEW_CHANGES


def rare_change_ends(
    delta: Floats, alpha: float, limits: tuple[float, float], size: int | None = None
) -> tuple[Floats, Floats]:
    """The one-sided bounds of each mean, (M,) each; infinitely far inside where changes are not rare.

    With k of n differences other than c (0, or the value of all), at most a share s of all queries has
    another one, with P(X ≤ k | n, s) = alpha (Clopper and Pearson 1934), so that the mean is at
    least c + s · (lowest − c).

    Args:
        delta: (n, M) differences.
        alpha: the probability that the mean is beyond a bound.
        limits: the lowest and the highest difference that a query can have.
        size: the number of independent differences; n if None.

    >>> low, high = rare_change_ends(np.array([0.0005] + [0] * 29), 0.05, (-1, 1))
    >>> round(float(low[0]), 3), round(float(high[0]), 3)
    (-0.149, 0.149)
    """
    from rankgate.measurement.stats.special_functions import betaincinv

    table = as_columns(delta)
    common, count = _common_values(table)
    n = size or len(table)
    changed = np.minimum(count, n)
    share = np.where(changed < n, betaincinv(changed + 1.0, np.maximum(n - changed, 1.0), 1 - alpha), 1.0)
    low, high = (common + share * (limit - common) for limit in limits)
    is_rare = count < FEW_CHANGES
    return np.where(is_rare, low, np.inf), np.where(is_rare, high, -np.inf)


def rare_change_p(
    delta: Floats, margin: float, largest: float, size: int | None = None
) -> tuple[Floats, Floats]:
    """The p-values of means of at most −margin and of at least margin, (M,) each, by the same limit.

    They are at most alpha where the bounds of `rare_change_ends` are inside of the margin; 0 where
    changes are not rare.

    Args:
        delta: (n, M) differences.
        margin: the largest difference that is not relevant.
        largest: the largest size of the difference of a query.
        size: the number of independent differences; n if None.

    >>> rare_change_p(np.zeros(2), 0.02, 1.0)[0].round(2).tolist()  # 0.98²
    [0.96]
    """
    from rankgate.measurement.stats.special_functions import bdtr

    table = as_columns(delta)
    common, count = _common_values(table)
    n = size or len(table)
    p_values = []
    for sign in (1.0, -1.0):
        with np.errstate(divide="ignore", invalid="ignore"):
            share = np.nan_to_num((margin + sign * common) / (largest + sign * common), nan=0.0)
        chances = [
            bdtr(float(min(k, n)), n, float(s)) for k, s in zip(count, np.clip(share, 0, 1), strict=True)
        ]
        p_values.append(np.where(count < FEW_CHANGES, chances, 0.0))
    return p_values[0], p_values[1]


def _common_values(table: Floats) -> tuple[Floats, NDArray[np.int64]]:
    """0, or the value of a column of equal differences; and the number of other differences."""
    if not len(table):
        return np.zeros(table.shape[1]), np.zeros(table.shape[1], np.int64)
    common = np.where(np.ptp(table, axis=0) <= TIE, table[0], 0.0)
    return common, (np.abs(table - common) > TIE).sum(axis=0).astype(np.int64)

"""Correlation and distance of two raters, from tables of their grades, many tables at once."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from rankgate.measurement.stats.agreement.ratings import ratio

if TYPE_CHECKING:
    from rankgate.measurement.stats.agreement.ratings import Floats


def mean_absolute(tables: Floats, grades: Floats) -> Floats:
    """(B,) the mean absolute difference of both grades of a pair.

    Args:
        tables: (B, K, K) how often the first gave one grade and the second another.
        grades: (K,) ascending.
    """
    gap = np.abs(grades[:, None] - grades[None, :])
    return ratio((tables * gap).sum(axis=(1, 2)), tables.sum(axis=(1, 2)))


def pearson_values(tables: Floats, grades: Floats) -> Floats:
    """(B,) Pearson's r of both grades; NaN where one rater gave one grade only."""
    grade_rows = np.broadcast_to(grades, tables.shape[:2])
    return _moments(tables, grade_rows, grade_rows)


def spearman_values(tables: Floats, grades: Floats) -> Floats:
    """(B,) Spearman's rho: Pearson's r of ranks, equal grades at their mean rank."""
    assert len(grades) == tables.shape[1]  # grades are only ranked
    return _moments(tables, _midranks(tables.sum(axis=2)), _midranks(tables.sum(axis=1)))


def kendall_values(tables: Floats, grades: Floats) -> Floats:
    """(B,) Kendall's tau b: (C − D)/√((P − T₁)(P − T₂)), P all pairs of pairs, T ties of each."""
    assert len(grades) == tables.shape[1]  # grades are only ranked
    concordant = _sum_of_later_cells(_sum_of_later_cells(tables, 1), 2)  # larger by both
    discordant = _sum_of_later_cells(_sum_of_later_cells(tables[:, :, ::-1], 1), 2)[
        :, :, ::-1
    ]  # larger by one, smaller by two
    n = tables.sum(axis=(1, 2))
    pairs = n * (n - 1) / 2
    untied_pairs = [
        pairs - (margin * (margin - 1) / 2).sum(axis=1)
        for margin in (tables.sum(axis=2), tables.sum(axis=1))
    ]
    return ratio(
        (tables * (concordant - discordant)).sum(axis=(1, 2)),
        np.sqrt(untied_pairs[0] * untied_pairs[1]),
    )


def _midranks(margin: Floats) -> Floats:
    return np.cumsum(margin, axis=1) - margin / 2 + 0.5


def _sum_of_later_cells(tables: Floats, axis: int) -> Floats:
    """The sum of the cells further along an axis."""
    cumulated = np.flip(np.cumsum(np.flip(tables, axis), axis=axis), axis)
    return np.asarray(cumulated - tables, np.float64)


def _moments(tables: Floats, first: Floats, second: Floats) -> Floats:
    n = tables.sum(axis=(1, 2))[:, None]
    rows, columns = tables.sum(axis=2), tables.sum(axis=1)
    with np.errstate(divide="ignore", invalid="ignore"):
        x = first - (rows * first).sum(axis=1, keepdims=True) / n
        y = second - (columns * second).sum(axis=1, keepdims=True) / n
    product = (tables * x[:, :, None] * y[:, None, :]).sum(axis=(1, 2))
    squares = (rows * x**2).sum(axis=1) * (columns * y**2).sum(axis=1)
    return ratio(product, np.sqrt(squares))

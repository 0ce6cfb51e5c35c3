"""Position bias from documents that were shown at several ranks for one query."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from rankgate.online.clicks.packed import sum_by_cell

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from rankgate.online.clicks.packed import PackedSearches

    Floats = NDArray[np.float64]

_MIN_EXAMINATION = 1e-3  # examination of a rank


def position_bias(searches: PackedSearches) -> Floats:
    """(K,) how often each rank is looked at, relative to the first; NaN where nothing tells.

    For every two ranks, the clicks of pairs that were shown at both are compared, each pair
    weighted by the lesser of its impressions (AllPairs); the logarithms of these ratios are brought
    together by weighted least squares.
    """
    impressions, clicks = _impressions_and_clicks(searches)
    depth = searches.depth
    rows, ratios, weights = [], [], []
    for upper_rank in range(depth):
        for lower_rank in range(upper_rank + 1, depth):
            shown_at_both = (impressions[:, upper_rank] > 0) & (impressions[:, lower_rank] > 0)
            if not shown_at_both.any():
                continue
            weight = np.minimum(
                impressions[shown_at_both, upper_rank], impressions[shown_at_both, lower_rank]
            )
            upper_clicks = float(
                (
                    weight
                    * clicks[shown_at_both, upper_rank]
                    / impressions[shown_at_both, upper_rank]
                ).sum()
            )
            lower_clicks = float(
                (
                    weight
                    * clicks[shown_at_both, lower_rank]
                    / impressions[shown_at_both, lower_rank]
                ).sum()
            )
            if upper_clicks <= 0 or lower_clicks <= 0:
                continue
            row = np.zeros(depth)
            row[upper_rank], row[lower_rank] = 1.0, -1.0
            rows.append(row)
            ratios.append(np.log(upper_clicks / lower_clicks))
            weights.append(1 / (1 / upper_clicks + 1 / lower_clicks))
    return _solve_examination(
        np.array(rows).reshape(-1, depth), np.array(ratios), np.array(weights)
    )


def _impressions_and_clicks(searches: PackedSearches) -> tuple[Floats, Floats]:
    """(P, K) impressions and clicks of each pair at each rank."""
    size = len(searches.pairs), searches.depth
    cells = searches.pair * searches.depth + np.arange(searches.depth)
    impressions = sum_by_cell(cells, searches.weights, size[0] * size[1])
    clicks = sum_by_cell(cells, searches.weights * searches.clicked, size[0] * size[1])
    return impressions.reshape(size), clicks.reshape(size)


def _solve_examination(rows: Floats, ratios: Floats, weights: Floats) -> Floats:
    """Examination from log ratios; the first rank is 1."""
    depth = rows.shape[1]
    examination = np.full(depth, np.nan)
    examination[0] = 1.0
    if len(rows):
        scale = np.sqrt(weights)[:, None]
        solved, *_ = np.linalg.lstsq(rows[:, 1:] * scale, ratios * scale[:, 0], rcond=None)
        linked = (rows[:, 1:] != 0).any(axis=0)
        examination[1:] = np.where(linked, np.maximum(np.exp(solved), _MIN_EXAMINATION), np.nan)
    return examination

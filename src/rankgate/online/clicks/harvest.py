"""Position bias from documents that were shown at several ranks for one query."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from rankgate.online.clicks.packed import sums

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from rankgate.online.clicks.packed import PackedSearches

    Floats = NDArray[np.float64]

_LEAST = 1e-3  # examination of a rank


def position_bias(searches: PackedSearches) -> Floats:
    """(K,) how often each rank is looked at, relative to the first; NaN where nothing tells.

    For every two ranks, the clicks of pairs that were shown at both are compared, each pair
    weighted by the lesser of its impressions (AllPairs); the logarithms of these ratios are brought
    together by weighted least squares.
    """
    shown, clicks = _tables(searches)
    depth = searches.depth
    rows, ratios, weights = [], [], []
    for one in range(depth):
        for other in range(one + 1, depth):
            both = (shown[:, one] > 0) & (shown[:, other] > 0)
            if not both.any():
                continue
            weight = np.minimum(shown[both, one], shown[both, other])
            top = float((weight * clicks[both, one] / shown[both, one]).sum())
            low = float((weight * clicks[both, other] / shown[both, other]).sum())
            if top <= 0 or low <= 0:
                continue
            row = np.zeros(depth)
            row[one], row[other] = 1.0, -1.0
            rows.append(row)
            ratios.append(np.log(top / low))
            weights.append(1 / (1 / top + 1 / low))
    return _solved(np.array(rows).reshape(-1, depth), np.array(ratios), np.array(weights))


def _tables(searches: PackedSearches) -> tuple[Floats, Floats]:
    """(P, K) impressions and clicks of each pair at each rank."""
    size = len(searches.pairs), searches.depth
    cells = searches.pair * searches.depth + np.arange(searches.depth)
    shown = sums(cells, searches.weights, size[0] * size[1])
    clicks = sums(cells, searches.weights * searches.clicked, size[0] * size[1])
    return shown.reshape(size), clicks.reshape(size)


def _solved(rows: Floats, ratios: Floats, weights: Floats) -> Floats:
    """Examination from log ratios; the first rank is 1."""
    depth = rows.shape[1]
    found = np.full(depth, np.nan)
    found[0] = 1.0
    if len(rows):
        scale = np.sqrt(weights)[:, None]
        solved, *_ = np.linalg.lstsq(rows[:, 1:] * scale, ratios * scale[:, 0], rcond=None)
        linked = (rows[:, 1:] != 0).any(axis=0)
        found[1:] = np.where(linked, np.maximum(np.exp(solved), _LEAST), np.nan)
    return found

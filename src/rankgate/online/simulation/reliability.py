"""Check whether a simulator that was learned from a log behaves as its users do."""

from __future__ import annotations

from collections import defaultdict
from typing import TYPE_CHECKING

import numpy as np

if TYPE_CHECKING:
    import polars as pl
    from numpy.typing import NDArray

    from rankgate.online.clicks.packed import PackedSearches

OFTEN = 20
"""How often a list must have been shown to be compared with another one."""

_ERRORS = 3  # standard errors that a rank may differ


def checked(
    unseen: PackedSearches, predicted: NDArray[np.float64], table: pl.DataFrame
) -> dict[str, float | None]:
    """Compare a simulator with searches that it has not learned from.

    Args:
        unseen: searches of the log.
        predicted: (N, K) the probability of each click by the simulator.
        table: rates by rank, as `sampling.by_rank` makes them.
    """
    apart = (table["expected"] - table["observed"]).abs() > _ERRORS * table["error"]
    right, pairs = _order(unseen, predicted)
    return {
        "ranks": float(apart.fill_null(value=False).sum()),
        "pairs": float(pairs),
        "agreement": right / pairs if pairs else None,
    }


def _order(unseen: PackedSearches, predicted: NDArray[np.float64]) -> tuple[float, int]:
    """Pairs of lists of a query that the simulator orders as the log does, and all pairs."""
    lists: dict[bytes, list[int]] = defaultdict(list)
    for row, key in enumerate(np.where(unseen.shown, unseen.pair, -1)):
        lists[key.tobytes()].append(row)
    query_of = unseen.pairs["query_id"].rank("dense").to_numpy()
    by_query: dict[int, list[tuple[float, float]]] = defaultdict(list)
    for rows in lists.values():
        weight = unseen.weight[rows]
        if weight.sum() < OFTEN:
            continue
        observed = float((weight[:, None] * unseen.clicked[rows]).sum() / weight.sum())
        query = int(query_of[unseen.pair[rows[0], 0]])
        by_query[query].append((observed, float(predicted[rows[0]].sum())))
    right, pairs = 0.0, 0
    for found in by_query.values():
        for place, (seen, told) in enumerate(found):
            for other_seen, other_told in found[place + 1 :]:
                if seen == other_seen:
                    continue
                pairs += 1
                right += (seen > other_seen) == (told > other_told)
    return right, pairs

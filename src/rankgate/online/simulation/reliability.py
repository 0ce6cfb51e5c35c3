"""Check whether a simulator that was learned from a log behaves as its users do."""

from __future__ import annotations

from collections import defaultdict
from typing import TYPE_CHECKING

import numpy as np

if TYPE_CHECKING:
    import polars as pl
    from numpy.typing import NDArray

    from rankgate.online.clicks.packed import PackedSearches

MIN_TIMES_SHOWN = 20
"""The number of times that a list must have been shown to be compared with another one."""

_MAX_STANDARD_ERRORS = 3  # standard errors that a rank may differ


def check_reliability(
    unseen: PackedSearches, predicted: NDArray[np.float64], table: pl.DataFrame
) -> dict[str, float | None]:
    """Compare a simulator with searches that it has not learned from.

    Args:
        unseen: searches of the log.
        predicted: (N, K) the probability of each click by the simulator.
        table: rates by rank, as `sampling.by_rank` makes them.
    """
    is_different = (table["expected"] - table["observed"]).abs() > _MAX_STANDARD_ERRORS * table[
        "error"
    ]
    correct_pairs, pairs = _count_ordered_pairs(unseen, predicted)
    return {
        "ranks": float(is_different.fill_null(value=False).sum()),
        "pairs": float(pairs),
        "agreement": correct_pairs / pairs if pairs else None,
    }


def _count_ordered_pairs(
    unseen: PackedSearches, predicted: NDArray[np.float64]
) -> tuple[float, int]:
    """Pairs of lists of a query that the simulator orders as the log does, and all pairs."""
    lists: dict[bytes, list[int]] = defaultdict(list)
    for row, key in enumerate(np.where(unseen.shown, unseen.pair, -1)):
        lists[key.tobytes()].append(row)
    query_of = unseen.pairs["query_id"].rank("dense").to_numpy()
    by_query: dict[int, list[tuple[float, float]]] = defaultdict(list)
    for rows in lists.values():
        weight = unseen.weight[rows]
        if weight.sum() < MIN_TIMES_SHOWN:
            continue
        observed = float((weight[:, None] * unseen.clicked[rows]).sum() / weight.sum())
        query = int(query_of[unseen.pair[rows[0], 0]])
        by_query[query].append((observed, float(predicted[rows[0]].sum())))
    correct_pairs, pairs = 0.0, 0
    for list_rates in by_query.values():
        for index, (observed_rate, predicted_rate) in enumerate(list_rates):
            for other_observed, other_predicted in list_rates[index + 1 :]:
                if observed_rate == other_observed:
                    continue
                pairs += 1
                correct_pairs += (observed_rate > other_observed) == (
                    predicted_rate > other_predicted
                )
    return correct_pairs, pairs

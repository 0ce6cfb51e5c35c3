"""Compatibility with an ideal ranking that preferences give: no grades, no gains."""

from typing import Annotated

import numpy as np

from rankgate.core.declare import Range
from rankgate.measurement.metrics.declare import Metric
from rankgate.measurement.metrics.judged import Counts, Floats
from rankgate.measurement.metrics.preferences.preferred import PREFERENCES, Preferred, Query


def compatibility(preferred: Preferred, *, p: Annotated[float, Range(0, 1)] = 0.95) -> Floats:
    """Rank-biased overlap of the ranking with an ideal ranking, over that of the ideal with itself.

    The ideal ranking is built greedily (Cohen, Schapire & Singer 1999): next is the document that
    is preferred to most of those left, less those that are preferred to it, preferences of all
    groups counted; of equals the one that the ranking has first. It holds the documents that a
    group gives a level above 0. Where preferences are those of grades it is that of Compat.

    Args:
        preferred: the block.
        p: how likely the reader goes on to the next rank.

    Returns:
        ``(T,)``; NaN for a query without a document of a level above 0.

    >>> from rankgate.measurement.metrics.preferences.preferred import block
    >>> levels = np.array([1.0, 2])  # the second of the ranking is preferred
    >>> compatibility(block([levels]), p=0.5).round(4)  # (1/2 · 2/2) / (1 + 1/2 · 2/2)
    array([0.3333])
    """
    return np.array([_value(query, p) for query in preferred.queries], np.float64)


def ideal(query: Query) -> Counts:
    """The documents of the ideal ranking, by their places among those of the query."""
    levels = np.array([group.level for group in query.groups])
    candidates = np.flatnonzero(np.any(levels > 0, axis=0))
    prefers = np.add.reduce(
        [g.prefers[np.ix_(candidates, candidates)].astype(np.int64) for g in query.groups]
    )
    margin = prefers - prefers.T
    lead, ideal_order = margin.sum(axis=1), np.empty(len(candidates), np.int64)
    lowest = np.iinfo(np.int64).min
    for position in range(len(candidates)):
        best_index = int(lead.argmax())
        ideal_order[position] = candidates[best_index]
        lead = np.where(lead == lowest, lowest, lead - margin[:, best_index])
        lead[best_index] = lowest
    return ideal_order


def _value(query: Query, p: float) -> float:
    order = ideal(query) if query.groups else np.zeros(0, np.int64)
    if not len(order):
        return np.nan
    length = max(query.length, len(order))
    weight = p ** np.arange(length)
    weight_up_to = np.append(0, np.cumsum(weight / np.arange(1, length + 1)))
    ranks = np.arange(1, len(order) + 1)
    is_retrieved = order < query.retrieved
    later_rank = np.maximum(ranks[is_retrieved], query.rank[order[is_retrieved]])
    shared_weight = weight_up_to[length] - weight_up_to[later_rank - 1]
    return float(shared_weight.sum() / (weight_up_to[length] - weight_up_to[ranks - 1]).sum())


PrefsCompat = Metric(
    "prefs_compat",
    compatibility,
    title="How like the ranking is to the ideal that preferences give, by rank-biased overlap.",
    formula="prefs_compat = RBO(ranking, ideal) / RBO(ideal, ideal), the ideal by preferences",
    source="Clarke, Vtyurina & Smucker, ICTIR 2020, doi:10.1145/3409256.3409816; "
    "Cohen, Schapire & Singer, JAIR 10, 1999, doi:10.1613/jair.587",
    sees="how soon the ranking has shown what the ideal ranking shows",
    blind_to="how much better one document is than another",
    aliases=("preference_compatibility", "PGC"),
    at=None,
    view=PREFERENCES,
    scenarios=False,
)

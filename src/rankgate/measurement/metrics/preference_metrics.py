"""Metrics of preferences between two documents: fulfilled preferences and compatibility.

A judge prefers one of two documents; a ranking fulfils the preference if it has that document
first.

The module has trec_eval's prefs metrics, with their variant Rnonrel, and compatibility with the
ideal ranking that preferences give without grades or gains.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING, Annotated, Literal

import numpy as np

from rankgate.core.arrays import Floats
from rankgate.core.declare import Range
from rankgate.measurement.metrics.judged_block import Counts
from rankgate.measurement.metrics.metric_declaration import Metric
from rankgate.measurement.metrics.preference_input import PREFERENCES, Group, Preferred, Query

if TYPE_CHECKING:
    from rankgate.core.arrays import Flags


def balanced_counts(group: Group, retrieved: int, within: bool) -> tuple[int, int]:  # noqa: FBT001
    """The number of fulfilled preferences and of all preferences, as trec_eval counts them.

    Two peculiarities of trec_eval are reproduced: missing documents are added to all relevant
    documents even if only retrieved ones count, and the lowest class is compared with itself.

    Args:
        group: the preferences.
        retrieved: the number of documents retrieved.
        within: True to count only preferences between two retrieved documents.
    """
    m, levels = retrieved, group.level
    end = m if within else len(levels)
    relevant, is_nonrelevant = levels > 0, levels <= 0
    relevant_count, nonrelevant_count = int(relevant[:end].sum()), int(is_nonrelevant[:end].sum())
    prefers = group.prefers[:end, :end]
    if relevant_count < nonrelevant_count:
        return _first_counts(group, prefers, m, relevant_count if group.classes else int(relevant.sum()))
    missing_count = relevant_count - nonrelevant_count
    fulfilled = int(_fulfilled(prefers, m).sum()) + int(relevant[:m].sum()) * missing_count
    return fulfilled, int(prefers.sum()) + int(relevant.sum()) * missing_count


def _first_counts(group: Group, prefers: Flags, m: int, keep: int) -> tuple[int, int]:
    """The counts with only the first ``keep`` nonrelevant documents."""
    level = group.level[: len(prefers)]
    is_nonrelevant = level <= 0
    if not group.classes:
        is_included = ~(is_nonrelevant & (np.cumsum(is_nonrelevant) > keep))
        prefers = prefers & is_included[:, None] & is_included[None, :]
        return int(_fulfilled(prefers, m).sum()), int(prefers.sum())
    lowest = level == np.nanmin(group.level)
    is_lowest_kept = lowest & (np.cumsum(lowest) <= keep)
    is_above_lowest = ~lowest & ~np.isnan(level)
    pairs = prefers & is_above_lowest[:, None] & is_above_lowest[None, :]
    # the lowest class is compared with itself too
    pairs |= (is_above_lowest | lowest)[:, None] & is_lowest_kept[None, :]
    return int(_fulfilled(pairs, m).sum()), int(pairs.sum())


def _fulfilled(prefers: Flags, m: int) -> Flags:
    return np.triu(prefers[:m], 1)


Over = Literal["judged", "implied", "retrieved"]
"""The preferences that count: all, those with a retrieved document, or with two."""


def fulfilled_share(preferred: Preferred, *, over: Over = "judged") -> Floats:
    """The share of preferences that the ranking fulfils, over the preferences of all groups.

        prefs_simp = Σ_g fulfilled_g / Σ_g possible_g

    Args:
        preferred: the block.
        over: the preferences that count: all (`judged`), those with at least one retrieved
            document (`implied`), or with two (`retrieved`).

    Returns:
        ``(T,)``; NaN for a query without a preference.

    >>> from rankgate.measurement.metrics.preference_input import block
    >>> levels = np.array([1.0, 2, 0])  # by rank: the first two are the wrong way round
    >>> fulfilled_share(block([levels])).round(4)
    array([0.6667])
    """

    def value(query: Query) -> float:
        pairs = [counts(group, query.retrieved, over) for group in query.groups]
        return _ratio(sum(pair[0] for pair in pairs), sum(pair[1] for pair in pairs))

    return _value_by_query(preferred, value)


def fulfilled_by_pair(preferred: Preferred, *, over: Over = "judged") -> Floats:
    """The share of groups whose preference is fulfilled, mean over pairs of documents.

        prefs_pair = mean over {i, j} of fulfilled(i, j) / (prefer i + prefer j)

    >>> from rankgate.measurement.metrics.preference_input import block
    >>> levels = np.array([1.0, 2, 0])
    >>> fulfilled_by_pair(block([levels])).round(4)
    array([0.6667])
    """

    def value(query: Query) -> float:
        if not query.groups:
            return np.nan
        m = query.retrieved
        number = np.add.reduce([group.prefers.astype(np.float64) for group in query.groups])
        pairs = np.triu(number + number.T, 1)
        if over != "judged":
            pairs[m:] = 0
        if over == "retrieved":
            pairs[:, m:] = 0
        first, second = np.nonzero(pairs)
        fulfilled = np.where(first < m, number[first, second] / pairs[first, second], 0)
        return _ratio(float(fulfilled.sum()), len(first))

    return _value_by_query(preferred, value)


def fulfilled_by_group(preferred: Preferred, *, over: Over = "judged") -> Floats:
    """The share of preferences that the ranking fulfils in each judgment group, mean over groups.

        prefs_avgjg = 1/G · Σ_g fulfilled_g / possible_g

    >>> from rankgate.measurement.metrics.preference_input import block
    >>> levels = np.array([1.0, 2, 0])
    >>> fulfilled_by_group(block([levels])).round(4)
    array([0.6667])
    """

    def value(query: Query) -> float:
        shares = [_ratio(*counts(group, query.retrieved, over)) for group in query.groups]
        defined = [share for share in shares if not np.isnan(share)]
        return sum(defined) / len(shares) if defined else np.nan

    return _value_by_query(preferred, value)


def fulfilled_by_balanced_group(
    preferred: Preferred, *, over: Literal["judged", "retrieved"] = "judged"
) -> Floats:
    """The share by group, with as many nonrelevant as relevant documents (R) in each group.

    Missing nonrelevant documents count as ranked below all relevant ones; those after the first R
    by rank are left out.

    >>> from rankgate.measurement.metrics.preference_input import block
    >>> levels = np.array([1.0, 2, 0])
    >>> fulfilled_by_balanced_group(block([levels]))
    array([0.8])
    """

    def value(query: Query) -> float:
        within = over == "retrieved"
        shares = [_ratio(*balanced_counts(group, query.retrieved, within)) for group in query.groups]
        return sum(shares) / len(shares) if shares else np.nan

    return _value_by_query(preferred, value)


def count_preferences(preferred: Preferred) -> Floats:
    """The number of preferences.

    >>> from rankgate.measurement.metrics.preference_input import block
    >>> count_preferences(block([np.array([1.0, 2, 0])], 2))
    array([3.])
    """
    return _value_by_query(preferred, lambda query: sum(int(g.prefers.sum()) for g in query.groups))


def count_fulfilled(preferred: Preferred, *, over: Literal["implied", "retrieved"] = "implied") -> Floats:
    """The number of preferences fulfilled.

    >>> from rankgate.measurement.metrics.preference_input import block
    >>> count_fulfilled(block([np.array([1.0, 2, 0])], 2))
    array([2.])
    """

    def value(query: Query) -> float:
        return sum(counts(group, query.retrieved, over)[0] for group in query.groups)

    return _value_by_query(preferred, value)


def counts(group: Group, retrieved: int, over: Over) -> tuple[int, int]:
    """The number of fulfilled preferences and of preferences that count, in a group."""
    m, prefers = retrieved, group.prefers
    fulfilled = int(np.triu(prefers[:m, :m], 1).sum())
    if over == "retrieved":
        return fulfilled, int(prefers[:m, :m].sum())
    preference_count = prefers.sum() - (prefers[m:, m:].sum() if over == "implied" else 0)
    return fulfilled + int(prefers[:m, m:].sum()), int(preference_count)


def _ratio(numerator: float, denominator: float) -> float:
    return numerator / denominator if denominator else np.nan


def _value_by_query(preferred: Preferred, value: Callable[[Query], float]) -> Floats:
    return np.array([value(query) for query in preferred.queries], dtype=np.float64)


_SOURCE = "Carterette, Bennett, Chickering & Dumais, ECIR 2008; Buckley, trec_eval 8.1 (2008)"
_BLIND = "how much better one document is than another"


PrefsSimple = Metric(
    "prefs_simp",
    fulfilled_share,
    title="The share of the preferences that the ranking fulfils.",
    formula="prefs_simp = Σ_g fulfilled_g / Σ_g possible_g",
    source=_SOURCE,
    sees="the order of the two documents of every preference",
    blind_to=_BLIND,
    trec=("prefs_simp", "prefs_simp_ret", "prefs_simp_imp"),
    at=None,
    view=PREFERENCES,
    scenarios=False,
)
PrefsPair = Metric(
    "prefs_pair",
    fulfilled_by_pair,
    title="The share of the preferences fulfilled, mean over pairs of documents.",
    formula="prefs_pair = mean over pairs of fulfilled / preferences of the pair",
    source=_SOURCE,
    sees="the order of the two documents of every judged pair",
    blind_to=_BLIND,
    trec=("prefs_pair", "prefs_pair_ret", "prefs_pair_imp"),
    at=None,
    view=PREFERENCES,
    scenarios=False,
)
PrefsAvg = Metric(
    "prefs_avgjg",
    fulfilled_by_group,
    title="The share of the preferences fulfilled, mean over judgment groups.",
    formula="prefs_avgjg = 1/G · Σ_g fulfilled_g / possible_g",
    source=_SOURCE,
    sees="the preferences of each judge, with equal weight",
    blind_to=_BLIND,
    trec=("prefs_avgjg", "prefs_avgjg_ret", "prefs_avgjg_imp"),
    at=None,
    view=PREFERENCES,
    scenarios=False,
)
PrefsBalanced = Metric(
    "prefs_avgjg_Rnonrel",
    fulfilled_by_balanced_group,
    title="The same, each group with as many documents not relevant as relevant.",
    formula="prefs_avgjg with R documents of level 0 in each group, R being those above 0",
    source=_SOURCE,
    sees="the preferences of each judge, independent of the number of documents not relevant",
    blind_to=_BLIND,
    trec=("prefs_avgjg_Rnonrel", "prefs_avgjg_Rnonrel_ret"),
    at=None,
    high=None,
    view=PREFERENCES,
    scenarios=False,
)
PrefsPoss = Metric(
    "prefs_num_prefs_poss",
    count_preferences,
    title="The number of preferences.",
    formula="Σ_g possible_g",
    source=_SOURCE,
    sees="the judgments alone",
    blind_to="the ranking",
    trec=("prefs_num_prefs_poss",),
    at=None,
    high=None,
    aggregate="sum",
    view=PREFERENCES,
    scenarios=False,
)
PrefsFul = Metric(
    "prefs_num_prefs_ful",
    count_fulfilled,
    title="The number of preferences that the ranking fulfils.",
    formula="Σ_g fulfilled_g",
    source=_SOURCE,
    sees="the order of the two documents of every preference",
    blind_to="the number of preferences",
    trec=("prefs_num_prefs_ful", "prefs_num_prefs_ful_ret"),
    at=None,
    high=None,
    aggregate="sum",
    view=PREFERENCES,
    scenarios=False,
)


def compatibility(preferred: Preferred, *, p: Annotated[float, Range(0, 1)] = 0.95) -> Floats:
    """Rank-biased overlap of the ranking with an ideal ranking, over that of the ideal with itself.

    The ideal ranking is built greedily (Cohen, Schapire & Singer 1999). The next document is the
    one with the largest margin: the preferences of all groups for it, less those against it, among
    the remaining documents; the ranking breaks ties. Only documents with a level above 0 in some
    group take part. If preferences follow from grades, the value is that of Compat.

    Args:
        preferred: the block.
        p: the probability that a reader continues to the next rank.

    Returns:
        ``(T,)``; NaN for a query without a document of a level above 0.

    >>> from rankgate.measurement.metrics.preference_input import block
    >>> levels = np.array([1.0, 2])  # the second of the ranking is preferred
    >>> compatibility(block([levels]), p=0.5).round(4)  # (1/2 · 2/2) / (1 + 1/2 · 2/2)
    array([0.3333])
    """
    return np.array([_value(query, p) for query in preferred.queries], np.float64)


def ideal(query: Query) -> Counts:
    """The documents of the ideal ranking, as indices of the query's documents."""
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
    title=("The similarity of the ranking to the ideal that preferences give, by rank-biased overlap."),
    formula="prefs_compat = RBO(ranking, ideal) / RBO(ideal, ideal), the ideal by preferences",
    source="Clarke, Vtyurina & Smucker, ICTIR 2020, doi:10.1145/3409256.3409816; Cohen, Schapire & Singer, "
    "JAIR 10, 1999, doi:10.1613/jair.587",
    sees="the ranks of the documents of the ideal ranking",
    blind_to="the size of the difference between two documents",
    aliases=("preference_compatibility", "PGC"),
    at=None,
    view=PREFERENCES,
    scenarios=False,
)


__all__ = ["PREFERENCE_METRICS"]

PREFERENCE_METRICS = (PrefsSimple, PrefsPair, PrefsAvg, PrefsBalanced, PrefsPoss, PrefsFul, PrefsCompat)
"""Every metric of preferences, in the order in which they are listed."""

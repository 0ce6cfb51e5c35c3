"""The share of preferences that a ranking fulfils, as trec_eval's prefs metrics."""

from collections.abc import Callable
from typing import Literal

import numpy as np

from rankgate.measurement.metrics.declare import Metric
from rankgate.measurement.metrics.judged import Floats
from rankgate.measurement.metrics.preferences.balanced import balanced_counts
from rankgate.measurement.metrics.preferences.preferred import PREFERENCES, Group, Preferred, Query

Over = Literal["judged", "implied", "retrieved"]
"""Preferences between any two documents, those with one of two retrieved, or with both."""


def fulfilled_share(preferred: Preferred, *, over: Over = "judged") -> Floats:
    """Preferences fulfilled over preferences: those of all groups count alike.

        prefs_simp = Σ_g fulfilled_g / Σ_g possible_g

    Args:
        preferred: the block.
        over: preferences of any two documents (`judged`), of two of which one is retrieved
            (`implied`), or of two that are (`retrieved`).

    Returns:
        ``(T,)``; NaN for a query without a preference.

    >>> from rankgate.measurement.metrics.preferences.preferred import block
    >>> levels = np.array([1.0, 2, 0])  # by rank: the first two are the wrong way round
    >>> fulfilled_share(block([levels])).round(4)
    array([0.6667])
    """

    def value(query: Query) -> float:
        pairs = [counts(group, query.retrieved, over) for group in query.groups]
        return _ratio(sum(pair[0] for pair in pairs), sum(pair[1] for pair in pairs))

    return _value_by_query(preferred, value)


def fulfilled_by_pair(preferred: Preferred, *, over: Over = "judged") -> Floats:
    """The mean over pairs of documents of the share of groups whose preference is fulfilled.

        prefs_pair = mean over {i, j} of fulfilled(i, j) / (prefer i + prefer j)

    >>> from rankgate.measurement.metrics.preferences.preferred import block
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
    """Preferences fulfilled over preferences in each judgment group, mean over groups.

        prefs_avgjg = 1/G · Σ_g fulfilled_g / possible_g

    >>> from rankgate.measurement.metrics.preferences.preferred import block
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
    """The same with as many documents that are not relevant as are relevant, in each group.

    Missing ones count as ranked below all relevant documents; those after the first R by rank
    are left out.

    >>> from rankgate.measurement.metrics.preferences.preferred import block
    >>> levels = np.array([1.0, 2, 0])
    >>> fulfilled_by_balanced_group(block([levels]))
    array([0.8])
    """

    def value(query: Query) -> float:
        within = over == "retrieved"
        shares = [
            _ratio(*balanced_counts(group, query.retrieved, within)) for group in query.groups
        ]
        return sum(shares) / len(shares) if shares else np.nan

    return _value_by_query(preferred, value)


def count_preferences(preferred: Preferred) -> Floats:
    """The number of preferences.

    >>> from rankgate.measurement.metrics.preferences.preferred import block
    >>> count_preferences(block([np.array([1.0, 2, 0])], 2))
    array([3.])
    """
    return _value_by_query(preferred, lambda query: sum(int(g.prefers.sum()) for g in query.groups))


def count_fulfilled(
    preferred: Preferred, *, over: Literal["implied", "retrieved"] = "implied"
) -> Floats:
    """The number of preferences fulfilled.

    >>> from rankgate.measurement.metrics.preferences.preferred import block
    >>> count_fulfilled(block([np.array([1.0, 2, 0])], 2))
    array([2.])
    """

    def value(query: Query) -> float:
        return sum(counts(group, query.retrieved, over)[0] for group in query.groups)

    return _value_by_query(preferred, value)


def counts(group: Group, retrieved: int, over: Over) -> tuple[int, int]:
    """Preferences fulfilled and preferences, of a group."""
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
    sees="for every preference which of its two documents is ranked first",
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
    sees="for every pair that anyone judged which document is ranked first",
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
    sees="the preferences of each judge, all judges alike",
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
    sees="the preferences of each judge, whatever the number of documents not relevant",
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
    sees="for every preference which of its two documents is ranked first",
    blind_to="how many preferences there are",
    trec=("prefs_num_prefs_ful", "prefs_num_prefs_ful_ret"),
    at=None,
    high=None,
    aggregate="sum",
    view=PREFERENCES,
    scenarios=False,
)

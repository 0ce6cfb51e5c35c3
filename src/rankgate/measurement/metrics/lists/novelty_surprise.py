"""Novelty, serendipity and unexpectedness of recommended lists.

Novelty measures how little known the recommended items are.
"""

from typing import Literal

import numpy as np

from rankgate.core.arrays import Flags, Floats
from rankgate.core.declare import Cutoff
from rankgate.measurement.metrics.judged_block import total
from rankgate.measurement.metrics.lists.list_input import (
    NONE,
    Listed,
    is_in_row,
    masked_mean,
    row_totals,
    safe_ratio,
    take_rows,
    unit_vectors,
)
from rankgate.measurement.metrics.lists.list_input import safe_ratio as share
from rankgate.measurement.metrics.lists.list_metric import ListMetric

Of = Literal["people", "interactions"]
Unknown = Literal["leave_out", "cap", "zero"]
NoveltyRelevance = Literal["ignore", "use"]
Discount = Literal["log2", "none"]

_VARGAS = "Vargas & Castells, RecSys 2011, doi:10.1145/2043932.2043955"
_ZHOU = "Zhou et al., PNAS 107(10), 2010, doi:10.1073/pnas.1000488107"


def novelty(lists: Listed, *, of: Of = "people", unknown: Unknown = "leave_out") -> Floats:
    """Mean self-information of the items of a list, in bits, ``(T,)``.

        Novelty = mean_{i shown} −log₂( people who know i / people )

    Args:
        lists: the lists.
        of: the probability that one of the people knows the item (Zhou, rexmex, evidently), or that an
            interaction is with it (elliot's EFD).
        unknown: items unknown to everyone are left out, as novel as an item that one
            knows (`cap`), or count 0 (`zero`: recommenders).

    Returns:
        NaN for a list with nothing that is known.

    >>> novelty(Listed(np.array([[0, 1]]), 2, seen=np.array([4, 1]), people=4))
    array([1.])
    """
    bits, is_known = _information(lists, of, unknown)
    return masked_mean(bits, is_known)


def expected_popularity_complement(
    lists: Listed, *, relevance: NoveltyRelevance = "ignore", discount: Discount = "log2"
) -> Floats:
    """Expected popularity complement (EPC): the probability that people do not know an item, ``(T,)``.

        EPC = Σ_r d(r) · relᵣ · (1 − people who know iᵣ / people) / Σ_r d(r)

    Args:
        lists: the lists.
        relevance: True if only items that are relevant to the user add to it (`use`: elliot).
        discount: d(r) = 1/log₂(r + 1), or 1.

    >>> shown = Listed(np.array([[0, 1]]), 2, seen=np.array([4, 1]), people=4)
    >>> expected_popularity_complement(shown, discount="none")
    array([0.375])
    """
    assert lists.seen is not None
    chance = take_rows(lists.seen, lists.items) / max(lists.people, 1)
    return _discounted(lists, 1 - chance, relevance, discount)


def expected_free_discovery(
    lists: Listed,
    *,
    relevance: NoveltyRelevance = "ignore",
    discount: Discount = "log2",
    of: Of = "interactions",
) -> Floats:
    """Expected free discovery (EFD), ``(T,)``: self-information with discount and relevance.

        EFD = Σ_r d(r) · relᵣ · −log₂ p(iᵣ) / Σ_r d(r)

    Args:
        lists: the lists.
        relevance: True if only items that are relevant to the user add to it (`use`: elliot).
        discount: d(r) = 1/log₂(r + 1), or 1.
        of: p is the share of the interactions, or of the people.

    An item unknown to everyone is as novel as an item known to one person.

    >>> shown = Listed(np.array([[0, 1]]), 2, seen=np.array([3, 1]), people=3)
    >>> expected_free_discovery(shown, discount="none").round(4)
    array([1.2075])
    """
    bits, _ = _information(lists, of, "cap")
    return _discounted(lists, bits, relevance, discount)


def _information(lists: Listed, of: Of, unknown: Unknown) -> tuple[Floats, np.ndarray]:
    """−log₂ of the probability that each item is known, ``(T, K)``, and True for items that count."""
    assert lists.seen is not None
    total_count = lists.people if of == "people" else int(lists.seen.sum())
    bits = np.log2(max(total_count, 1)) - np.log2(np.maximum(lists.seen, 1)) + 0.0
    if unknown == "zero":
        bits = np.where(lists.seen > 0, bits, 0.0)
    is_known = take_rows(lists.seen, lists.items) > 0 if unknown == "leave_out" else lists.is_filled
    return take_rows(bits, lists.items), is_known


def _discounted(
    lists: Listed, novelty_of_place: Floats, relevance: NoveltyRelevance, discount: Discount
) -> Floats:
    ranks = np.arange(1, lists.items.shape[1] + 1)
    weight = lists.is_filled * (1 / np.log2(ranks + 1.0) if discount == "log2" else np.ones(len(ranks)))
    counted_weight = weight
    if relevance == "use":
        assert isinstance(lists.relevant, np.ndarray)
        counted_weight = weight * is_in_row(lists.items, lists.relevant)
        has_relevant = (lists.relevant != NONE).any(axis=-1)
        return np.where(
            has_relevant, safe_ratio(total(counted_weight * novelty_of_place), total(weight)), np.nan
        )
    return safe_ratio(total(counted_weight * novelty_of_place), total(weight))


Novelty = ListMetric(
    "Novelty",
    novelty,
    title="The mean unfamiliarity of the items shown, in bits.",
    formula="Novelty = mean_list mean_{i shown} −log₂( people who know i / people )",
    aliases=("self_information", "MIUF"),
    high=None,
    needs=("seen",),
    source=f"{_ZHOU}; rexmex, evidently",
    sees="the number of people who knew the items shown",
)
EPC = ListMetric(
    "EPC",
    expected_popularity_complement,
    title="Expected popularity complement: the share of people who do not know the items shown.",
    formula="EPC = Σ_r d(r) · relᵣ · (1 − people who know iᵣ / people) / Σ_r d(r)",
    aliases=("expected_popularity_complement",),
    needs=("seen",),
    source=f"{_VARGAS}; elliot",
    sees="the number of people who knew the items shown, and their ranks",
)
EFD = ListMetric(
    "EFD",
    expected_free_discovery,
    title="Expected free discovery: self-information with discount, in bits.",
    formula="EFD = Σ_r d(r) · relᵣ · −log₂ p(iᵣ) / Σ_r d(r)",
    aliases=("expected_free_discovery",),
    high=None,
    needs=("seen",),
    source=f"{_VARGAS}; elliot",
    sees="the popularity of the items shown, and their ranks",
)


Over = Literal["cutoff", "shown"]
SurpriseRelevance = Literal["ignore", "use", "only"]
Against = Literal["shown", "history"]


def serendipity(lists: Listed, *, over: Over = "cutoff", cutoff: Cutoff | None = None) -> Floats:
    r"""The share of the places that hold what is relevant and not on the obvious list, ``(T,)``.

        Serendipity@K = |relevant ∩ (shown \ obvious)| / K

    Args:
        lists: the lists.
        over: K, or the items that are shown, which makes short lists better.
        cutoff: K; the length of the list if not given.

    Returns:
        NaN for an empty list.

    >>> shown = Listed(np.array([[0, 1]]), 3, relevant=np.array([[0, 1]]), baseline=np.array([[0]]))
    >>> serendipity(shown)
    array([0.5])
    """
    assert isinstance(lists.relevant, np.ndarray)
    assert lists.baseline is not None
    is_surprise = is_in_row(lists.items, lists.relevant) & ~is_in_row(lists.items, lists.baseline)
    item_count = lists.lengths
    if over == "cutoff" and cutoff is not None:
        item_count = np.where(item_count > 0, cutoff, 0)
    return share(np.count_nonzero(is_surprise, axis=-1).astype(np.float64), item_count)


def unexpectedness(lists: Listed, *, relevance: SurpriseRelevance = "ignore") -> Floats:
    """Mean distance of the items shown from those that the user had before, ``(T,)``.

        Unexpectedness = mean_{i shown} relᵢ · (1 − mean_{h in the history} cos(i, h))

    Args:
        lists: the lists; items whose features are all 0 are left out.
        relevance: items that are not relevant add nothing (`use`: serendipity in recommenders);
            or the value is 1 − Σ_{i relevant and shown} mean_h cos(i, h), without one where nothing
            relevant is shown (`only`: serendipity in evidently, which falls with every hit).

    >>> shown = Listed(np.array([[0, 1]]), 2, features=np.eye(2), history=np.array([[0]]))
    >>> unexpectedness(shown)
    array([0.5])
    """
    assert lists.features is not None
    assert isinstance(lists.history, np.ndarray)
    has_features = (lists.features != 0).any(axis=-1).astype(np.float64)
    direction = unit_vectors(lists.features)
    history_count = take_rows(has_features, lists.history).sum(axis=-1)
    taste = row_totals(direction, lists.history)
    taste = share(taste, np.broadcast_to(history_count[:, None], taste.shape))
    similarity = np.einsum("tkf,tf->tk", take_rows(direction, lists.items), taste)
    distance = 1 - similarity
    is_counted: Flags = take_rows(has_features, lists.items) > 0
    if relevance != "ignore":
        assert isinstance(lists.relevant, np.ndarray)
        hit = is_in_row(lists.items, lists.relevant)
        if relevance == "only":
            value = 1 - total(np.where(hit & is_counted, similarity, 0))
            return np.where((history_count > 0) & hit.any(axis=-1), value, np.nan)
        distance = distance * hit
    return np.where(history_count > 0, masked_mean(distance, is_counted), np.nan)


def temporal_diversity(lists: Listed) -> Floats:
    r"""The share of the items shown that the list of last time did not show, ``(T,)``.

        TemporalDiversity = |shown \ shown last time| / |shown|

    >>> temporal_diversity(Listed(np.array([[0, 1]]), 3, earlier=np.array([[1, 2]])))
    array([0.5])
    """
    assert lists.earlier is not None
    is_new = lists.is_filled & ~is_in_row(lists.items, lists.earlier)
    has_earlier = (lists.earlier != NONE).any(axis=-1)
    new_share = share(np.count_nonzero(is_new, axis=-1).astype(np.float64), lists.lengths)
    return np.where(has_earlier, new_share, np.nan)


def stability(lists: Listed) -> Floats:
    """Jaccard's coefficient of two snapshots of a list, ``(T,)``.

        Stability = |shown ∩ shown last time| / |shown ∪ shown last time|

    >>> stability(Listed(np.array([[0, 1]]), 3, earlier=np.array([[1, 2]]))).round(3)
    array([0.333])
    """
    assert lists.earlier is not None
    common_count = np.count_nonzero(is_in_row(lists.items, lists.earlier), axis=-1).astype(np.float64)
    union_count = lists.lengths + np.count_nonzero(lists.earlier != NONE, axis=-1) - common_count
    return share(common_count, union_count)


def temporal_novelty(lists: Listed, *, against: Against = "shown") -> Floats:
    r"""The share of the items shown that the user was never shown before, ``(T,)``.

        TemporalNovelty = |shown \ ever shown before| / |shown|

    Args:
        lists: the lists; without data on earlier lists, the previous list is compared.
        against: the previous list, or the user's history (`history`).

    >>> shown = Listed(np.array([[0, 1]]), 3, earlier=np.array([[2]]), before=np.array([[2, 1]]))
    >>> temporal_novelty(shown)
    array([0.5])
    """
    shown_before = lists.earlier if lists.before is None else lists.before
    earlier_items = lists.history if against == "history" else shown_before
    assert isinstance(earlier_items, np.ndarray)
    is_new = lists.is_filled & ~is_in_row(lists.items, earlier_items)
    new_share = share(np.count_nonzero(is_new, axis=-1).astype(np.float64), lists.lengths)
    return np.where((earlier_items != NONE).any(axis=-1) | (against == "history"), new_share, np.nan)


Serendipity = ListMetric(
    "Serendipity",
    serendipity,
    title="The share of places with an item that is relevant and not on an obvious list.",
    formula="Serendipity@K = |relevant ∩ (shown \\ obvious)| / K",
    needs=("relevant", "baseline"),
    source="Ge, Delgado-Battenfeld & Jannach, RecSys 2010, doi:10.1145/1864708.1864761",
    sees="relevant items shown that the simple system does not show",
    blind_to="the order within a list; the simple system must be given",
)
Unexpectedness = ListMetric(
    "Unexpectedness",
    unexpectedness,
    title="The distance between the items shown and those that their users had before.",
    formula="Unexpectedness = mean_{i shown} relᵢ · (1 − mean_{h in the history} cos(i, h))",
    high=2.0,
    needs=("features", "history"),
    source="Zhang et al., WSDM 2012, doi:10.1145/2124295.2124300; recommenders, evidently",
    sees="the features of the items shown and of the user's history",
)
TemporalDiversity = ListMetric(
    "TemporalDiversity",
    temporal_diversity,
    title="The share of a list that was not on it last time.",
    formula="TemporalDiversity = |shown \\ shown last time| / |shown|",
    aliases=("lathia_diversity",),
    needs=("earlier",),
    source="Lathia et al., SIGIR 2010, doi:10.1145/1835449.1835486",
    sees="the items that are on both snapshots of a list",
)
TemporalNovelty = ListMetric(
    "TemporalNovelty",
    temporal_novelty,
    title="The share of a list that its user was never shown before.",
    formula="TemporalNovelty = |shown \\ ever shown before| / |shown|",
    aliases=("lathia_novelty",),
    needs=("earlier",),
    source="Lathia et al., SIGIR 2010, doi:10.1145/1835449.1835486",
    sees="the items that were on any earlier list",
)
Stability = ListMetric(
    "Stability",
    stability,
    title="The overlap of two snapshots of a list.",
    formula="Stability = |shown ∩ shown last time| / |shown ∪ shown last time|",
    needs=("earlier",),
    source="Jaccard's coefficient of the two lists",
    sees="the items that are on both snapshots of a list",
)

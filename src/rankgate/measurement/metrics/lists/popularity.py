"""Popularity of the recommended items, the long tail, and propensity-weighted hits.

The propensity weights work against the popularity bias of logs.
"""

from typing import Annotated, Literal

import numpy as np

from rankgate.core.arrays import Flags, Floats
from rankgate.core.declare import Range
from rankgate.measurement.metrics.judged_block import total
from rankgate.measurement.metrics.lists.list_input import (
    NONE,
    Codes,
    Listed,
    is_in_row,
    masked_mean,
    safe_ratio,
    take_rows,
)
from rankgate.measurement.metrics.lists.list_metric import ListMetric

Head = Literal["items", "interactions", "seen"]
Share = Annotated[float, Range(0, 1)]

_ABDOLLAHPOURI = "Abdollahpouri, Burke & Mobasher, FLAIRS 2019, arXiv:1901.07555"
_ZHU = "Zhu, Wang & Caverlee, SIGIR 2020, doi:10.1145/3397271.3401177"


def is_long_tail(seen_counts: Codes, head: Head = "items", share: float = 0.2) -> Flags:
    """True for items of the long tail, ``(I,)``; of equal ones the first codes are of the head.

    Args:
        seen_counts: ``(I,)``, how often each item was seen.
        head: the head is a share of the items, the most popular first; or the items that have a
            share of all interactions (elliot); or a share of the items that were seen at all, those
            that were not being of neither (`seen`: RecBole, where of equal ones the first are of
            the tail).
        share: this share; usual are 0.2 of the items, 0.8 of the interactions, 0.9 of those seen.

    >>> is_long_tail(np.array([5, 1, 1, 1, 1])).tolist()
    [False, True, True, True, True]
    """
    if head == "seen":
        from_rarest = np.argsort(seen_counts, kind="stable")
        from_rarest = from_rarest[seen_counts[from_rarest] > 0]
        is_rare: Flags = np.zeros(len(seen_counts), bool)
        is_rare[from_rarest[: max(len(from_rarest) - int(np.ceil(share * len(from_rarest) - 1e-9)), 1)]] = (
            True
        )
        return is_rare
    order = np.argsort(-seen_counts, kind="stable")
    if head == "items":
        size = int(np.ceil(share * len(seen_counts) - 1e-9))
    else:
        seen_before = np.cumsum(seen_counts[order]) - seen_counts[order]
        size = int(np.count_nonzero(seen_before < share * seen_counts.sum() - 1e-9))
    tail: Flags = np.ones(len(seen_counts), bool)
    tail[order[:size]] = False
    return tail


def popularity(lists: Listed, *, unknown: Literal["leave_out", "zero"] = "leave_out") -> Floats:
    """Mean number of people who know the items of a list (ARP), ``(T,)``.

    Args:
        lists: the lists.
        unknown: items unknown to everyone are left out (evidently), or count 0 (RecBole,
            elliot).

    >>> popularity(Listed(np.array([[0, 1]]), 2, seen=np.array([4, 1]), people=4))
    array([2.5])
    """
    seen_counts = take_rows(_seen_counts(lists), lists.items)
    return masked_mean(seen_counts, lists.is_filled & ((seen_counts > 0) | (unknown == "zero")))


def tail_items(lists: Listed, *, head: Head = "items", share: Share = 0.2) -> Floats:
    """Count the items of a list that are of the long tail (ACLT), ``(T,)``; NaN for an empty list.

    >>> tail_items(Listed(np.array([[0, 1]]), 2, seen=np.array([4, 1]), people=4), share=0.5)
    array([1.])
    """
    tail = take_rows(is_long_tail(_seen_counts(lists), head, share).astype(np.float64), lists.items)
    return np.where(lists.lengths > 0, tail.sum(axis=-1), np.nan)


def tail_per_list(lists: Listed, *, head: Head = "items", share: Share = 0.2) -> Floats:
    """The share of the items of a list that are of the long tail (APLT), ``(T,)``.

    >>> tail_per_list(Listed(np.array([[0, 1]]), 2, seen=np.array([4, 1]), people=4), share=0.5)
    array([0.5])
    """
    tail = take_rows(is_long_tail(_seen_counts(lists), head, share).astype(np.float64), lists.items)
    return masked_mean(tail, lists.is_filled)


def tail_terms(lists: Listed, *, head: Head = "items", share: Share = 0.2) -> Floats:
    """The number of positions with an item of the long tail, and of all positions, ``(T, 2)``."""
    tail = take_rows(is_long_tail(_seen_counts(lists), head, share).astype(np.float64), lists.items)
    return np.stack([tail.sum(axis=-1), lists.lengths.astype(np.float64)], axis=-1)


def lift_terms(lists: Listed) -> Floats:
    """The mean popularity of a list, and of the items that its user had before, ``(T, 2)``.

    Both are 0 for a user without a list or a history.

    >>> lift_terms(Listed(np.array([[0]]), 2, seen=np.array([4, 2]), history=np.array([[1]])))
    array([[4., 2.]])
    """
    assert isinstance(lists.history, np.ndarray)
    seen_counts = _seen_counts(lists)
    list_popularity = masked_mean(take_rows(seen_counts, lists.items), lists.is_filled)
    history_popularity = masked_mean(take_rows(seen_counts, lists.history), lists.history != NONE)
    pairs = np.stack([list_popularity, history_popularity], axis=-1)
    return np.where(np.isnan(pairs).any(axis=-1, keepdims=True), 0.0, pairs)


def relative_lift(sums: Floats) -> float:
    """The relative difference of the first sum from the second."""
    return float(sums[0] / sums[1] - 1) if sums[1] else float("nan")


def popularity_rank(lists: Listed) -> Floats:
    """Mean rank by popularity of the items of a list, as a share, ``(T,)``.

    1 is the most popular item, 0 is unknown to everyone; items that are equally popular
    share the mean of their ranks.

    >>> popularity_rank(Listed(np.array([[0, 1]]), 3, seen=np.array([4, 1, 0])))
    array([0.75])
    """
    seen_counts = _seen_counts(lists)
    levels, level_sizes = np.unique(seen_counts[seen_counts > 0], return_counts=True)
    mean_ranks = np.cumsum(level_sizes) - (level_sizes - 1) / 2  # of the ranks that equals share
    rank = np.zeros(len(seen_counts))
    rank[seen_counts > 0] = mean_ranks[np.searchsorted(levels, seen_counts[seen_counts > 0])] / max(
        1, level_sizes.sum()
    )
    return masked_mean(take_rows(rank, lists.items), lists.is_filled)


def opportunity_terms(lists: Listed, *, head: Head = "items", share: Share = 0.2) -> Floats:
    """Relevant items that are shown and relevant items, of the head and of the tail, ``(T, 4)``."""
    assert isinstance(lists.relevant, np.ndarray)
    tail = is_long_tail(_seen_counts(lists), head, share).astype(np.float64)
    hit = is_in_row(lists.items, lists.relevant)
    is_tail, is_relevant = take_rows(tail, lists.items), lists.relevant != NONE
    relevant_tail = take_rows(tail, lists.relevant).sum(axis=-1)
    hits_tail = (is_tail * hit).sum(axis=-1)
    hits_head = np.count_nonzero(hit, axis=-1) - hits_tail
    relevant_head = np.count_nonzero(is_relevant, axis=-1) - relevant_tail
    return np.stack([hits_head, hits_tail, relevant_head, relevant_tail], axis=-1)


def parity_terms(lists: Listed, *, head: Head = "items", share: Share = 0.2) -> Floats:
    """Items shown and items that could be, of the head and of the tail, ``(T, 4)``.

    Items that the user had before cannot be shown.
    """
    assert isinstance(lists.history, np.ndarray)
    tail = is_long_tail(_seen_counts(lists), head, share).astype(np.float64)
    shown_tail = take_rows(tail, lists.items).sum(axis=-1)
    had_tail = take_rows(tail, lists.history).sum(axis=-1)
    history_count = np.count_nonzero(lists.history != NONE, axis=-1)
    free_tail = tail.sum() - had_tail
    free_head = (len(tail) - tail.sum()) - (history_count - had_tail)
    return np.stack([lists.lengths - shown_tail, shown_tail, free_head, free_tail], axis=-1)


def variation_of_chances(sums: Floats) -> float:
    """Standard deviation over mean of the probabilities of two groups, ``(4,)``: parts, then wholes."""
    shown_sums, possible_sums = np.split(sums, 2)
    if (possible_sums <= 0).any() or not shown_sums.sum():
        return float("nan")
    chance = shown_sums / possible_sums
    return float(chance.std() / chance.mean())


def first_over_second(sums: Floats) -> float:
    """The first sum divided by the second."""
    return float(sums[0] / sums[1]) if sums[1] else float("nan")


def _seen_counts(lists: Listed) -> Codes:
    assert lists.seen is not None
    return lists.seen


Popularity = ListMetric(
    "Popularity",
    popularity,
    title="The mean number of people who know an item shown.",
    formula="Popularity = mean_list mean_{i shown} |people who know i|",
    aliases=("ARP", "average_popularity"),
    high=None,
    higher_is_better=False,
    needs=("seen",),
    source="Yin et al., PVLDB 5(9), 2012, doi:10.14778/2311906.2311916",
    sees="the popularity of the items shown",
)
PopularityRank = ListMetric(
    "PopularityRank",
    popularity_rank,
    title="The mean rank by popularity of the items shown, 1 being the most popular.",
    formula="PopularityRank = mean_list mean_{i shown} rank of i from the least popular / |items known|",
    aliases=("mean_pop_rank", "obscurity"),
    higher_is_better=False,
    needs=("seen",),
    source="Ekstrand & Mahant, FLAIRS 2017; LensKit (MeanPopRank)",
    sees="the popularity of the items shown among all",
)
ACLT = ListMetric(
    "ACLT",
    tail_items,
    title="The mean number of items of the long tail in a list.",
    formula="ACLT = mean_list |items shown of the tail|",
    aliases=("average_coverage_of_long_tail",),
    high=None,
    needs=("seen",),
    source=f"{_ABDOLLAHPOURI}; elliot",
    sees="the items shown that are outside of the head",
)
APLT = ListMetric(
    "APLT",
    tail_per_list,
    title="The mean share of items of the long tail in a list.",
    formula="APLT = mean_list |items shown of the tail| / |items shown|",
    aliases=("average_percentage_of_long_tail",),
    needs=("seen",),
    source=f"{_ABDOLLAHPOURI}; elliot",
    sees="the items shown that are outside of the head",
)
TailShare = ListMetric(
    "TailShare",
    tail_terms,
    title="The share of all places that hold an item of the long tail.",
    formula="TailShare = Σ_list |items shown of the tail| / Σ_list |items shown|",
    aliases=("tail_percentage",),
    needs=("seen",),
    merge="ratio",
    finish=first_over_second,
    source="RecBole 1.2.1, TailPercentage",
    sees="the items shown that are outside of the head",
)
PopularityLift = ListMetric(
    "PopularityLift",
    lift_terms,
    title="The relative rise in popularity from their users' earlier items to the lists.",
    formula="PopularityLift = (Σ_user mean popularity shown − Σ_user of the history) / Σ_user of it",
    aliases=("delta_GAP", "popularity_lift"),
    low=-1.0,
    high=None,
    higher_is_better=False,
    needs=("seen", "history"),
    merge="ratio",
    finish=relative_lift,
    source="Abdollahpouri et al., RMSE at RecSys 2019, arXiv:1907.13286",
    sees="the popularity of the items shown and of the user's history",
)
PopREO = ListMetric(
    "PopREO",
    opportunity_terms,
    title="The inequality between the probabilities of relevant items of the head and of the tail to be "
    "shown.",
    formula="PopREO = std / mean over head and tail of Σ relevant shown / Σ relevant",
    aliases=("REO",),
    higher_is_better=False,
    needs=("seen", "relevant"),
    merge="ratio",
    finish=variation_of_chances,
    source=f"{_ZHU}; elliot",
    sees="hits among items of the head and of the tail",
    blind_to="the order within a list",
)
PopRSP = ListMetric(
    "PopRSP",
    parity_terms,
    title="The inequality between the probabilities of items of the head and of the tail to be shown.",
    formula="PopRSP = std / mean over head and tail of Σ shown / Σ items new to the user",
    aliases=("RSP",),
    higher_is_better=False,
    needs=("seen", "history"),
    merge="ratio",
    finish=variation_of_chances,
    source=f"{_ZHU}; elliot",
    sees="the shown parts of head and tail",
)


def ips_hits(
    lists: Listed, *, cap: Annotated[float, Range(1)] = 10_000.0, normalised: bool = False
) -> Floats:
    """Hits, each over the probability that an interaction is with its item, ``(T,)``.

        IPSHits@K = Σ_{i relevant and shown} min( cap, Σ_j seen_j / seen_i )

    Args:
        lists: the lists; an item unknown to everyone has weight 0.
        cap: the most that a hit weighs, so that one rare item does not decide.
        normalised: over what all relevant items of the user weigh (SNIPS).

    Returns:
        NaN for users without relevant items.

    >>> shown = Listed(np.array([[0, 1]]), 2, relevant=np.array([[0]]), seen=np.array([1, 3]))
    >>> ips_hits(shown)
    array([4.])
    """
    assert lists.seen is not None
    assert isinstance(lists.relevant, np.ndarray)
    seen_counts = lists.seen.astype(np.float64)
    weight = np.nan_to_num(
        np.minimum(safe_ratio(np.full(seen_counts.shape, seen_counts.sum()), seen_counts), cap)
    )
    hits = total(take_rows(weight, lists.items) * is_in_row(lists.items, lists.relevant))
    relevant_weight = total(take_rows(weight, lists.relevant))
    if normalised:
        return safe_ratio(hits, relevant_weight)
    return np.where((lists.relevant >= 0).any(axis=-1), hits, np.nan)


IPSHits = ListMetric(
    "IPSHits",
    ips_hits,
    title="Hits, each over the probability that an interaction is with its item.",
    formula="IPSHits@K = Σ_{i relevant and shown} min( cap, Σ_j seen_j / seen_i )",
    aliases=("ips_hit_rate",),
    high=None,
    needs=("seen", "relevant"),
    source="Schnabel et al., ICML 2016, arXiv:1602.05352; RecPack (IPSHitRateK, SNIPSHitRateK)",
    sees="the relevant items shown, and their popularity",
    blind_to="the order within a list",
)

"""Fairness of prefixes: the share of a protected group in every prefix of a list."""

from dataclasses import replace
from functools import lru_cache
from typing import Annotated, Literal

import numpy as np

from rankgate.core.arrays import Flags, Floats
from rankgate.core.declare import Range
from rankgate.measurement.metrics.judged_block import total
from rankgate.measurement.metrics.lists.list_input import NONE, Codes, Listed, safe_ratio
from rankgate.measurement.metrics.lists.list_metric import ListMetric

Kind = Literal["difference", "kl", "ratio"]
Step = Annotated[int, Range(1)]
Group = Annotated[int, Range(0)]
Share = Annotated[float, Range(0, 1)]

_YANG = "Yang & Stoyanovich, SSDBM 2017, doi:10.1145/3085504.3085526"
_GEYIK = "Geyik, Ambler & Kenthapadi, KDD 2019, doi:10.1145/3292500.3330691"
_ZEHLIKE = "Zehlike et al., CIKM 2017, doi:10.1145/3132847.3132938"


def unfairness_by_shares(lists: Listed, *, step: Step = 10, protected: Group = 1) -> Floats:
    """Unfairness of prefixes by shares (rND), over the greatest there can be, ``(T,)``; 0 is fair.

        rND = 1/Z · Σ_{i = step, 2·step, …} 1/log₂(i) · |share of the first i − share of all N|

    Z is the greater of the sums for the rankings that put all protected items first, or last. The
    whole list, N items, is the population.

    Args:
        lists: the lists; items without a group count as not protected.
        step: prefixes are as long as its multiples; a list of fewer items has its end alone.
        protected: the code of the protected group.

    Returns:
        NaN for lists in which all items are protected, or none.

    >>> shown = Listed(np.array([[0, 1, 2, 3]]), 4, groups=np.array([0, 0, 1, 1]))
    >>> unfairness_by_shares(shown, step=2)
    array([1.])
    """
    return _normalised(lists, "difference", step, protected)


def unfairness_by_divergence(lists: Listed, *, step: Step = 10, protected: Group = 1) -> Floats:
    """The same by the divergence of Kullback and Leibler in bits (rKL); arguments as of rND.

    >>> lists = Listed(np.array([[0, 2, 1, 3]]), 4, groups=np.array([0, 0, 1, 1]))
    >>> unfairness_by_divergence(lists, step=2)
    array([0.])
    """
    return _normalised(lists, "kl", step, protected)


def unfairness_by_ratios(lists: Listed, *, step: Step = 10, protected: Group = 1) -> Floats:
    """The same by ratios of protected to others, 0 where a group is empty (rRD), ``(T,)``.

    Meant for a protected minority; arguments as of rND.

    >>> lists = Listed(np.array([[0, 2, 1, 3]]), 4, groups=np.array([0, 0, 1, 1]))
    >>> unfairness_by_ratios(lists, step=2)
    array([nan])
    """
    return _normalised(lists, "ratio", step, protected)


def _normalised(lists: Listed, kind: Kind, step: int, protected: int) -> Floats:
    lists = lists.without_gaps()
    is_protected = _protected(lists, protected)
    length, protected_count = lists.lengths, np.count_nonzero(is_protected, axis=-1)
    has_both = (protected_count > 0) & (protected_count < length)
    unfairness: Floats = np.full(len(is_protected), np.nan)
    if not has_both.any():
        return unfairness
    sizes = np.stack([length[has_both], protected_count[has_both]], axis=-1)
    distinct_sizes, size_index = np.unique(sizes, axis=0, return_inverse=True)
    n, m = distinct_sizes[:, :1], distinct_sizes[:, 1:]
    ranks = np.arange(1, is_protected.shape[1] + 1)
    first, last = np.minimum(ranks, m), np.maximum(ranks - (n - m), 0)
    greatest = np.maximum(
        *(_unfairness(protected_counts, distinct_sizes, kind, step) for protected_counts in (first, last))
    )
    up_to_rank = np.cumsum(is_protected[has_both], axis=-1)
    unfairness[has_both] = safe_ratio(
        _unfairness(up_to_rank, sizes, kind, step), greatest[size_index.ravel()]
    )
    return unfairness


def _unfairness(protected: Codes, sizes: Codes, kind: Kind, step: int) -> Floats:
    """The sum of distances over the prefixes of each list, ``(T,)``.

    Args:
        protected: ``(T, K)``, the number of protected items up to each rank.
        sizes: ``(T, 2)``, the numbers of items and protected items in lists that have both kinds.
        kind: the distance, one of three.
        step: the lengths of prefixes are multiples of it.
    """
    n, protected_count = sizes[:, :1], sizes[:, 1:]
    ends = np.arange(step, max(step, protected.shape[1]) + 1, step)
    ends = np.where((n < step) & (ends == step), n, ends)  # a short list has only its end
    is_counted = (ends <= n) & (ends > 1)
    safe_ends = np.where(is_counted, ends, 2)
    up_to = np.take_along_axis(protected, np.minimum(safe_ends, protected.shape[1]) - 1, axis=-1)
    prefix_share, list_share = up_to / safe_ends, protected_count / n
    if kind == "difference":
        distance = np.abs(prefix_share - list_share)
    elif kind == "kl":
        distance = _bits(prefix_share, list_share) + _bits(1 - prefix_share, 1 - list_share)
    else:
        other_count = safe_ends - up_to
        mixed = (up_to > 0) & (other_count > 0)
        ratio = np.divide(up_to, other_count, out=np.zeros(other_count.shape), where=mixed)
        distance = np.where(mixed, np.abs(ratio - protected_count / (n - protected_count)), 0)
    return total(np.where(is_counted, distance, 0) / np.log2(safe_ends))


def _bits(share: Floats, expected_share: Floats) -> Floats:
    safe_share = np.where(share > 0, share, 1)
    return np.where(share > 0, share * np.log2(safe_share / expected_share), 0)


def skew(lists: Listed) -> Floats:
    """Discounted divergence of the groups in each prefix from those of the catalogue, ``(T,)``.

        NDKL = 1/Z · Σ_i 1/log₂(i + 1) · KL( groups of the first i ‖ groups of the catalogue )

    In nats, Z = Σ_i 1/log₂(i + 1); 0 is fair. Items without a group are left out.

    >>> lists = Listed(np.array([[0]]), 2, groups=np.array([0, 1]))
    >>> skew(lists).round(4)
    array([0.6931])
    """
    groups = _groups(lists)
    group_of_item = np.where(lists.is_filled, groups[np.where(lists.is_filled, lists.items, 0)], NONE)
    size = int(groups.max(initial=0)) + 1
    catalogue_share = np.bincount(groups[groups != NONE], minlength=size) / max(1, (groups != NONE).sum())
    group_counts = np.cumsum(group_of_item[:, :, None] == np.arange(size), axis=1).astype(np.float64)
    grouped_count = group_counts.sum(axis=-1)
    share = group_counts / np.maximum(grouped_count, 1)[:, :, None]
    safe = np.where(share > 0, share / np.where(catalogue_share > 0, catalogue_share, 1), 1)
    divergence = (share * np.log(safe)).sum(axis=-1)
    ranks = np.arange(1, group_of_item.shape[1] + 1)
    weight = lists.is_filled * (grouped_count > 0) / np.log2(ranks + 1)
    return safe_ratio(total(weight * divergence), total(weight))


def fair_top_k(
    lists: Listed, *, p: Share = 0.5, alpha: Share = 0.1, adjust: bool = False, protected: Group = 1
) -> Floats:
    """1 for a list if each of its prefixes passes the FA*IR test, ``(T,)``; NaN for an empty list.

    A prefix of k fails if so few protected items in it, or fewer, come about with a probability of at
    most alpha, were each place protected with chance p.

    Args:
        lists: the lists; items without a group count as not protected.
        p: the required share of the protected.
        alpha: the level of the test, for each prefix.
        adjust: True if alpha is that of all prefixes together: each is tested at the greatest level
            at which a fair ranking fails anywhere with a probability of at most alpha.
        protected: the code of the protected group.

    >>> shown = Listed(np.array([[0, 1, 2, 3], [3, 2, 1, 0]]), 4, groups=np.array([0, 0, 0, 1]))
    >>> fair_top_k(shown)
    array([1., 1.])
    >>> fair_top_k(Listed(np.array([[0, 1, 2, 3]]), 4, groups=np.array([0, 0, 0, 0])))
    array([0.])
    """
    lists = lists.without_gaps()
    protected_counts = np.cumsum(_protected(lists, protected), axis=-1)
    places = lists.items.shape[1]
    level = adjusted_alpha(places, p, alpha) if adjust else alpha
    minima = np.array(least_protected(places, p, level))
    passed = ((protected_counts >= minima) | ~lists.is_filled).all(axis=-1)
    return np.where(lists.lengths > 0, passed.astype(np.float64), np.nan)


@lru_cache(maxsize=64)
def least_protected(k: int, p: float = 0.5, alpha: float = 0.1) -> tuple[int, ...]:
    """The smallest number of protected items in the first 1 … k: FA*IR's table of minima.

    The smallest m with P(X ≤ m) > alpha, X binomial in i and p (the quantile, for alpha that no
    cumulated chance hits exactly).

    >>> least_protected(6)
    (0, 0, 0, 1, 1, 1)
    """
    levels = _chances(k, p)
    return tuple(int(np.searchsorted(chances, alpha * (1 - 1e-12), side="left")) for chances in levels)


@lru_cache(maxsize=64)
def adjusted_alpha(k: int, p: float = 0.5, alpha: float = 0.1) -> float:
    """The common level of k tests at which a fair ranking fails any of them with probability alpha.

    This is the largest such level: minima change only at cumulated probabilities, so only these are
    tried. It is 0 if every level fails too often.

    >>> adjusted = least_protected(20, alpha=adjusted_alpha(20))
    >>> failure_chance(least_protected(20)) > 0.1 >= failure_chance(adjusted)
    True
    """
    all_chances = np.unique(np.concatenate(_chances(k, p)))
    levels = np.append(all_chances[all_chances < alpha], alpha)
    low, high = 0, len(levels)  # the levels before `low` fail rarely enough
    while low < high:
        middle = (low + high) // 2
        often = failure_chance(least_protected(k, p, float(levels[middle])), p) > alpha
        low, high = (low, middle) if often else (middle + 1, high)
    return float(levels[low - 1]) if low else 0.0


def failure_chance(minima: tuple[int, ...], p: float = 0.5) -> float:
    """The probability that a ranking with protected probability p misses a minimum.

    >>> failure_chance((0, 1))
    0.25
    """
    chance = np.zeros(len(minima) + 1)  # of so many successes, and no minimum missed yet
    chance[0] = 1.0
    for minimum in minima:
        chance = chance * (1 - p) + np.append(0, chance[:-1]) * p
        chance[:minimum] = 0
    return 1 - float(chance.sum())


@lru_cache(maxsize=8)
def _chances(k: int, p: float) -> tuple[Floats, ...]:
    """The probabilities of at most 0, 1, … protected items, for each prefix."""
    cumulated, chance = [], np.array([1.0])
    for _ in range(k):
        chance = np.append(chance, 0) * (1 - p) + np.append(0, chance) * p
        cumulated.append(np.cumsum(chance))
    return tuple(cumulated)


def _protected(lists: Listed, protected: int) -> Flags:
    groups = _groups(lists)
    return lists.is_filled & (groups[np.where(lists.is_filled, lists.items, 0)] == protected)


def _groups(lists: Listed) -> Codes:
    assert lists.groups is not None
    return lists.groups


RND = ListMetric(
    "rND",
    unfairness_by_shares,
    title="Unfairness of the prefixes of a list to a protected group, by shares.",
    formula="rND = 1/Z · Σ_{i = step, 2·step, …} 1/log₂(i) · |share among the first i − share of all|",
    higher_is_better=False,
    needs=("groups",),
    source=f"{_YANG}; beware of its edges: Raj & Ekstrand, SIGIR 2022",
    sees="the size of the protected group in each prefix",
    blind_to="relevance; ranks between two steps",
)
RKL = replace(
    RND,
    name="rKL",
    kernel=unfairness_by_divergence,
    title="Unfairness of the prefixes of a list to a protected group, by divergence.",
    formula="rKL = 1/Z · Σ_{i = step, 2·step, …} 1/log₂(i) · KL( groups of the first i ‖ of all )",
)
RRD = replace(
    RND,
    name="rRD",
    kernel=unfairness_by_ratios,
    title="Unfairness of the prefixes of a list to a protected minority, by ratios.",
    formula="rRD = 1/Z · Σ_{i = step, 2·step, …} 1/log₂(i) · |ratio of the first i − ratio of all|",
)
NDKL = ListMetric(
    "NDKL",
    skew,
    title="Discounted divergence of the groups in each prefix from those of the catalogue.",
    formula="NDKL = 1/Z · Σ_i 1/log₂(i + 1) · KL( groups of the first i ‖ groups of the catalogue )",
    high=None,
    higher_is_better=False,
    needs=("groups",),
    source=_GEYIK,
    sees="the groups in every prefix",
)
FAIR = ListMetric(
    "FAIR",
    fair_top_k,
    title="The share of lists that hold enough of a protected group in every prefix (FA*IR).",
    formula="FAIR = |lists: for all k, protected among the first k ≥ quantile_α Bin(k, p)| / |lists|",
    aliases=("fa_ir",),
    needs=("groups",),
    source=_ZEHLIKE,
    sees="the size of the protected group in each prefix",
)

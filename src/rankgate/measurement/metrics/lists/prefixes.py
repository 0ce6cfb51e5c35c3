"""Whether a protected group has its share in every prefix of a list."""

from dataclasses import replace
from functools import lru_cache
from typing import Annotated, Literal

import numpy as np

from rankgate.core.declare import Range
from rankgate.measurement.metrics.judged import total
from rankgate.measurement.metrics.lists.declare import ListMetric
from rankgate.measurement.metrics.lists.listed import NONE, Codes, Flags, Floats, Listed, over

Kind = Literal["difference", "kl", "ratio"]
Step = Annotated[int, Range(1)]
Group = Annotated[int, Range(0)]
Share = Annotated[float, Range(0, 1)]

_YANG = "Yang & Stoyanovich, SSDBM 2017, doi:10.1145/3085504.3085526"
_GEYIK = "Geyik, Ambler & Kenthapadi, KDD 2019, doi:10.1145/3292500.3330691"
_ZEHLIKE = "Zehlike et al., CIKM 2017, doi:10.1145/3132847.3132938"


def of_differences(listed: Listed, *, step: Step = 10, protected: Group = 1) -> Floats:
    """Unfairness of prefixes by shares (rND), over the greatest there can be, ``(T,)``; 0 is fair.

        rND = 1/Z · Σ_{i = step, 2·step, …} 1/log₂(i) · |share of the first i − share of all N|

    Z is the greater of the sums for the rankings that put all protected items first, or last. The
    whole list, N items, is the population.

    Args:
        listed: the lists; items without a group count as not protected.
        step: prefixes are as long as its multiples; a list of fewer items has its end alone.
        protected: the code of the protected group.

    Returns:
        NaN for lists in which all items are protected, or none.

    >>> shown = Listed(np.array([[0, 1, 2, 3]]), 4, groups=np.array([0, 0, 1, 1]))
    >>> of_differences(shown, step=2)
    array([1.])
    """
    return _normalised(listed, "difference", step, protected)


def of_divergences(listed: Listed, *, step: Step = 10, protected: Group = 1) -> Floats:
    """The same by the divergence of Kullback and Leibler in bits (rKL); arguments as of rND.

    >>> lists = Listed(np.array([[0, 2, 1, 3]]), 4, groups=np.array([0, 0, 1, 1]))
    >>> of_divergences(lists, step=2)
    array([0.])
    """
    return _normalised(listed, "kl", step, protected)


def of_ratios(listed: Listed, *, step: Step = 10, protected: Group = 1) -> Floats:
    """The same by ratios of protected to others, 0 where a group is empty (rRD), ``(T,)``.

    Meant for a protected minority; arguments as of rND.

    >>> lists = Listed(np.array([[0, 2, 1, 3]]), 4, groups=np.array([0, 0, 1, 1]))
    >>> of_ratios(lists, step=2)
    array([nan])
    """
    return _normalised(listed, "ratio", step, protected)


def _normalised(listed: Listed, kind: Kind, step: int, protected: int) -> Floats:
    own = _protected(listed, protected)
    length, many = listed.lengths, np.count_nonzero(own, axis=-1)
    mixed = (many > 0) & (many < length)
    out: Floats = np.full(len(own), np.nan)
    if not mixed.any():
        return out
    sizes = np.stack([length[mixed], many[mixed]], axis=-1)
    every, of = np.unique(sizes, axis=0, return_inverse=True)
    n, m = every[:, :1], every[:, 1:]
    ranks = np.arange(1, own.shape[1] + 1)
    first, last = np.minimum(ranks, m), np.maximum(ranks - (n - m), 0)
    greatest = np.maximum(*(_unfair(each, every, kind, step) for each in (first, last)))
    found = np.cumsum(own[mixed], axis=-1)
    out[mixed] = over(_unfair(found, sizes, kind, step), greatest[of.ravel()])
    return out


def _unfair(found: Codes, sizes: Codes, kind: Kind, step: int) -> Floats:
    """The sum over the prefixes of each list, ``(T,)``.

    Args:
        found: ``(T, K)``, protected items up to each rank.
        sizes: ``(T, 2)``, items and protected items of each list, some of both kinds.
        kind: of the three distances.
        step: prefixes are as long as its multiples.
    """
    n, many = sizes[:, :1], sizes[:, 1:]
    ends = np.arange(step, max(step, found.shape[1]) + 1, step)
    ends = np.where((n < step) & (ends == step), n, ends)  # a short list has its end alone
    counted = (ends <= n) & (ends > 1)
    safe = np.where(counted, ends, 2)
    up_to = np.take_along_axis(found, np.minimum(safe, found.shape[1]) - 1, axis=-1)
    here, all_of_it = up_to / safe, many / n
    if kind == "difference":
        distance = np.abs(here - all_of_it)
    elif kind == "kl":
        distance = _bits(here, all_of_it) + _bits(1 - here, 1 - all_of_it)
    else:
        others = safe - up_to
        mixed = (up_to > 0) & (others > 0)
        ratio = np.divide(up_to, others, out=np.zeros(others.shape), where=mixed)
        distance = np.where(mixed, np.abs(ratio - many / (n - many)), 0)
    return total(np.where(counted, distance, 0) / np.log2(safe))


def _bits(share: Floats, due: Floats) -> Floats:
    safe = np.where(share > 0, share, 1)
    found: Floats = np.where(share > 0, share * np.log2(safe / due), 0)
    return found


def skew(listed: Listed) -> Floats:
    """Discounted divergence of the groups in each prefix from those of the catalogue, ``(T,)``.

        NDKL = 1/Z · Σ_i 1/log₂(i + 1) · KL( groups of the first i ‖ groups of the catalogue )

    In nats, Z = Σ_i 1/log₂(i + 1); 0 is fair. Items without a group are left out.

    >>> lists = Listed(np.array([[0]]), 2, groups=np.array([0, 1]))
    >>> skew(lists).round(4)
    array([0.6931])
    """
    groups = _groups(listed)
    of = np.where(listed.shown, groups[np.where(listed.shown, listed.items, 0)], NONE)
    size = int(groups.max(initial=0)) + 1
    due = np.bincount(groups[groups != NONE], minlength=size) / max(1, (groups != NONE).sum())
    here = np.cumsum(of[:, :, None] == np.arange(size), axis=1).astype(np.float64)
    counted = here.sum(axis=-1)
    share = here / np.maximum(counted, 1)[:, :, None]
    safe = np.where(share > 0, share / np.where(due > 0, due, 1), 1)
    divergence = (share * np.log(safe)).sum(axis=-1)
    ranks = np.arange(1, of.shape[1] + 1)
    weight = listed.shown * (counted > 0) / np.log2(ranks + 1)
    return over(total(weight * divergence), total(weight))


def fair_top_k(
    listed: Listed,
    *,
    p: Share = 0.5,
    alpha: Share = 0.1,
    adjust: bool = False,
    protected: Group = 1,
) -> Floats:
    """1 for a list whose every prefix passes the FA*IR test, ``(T,)``; NaN for an empty list.

    A prefix of k fails if so few protected items in it, or fewer, come about with a chance of at
    most alpha, were each place protected with chance p.

    Args:
        listed: the lists; items without a group count as not protected.
        p: the share of the protected that is asked for.
        alpha: of the test, for each prefix.
        adjust: whether alpha is that of all prefixes together: each is tested at the greatest
            level at which a fair ranking fails anywhere with a chance of at most alpha.
        protected: the code of the protected group.

    >>> shown = Listed(np.array([[0, 1, 2, 3], [3, 2, 1, 0]]), 4, groups=np.array([0, 0, 0, 1]))
    >>> fair_top_k(shown)
    array([1., 1.])
    >>> fair_top_k(Listed(np.array([[0, 1, 2, 3]]), 4, groups=np.array([0, 0, 0, 0])))
    array([0.])
    """
    found = np.cumsum(_protected(listed, protected), axis=-1)
    places = listed.items.shape[1]
    level = adjusted(places, p, alpha) if adjust else alpha
    least = np.array(least_protected(places, p, level))
    passed = ((found >= least) | ~listed.shown).all(axis=-1)
    out: Floats = np.where(listed.lengths > 0, passed.astype(np.float64), np.nan)
    return out


@lru_cache(maxsize=64)
def least_protected(k: int, p: float = 0.5, alpha: float = 0.1) -> tuple[int, ...]:
    """How many protected items the first 1 … k must hold at least: FA*IR's table of minima.

    The smallest m with P(X ≤ m) > alpha, X binomial in i and p (the quantile, for alpha that no
    cumulated chance hits exactly).

    >>> least_protected(6)
    (0, 0, 0, 1, 1, 1)
    """
    levels = _chances(k, p)
    return tuple(int(np.searchsorted(each, alpha * (1 - 1e-12), side="left")) for each in levels)


@lru_cache(maxsize=64)
def adjusted(k: int, p: float = 0.5, alpha: float = 0.1) -> float:
    """The level of each of k tests of which a fair ranking fails any with a chance up to alpha.

    The greatest such level: minima change only where a cumulated chance lies, so that these are
    all that there is to choose from. 0 where every level fails too often.

    >>> failing(least_protected(20)) > 0.1 >= failing(least_protected(20, alpha=adjusted(20)))
    True
    """
    every = np.unique(np.concatenate(_chances(k, p)))
    levels = np.append(every[every < alpha], alpha)
    low, high = 0, len(levels)  # the levels before `low` fail rarely enough
    while low < high:
        middle = (low + high) // 2
        often = failing(least_protected(k, p, float(levels[middle])), p) > alpha
        low, high = (low, middle) if often else (middle + 1, high)
    return float(levels[low - 1]) if low else 0.0


def failing(least: tuple[int, ...], p: float = 0.5) -> float:
    """The chance that a ranking whose places are protected with chance p misses a minimum.

    >>> failing((0, 1))
    0.25
    """
    chance = np.zeros(len(least) + 1)  # of so many successes, and no minimum missed yet
    chance[0] = 1.0
    for minimum in least:
        chance = chance * (1 - p) + np.append(0, chance[:-1]) * p
        chance[:minimum] = 0
    return 1 - float(chance.sum())


@lru_cache(maxsize=8)
def _chances(k: int, p: float) -> tuple[Floats, ...]:
    """For each prefix the chances of at most 0, 1, … protected items."""
    found, chance = [], np.array([1.0])
    for _ in range(k):
        chance = np.append(chance, 0) * (1 - p) + np.append(0, chance) * p
        found.append(np.cumsum(chance))
    return tuple(found)


def _protected(listed: Listed, protected: int) -> Flags:
    groups = _groups(listed)
    found: Flags = listed.shown & (groups[np.where(listed.shown, listed.items, 0)] == protected)
    return found


def _groups(listed: Listed) -> Codes:
    assert listed.groups is not None
    return listed.groups


RND = ListMetric(
    "rND",
    of_differences,
    title="Unfairness of the prefixes of a list to a protected group, by shares.",
    formula="rND = 1/Z · Σ_{i = step, 2·step, …} 1/log₂(i) "
    "· |share among the first i − share of all|",
    higher_is_better=False,
    needs=("groups",),
    source=f"{_YANG}; beware of its edges: Raj & Ekstrand, SIGIR 2022",
    sees="how many of the protected group are in each prefix",
    blind_to="whether anything shown is relevant; ranks between two steps",
)
RKL = replace(
    RND,
    name="rKL",
    kernel=of_divergences,
    title="Unfairness of the prefixes of a list to a protected group, by divergence.",
    formula="rKL = 1/Z · Σ_{i = step, 2·step, …} 1/log₂(i) · KL( groups of the first i ‖ of all )",
)
RRD = replace(
    RND,
    name="rRD",
    kernel=of_ratios,
    title="Unfairness of the prefixes of a list to a protected minority, by ratios.",
    formula="rRD = 1/Z · Σ_{i = step, 2·step, …} 1/log₂(i) · |ratio of the first i − ratio of all|",
)
NDKL = ListMetric(
    "NDKL",
    skew,
    title="Discounted divergence of the groups in each prefix from those of the catalogue.",
    formula="NDKL = 1/Z · Σ_i 1/log₂(i + 1) "
    "· KL( groups of the first i ‖ groups of the catalogue )",
    high=None,
    higher_is_better=False,
    needs=("groups",),
    source=_GEYIK,
    sees="the groups in every prefix",
)
FAIR = ListMetric(
    "FAIR",
    fair_top_k,
    title="The share of lists whose every prefix holds enough of a protected group (FA*IR).",
    formula="FAIR = |lists: for all k, protected among the first k ≥ quantile_α Bin(k, p)| "
    "/ |lists|",
    aliases=("fa_ir",),
    needs=("groups",),
    source=_ZEHLIKE,
    sees="how many of the protected group are in each prefix",
)

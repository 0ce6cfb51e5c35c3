"""How popular the items shown are, and whether the long tail is ever shown."""

from typing import Annotated, Literal

import numpy as np

from rankgate.metrics.lists.declare import ListMetric
from rankgate.metrics.lists.listed import NONE, Codes, Flags, Floats, Listed, among, mean_of, taken
from rankgate.metrics.parameters import Range

Head = Literal["items", "interactions"]
Share = Annotated[float, Range(0, 1)]

_ABDOLLAHPOURI = "Abdollahpouri, Burke & Mobasher, FLAIRS 2019, arXiv:1901.07555"
_ZHU = "Zhu, Wang & Caverlee, SIGIR 2020, doi:10.1145/3397271.3401177"


def tail_of(seen: Codes, head: Head = "items", share: float = 0.2) -> Flags:
    """Which items are of the long tail, ``(I,)``; of equal ones the first codes are of the head.

    Args:
        seen: ``(I,)``, how often each item was seen.
        head: the head is a share of the items, the most popular first; or the items that have a
            share of all interactions.
        share: that share; usual are 0.2 of the items, 0.8 of the interactions.

    >>> tail_of(np.array([5, 1, 1, 1, 1])).tolist()
    [False, True, True, True, True]
    """
    order = np.argsort(-seen, kind="stable")
    if head == "items":
        size = int(np.ceil(share * len(seen) - 1e-9))
    else:
        before = np.cumsum(seen[order]) - seen[order]
        size = int(np.count_nonzero(before < share * seen.sum() - 1e-9))
    tail: Flags = np.ones(len(seen), bool)
    tail[order[:size]] = False
    return tail


def popularity(listed: Listed, *, unknown: Literal["leave_out", "zero"] = "leave_out") -> Floats:
    """Mean number of people who know the items of a list (ARP), ``(T,)``.

    Args:
        listed: the lists.
        unknown: items that nobody is known to know are left out, or count 0.

    >>> popularity(Listed(np.array([[0, 1]]), 2, seen=np.array([4, 1]), people=4))
    array([2.5])
    """
    seen = taken(_seen(listed), listed.items)
    return mean_of(seen, listed.shown & ((seen > 0) | (unknown == "zero")))


def tail_items(listed: Listed, *, head: Head = "items", share: Share = 0.2) -> Floats:
    """How many items of a list are of the long tail (ACLT), ``(T,)``; NaN for an empty list.

    >>> tail_items(Listed(np.array([[0, 1]]), 2, seen=np.array([4, 1]), people=4), share=0.5)
    array([1.])
    """
    tail = taken(tail_of(_seen(listed), head, share).astype(np.float64), listed.items)
    return np.where(listed.lengths > 0, tail.sum(axis=-1), np.nan)


def tail_per_list(listed: Listed, *, head: Head = "items", share: Share = 0.2) -> Floats:
    """The share of the items of a list that are of the long tail (APLT), ``(T,)``.

    >>> tail_per_list(Listed(np.array([[0, 1]]), 2, seen=np.array([4, 1]), people=4), share=0.5)
    array([0.5])
    """
    tail = taken(tail_of(_seen(listed), head, share).astype(np.float64), listed.items)
    return mean_of(tail, listed.shown)


def tail_terms(listed: Listed, *, head: Head = "items", share: Share = 0.2) -> Floats:
    """Places that hold an item of the long tail, and all places, ``(T, 2)``."""
    tail = taken(tail_of(_seen(listed), head, share).astype(np.float64), listed.items)
    return np.stack([tail.sum(axis=-1), listed.lengths.astype(np.float64)], axis=-1)


def lift(listed: Listed) -> Floats:
    """How much more popular a list is than what its user had before, ``(T,)``.

        PopularityLift = (mean popularity of the list − of the history) / of the history

    >>> told = Listed(np.array([[0]]), 2, seen=np.array([4, 2]), history=np.array([[1]]))
    >>> lift(told)
    array([1.])
    """
    assert listed.history is not None  # noqa: S101 - as declared
    seen = _seen(listed)
    mine = mean_of(taken(seen, listed.items), listed.shown)
    before = mean_of(taken(seen, listed.history), listed.history != NONE)
    out: Floats = np.full(len(mine), np.nan)
    np.divide(mine - before, before, out=out, where=before > 0)
    return out


def opportunity_terms(listed: Listed, *, head: Head = "items", share: Share = 0.2) -> Floats:
    """Relevant items that are shown and relevant items, of the head and of the tail, ``(T, 4)``."""
    assert listed.relevant is not None  # noqa: S101 - as declared
    tail = tail_of(_seen(listed), head, share).astype(np.float64)
    hit = among(listed.items, listed.relevant)
    of_tail, wanted = taken(tail, listed.items), listed.relevant != NONE
    wanted_tail = taken(tail, listed.relevant).sum(axis=-1)
    hits_tail = (of_tail * hit).sum(axis=-1)
    hits_head = np.count_nonzero(hit, axis=-1) - hits_tail
    wanted_head = np.count_nonzero(wanted, axis=-1) - wanted_tail
    return np.stack([hits_head, hits_tail, wanted_head, wanted_tail], axis=-1)


def parity_terms(listed: Listed, *, head: Head = "items", share: Share = 0.2) -> Floats:
    """Items shown and items that could be, of the head and of the tail, ``(T, 4)``.

    Items that the user had before could not be shown.
    """
    assert listed.history is not None  # noqa: S101 - as declared
    tail = tail_of(_seen(listed), head, share).astype(np.float64)
    shown_tail = taken(tail, listed.items).sum(axis=-1)
    had_tail = taken(tail, listed.history).sum(axis=-1)
    had = np.count_nonzero(listed.history != NONE, axis=-1)
    free_tail = tail.sum() - had_tail
    free_head = (len(tail) - tail.sum()) - (had - had_tail)
    return np.stack([listed.lengths - shown_tail, shown_tail, free_head, free_tail], axis=-1)


def spread(sums: Floats) -> float:
    """Standard deviation over mean of the chances of two groups, ``(4,)``: parts, then wholes."""
    part, whole = np.split(sums, 2)
    if (whole <= 0).any() or not part.sum():
        return float("nan")
    chance = part / whole
    return float(chance.std() / chance.mean())


def first_over_second(sums: Floats) -> float:
    """The first sum over the second."""
    return float(sums[0] / sums[1]) if sums[1] else float("nan")


def _seen(listed: Listed) -> Codes:
    assert listed.seen is not None  # noqa: S101 - as declared
    return listed.seen


Popularity = ListMetric(
    "Popularity",
    popularity,
    "The mean number of people who know an item shown.",
    "Popularity = mean_list mean_{i shown} |people who know i|",
    ("ARP", "average_popularity"),
    high=None,
    higher_is_better=False,
    needs=("seen",),
    source="Yin et al., PVLDB 5(9), 2012, doi:10.14778/2311906.2311916",
    sees="how popular the items shown were",
)
ACLT = ListMetric(
    "ACLT",
    tail_items,
    "The mean number of items of the long tail in a list.",
    "ACLT = mean_list |items shown of the tail|",
    ("average_coverage_of_long_tail",),
    high=None,
    needs=("seen",),
    source=f"{_ABDOLLAHPOURI}; elliot",
    sees="which items shown are outside of the head",
)
APLT = ListMetric(
    "APLT",
    tail_per_list,
    "The mean share of items of the long tail in a list.",
    "APLT = mean_list |items shown of the tail| / |items shown|",
    ("average_percentage_of_long_tail",),
    needs=("seen",),
    source=f"{_ABDOLLAHPOURI}; elliot",
    sees="which items shown are outside of the head",
)
TailShare = ListMetric(
    "TailShare",
    tail_terms,
    "The share of all places that hold an item of the long tail.",
    "TailShare = Σ_list |items shown of the tail| / Σ_list |items shown|",
    ("tail_percentage",),
    needs=("seen",),
    merge="ratio",
    finish=first_over_second,
    source="RecBole 1.2.1, TailPercentage",
    sees="which items shown are outside of the head",
)
PopularityLift = ListMetric(
    "PopularityLift",
    lift,
    "How much more popular lists are than what their users had before, as a share.",
    "PopularityLift = mean_user (mean popularity shown − of the history) / of the history",
    ("delta_GAP", "popularity_lift"),
    low=-1.0,
    high=None,
    higher_is_better=False,
    needs=("seen", "history"),
    source="Abdollahpouri et al., RMSE at RecSys 2019, arXiv:1907.13286",
    sees="how popular the items shown and those of the user's history were",
)
PopREO = ListMetric(
    "PopREO",
    opportunity_terms,
    "How unequal the chances are that a relevant item of the head, and one of the tail, is shown.",
    "PopREO = std / mean over head and tail of Σ relevant shown / Σ relevant",
    ("REO",),
    higher_is_better=False,
    needs=("seen", "relevant"),
    merge="ratio",
    finish=spread,
    source=f"{_ZHU}; elliot",
    sees="hits among items of the head and of the tail",
    blind_to="the order within a list",
)
PopRSP = ListMetric(
    "PopRSP",
    parity_terms,
    "How unequal the chances are that an item of the head, and one of the tail, is shown.",
    "PopRSP = std / mean over head and tail of Σ shown / Σ items new to the user",
    ("RSP",),
    higher_is_better=False,
    needs=("seen", "history"),
    merge="ratio",
    finish=spread,
    source=f"{_ZHU}; elliot",
    sees="how much of head and tail is shown",
)

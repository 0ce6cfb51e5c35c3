"""Novelty: how little known the recommended items are."""

from typing import Literal

import numpy as np

from rankgate.measurement.metrics.judged import total
from rankgate.measurement.metrics.lists.declare import ListMetric
from rankgate.measurement.metrics.lists.listed import (
    NONE,
    Floats,
    Listed,
    is_in_row,
    masked_mean,
    safe_ratio,
    take_rows,
)

Of = Literal["people", "interactions"]
Unknown = Literal["leave_out", "cap", "zero"]
Relevance = Literal["ignore", "use"]
Discount = Literal["log2", "none"]

_VARGAS = "Vargas & Castells, RecSys 2011, doi:10.1145/2043932.2043955"
_ZHOU = "Zhou et al., PNAS 107(10), 2010, doi:10.1073/pnas.1000488107"


def novelty(lists: Listed, *, of: Of = "people", unknown: Unknown = "leave_out") -> Floats:
    """Mean self-information of the items of a list, in bits, ``(T,)``.

        Novelty = mean_{i shown} −log₂( people who know i / people )

    Args:
        lists: the lists.
        of: the chance that one of the people knows the item (Zhou, rexmex, evidently), or that an
            interaction is with it (elliot's EFD).
        unknown: items that nobody is known to know are left out, as novel as an item that one
            knows (`cap`), or count 0 (`zero`: recommenders).

    Returns:
        NaN for a list with nothing that is known.

    >>> novelty(Listed(np.array([[0, 1]]), 2, seen=np.array([4, 1]), people=4))
    array([1.])
    """
    bits, is_known = _information(lists, of, unknown)
    return masked_mean(bits, is_known)


def expected_popularity_complement(
    lists: Listed, *, relevance: Relevance = "ignore", discount: Discount = "log2"
) -> Floats:
    """Expected popularity complement (EPC): the chance that people do not know an item, ``(T,)``.

        EPC = Σ_r d(r) · relᵣ · (1 − people who know iᵣ / people) / Σ_r d(r)

    Args:
        lists: the lists.
        relevance: whether only items that are relevant to the user add to it (`use`: elliot).
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
    relevance: Relevance = "ignore",
    discount: Discount = "log2",
    of: Of = "interactions",
) -> Floats:
    """Expected free discovery (EFD), ``(T,)``: self-information with discount and relevance.

        EFD = Σ_r d(r) · relᵣ · −log₂ p(iᵣ) / Σ_r d(r)

    Args:
        lists: the lists.
        relevance: whether only items that are relevant to the user add to it (`use`: elliot).
        discount: d(r) = 1/log₂(r + 1), or 1.
        of: p is the share of the interactions, or of the people.

    An item that nobody is known to know is as novel as one that one knows.

    >>> shown = Listed(np.array([[0, 1]]), 2, seen=np.array([3, 1]), people=3)
    >>> expected_free_discovery(shown, discount="none").round(4)
    array([1.2075])
    """
    bits, _ = _information(lists, of, "cap")
    return _discounted(lists, bits, relevance, discount)


def _information(lists: Listed, of: Of, unknown: Unknown) -> tuple[Floats, np.ndarray]:
    """−log₂ of the chance that each item is known, ``(T, K)``, and True for items that count."""
    assert lists.seen is not None
    total_count = lists.people if of == "people" else int(lists.seen.sum())
    bits = np.log2(max(total_count, 1)) - np.log2(np.maximum(lists.seen, 1)) + 0.0
    if unknown == "zero":
        bits = np.where(lists.seen > 0, bits, 0.0)
    is_known = take_rows(lists.seen, lists.items) > 0 if unknown == "leave_out" else lists.shown
    return take_rows(bits, lists.items), is_known


def _discounted(
    lists: Listed, novelty_of_place: Floats, relevance: Relevance, discount: Discount
) -> Floats:
    ranks = np.arange(1, lists.items.shape[1] + 1)
    weight = lists.shown * (1 / np.log2(ranks + 1.0) if discount == "log2" else np.ones(len(ranks)))
    counted_weight = weight
    if relevance == "use":
        assert isinstance(lists.relevant, np.ndarray)
        counted_weight = weight * is_in_row(lists.items, lists.relevant)
        has_relevant = (lists.relevant != NONE).any(axis=-1)
        return np.where(
            has_relevant,
            safe_ratio(total(counted_weight * novelty_of_place), total(weight)),
            np.nan,
        )
    return safe_ratio(total(counted_weight * novelty_of_place), total(weight))


Novelty = ListMetric(
    "Novelty",
    novelty,
    title="How little known the items shown are, in bits.",
    formula="Novelty = mean_list mean_{i shown} −log₂( people who know i / people )",
    aliases=("self_information", "MIUF"),
    high=None,
    needs=("seen",),
    source=f"{_ZHOU}; rexmex, evidently",
    sees="how many people knew the items shown",
)
EPC = ListMetric(
    "EPC",
    expected_popularity_complement,
    title="Expected popularity complement: how unlikely people are to know what is shown.",
    formula="EPC = Σ_r d(r) · relᵣ · (1 − people who know iᵣ / people) / Σ_r d(r)",
    aliases=("expected_popularity_complement",),
    needs=("seen",),
    source=f"{_VARGAS}; elliot",
    sees="how many people knew the items shown, and their ranks",
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
    sees="how popular the items shown were, and their ranks",
)

"""Novelty: how little known the recommended items are."""

from typing import Literal

import numpy as np

from rankgate.measurement.metrics.judged import total
from rankgate.measurement.metrics.lists.declare import ListMetric
from rankgate.measurement.metrics.lists.listed import (
    NONE,
    Floats,
    Listed,
    among,
    mean_of,
    over,
    taken,
)

Of = Literal["people", "interactions"]
Unknown = Literal["leave_out", "cap", "zero"]
Relevance = Literal["ignore", "use"]
Discount = Literal["log2", "none"]

_VARGAS = "Vargas & Castells, RecSys 2011, doi:10.1145/2043932.2043955"
_ZHOU = "Zhou et al., PNAS 107(10), 2010, doi:10.1073/pnas.1000488107"


def novelty(listed: Listed, *, of: Of = "people", unknown: Unknown = "leave_out") -> Floats:
    """Mean self-information of the items of a list, in bits, ``(T,)``.

        Novelty = mean_{i shown} −log₂( people who know i / people )

    Args:
        listed: the lists.
        of: the chance that one of the people knows the item (Zhou, rexmex, evidently), or that an
            interaction is with it (elliot's EFD).
        unknown: items that nobody is known to know are left out, as novel as an item that one
            knows (`cap`), or count 0 (`zero`: recommenders).

    Returns:
        NaN for a list with nothing that is known.

    >>> novelty(Listed(np.array([[0, 1]]), 2, seen=np.array([4, 1]), people=4))
    array([1.])
    """
    bits, known = _information(listed, of, unknown)
    return mean_of(bits, known)


def complement(
    listed: Listed, *, relevance: Relevance = "ignore", discount: Discount = "log2"
) -> Floats:
    """How unlikely people are to know what is shown (EPC), ``(T,)``.

        EPC = Σ_r d(r) · relᵣ · (1 − people who know iᵣ / people) / Σ_r d(r)

    Args:
        listed: the lists.
        relevance: whether only items that are relevant to the user add to it (`use`: elliot).
        discount: d(r) = 1/log₂(r + 1), or 1.

    >>> shown = Listed(np.array([[0, 1]]), 2, seen=np.array([4, 1]), people=4)
    >>> complement(shown, discount="none")
    array([0.375])
    """
    assert listed.seen is not None
    chance = taken(listed.seen, listed.items) / max(listed.people, 1)
    return _discounted(listed, 1 - chance, relevance, discount)


def free_discovery(
    listed: Listed,
    *,
    relevance: Relevance = "ignore",
    discount: Discount = "log2",
    of: Of = "interactions",
) -> Floats:
    """Expected free discovery (EFD), ``(T,)``: self-information with discount and relevance.

        EFD = Σ_r d(r) · relᵣ · −log₂ p(iᵣ) / Σ_r d(r)

    Args:
        listed: the lists.
        relevance: whether only items that are relevant to the user add to it (`use`: elliot).
        discount: d(r) = 1/log₂(r + 1), or 1.
        of: p is the share of the interactions, or of the people.

    An item that nobody is known to know is as novel as one that one knows.

    >>> shown = Listed(np.array([[0, 1]]), 2, seen=np.array([3, 1]), people=3)
    >>> free_discovery(shown, discount="none").round(4)
    array([1.2075])
    """
    bits, _ = _information(listed, of, "cap")
    return _discounted(listed, bits, relevance, discount)


def _information(listed: Listed, of: Of, unknown: Unknown) -> tuple[Floats, np.ndarray]:
    """−log₂ of how likely each item is to be known, ``(T, K)``, and which count."""
    assert listed.seen is not None
    whole = listed.people if of == "people" else int(listed.seen.sum())
    bits = np.log2(max(whole, 1)) - np.log2(np.maximum(listed.seen, 1)) + 0.0
    if unknown == "zero":
        bits = np.where(listed.seen > 0, bits, 0.0)
    known = taken(listed.seen, listed.items) > 0 if unknown == "leave_out" else listed.shown
    return taken(bits, listed.items), known


def _discounted(listed: Listed, worth: Floats, relevance: Relevance, discount: Discount) -> Floats:
    ranks = np.arange(1, listed.items.shape[1] + 1)
    weight = listed.shown * (
        1 / np.log2(ranks + 1.0) if discount == "log2" else np.ones(len(ranks))
    )
    counted = weight
    if relevance == "use":
        assert isinstance(listed.relevant, np.ndarray)
        counted = weight * among(listed.items, listed.relevant)
        wanted = (listed.relevant != NONE).any(axis=-1)
        return np.where(wanted, over(total(counted * worth), total(weight)), np.nan)
    return over(total(counted * worth), total(weight))


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
    complement,
    title="Expected popularity complement: how unlikely people are to know what is shown.",
    formula="EPC = Σ_r d(r) · relᵣ · (1 − people who know iᵣ / people) / Σ_r d(r)",
    aliases=("expected_popularity_complement",),
    needs=("seen",),
    source=f"{_VARGAS}; elliot",
    sees="how many people knew the items shown, and their ranks",
)
EFD = ListMetric(
    "EFD",
    free_discovery,
    title="Expected free discovery: self-information with discount, in bits.",
    formula="EFD = Σ_r d(r) · relᵣ · −log₂ p(iᵣ) / Σ_r d(r)",
    aliases=("expected_free_discovery",),
    high=None,
    needs=("seen",),
    source=f"{_VARGAS}; elliot",
    sees="how popular the items shown were, and their ranks",
)

"""What lists are like as a whole, whatever is relevant: how many items are shown, and how evenly.

These are no means over queries: each is one number for the lists of all of them. Shapes: T lists,
K the cutoff, I items of the catalogue.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Literal

import numpy as np
from numpy.typing import NDArray

if TYPE_CHECKING:
    from collections.abc import Callable

Codes = NDArray[np.int64]
Floats = NDArray[np.float64]

NONE = -1
"""The code of a place that holds nothing."""

Over = Literal["catalogue", "shown"]
Divisor = Literal["n", "n-1"]


@dataclass(frozen=True, slots=True, eq=False)
class Listed:
    """The first K of each of T lists.

    Attributes:
        items: ``(T, K)``, the code of each item from 0, no item twice in a list; `NONE` behind
            the end of a list.
        catalogue: I, the number of items that could have been shown.
        seen: ``(I,)``, how many people each item was known to before; None if nobody says so.
        people: how many people those are of.
    """

    items: Codes
    catalogue: int
    seen: Codes | None = None
    people: int = 0

    @property
    def shown(self) -> NDArray[np.bool_]:
        """Which places hold an item, ``(T, K)``."""
        held: NDArray[np.bool_] = self.items != NONE
        return held

    @property
    def counts(self) -> Codes:
        """How many lists show each item, ``(I,)``."""
        counts: Codes = np.bincount(self.items[self.shown], minlength=self.catalogue)
        return counts

    def first(self, cutoff: int | None) -> Listed:
        """The same lists cut at a rank."""
        return replace(self, items=self.items[:, :cutoff])


def items_shown(listed: Listed) -> float:
    """Distinct items that any list shows (aggregate diversity).

    >>> items_shown(Listed(np.array([[0, 1], [0, 2]]), 4))
    3.0
    """
    return float(np.count_nonzero(listed.counts))


def coverage(listed: Listed) -> float:
    """Distinct items that any list shows, over those of the catalogue; NaN for an empty one.

    >>> coverage(Listed(np.array([[0, 1], [0, 2]]), 4))
    0.75
    """
    return items_shown(listed) / listed.catalogue if listed.catalogue else float("nan")


def list_coverage(listed: Listed) -> float:
    """Share of the lists that show anything at all; NaN where there is no list.

    >>> list_coverage(Listed(np.array([[0], [NONE]]), 4))
    0.5
    """
    return float(listed.shown.any(axis=-1).mean()) if len(listed.items) else float("nan")


def gini(listed: Listed, *, over: Over = "catalogue", divisor: Divisor = "n") -> float:
    """How unevenly items are shown.

        Gini = Σ_i (2i − n − 1) · cᵢ / (n · Σ c),   c ascending

    Args:
        listed: the lists.
        over: all items of the catalogue, those never shown too (RecBole, LensKit, elliot), or
            those that are shown (`shown`, evidently).
        divisor: n, so that one item shown of n gives 1 − 1/n (RecBole, LensKit), or n − 1, so
            that it gives 1 (elliot, which reports what is left to 1; evidently).

    Returns:
        0 where all are shown alike; NaN where nothing is.

    >>> gini(Listed(np.array([[0, 1], [0, 2]]), 4))
    0.375
    """
    counts = np.sort(listed.counts)
    counts = counts if over == "catalogue" else counts[counts > 0]
    n = len(counts)
    parts = n if divisor == "n" else n - 1
    if not counts.sum() or not parts:
        return float("nan")
    weights = 2 * np.arange(1, n + 1) - n - 1
    return float(weights @ counts) / (parts * float(counts.sum()))


def entropy(listed: Listed, *, base: float = 2.0) -> float:
    """How evenly items are shown: −Σ_i pᵢ · log_b pᵢ, p being the share of all places.

    Args:
        listed: the lists.
        base: b; 2 gives bits, e nats.

    Returns:
        0 where one item is shown everywhere; NaN where nothing is.

    >>> entropy(Listed(np.array([[0, 1], [0, 2]]), 4))
    1.5
    """
    counts = listed.counts[listed.counts > 0]
    if not len(counts):
        return float("nan")
    shares = counts / counts.sum()
    return float(-(shares @ np.log(shares)) / np.log(base)) + 0.0


def evenness(listed: Listed) -> float:
    """Entropy over the greatest that the catalogue allows: −Σ_i pᵢ · log pᵢ / log I.

    >>> evenness(Listed(np.array([[0, 1], [2, 3]]), 4))
    1.0
    """
    return entropy(listed, base=listed.catalogue) if listed.catalogue > 1 else float("nan")


def personalization(listed: Listed) -> float:
    """How little lists have in common: 1 less the mean cosine of all pairs of lists.

        Personalization = 1 − mean_{a<b} |A ∩ B| / √(|A| · |B|)

    Empty lists are left out.

    Returns:
        0 where all lists show the same; NaN for fewer than two lists.

    >>> round(personalization(Listed(np.array([[0, 1], [0, 2]]), 4)), 12)
    0.5
    """
    lengths = np.count_nonzero(listed.shown, axis=-1)
    kept = listed.items[lengths > 0]
    n = len(kept)
    if n < 2:  # noqa: PLR2004 - there is no pair
        return float("nan")
    unit = np.broadcast_to(lengths[lengths > 0][:, None] ** -0.5, kept.shape)
    held = kept != NONE
    added = np.bincount(kept[held], weights=unit[held], minlength=listed.catalogue)
    return 1 - float(added @ added - n) / (n * (n - 1))


def novelty(listed: Listed) -> float:
    """How little known the items shown are: mean self-information, in bits.

        Novelty = mean_list mean_{i shown} −log₂( people who know i / people )

    Items that nobody is known to know say nothing and are left out.

    Returns:
        NaN where nobody says who knows what, or nothing that is known is shown.

    >>> novelty(Listed(np.array([[0, 1]]), 2, seen=np.array([4, 1]), people=4))
    1.0
    """
    return _over_known(listed, lambda seen: -np.log2(seen / listed.people) + 0.0)


def popularity(listed: Listed) -> float:
    """How well known the items shown are: mean number of people who know them (ARP).

    >>> popularity(Listed(np.array([[0, 1]]), 2, seen=np.array([4, 1]), people=4))
    2.5
    """
    return _over_known(listed, lambda seen: seen)


def _over_known(listed: Listed, worth: Callable[[Floats], Floats]) -> float:
    """The mean over lists of the mean over items that somebody knows."""
    if listed.seen is None:
        return float("nan")
    seen = np.where(listed.shown, listed.seen[listed.items], 0).astype(np.float64)
    known = seen > 0
    count = np.count_nonzero(known, axis=-1)
    values = np.where(known, worth(np.where(known, seen, 1.0)), 0).sum(axis=-1)[count > 0]
    return float((values / count[count > 0]).mean()) if len(values) else float("nan")


@dataclass(frozen=True)
class ListMetric:
    """A number about the lists of a run as a whole, with its declaration.

    Attributes:
        name: the one canonical name.
        kernel: a function of `Listed`, and of keyword-only parameters.
        title: what it says, in one sentence.
        formula: the definition.
        source: where it is defined.
        aliases: other names.
        high: the greatest value, None where there is no bound; the least is 0.
        higher_is_better: the direction that is usually wanted.
        blind_to: what it does not see.
    """

    name: str
    kernel: Callable[..., float]
    title: str
    formula: str
    source: str
    aliases: tuple[str, ...] = ()
    high: float | None = 1.0
    higher_is_better: bool = True
    blind_to: str = "whether anything shown is relevant"


_GE = "Ge, Delgado-Battenfeld & Jannach, RecSys 2010, doi:10.1145/1864708.1864761"
_ADOMAVICIUS = "Adomavicius & Kwon, IEEE TKDE 24(5), 2012, doi:10.1109/TKDE.2011.15"
_ZHOU = "Zhou et al., PNAS 107(10), 2010, doi:10.1073/pnas.1000488107"

LIST_METRICS: tuple[ListMetric, ...] = (
    ListMetric(
        "Coverage",
        coverage,
        "The share of the catalogue that any list shows.",
        "Coverage = |items shown| / |catalogue|",
        _GE,
        ("catalog_coverage", "item_coverage", "prediction_coverage"),
    ),
    ListMetric(
        "ItemsShown",
        items_shown,
        "The number of items that any list shows.",
        "ItemsShown = |items shown|",
        _ADOMAVICIUS,
        ("aggregate_diversity", "unique_items"),
        high=None,
    ),
    ListMetric(
        "ListCoverage",
        list_coverage,
        "The share of the lists that show anything.",
        "ListCoverage = |lists with an item| / |lists|",
        _GE,
        ("user_coverage",),
    ),
    ListMetric(
        "Gini",
        gini,
        "How unevenly items are shown, 0 where all are shown alike.",
        "Gini = Σ_i (2i − n − 1) · cᵢ / (n · Σ c),   c ascending",
        f"{_ADOMAVICIUS}; RecBole, LensKit, elliot, evidently",
        ("gini_index",),
        higher_is_better=False,
    ),
    ListMetric(
        "Entropy",
        entropy,
        "How evenly items are shown, in bits.",
        "Entropy = −Σ_i pᵢ · log₂ pᵢ",
        _ADOMAVICIUS,
        ("shannon_entropy",),
        high=None,
    ),
    ListMetric(
        "Evenness",
        evenness,
        "Entropy over the greatest that the catalogue allows.",
        "Evenness = −Σ_i pᵢ · log pᵢ / log I",
        "Pielou, J. Theoretical Biology 13, 1966, doi:10.1016/0022-5193(66)90013-0",
    ),
    ListMetric(
        "Personalization",
        personalization,
        "How little lists have in common, 0 where all show the same.",
        "Personalization = 1 − mean_{a<b} |A ∩ B| / √(|A| · |B|)",
        f"{_ZHOU} (there over k); recmetrics",
        ("inter_list_diversity",),
        blind_to="whether anything shown is relevant, and the order within a list",
    ),
    ListMetric(
        "Novelty",
        novelty,
        "How little known the items shown are, in bits.",
        "Novelty = mean_list mean_{i shown} −log₂( people who know i / people )",
        _ZHOU,
        ("self_information", "MIUF"),
        high=None,
    ),
    ListMetric(
        "Popularity",
        popularity,
        "The mean number of people who know an item shown.",
        "Popularity = mean_list mean_{i shown} |people who know i|",
        "Yin et al., PVLDB 5(9), 2012, doi:10.14778/2311906.2311916",
        ("ARP", "average_popularity"),
        high=None,
        higher_is_better=False,
    ),
)
"""Every number about lists as a whole, in the order in which they are told."""

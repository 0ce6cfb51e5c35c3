"""Coverage of the catalogue, evenness of exposure (Gini, entropy), and personalization.

Coverage is the share of the catalogue that lists show, and of lists with items. Evenness of
exposure of items is measured by Gini and entropy, in the variants of libraries.
Personalization is dissimilarity of the lists of different users.
"""

from typing import Annotated, Literal

import numpy as np

from rankgate.core.arrays import Floats
from rankgate.core.declare import Cutoff, Range
from rankgate.measurement.metrics.lists.exposure import Patience, Weight, attention_weights
from rankgate.measurement.metrics.lists.list_input import Listed, Sums
from rankgate.measurement.metrics.lists.list_metric import ListMetric

CoverageOver = Literal["catalogue", "training"]

_GE = "Ge, Delgado-Battenfeld & Jannach, RecSys 2010, doi:10.1145/1864708.1864761"


def items_shown(sums: Sums) -> float:
    """Distinct items that any list shows (aggregate diversity).

    >>> items_shown(Listed(np.array([[0, 1], [0, 2]]), 4).sums())
    3.0
    """
    return float(np.count_nonzero(sums.counts))


def coverage(sums: Sums, *, over: CoverageOver = "catalogue") -> float:
    """Distinct items that any list shows, over those of the catalogue; NaN for an empty one.

        Coverage@K = |∪ first K of each list| / |catalogue|

    Args:
        sums: the sums over the lists.
        over: all items of the catalogue, or those that training has (`training`: evidently,
            recommenders); shown items that it has not do not count then.

    >>> coverage(Listed(np.array([[0, 1], [0, 2]]), 4).sums())
    0.75
    """
    counts = sums.counts
    if over == "training":
        assert sums.known is not None
        counts = counts[sums.known]
    return float(np.count_nonzero(counts) / len(counts)) if len(counts) else float("nan")


def list_coverage(lists: Listed) -> Floats:
    """1 for a list that shows anything at all, ``(T,)``.

    >>> list_coverage(Listed(np.array([[0], [-1]]), 4))
    array([1., 0.])
    """
    return (lists.lengths > 0).astype(np.float64)


def full_lists(lists: Listed, *, cutoff: Cutoff | None = None) -> Floats:
    """1 for a list that has as many items as requested, ``(T,)``.

    Args:
        lists: the lists.
        cutoff: the number of items requested; 1 if not given.

    >>> full_lists(Listed(np.array([[0, 1], [0, -1]]), 4), cutoff=2)
    array([1., 0.])
    """
    return (lists.lengths >= (cutoff or 1)).astype(np.float64)


def list_lengths(lists: Listed) -> Floats:
    """Count the items of each list, ``(T,)``.

    >>> list_lengths(Listed(np.array([[0, 1], [0, -1]]), 4))
    array([2., 1.])
    """
    return lists.lengths.astype(np.float64)


Coverage = ListMetric(
    "Coverage",
    coverage,  # type: ignore[arg-type]
    title="The share of the catalogue that any list shows.",
    formula="Coverage@K = |catalogue ∩ ∪ first K of each list| / |catalogue|",
    aliases=("catalog_coverage", "item_coverage", "prediction_coverage"),
    merge="items",
    source=f"{_GE}; RecBole and recpack over the whole catalogue, evidently over training",
    sees="the set of items that are shown",
)
ItemsShown = ListMetric(
    "ItemsShown",
    items_shown,  # type: ignore[arg-type]
    title="The number of items that any list shows.",
    formula="ItemsShown = |items shown|",
    aliases=("aggregate_diversity", "unique_items"),
    high=None,
    merge="items",
    source="Adomavicius & Kwon, IEEE TKDE 24(5), 2012, doi:10.1109/TKDE.2011.15",
    sees="the set of items that are shown",
)
ListCoverage = ListMetric(
    "ListCoverage",
    list_coverage,
    title="The share of the lists that show anything.",
    formula="ListCoverage = |lists with an item| / |lists|",
    aliases=("user_coverage",),
    source=_GE,
    sees="empty lists",
)
FullLists = ListMetric(
    "FullLists",
    full_lists,
    title="The share of the lists that have as many items as requested.",
    formula="FullLists@K = |lists with K items| / |lists|",
    aliases=("prediction_user_coverage",),
    source=f"{_GE}; elliot has the number of such lists (UserCoverageAtN)",
    sees="the length of lists",
)
ListLength = ListMetric(
    "ListLength",
    list_lengths,
    title="The mean number of items in a list.",
    formula="ListLength@K = mean_list |first K of the list|",
    aliases=("num_retrieved",),
    high=None,
    source="elliot (NumRetrieved)",
    sees="the length of lists",
)


EvennessOver = Literal["catalogue", "shown"]
Divisor = Literal["n", "n-1"]
Per = Literal["all", "item"]

_ADOMAVICIUS = "Adomavicius & Kwon, IEEE TKDE 24(5), 2012, doi:10.1109/TKDE.2011.15"


def gini(sums: Sums, *, over: EvennessOver = "catalogue", divisor: Divisor = "n") -> float:
    """Gini index of the counts of items.

        Gini = Σ_i (2i − n − 1) · cᵢ / (n · Σ c),   c ascending

    Args:
        sums: the sums over the lists.
        over: all items of the catalogue, those never shown too (RecBole, LensKit, elliot), or
            those that are shown (`shown`: ClayRS, evidently).
        divisor: n, so that one item shown of n gives 1 − 1/n (RecBole, LensKit, ClayRS), or
            n − 1, so that it gives 1 (elliot, which reports what is left to 1; evidently).

    Returns:
        0 if all are shown equally often; NaN if nothing is shown.

    >>> from rankgate.measurement.metrics.lists.list_input import Listed
    >>> gini(Listed(np.array([[0, 1], [0, 2]]), 4).sums())
    0.375
    """
    return _gini(sums.counts, over, divisor)


def exposure_gini(
    sums: Sums,
    *,
    over: EvennessOver = "catalogue",
    divisor: Divisor = "n",
    weight: Weight = "log2",  # noqa: ARG001 - sums are made with it
    patience: Patience = 0.5,  # noqa: ARG001 - as above
) -> float:
    """Gini index of the exposure of items.

    Args:
        sums: the sums over the lists.
        over: as of Gini.
        divisor: as of Gini.
        weight: a place is worth 1/log₂(rank + 1), or patience^(rank − 1).
        patience: the patience of the geometric weights (LensKit: 0.85).

    >>> from rankgate.measurement.metrics.lists.list_input import Listed
    >>> shown = Listed(np.array([[0, 1], [1, 0]]), 2)  # each item is first once
    >>> exposure_gini(shown.sums(looked=np.array([1.0, 0.5])))
    0.0
    """
    assert sums.exposure is not None
    return _gini(sums.exposure.sum(axis=0), over, divisor)


def _gini(worth: Floats, over: EvennessOver, divisor: Divisor) -> float:
    counts = np.sort(worth)
    counts = counts if over == "catalogue" else counts[counts > 0]
    n = len(counts)
    parts = n if divisor == "n" else n - 1
    if parts <= 0 or not counts.sum():
        return float("nan")
    weights = 2 * np.arange(1, n + 1) - n - 1
    return float((weights * counts).sum()) / (parts * float(counts.sum()))


def equality(sums: Sums, *, over: EvennessOver = "catalogue", divisor: Divisor = "n") -> float:
    """One minus the Gini index, ``1 − Gini``: elliot's Gini; arguments as of Gini.

    >>> from rankgate.measurement.metrics.lists.list_input import Listed
    >>> equality(Listed(np.array([[0, 1], [0, 2]]), 4).sums())
    0.625
    """
    return 1 - gini(sums, over=over, divisor=divisor)


def entropy(sums: Sums, *, base: Annotated[float, Range(1.000001)] = 2.0, per: Per = "all") -> float:
    """Entropy of items over places: −Σ_i pᵢ · log_b pᵢ, p being the share of all places.

    Args:
        sums: the sums over the lists.
        base: b; 2 gives bits (elliot, recommenders), e nats.
        per: as it is, or over the number of items shown (`item`: RecBole, in nats).

    Returns:
        0 where one item is shown everywhere; NaN where nothing is.

    >>> from rankgate.measurement.metrics.lists.list_input import Listed
    >>> entropy(Listed(np.array([[0, 1], [0, 2]]), 4).sums())
    1.5
    """
    counts = sums.counts[sums.counts > 0]
    if not len(counts):
        return float("nan")
    shares = counts / counts.sum()
    value = float(-(shares * np.log(shares)).sum() / np.log(base)) + 0.0
    return value if per == "all" else value / len(counts)


def evenness(sums: Sums) -> float:
    """Entropy over the greatest that the catalogue allows: −Σ_i pᵢ · log pᵢ / log I.

    >>> from rankgate.measurement.metrics.lists.list_input import Listed
    >>> evenness(Listed(np.array([[0, 1], [2, 3]]), 4).sums())
    1.0
    """
    return entropy(sums, base=len(sums.counts)) if len(sums.counts) > 1 else float("nan")


Gini = ListMetric(
    "Gini",
    gini,  # type: ignore[arg-type]
    title="Inequality of the frequency of items; 0 if all are shown equally often.",
    formula="Gini = Σ_i (2i − n − 1) · cᵢ / (n · Σ c),   c ascending",
    aliases=("gini_index",),
    higher_is_better=False,
    merge="items",
    source=f"{_ADOMAVICIUS}; RecBole, LensKit (the defaults), elliot, ClayRS, evidently",
    sees="the frequency of each item in lists",
)
ExposureGini = ListMetric(
    "ExposureGini",
    exposure_gini,  # type: ignore[arg-type]
    title="Inequality of the exposure of items; 0 if all are exposed equally.",
    formula="ExposureGini = Σ_i (2i − n − 1) · εᵢ / (n · Σ ε),   ε ascending",
    aliases=("exposure_gini",),
    higher_is_better=False,
    merge="items",
    look=attention_weights,
    source="Gini of exposure: LensKit (weight geometric, patience 0.85)",
    sees="the frequency and the ranks of each item in lists",
)
Equality = ListMetric(
    "Equality",
    equality,  # type: ignore[arg-type]
    title="Evenness of the frequency of items; 1 if all are shown equally often.",
    formula="Equality = 1 − Gini",
    merge="items",
    source=f"{_ADOMAVICIUS}; elliot's Gini (divisor n − 1)",
    sees="the frequency of each item in lists",
)
Entropy = ListMetric(
    "Entropy",
    entropy,  # type: ignore[arg-type]
    title="Evenness of the frequency of items, in bits.",
    formula="Entropy = −Σ_i pᵢ · log₂ pᵢ",
    aliases=("shannon_entropy", "distributional_coverage"),
    high=None,
    merge="items",
    source=f"{_ADOMAVICIUS}; elliot, recommenders (the default), RecBole",
    sees="the frequency of each item in lists",
)
Evenness = ListMetric(
    "Evenness",
    evenness,  # type: ignore[arg-type]
    title="Entropy over the greatest that the catalogue allows.",
    formula="Evenness = −Σ_i pᵢ · log pᵢ / log I",
    merge="items",
    source="Pielou, J. Theoretical Biology 13, 1966, doi:10.1016/0022-5193(66)90013-0",
    sees="the frequency of each item in lists",
)


def personalization(
    sums: Sums, *, similarity: Literal["cosine", "overlap"] = "cosine", cutoff: Cutoff | None = None
) -> float:
    """1 less the mean cosine of all pairs of lists, without looking at pairs.

        Personalization = 1 − mean_{a<b} |A ∩ B| / √(|A| · |B|)
                        = 1 − (Σ_i sᵢ² − Σ w²) / ((Σ w)² − Σ w²),   sᵢ = Σ_{lists with i} w/√length

    Lists are sets of items: an item that appears twice counts once. Empty lists are left out. If
    lists have weights w, a list is not paired with itself.

    Args:
        sums: the sums over the lists.
        similarity: the cosine, as above; or |A ∩ B| / K, with every list taken for a full one
            (`overlap`: evidently; the same where all lists are full).
        cutoff: K; the mean length if not given.

    Returns:
        0 where all lists show the same; NaN for fewer than two lists.

    >>> import numpy as np
    >>> from rankgate.measurement.metrics.lists.list_input import Listed
    >>> round(personalization(Listed(np.array([[0, 1], [0, 2]]), 4).sums()), 12)
    0.5
    """
    pairs = sums.filled**2 - sums.squares
    if pairs <= 0:
        return float("nan")
    if similarity == "overlap":
        k = cutoff or float(sums.counts.sum()) / sums.filled
        return 1 - (float((sums.distinct**2).sum()) / k - sums.squares) / pairs
    value = 1 - (float((sums.scaled.sum(axis=0) ** 2).sum()) - sums.squares) / pairs
    return min(1.0, max(0.0, value))  # roots are rounded


Personalization = ListMetric(
    "Personalization",
    personalization,  # type: ignore[arg-type]
    title="The dissimilarity of lists, 0 if all show the same items.",
    formula="Personalization = 1 − mean_{a<b} |A ∩ B| / √(|A| · |B|)",
    aliases=("inter_list_diversity",),
    merge="items",
    source="Zhou et al., PNAS 107(10), 2010, doi:10.1073/pnas.1000488107; recmetrics, rexmex",
    sees="the items that lists share",
    blind_to="relevance, and the order within a list",
)

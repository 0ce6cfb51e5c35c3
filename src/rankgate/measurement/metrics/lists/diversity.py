"""Diversity: dissimilarity of the items of a list."""

from typing import Literal

import numpy as np

from rankgate.measurement.metrics.judged import total
from rankgate.measurement.metrics.lists.declare import ListMetric
from rankgate.measurement.metrics.lists.listed import Floats, Listed, over, taken, unit

Similarity = Literal["cosine", "jaccard", "given"]
Divisor = Literal["pairs", "items"]
Single = Literal["none", "zero"]

_BLOCK = 1 << 22  # numbers of a block of pairs


def intra_list_diversity(
    listed: Listed,
    *,
    similarity: Similarity = "cosine",
    divisor: Divisor = "pairs",
    single: Single = "none",
) -> Floats:
    """Mean distance of the pairs of items of a list, ``(T,)``.

        ILD = mean_{a<b in the list} 1 − sim(a, b)

    Args:
        listed: the lists; an item whose features are all 0 is left out.
        similarity: the cosine of the features (no pass over pairs: Σ_{a,b} cos(a, b) = ‖Σ x̂‖²);
            Jaccard, what both have over what one of them has, features above 0 being had (recpack);
            or any that is `given` as a matrix of items.
        divisor: the number of pairs, or of items (`items`: evidently's diversity, which grows with
            the list).
        single: a list of fewer than two items has no value, or 0 (recpack).

    >>> features = np.array([[1.0, 0.0], [0.0, 1.0], [1.0, 1.0]])
    >>> shown = Listed(np.array([[0, 1, 2]]), 3, features=features)
    >>> intra_list_diversity(shown, similarity="jaccard").round(3)
    array([0.667])
    """
    count = listed.lengths.astype(np.float64)
    if similarity != "given":
        assert listed.features is not None
        known = np.asarray((listed.features != 0).any(axis=-1), np.float64)
        count = taken(known, listed.items).sum(axis=-1)
    pairs = count * (count - 1) / 2
    similarities = {"cosine": _cosines, "jaccard": _jaccards, "given": _given}[similarity](listed)
    value = over(
        pairs - similarities, pairs if divisor == "pairs" else np.where(pairs > 0, count, 0)
    )
    value = np.where(pairs > 0, np.maximum(value, 0), np.nan)
    return np.where(pairs > 0, value, 0.0) if single == "zero" else value


def _cosines(listed: Listed) -> Floats:
    """The sum of the cosines of the pairs of each list, ``(T,)``."""
    assert listed.features is not None
    width = listed.features.shape[1]
    direction = np.vstack([unit(listed.features), np.zeros(width)])  # the last: where NONE points
    whole = np.zeros((len(listed.items), width))
    for place in listed.items.T:
        whole += direction[place]
    own = (direction**2).sum(axis=-1)
    out: Floats = ((whole**2).sum(axis=-1) - total(own[listed.items])) / 2
    return out


def _jaccards(listed: Listed) -> Floats:
    """The sum of the Jaccard coefficients of the pairs of each list, ``(T,)``."""
    assert listed.features is not None
    had = (listed.features > 0).astype(np.float64)
    width = listed.items.shape[1]
    out = np.empty(len(listed.items))
    step = max(1, _BLOCK // max(1, width * (width + had.shape[1])))
    upper = np.triu(np.ones((width, width), bool), 1)
    for begin in range(0, len(out), step):
        rows = taken(had, listed.items[begin : begin + step])
        both = rows @ rows.transpose(0, 2, 1)
        size = rows.sum(axis=-1)
        either = size[:, :, None] + size[:, None, :] - both
        share = np.divide(both, either, out=np.zeros(both.shape), where=either > 0)
        out[begin : begin + step] = total(total(share * upper))
    return out


def _given(listed: Listed) -> Floats:
    """The sum of the similarities given of the pairs of each list, ``(T,)``."""
    assert listed.similarities is not None
    width = listed.items.shape[1]
    out = np.empty(len(listed.items))
    step = max(1, _BLOCK // max(1, width * width))
    upper = np.triu(np.ones((width, width), bool), 1)
    for begin in range(0, len(out), step):
        codes, valid = listed.items[begin : begin + step], listed.shown[begin : begin + step]
        both = valid[:, :, None] & valid[:, None, :] & upper
        safe = np.where(valid, codes, 0)
        pairs = listed.similarities[safe[:, :, None], safe[:, None, :]]
        out[begin : begin + step] = total(total(np.where(both, pairs, 0)))
    return out


ILD = ListMetric(
    "ILD",
    intra_list_diversity,
    title="How different the items of one list are from each other.",
    formula="ILD = mean_{a<b in the list} 1 − sim(a, b); an item that a list repeats has "
    "similarity 1 with itself",
    aliases=("intra_list_diversity", "intra_list_distance"),
    high=2.0,
    needs=("features",),
    source="Smyth & McClave, ICCBR 2001, doi:10.1007/3-540-44593-5_25; recpack (Jaccard)",
    sees="the features of the items of a list",
    blind_to="whether anything shown is relevant, and the order within a list",
)

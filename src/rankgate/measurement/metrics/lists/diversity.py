"""Diversity: dissimilarity of the items of a list."""

from typing import Literal

import numpy as np

from rankgate.measurement.metrics.judged import total
from rankgate.measurement.metrics.lists.declare import ListMetric
from rankgate.measurement.metrics.lists.listed import (
    Floats,
    Listed,
    safe_ratio,
    take_rows,
    unit_vectors,
)

Similarity = Literal["cosine", "jaccard", "given"]
Divisor = Literal["pairs", "items"]
Single = Literal["none", "zero"]

_BLOCK = 1 << 22  # numbers of a block of pairs


def intra_list_diversity(
    lists: Listed,
    *,
    similarity: Similarity = "cosine",
    divisor: Divisor = "pairs",
    single: Single = "none",
) -> Floats:
    """Mean distance of the pairs of items of a list, ``(T,)``.

        ILD = mean_{a<b in the list} 1 − sim(a, b)

    Args:
        lists: the lists; an item whose features are all 0 is left out.
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
    count = lists.lengths.astype(np.float64)
    if similarity != "given":
        assert lists.features is not None
        has_features = np.asarray((lists.features != 0).any(axis=-1), np.float64)
        count = take_rows(has_features, lists.items).sum(axis=-1)
    pairs = count * (count - 1) / 2
    similarities = {"cosine": _cosines, "jaccard": _jaccards, "given": _given_similarities}[
        similarity
    ](lists)
    value = safe_ratio(
        pairs - similarities, pairs if divisor == "pairs" else np.where(pairs > 0, count, 0)
    )
    value = np.where(pairs > 0, np.maximum(value, 0), np.nan)
    return np.where(pairs > 0, value, 0.0) if single == "zero" else value


def _cosines(lists: Listed) -> Floats:
    """The sum of the cosines of the pairs of each list, ``(T,)``."""
    assert lists.features is not None
    width = lists.features.shape[1]
    direction = np.vstack(
        [unit_vectors(lists.features), np.zeros(width)]
    )  # the last: where NONE points
    direction_sum = np.zeros((len(lists.items), width))
    for codes in lists.items.T:
        direction_sum += direction[codes]
    squared_norm = (direction**2).sum(axis=-1)
    pair_sums: Floats = ((direction_sum**2).sum(axis=-1) - total(squared_norm[lists.items])) / 2
    return pair_sums


def _jaccards(lists: Listed) -> Floats:
    """The sum of the Jaccard coefficients of the pairs of each list, ``(T,)``."""
    assert lists.features is not None
    has_feature = (lists.features > 0).astype(np.float64)
    width = lists.items.shape[1]
    pair_sums = np.empty(len(lists.items))
    step = max(1, _BLOCK // max(1, width * (width + has_feature.shape[1])))
    upper = np.triu(np.ones((width, width), bool), 1)
    for begin in range(0, len(pair_sums), step):
        rows = take_rows(has_feature, lists.items[begin : begin + step])
        common_count = rows @ rows.transpose(0, 2, 1)
        size = rows.sum(axis=-1)
        union_count = size[:, :, None] + size[:, None, :] - common_count
        share = np.divide(
            common_count, union_count, out=np.zeros(common_count.shape), where=union_count > 0
        )
        pair_sums[begin : begin + step] = total(total(share * upper))
    return pair_sums


def _given_similarities(lists: Listed) -> Floats:
    """The sum of the similarities given of the pairs of each list, ``(T,)``."""
    assert lists.similarities is not None
    width = lists.items.shape[1]
    pair_sums = np.empty(len(lists.items))
    step = max(1, _BLOCK // max(1, width * width))
    upper = np.triu(np.ones((width, width), bool), 1)
    for begin in range(0, len(pair_sums), step):
        codes, valid = lists.items[begin : begin + step], lists.shown[begin : begin + step]
        is_pair = valid[:, :, None] & valid[:, None, :] & upper
        safe_codes = np.where(valid, codes, 0)
        pairs = lists.similarities[safe_codes[:, :, None], safe_codes[:, None, :]]
        pair_sums[begin : begin + step] = total(total(np.where(is_pair, pairs, 0)))
    return pair_sums


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

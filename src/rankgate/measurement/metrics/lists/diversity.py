"""Diversity of the items of a list, and calibration to the user's history.

Diversity is dissimilarity of the items of a list. Calibration compares category proportions of
a list and of the user's history.
"""

from typing import Annotated, Literal

import numpy as np

from rankgate.core.arrays import Floats
from rankgate.core.declare import OnlyWith, Range
from rankgate.measurement.metrics.judged_block import total
from rankgate.measurement.metrics.lists.list_input import (
    Listed,
    row_totals,
    safe_ratio,
    take_rows,
    unit_vectors,
)
from rankgate.measurement.metrics.lists.list_metric import ListMetric

Similarity = Literal["cosine", "jaccard", "given"]
Divisor = Literal["pairs", "items"]
Single = Literal["none", "zero"]

_BLOCK = 1 << 22  # numbers in a block of pairs


def intra_list_diversity(
    lists: Listed, *, similarity: Similarity = "cosine", divisor: Divisor = "pairs", single: Single = "none"
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
    similarities = {"cosine": _cosines, "jaccard": _jaccards, "given": _given_similarities}[similarity](lists)
    value = safe_ratio(pairs - similarities, pairs if divisor == "pairs" else np.where(pairs > 0, count, 0))
    value = np.where(pairs > 0, np.maximum(value, 0), np.nan)
    return np.where(pairs > 0, value, 0.0) if single == "zero" else value


def _cosines(lists: Listed) -> Floats:
    """The sum of the cosines over the pairs of each list, ``(T,)``."""
    assert lists.features is not None
    width = lists.features.shape[1]
    direction = np.vstack(
        [unit_vectors(lists.features), np.zeros(width)]
    )  # the last row, to which NONE points
    direction_sum = np.zeros((len(lists.items), width))
    for codes in lists.items.T:
        direction_sum += direction[codes]
    squared_norm = (direction**2).sum(axis=-1)
    return ((direction_sum**2).sum(axis=-1) - total(squared_norm[lists.items])) / 2


def _jaccards(lists: Listed) -> Floats:
    """The sum of the Jaccard coefficients over the pairs of each list, ``(T,)``."""
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
        share = np.divide(common_count, union_count, out=np.zeros(common_count.shape), where=union_count > 0)
        pair_sums[begin : begin + step] = total(total(share * upper))
    return pair_sums


def _given_similarities(lists: Listed) -> Floats:
    """The sum of the given similarities over the pairs of each list, ``(T,)``."""
    assert lists.similarities is not None
    width = lists.items.shape[1]
    pair_sums = np.empty(len(lists.items))
    step = max(1, _BLOCK // max(1, width * width))
    upper = np.triu(np.ones((width, width), bool), 1)
    for begin in range(0, len(pair_sums), step):
        codes, valid = lists.items[begin : begin + step], lists.is_filled[begin : begin + step]
        is_pair = valid[:, :, None] & valid[:, None, :] & upper
        safe_codes = np.where(valid, codes, 0)
        pairs = lists.similarities[safe_codes[:, :, None], safe_codes[:, None, :]]
        pair_sums[begin : begin + step] = total(total(np.where(is_pair, pairs, 0)))
    return pair_sums


ILD = ListMetric(
    "ILD",
    intra_list_diversity,
    title="The mean dissimilarity of the items of one list.",
    formula="ILD = mean_{a<b in the list} 1 − sim(a, b); an item that a list repeats has similarity 1 with "
    "itself",
    aliases=("intra_list_diversity", "intra_list_distance"),
    high=2.0,
    needs=("features",),
    source="Smyth & McClave, ICCBR 2001, doi:10.1007/3-540-44593-5_25; recpack (Jaccard)",
    sees="the features of the items of a list",
    blind_to="relevance, and the order within a list",
)


Weight = Literal["uniform", "log2"]
Place = Literal["uniform", "log2", "geometric"]
Divergence = Literal["kl", "js", "hellinger"]


def miscalibration(
    lists: Listed,
    *,
    divergence: Divergence = "kl",
    alpha: Annotated[float, Range(0, 1)] = 0.01,
    weight: Weight = "uniform",
) -> Floats:
    """Divergence of the categories shown from those of the history, ``(T,)``; 0 is the same.

        C_KL(p, q) = Σ_g p(g) · ln( p(g) / q̃(g) ),   q̃ = (1 − α) · q + α · p

    p are the shares of the categories in the user's history, q those in the list.

    Args:
        lists: the lists.
        divergence: as above (`kl`, Steck); of Jensen and Shannon, in bits (`js`, at most 1); or
            Hellinger's distance (`hellinger`, at most 1).
        alpha: α, how much of p is mixed in, so that a category that is not shown has a finite
            price; only `kl` takes it.
        weight: each place counts the same, or 1/log₂(rank + 1).

    Returns:
        NaN for users without a history, or where no item shown has a category.

    >>> shown = Listed(np.array([[0]]), 3, categories=np.array([[1.0, 0], [1, 0], [0, 1]]),
    ...               history=np.array([[1, 2]]))
    >>> miscalibration(shown, divergence="js").round(4)
    array([0.3113])
    """
    assert lists.categories is not None
    assert isinstance(lists.history, np.ndarray)
    ranks = np.arange(1, lists.items.shape[1] + 1)
    place_weights = 1 / np.log2(ranks + 1.0) if weight == "log2" else np.ones(len(ranks))
    q = np.einsum("tkg,k->tg", take_rows(lists.categories, lists.items), place_weights)
    p = row_totals(lists.categories, lists.history)
    q, p = (
        safe_ratio(weights, np.broadcast_to(weights.sum(axis=-1, keepdims=True), weights.shape))
        for weights in (q, p)
    )
    return divergence_of_shares(p, q, divergence, alpha)


def category_entropy(
    lists: Listed,
    *,
    weight: Place = "uniform",
    patience: Annotated[float, Range(0, 1), OnlyWith("weight", "geometric")] = 0.85,
    smoothing: Annotated[float, Range(0)] = 0.0,
) -> Floats:
    """Entropy of the categories of a list, in bits, ``(T,)``.

        CategoryEntropy = −Σ_g q(g) · log₂ q(g)

    q are the shares of the categories in the list.

    Args:
        lists: the lists.
        weight: each place counts the same, or 1/log₂(rank + 1), or patience^(rank − 1).
        patience: the patience of the geometric weights.
        smoothing: the amount that is added to each category's sum before shares are computed
            (LensKit: 1e-6).

    Returns:
        NaN for empty lists, and where no item shown has a category.

    >>> shown = Listed(np.array([[0, 1], [0, -1]]), 2, categories=np.eye(2))
    >>> category_entropy(shown)
    array([1., 0.])
    """
    assert lists.categories is not None
    ranks = np.arange(1.0, lists.items.shape[1] + 1)
    place_weights = {
        "uniform": np.ones(len(ranks)),
        "log2": 1 / np.log2(ranks + 1),
        "geometric": patience ** (ranks - 1),
    }[weight]
    sums = np.einsum("tkg,k->tg", take_rows(lists.categories, lists.items), place_weights)
    sums = np.where(lists.lengths[:, None] > 0, sums + smoothing, 0)
    share = safe_ratio(sums, np.broadcast_to(sums.sum(axis=-1, keepdims=True), sums.shape))
    bits = share * np.log2(np.where(share > 0, share, 1))
    return np.maximum(-bits.sum(axis=-1), 0)


def divergence_of_shares(p: Floats, q: Floats, divergence: Divergence = "kl", alpha: float = 0.01) -> Floats:
    """The divergence of rows of shares, ``(T, G) -> (T,)``; NaN where a row has no shares.

    >>> divergence_of_shares(np.array([[0.7, 0.3]]), np.array([[1.0, 0.0]])).round(6)
    array([1.133982])
    """
    if divergence == "kl":
        return _kl_divergence(p, (1 - alpha) * q + alpha * p)
    if divergence == "js":
        mean_shares = (p + q) / 2
        return (_kl_divergence(p, mean_shares) + _kl_divergence(q, mean_shares)) / (2 * np.log(2))
    return np.sqrt(((np.sqrt(p) - np.sqrt(q)) ** 2).sum(axis=-1) / 2)


def _kl_divergence(p: Floats, q: Floats) -> Floats:
    """Σ p · ln(p/q), a term with p = 0 being 0, ``(T,)``."""
    ratio = np.divide(p, q, out=np.ones(p.shape), where=(p > 0) & (q > 0))
    terms = np.where(p > 0, p * np.log(ratio), 0)
    terms = np.where((p > 0) & (q == 0), np.inf, terms)
    unknown = np.isnan(p).any(axis=-1) | np.isnan(q).any(axis=-1)
    return np.where(unknown, np.nan, np.maximum(terms.sum(axis=-1), 0))


CategoryEntropy = ListMetric(
    "CategoryEntropy",
    category_entropy,
    title="The number of categories in a list and their evenness, in bits.",
    formula="CategoryEntropy = mean_list −Σ_g q(g) · log₂ q(g)",
    high=None,
    needs=("categories",),
    source="Shannon, Bell System Technical Journal 27, 1948; LensKit (entropy, rank_biased_entropy)",
    sees="the categories of the items shown",
)
Miscalibration = ListMetric(
    "Miscalibration",
    miscalibration,
    title="The distance between the categories shown and those of the user's history.",
    formula="C_KL(p, q) = Σ_g p(g) · ln( p(g) / q̃(g) ),   q̃ = (1 − α) · q + α · p",
    aliases=("calibration_kl",),
    high=None,
    higher_is_better=False,
    needs=("categories", "history"),
    source="Steck, RecSys 2018, doi:10.1145/3240323.3240372",
    sees="the categories of the items shown and of the history",
)

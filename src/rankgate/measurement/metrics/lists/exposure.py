"""Fairness of exposure between groups of items, and expected exposure."""

from typing import Annotated, Literal

import numpy as np

from rankgate.core.arrays import Floats
from rankgate.core.declare import OnlyWith, Range
from rankgate.measurement.metrics.judged_block import total
from rankgate.measurement.metrics.lists.diversity import divergence_of_shares
from rankgate.measurement.metrics.lists.list_input import NONE, Codes, Listed, is_in_row, safe_ratio
from rankgate.measurement.metrics.lists.list_metric import ListMetric

Weight = Literal["log2", "geometric"]
Target = Literal["catalogue", "uniform"]
Distance = Literal["js", "absolute"]
Among = Literal["catalogue", "shown"]
Patience = Annotated[float, Range(0, 1), OnlyWith("weight", "geometric")]

_SINGH = "Singh & Joachims, KDD 2018, doi:10.1145/3219819.3220088"


def attention_weights(places: int, weight: Weight = "log2", patience: float = 0.5) -> Floats:
    """The attention weight of each rank: 1/log₂(rank + 1), or patience^(rank − 1), ``(K,)``.

    >>> attention_weights(3, "geometric").tolist()
    [1.0, 0.5, 0.25]
    """
    ranks = np.arange(1, places + 1, dtype=np.float64)
    return 1 / np.log2(ranks + 1) if weight == "log2" else patience ** (ranks - 1)


def attention_weighted_fairness(
    lists: Listed,
    *,
    weight: Weight = "log2",
    patience: Patience = 0.5,
    target: Target = "catalogue",
    distance: Distance = "js",
) -> Floats:
    """Nearness of the exposure of groups to their target (AWRF), ``(T,)``; 1 is the target itself.

        AWRF = 1 − distance( shares of exposure, due shares )

    Args:
        lists: the lists; items without a group are left out.
        weight: a place is worth 1/log₂(rank + 1), or patience^(rank − 1).
        patience: the patience of the geometric weights.
        target: the due is a group's share of the catalogue, or the same for each group.
        distance: the divergence of Jensen and Shannon in bits, or half the sum of absolute
            differences.

    >>> shown = Listed(np.array([[0, 1, 2, 3, 4]]), 5, groups=np.array([1, 0, 1, 0, 0]))
    >>> attention_weighted_fairness(shown, target="uniform").round(7)
    array([0.9999449])
    """
    place_weights = attention_weights(lists.items.shape[1], weight, patience)
    share = _per_group(lists, np.broadcast_to(place_weights, lists.items.shape))
    share = safe_ratio(share, np.broadcast_to(share.sum(axis=-1, keepdims=True), share.shape))
    groups = _groups(lists)
    size = np.bincount(groups[groups != NONE], minlength=share.shape[1]).astype(np.float64)
    target_share = np.ones(len(size)) if target == "uniform" else size
    target_share = np.broadcast_to(target_share / target_share.sum(), share.shape)
    if distance == "absolute":
        return 1 - np.abs(share - target_share).sum(axis=-1) / 2
    return 1 - divergence_of_shares(share, target_share, "js")


def exposure_terms(
    lists: Listed, *, members: Among = "catalogue", weight: Weight = "log2", patience: Patience = 0.5
) -> Floats:
    """The exposure of each group, and its items, in each list, ``(T, 2G)``.

    Args:
        lists: the lists.
        members: the items of a group are those of the catalogue, or those that a list shows, so
            that a group that is never shown is ignored.
        weight: as of AWRF.
        patience: as of AWRF.
    """
    place_weights = attention_weights(lists.items.shape[1], weight, patience)
    exposures = _per_group(lists, np.broadcast_to(place_weights, lists.items.shape))
    if members == "shown":
        group_size = _per_group(lists, np.ones(lists.items.shape))
    else:
        groups = _groups(lists)
        size = np.bincount(groups[groups != NONE], minlength=exposures.shape[1])
        group_size = np.where(lists.lengths[:, None] > 0, size.astype(np.float64), 0.0)
    return np.concatenate([exposures, group_size], axis=-1)


def merit_terms(lists: Listed, *, weight: Weight = "log2", patience: Patience = 0.5) -> Floats:
    """The exposure of each group, and its relevant items, for each user, ``(T, 2G)``."""
    assert isinstance(lists.relevant, np.ndarray)
    place_weights = attention_weights(lists.items.shape[1], weight, patience)
    exposures = _per_group(lists, np.broadcast_to(place_weights, lists.items.shape))
    relevant_count = _group_sums(lists, lists.relevant, np.ones(lists.relevant.shape))
    return np.concatenate([exposures, relevant_count], axis=-1)


def opportunity_terms(lists: Listed, *, weight: Weight = "log2", patience: Patience = 0.5) -> Floats:
    """The exposure of each group's relevant items, and their number, for each user, ``(T, 2G)``."""
    assert isinstance(lists.relevant, np.ndarray)
    place_weights = attention_weights(lists.items.shape[1], weight, patience)
    hit = is_in_row(lists.items, lists.relevant)
    exposures = _per_group(lists, place_weights * hit)
    relevant_count = _group_sums(lists, lists.relevant, np.ones(lists.relevant.shape))
    return np.concatenate([exposures, relevant_count], axis=-1)


def least_over_most(sums: Floats) -> float:
    """The least ratio of part to whole of a group over the greatest, ``(2G,)``; 1 is parity.

    Groups without a whole are left out.

    >>> least_over_most(np.array([1.0, 1.0, 1.0, 2.0]))
    0.5
    """
    exposure, size = np.split(sums, 2)
    ratio = exposure[size > 0] / size[size > 0]
    if len(ratio) < 2 or not ratio.max():  # a single group cannot be compared
        return float("nan")
    return float(ratio.min() / ratio.max())


def _per_group(lists: Listed, place_weights: Floats) -> Floats:
    return _group_sums(lists, lists.items, place_weights)


def _group_sums(lists: Listed, codes: Codes, place_weights: Floats) -> Floats:
    """The sum of the weights of the items of each group in each row, ``(T, G)``."""
    groups = _groups(lists)
    size = int(groups.max(initial=0)) + 1
    group_of_item = np.where(codes != NONE, groups[np.where(codes != NONE, codes, 0)], NONE)
    valid = group_of_item != NONE
    cell = (np.arange(len(codes))[:, None] * size + group_of_item)[valid]
    group_sums = np.bincount(
        cell, weights=np.broadcast_to(place_weights, codes.shape)[valid], minlength=len(codes) * size
    )
    return group_sums.reshape(len(codes), size).astype(np.float64)


def _groups(lists: Listed) -> Codes:
    assert lists.groups is not None
    return lists.groups


AWRF = ListMetric(
    "AWRF",
    attention_weighted_fairness,
    title="The closeness of the exposure of groups of items to their due share.",
    formula="AWRF = 1 − distance( shares of exposure, due shares )",
    aliases=("attention_weighted_rank_fairness",),
    needs=("groups",),
    source="Sapiezynski et al., FATES 2019, arXiv:1901.10437; Raj & Ekstrand, SIGIR 2022",
    sees="the ranks of the items of each group",
)
ExposureParity = ListMetric(
    "ExposureParity",
    exposure_terms,
    title="The exposure of an item of the group that gets least, over that of the most.",
    formula="ExposureParity = min_g / max_g of Σ exposure of g / Σ items of g",
    aliases=("demographic_parity_ratio",),
    needs=("groups",),
    merge="ratio",
    finish=least_over_most,
    source=f"{_SINGH} (demographic parity)",
    sees="the ranks of the items of each group",
)
ExposureMerit = ListMetric(
    "ExposureMerit",
    merit_terms,
    title="The exposure per relevant item of the group that gets least, over that of the most.",
    formula="ExposureMerit = min_g / max_g of Σ exposure of g / Σ relevant items of g",
    aliases=("disparate_treatment_ratio", "DTR"),
    needs=("groups", "relevant"),
    merge="ratio",
    finish=least_over_most,
    source=f"{_SINGH} (disparate treatment)",
    sees="the exposure of each group, and its relevant part",
    blind_to="the division of exposure within a group",
)
ExposureOpportunity = ListMetric(
    "ExposureOpportunity",
    opportunity_terms,
    title="The exposure of a relevant item of the group that gets least, over that of the most.",
    formula="ExposureOpportunity = min_g / max_g of Σ exposure of relevant of g / Σ relevant of g",
    aliases=("equal_opportunity_ratio", "disparate_impact_ratio"),
    needs=("groups", "relevant"),
    merge="ratio",
    finish=least_over_most,
    source=f"{_SINGH} (disparate impact); Hardt, Price & Srebro, NeurIPS 2016",
    sees="the exposure of the relevant items of each group",
    blind_to="items that are not relevant",
)


_DIAZ = "Diaz et al., CIKM 2020, doi:10.1145/3340531.3411962"


def expected_exposure_loss(
    lists: Listed, *, weight: Weight = "geometric", patience: Patience = 0.5
) -> Floats:
    """Squared distance of exposure from what equal relevance is due (EE-L), ``(T,)``.

        EE-L = Σ_i (εᵢ − ε*ᵢ)²,   ε  = an item's mean exposure over the rankings that are drawn
                                  ε* = the mean exposure of the first m places for the m relevant
                                       items, of the places behind them for the others

    Over the items of the rankings and the relevant items that they lack. One ranking alone is a
    system that always shows it, so that two items that deserve the same cannot both get it. A
    ranking that is empty was not drawn.

    Args:
        lists: the lists.
        weight: as of AWRF.
        patience: as of AWRF.
    """
    disparity, relevance, ideal = _expected(lists, weight, patience)
    return disparity - 2 * relevance + ideal


def expected_exposure_disparity(
    lists: Listed, *, weight: Weight = "geometric", patience: Patience = 0.5
) -> Floats:
    """Expected exposure disparity of a list (EE-D), ``(T,)``: Σ_i εᵢ²; arguments as of EE-L."""
    return _expected(lists, weight, patience)[0]


def expected_exposure_relevance(
    lists: Listed, *, weight: Weight = "geometric", patience: Patience = 0.5
) -> Floats:
    """Expected exposure of relevant items (EE-R), ``(T,)``: Σ_i εᵢ · ε*ᵢ.

    Arguments as of EE-L.

    >>> lists = Listed(np.array([[0, 1]]), 2, relevant=np.array([[0]]))
    >>> expected_exposure_relevance(lists)
    array([1.25])
    """
    return _expected(lists, weight, patience)[1]


def _expected(lists: Listed, weight: Weight, patience: float) -> tuple[Floats, Floats, Floats]:
    """Compute Σ ε², Σ ε · ε*, Σ ε*² of each list; NaN for an empty list."""
    assert isinstance(lists.relevant, np.ndarray)
    items, exposures = _exposed(lists, weight, patience)
    hit = is_in_row(items, lists.relevant)
    relevant_count = np.count_nonzero(lists.relevant != NONE, axis=-1)
    n = np.count_nonzero(items != NONE, axis=-1) + relevant_count - np.count_nonzero(hit, axis=-1)
    # positions after the end of a list would be looked at, if the list continued
    place_weights = attention_weights(max(1, int(n.max(initial=1))), weight, patience)
    cumulated = np.concatenate([[0.0], np.cumsum(place_weights)])
    relevant_exposure = safe_ratio(cumulated[relevant_count], relevant_count.astype(np.float64))
    other_exposure = safe_ratio(
        cumulated[n] - cumulated[relevant_count], (n - relevant_count).astype(np.float64)
    )
    relevant_exposure, other_exposure = (np.nan_to_num(relevant_exposure), np.nan_to_num(other_exposure))
    target = np.where(hit, relevant_exposure[:, None], other_exposure[:, None])
    ideal = relevant_count * relevant_exposure**2 + (n - relevant_count) * other_exposure**2
    empty = np.where((items != NONE).any(axis=-1), 0.0, np.nan)
    return total(exposures**2) + empty, total(exposures * target) + empty, ideal + empty


def _exposed(lists: Listed, weight: Weight, patience: float) -> tuple[Codes, Floats]:
    """The items that may be shown to each user, each once, and their mean exposure, ``(T, ·)``."""
    place_weights = attention_weights(lists.items.shape[1], weight, patience) * lists.is_filled
    if lists.drawn is None:
        return lists.items, place_weights
    users, _, depth = lists.drawn.shape
    drawn_worth = attention_weights(depth, weight, patience) * (lists.drawn != NONE)
    items = np.concatenate([lists.items, lists.drawn.reshape(users, -1)], axis=1)
    place_weights = np.concatenate([place_weights, drawn_worth.reshape(users, -1)], axis=1)
    order = np.argsort(items, axis=1, kind="stable")  # rows of the same item are together
    items, place_weights = (np.take_along_axis(matrix, order, axis=1) for matrix in (items, place_weights))
    same_as_next = np.append(items[:, 1:] == items[:, :-1], np.zeros((users, 1), bool), axis=1)
    sums = np.cumsum(place_weights, axis=1)
    sum_before = np.where(same_as_next, 0, sums)  # the value of its items and of all items before them
    sum_before = np.maximum.accumulate(sum_before, axis=1)
    exposure = sums - np.append(np.zeros((users, 1)), sum_before[:, :-1], axis=1)
    ranking_count = (lists.lengths > 0) + np.count_nonzero((lists.drawn != NONE).any(axis=2), axis=1)
    mean = np.where(same_as_next, 0, exposure) / np.maximum(ranking_count, 1)[:, None]
    return np.where(same_as_next, NONE, items), mean


EEL = ListMetric(
    "EEL",
    expected_exposure_loss,
    title="Squared distance of exposure from the exposure due to items of equal relevance.",
    formula="EE-L = Σ_i (εᵢ − ε*ᵢ)²",
    aliases=("expected_exposure_loss",),
    high=None,
    higher_is_better=False,
    needs=("relevant",),
    source=f"{_DIAZ}, and its expeval",
    sees="the ranks of relevant and other items, over all rankings that are drawn",
    blind_to="the grades of the relevant items",
)
EED = ListMetric(
    "EED",
    expected_exposure_disparity,
    title="Inequality of the exposure of the items of a list.",
    formula="EE-D = Σ_i εᵢ²",
    aliases=("expected_exposure_disparity",),
    high=None,
    higher_is_better=False,
    needs=("relevant",),
    source=f"{_DIAZ}, and its expeval",
    sees="the length of lists, and differences among the drawn rankings",
)
EER = ListMetric(
    "EER",
    expected_exposure_relevance,
    title="The exposure that goes to relevant items.",
    formula="EE-R = Σ_i εᵢ · ε*ᵢ",
    aliases=("expected_exposure_relevance",),
    high=None,
    needs=("relevant",),
    source=f"{_DIAZ}, and its expeval",
    sees="the ranks of relevant and other items, over all rankings that are drawn",
    blind_to="the grades of the relevant items",
)

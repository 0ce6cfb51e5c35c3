"""Expected exposure of relevant and other items, by one or several rankings."""

import numpy as np

from rankgate.measurement.metrics.judged import total
from rankgate.measurement.metrics.lists.declare import ListMetric
from rankgate.measurement.metrics.lists.exposure import Patience, Weight, attention_weights
from rankgate.measurement.metrics.lists.listed import (
    NONE,
    Codes,
    Floats,
    Listed,
    is_in_row,
    safe_ratio,
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
    """Σ ε², Σ ε · ε*, Σ ε*² of each list; NaN for an empty one."""
    assert isinstance(lists.relevant, np.ndarray)
    items, exposures = _exposed(lists, weight, patience)
    hit = is_in_row(items, lists.relevant)
    relevant_count = np.count_nonzero(lists.relevant != NONE, axis=-1)
    n = np.count_nonzero(items != NONE, axis=-1) + relevant_count - np.count_nonzero(hit, axis=-1)
    # each place behind the end of a list could be looked at too, if the list went on
    place_weights = attention_weights(max(1, int(n.max(initial=1))), weight, patience)
    cumulated = np.concatenate([[0.0], np.cumsum(place_weights)])
    relevant_exposure = safe_ratio(cumulated[relevant_count], relevant_count.astype(np.float64))
    other_exposure = safe_ratio(
        cumulated[n] - cumulated[relevant_count], (n - relevant_count).astype(np.float64)
    )
    relevant_exposure, other_exposure = (
        np.nan_to_num(relevant_exposure),
        np.nan_to_num(other_exposure),
    )
    target = np.where(hit, relevant_exposure[:, None], other_exposure[:, None])
    ideal = relevant_count * relevant_exposure**2 + (n - relevant_count) * other_exposure**2
    empty = np.where((items != NONE).any(axis=-1), 0.0, np.nan)
    return total(exposures**2) + empty, total(exposures * target) + empty, ideal + empty


def _exposed(lists: Listed, weight: Weight, patience: float) -> tuple[Codes, Floats]:
    """The items that each user may be shown, each once, and their mean exposure, ``(T, ·)``."""
    place_weights = attention_weights(lists.items.shape[1], weight, patience) * lists.shown
    if lists.drawn is None:
        return lists.items, place_weights
    users, _, depth = lists.drawn.shape
    drawn_worth = attention_weights(depth, weight, patience) * (lists.drawn != NONE)
    items = np.concatenate([lists.items, lists.drawn.reshape(users, -1)], axis=1)
    place_weights = np.concatenate([place_weights, drawn_worth.reshape(users, -1)], axis=1)
    order = np.argsort(items, axis=1, kind="stable")  # those of one item together
    items, place_weights = (
        np.take_along_axis(matrix, order, axis=1) for matrix in (items, place_weights)
    )
    same_as_next = np.append(items[:, 1:] == items[:, :-1], np.zeros((users, 1), bool), axis=1)
    sums = np.cumsum(place_weights, axis=1)
    sum_before = np.where(
        same_as_next, 0, sums
    )  # what its items and all before them are worth, at their end
    sum_before = np.maximum.accumulate(sum_before, axis=1)
    exposure = sums - np.append(np.zeros((users, 1)), sum_before[:, :-1], axis=1)
    ranking_count = (lists.lengths > 0) + np.count_nonzero(
        (lists.drawn != NONE).any(axis=2), axis=1
    )
    mean = np.where(same_as_next, 0, exposure) / np.maximum(ranking_count, 1)[:, None]
    return np.where(same_as_next, NONE, items), mean


EEL = ListMetric(
    "EEL",
    expected_exposure_loss,
    title="Squared distance of exposure from what items of equal relevance are due.",
    formula="EE-L = Σ_i (εᵢ − ε*ᵢ)²",
    aliases=("expected_exposure_loss",),
    high=None,
    higher_is_better=False,
    needs=("relevant",),
    source=f"{_DIAZ}, and its expeval",
    sees="the ranks of relevant and other items, over all rankings that are drawn",
    blind_to="how relevant the relevant items are",
)
EED = ListMetric(
    "EED",
    expected_exposure_disparity,
    title="How unevenly a list exposes its items.",
    formula="EE-D = Σ_i εᵢ²",
    aliases=("expected_exposure_disparity",),
    high=None,
    higher_is_better=False,
    needs=("relevant",),
    source=f"{_DIAZ}, and its expeval",
    sees="how long lists are, and whether the rankings that are drawn differ",
)
EER = ListMetric(
    "EER",
    expected_exposure_relevance,
    title="How much exposure goes where relevance is.",
    formula="EE-R = Σ_i εᵢ · ε*ᵢ",
    aliases=("expected_exposure_relevance",),
    high=None,
    needs=("relevant",),
    source=f"{_DIAZ}, and its expeval",
    sees="the ranks of relevant and other items, over all rankings that are drawn",
    blind_to="how relevant the relevant items are",
)

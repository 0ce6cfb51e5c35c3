"""Expected exposure of relevant and other items, by one or several rankings."""

import numpy as np

from rankgate.measurement.metrics.judged import total
from rankgate.measurement.metrics.lists.declare import ListMetric
from rankgate.measurement.metrics.lists.exposure import Patience, Weight, weights
from rankgate.measurement.metrics.lists.listed import NONE, Codes, Floats, Listed, among, over

_DIAZ = "Diaz et al., CIKM 2020, doi:10.1145/3340531.3411962"


def expected_exposure_loss(
    listed: Listed, *, weight: Weight = "geometric", patience: Patience = 0.5
) -> Floats:
    """Squared distance of exposure from what equal relevance is due (EE-L), ``(T,)``.

        EE-L = Σ_i (εᵢ − ε*ᵢ)²,   ε  = an item's mean exposure over the rankings that are drawn
                                  ε* = the mean exposure of the first m places for the m relevant
                                       items, of the places behind them for the others

    Over the items of the rankings and the relevant items that they lack. One ranking alone is a
    system that always shows it, so that two items that deserve the same cannot both get it. A
    ranking that is empty was not drawn.

    Args:
        listed: the lists.
        weight: as of AWRF.
        patience: as of AWRF.
    """
    disparity, relevance, ideal = _expected(listed, weight, patience)
    return disparity - 2 * relevance + ideal


def expected_exposure_disparity(
    listed: Listed, *, weight: Weight = "geometric", patience: Patience = 0.5
) -> Floats:
    """How unevenly a list exposes its items (EE-D), ``(T,)``: Σ_i εᵢ²; arguments as of EE-L."""
    return _expected(listed, weight, patience)[0]


def expected_exposure_relevance(
    listed: Listed, *, weight: Weight = "geometric", patience: Patience = 0.5
) -> Floats:
    """How much exposure goes where relevance is (EE-R), ``(T,)``: Σ_i εᵢ · ε*ᵢ.

    Arguments as of EE-L.

    >>> lists = Listed(np.array([[0, 1]]), 2, relevant=np.array([[0]]))
    >>> expected_exposure_relevance(lists)
    array([1.25])
    """
    return _expected(listed, weight, patience)[1]


def _expected(listed: Listed, weight: Weight, patience: float) -> tuple[Floats, Floats, Floats]:
    """Σ ε², Σ ε · ε*, Σ ε*² of each list; NaN for an empty one."""
    assert isinstance(listed.relevant, np.ndarray)
    items, exposed = _exposed(listed, weight, patience)
    hit = among(items, listed.relevant)
    wanted = np.count_nonzero(listed.relevant != NONE, axis=-1)
    n = np.count_nonzero(items != NONE, axis=-1) + wanted - np.count_nonzero(hit, axis=-1)
    # each place behind the end of a list could be looked at too, if the list went on
    worth = weights(max(1, int(n.max(initial=1))), weight, patience)
    up_to = np.concatenate([[0.0], np.cumsum(worth)])
    first = over(up_to[wanted], wanted.astype(np.float64))
    rest = over(up_to[n] - up_to[wanted], (n - wanted).astype(np.float64))
    first, rest = np.nan_to_num(first), np.nan_to_num(rest)
    due = np.where(hit, first[:, None], rest[:, None])
    ideal = wanted * first**2 + (n - wanted) * rest**2
    empty = np.where((items != NONE).any(axis=-1), 0.0, np.nan)
    return total(exposed**2) + empty, total(exposed * due) + empty, ideal + empty


def _exposed(listed: Listed, weight: Weight, patience: float) -> tuple[Codes, Floats]:
    """The items that each user may be shown, each once, and their mean exposure, ``(T, ·)``."""
    worth = weights(listed.items.shape[1], weight, patience) * listed.shown
    if listed.drawn is None:
        return listed.items, worth
    users, _, depth = listed.drawn.shape
    rest = weights(depth, weight, patience) * (listed.drawn != NONE)
    items = np.concatenate([listed.items, listed.drawn.reshape(users, -1)], axis=1)
    worth = np.concatenate([worth, rest.reshape(users, -1)], axis=1)
    order = np.argsort(items, axis=1, kind="stable")  # those of one item together
    items, worth = (np.take_along_axis(each, order, axis=1) for each in (items, worth))
    ahead = np.append(items[:, 1:] == items[:, :-1], np.zeros((users, 1), bool), axis=1)
    sums = np.cumsum(worth, axis=1)
    before = np.where(ahead, 0, sums)  # what its items and all before them are worth, at their end
    before = np.maximum.accumulate(before, axis=1)
    whole = sums - np.append(np.zeros((users, 1)), before[:, :-1], axis=1)
    shown = (listed.lengths > 0) + np.count_nonzero((listed.drawn != NONE).any(axis=2), axis=1)
    mean = np.where(ahead, 0, whole) / np.maximum(shown, 1)[:, None]
    return np.where(ahead, NONE, items), mean


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

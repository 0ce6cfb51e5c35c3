"""Shares of items that should not be on a list: invented, repeated, and seen before."""

import numpy as np

from rankgate.core.arrays import Floats
from rankgate.measurement.metrics.lists.list_input import Listed, is_first, is_in_row, safe_ratio
from rankgate.measurement.metrics.lists.list_metric import ListMetric

_HOU = "Hou et al., ECIR 2024, arXiv:2305.08845"


def invented_share(lists: Listed) -> Floats:
    """The share of the items of a list that are outside the catalogue, ``(T,)``.

    >>> invented_share(Listed(np.array([[0, -1]]), 2, outside_places=np.array([[False, True]])))
    array([0.5])
    """
    outside_count = lists.outside_counts
    return safe_ratio(outside_count.astype(np.float64), outside_count + lists.lengths)


def repeated_share(lists: Listed) -> Floats:
    """The share of the items of a list that it shows before, ``(T,)``.

    >>> repeated_share(Listed(np.array([[0, 0]]), 2))
    array([0.5])
    """
    first_count = np.count_nonzero(is_first(lists.items), axis=-1)
    return safe_ratio((lists.lengths - first_count).astype(np.float64), lists.lengths)


def seen_share(lists: Listed) -> Floats:
    """The share of the items of a list that its user had in training, ``(T,)``.

    >>> seen_share(Listed(np.array([[0, 1]]), 2, history=np.array([[1]])))
    array([0.5])
    """
    assert isinstance(lists.history, np.ndarray)
    seen_count = np.count_nonzero(is_in_row(lists.items, lists.history), axis=-1)
    return safe_ratio(seen_count.astype(np.float64), lists.lengths)


InventedShare = ListMetric(
    "InventedShare",
    invented_share,
    title="The mean share of the items of a list that are outside the catalogue.",
    formula="InventedShare = mean_list |shown \\ catalogue| / |shown|",
    aliases=("hallucination_rate",),
    higher_is_better=False,
    source=_HOU,
    sees="ids that do not exist, as language models make them up",
    blind_to="whether anything shown is relevant; the catalogue must be stated",
)
RepeatedShare = ListMetric(
    "RepeatedShare",
    repeated_share,
    title="The mean share of the items of a list that it shows before.",
    formula="RepeatedShare = mean_list 1 − |distinct items shown| / |items shown|",
    higher_is_better=False,
    source="Welleck et al., ICLR 2020, arXiv:1908.04319 (seq-rep, with single items)",
    sees="items that a list shows twice, under conventions that keep them",
)
SeenShare = ListMetric(
    "SeenShare",
    seen_share,
    title="The mean share of the items of a list that its user had in training.",
    formula="SeenShare = mean_list |shown ∩ history| / |shown|",
    higher_is_better=False,
    needs=("history",),
    source="Anderson et al., WWW 2014, doi:10.1145/2566486.2568018 (repeat consumption)",
    sees="the items shown that are in the user's history",
)

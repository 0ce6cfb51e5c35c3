"""Coverage: the share of the catalogue that lists show, and of lists with items."""

from typing import Literal

import numpy as np

from rankgate.core.declare import Cutoff
from rankgate.measurement.metrics.lists.declare import ListMetric
from rankgate.measurement.metrics.lists.listed import Floats, Listed, Sums

Over = Literal["catalogue", "training"]

_GE = "Ge, Delgado-Battenfeld & Jannach, RecSys 2010, doi:10.1145/1864708.1864761"


def items_shown(sums: Sums) -> float:
    """Distinct items that any list shows (aggregate diversity).

    >>> items_shown(Listed(np.array([[0, 1], [0, 2]]), 4).sums())
    3.0
    """
    return float(np.count_nonzero(sums.counts))


def coverage(sums: Sums, *, over: Over = "catalogue") -> float:
    """Distinct items that any list shows, over those of the catalogue; NaN for an empty one.

        Coverage@K = |∪ first K of each list| / |catalogue|

    Args:
        sums: of the lists.
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
    """1 for a list that has as many items as were asked for, ``(T,)``.

    Args:
        lists: the lists.
        cutoff: how many items were asked for; 1 if not given.

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
    formula="Coverage@K = |∪ first K of each list| / |catalogue|; judged and shown items that the "
    "stated catalogue lacks are part of it",
    aliases=("catalog_coverage", "item_coverage", "prediction_coverage"),
    merge="items",
    source=f"{_GE}; RecBole and recpack over the whole catalogue, evidently over training",
    sees="which items are shown at all",
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
    sees="which items are shown at all",
)
ListCoverage = ListMetric(
    "ListCoverage",
    list_coverage,
    title="The share of the lists that show anything.",
    formula="ListCoverage = |lists with an item| / |lists|",
    aliases=("user_coverage",),
    source=_GE,
    sees="whether a list is empty",
)
FullLists = ListMetric(
    "FullLists",
    full_lists,
    title="The share of the lists that have as many items as were asked for.",
    formula="FullLists@K = |lists with K items| / |lists|",
    aliases=("prediction_user_coverage",),
    source=f"{_GE}; elliot has the number of such lists (UserCoverageAtN)",
    sees="how long a list is",
)
ListLength = ListMetric(
    "ListLength",
    list_lengths,
    title="The mean number of items in a list.",
    formula="ListLength@K = mean_list |first K of the list|",
    aliases=("num_retrieved",),
    high=None,
    source="elliot (NumRetrieved)",
    sees="how long a list is",
)

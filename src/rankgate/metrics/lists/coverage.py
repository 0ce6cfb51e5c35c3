"""How much of the catalogue lists show, and how many lists show anything."""

import numpy as np

from rankgate.metrics.lists.declare import ListMetric
from rankgate.metrics.lists.listed import Floats, Listed, Sums

_GE = "Ge, Delgado-Battenfeld & Jannach, RecSys 2010, doi:10.1145/1864708.1864761"


def items_shown(sums: Sums) -> float:
    """Distinct items that any list shows (aggregate diversity).

    >>> items_shown(Listed(np.array([[0, 1], [0, 2]]), 4).sums())
    3.0
    """
    return float(np.count_nonzero(sums.counts))


def coverage(sums: Sums) -> float:
    """Distinct items that any list shows, over those of the catalogue; NaN for an empty one.

        Coverage@K = |∪ first K of each list| / |catalogue|

    >>> coverage(Listed(np.array([[0, 1], [0, 2]]), 4).sums())
    0.75
    """
    return items_shown(sums) / len(sums.counts) if len(sums.counts) else float("nan")


def list_coverage(listed: Listed) -> Floats:
    """1 for a list that shows anything at all, ``(T,)``.

    >>> list_coverage(Listed(np.array([[0], [-1]]), 4))
    array([1., 0.])
    """
    return (listed.lengths > 0).astype(np.float64)


def full_lists(listed: Listed, *, least: int = 10) -> Floats:
    """1 for a list that has as many items as were asked for, ``(T,)``.

    Args:
        listed: the lists.
        least: how many items were asked for.

    >>> full_lists(Listed(np.array([[0, 1], [0, -1]]), 4), least=2)
    array([1., 0.])
    """
    return (listed.lengths >= least).astype(np.float64)


Coverage = ListMetric(
    "Coverage",
    coverage,  # type: ignore[arg-type]
    "The share of the catalogue that any list shows.",
    "Coverage@K = |∪ first K of each list| / |catalogue|",
    ("catalog_coverage", "item_coverage", "prediction_coverage"),
    merge="items",
    source=f"{_GE}; RecBole, LensKit and recpack over the whole catalogue, evidently over training",
    sees="which items are shown at all",
)
ItemsShown = ListMetric(
    "ItemsShown",
    items_shown,  # type: ignore[arg-type]
    "The number of items that any list shows.",
    "ItemsShown = |items shown|",
    ("aggregate_diversity", "unique_items"),
    high=None,
    merge="items",
    source="Adomavicius & Kwon, IEEE TKDE 24(5), 2012, doi:10.1109/TKDE.2011.15",
    sees="which items are shown at all",
)
ListCoverage = ListMetric(
    "ListCoverage",
    list_coverage,
    "The share of the lists that show anything.",
    "ListCoverage = |lists with an item| / |lists|",
    ("user_coverage",),
    source=_GE,
    sees="whether a list is empty",
)
FullLists = ListMetric(
    "FullLists",
    full_lists,
    "The share of the lists that have as many items as were asked for.",
    "FullLists = |lists with at least n items| / |lists|",
    ("prediction_user_coverage",),
    source=f"{_GE}; user coverage@n of elliot",
    sees="how long a list is",
)

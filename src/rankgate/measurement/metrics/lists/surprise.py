"""Serendipity and unexpectedness of lists."""

from typing import Literal

import numpy as np

from rankgate.core.declare import Cutoff
from rankgate.measurement.metrics.judged import total
from rankgate.measurement.metrics.lists.declare import ListMetric
from rankgate.measurement.metrics.lists.listed import (
    NONE,
    Flags,
    Floats,
    Listed,
    is_in_row,
    masked_mean,
    row_totals,
    take_rows,
    unit_vectors,
)
from rankgate.measurement.metrics.lists.listed import safe_ratio as share

Over = Literal["cutoff", "shown"]
Relevance = Literal["ignore", "use", "only"]
Against = Literal["shown", "history"]


def serendipity(lists: Listed, *, over: Over = "cutoff", cutoff: Cutoff | None = None) -> Floats:
    r"""The share of the places that hold what is relevant and not on the obvious list, ``(T,)``.

        Serendipity@K = |relevant ∩ (shown \ obvious)| / K

    Args:
        lists: the lists.
        over: K, or the items that are shown, which makes short lists better.
        cutoff: K; the length of the list if not given.

    Returns:
        NaN for an empty list.

    >>> shown = Listed(np.array([[0, 1]]), 3, relevant=np.array([[0, 1]]), baseline=np.array([[0]]))
    >>> serendipity(shown)
    array([0.5])
    """
    assert isinstance(lists.relevant, np.ndarray)
    assert lists.baseline is not None
    is_surprise = is_in_row(lists.items, lists.relevant) & ~is_in_row(lists.items, lists.baseline)
    item_count = lists.lengths
    if over == "cutoff" and cutoff is not None:
        item_count = np.where(item_count > 0, cutoff, 0)
    return share(np.count_nonzero(is_surprise, axis=-1).astype(np.float64), item_count)


def unexpectedness(lists: Listed, *, relevance: Relevance = "ignore") -> Floats:
    """Mean distance of the items shown from those that the user had before, ``(T,)``.

        Unexpectedness = mean_{i shown} relᵢ · (1 − mean_{h in the history} cos(i, h))

    Args:
        lists: the lists; items whose features are all 0 are left out.
        relevance: items that are not relevant add nothing (`use`: serendipity in recommenders);
            or the value is 1 − Σ_{i relevant and shown} mean_h cos(i, h), without one where nothing
            relevant is shown (`only`: serendipity in evidently, which falls with every hit).

    >>> shown = Listed(np.array([[0, 1]]), 2, features=np.eye(2), history=np.array([[0]]))
    >>> unexpectedness(shown)
    array([0.5])
    """
    assert lists.features is not None
    assert isinstance(lists.history, np.ndarray)
    has_features = (lists.features != 0).any(axis=-1).astype(np.float64)
    direction = unit_vectors(lists.features)
    history_count = take_rows(has_features, lists.history).sum(axis=-1)
    taste = row_totals(direction, lists.history)
    taste = share(taste, np.broadcast_to(history_count[:, None], taste.shape))
    similarity = np.einsum("tkf,tf->tk", take_rows(direction, lists.items), taste)
    distance = 1 - similarity
    is_counted: Flags = take_rows(has_features, lists.items) > 0
    if relevance != "ignore":
        assert isinstance(lists.relevant, np.ndarray)
        hit = is_in_row(lists.items, lists.relevant)
        if relevance == "only":
            value = 1 - total(np.where(hit & is_counted, similarity, 0))
            return np.where((history_count > 0) & hit.any(axis=-1), value, np.nan)
        distance = distance * hit
    return np.where(history_count > 0, masked_mean(distance, is_counted), np.nan)


def temporal_diversity(lists: Listed) -> Floats:
    r"""The share of the items shown that the list of last time did not show, ``(T,)``.

        TemporalDiversity = |shown \ shown last time| / |shown|

    >>> temporal_diversity(Listed(np.array([[0, 1]]), 3, earlier=np.array([[1, 2]])))
    array([0.5])
    """
    assert lists.earlier is not None
    is_new = lists.shown & ~is_in_row(lists.items, lists.earlier)
    has_earlier = (lists.earlier != NONE).any(axis=-1)
    new_share = share(np.count_nonzero(is_new, axis=-1).astype(np.float64), lists.lengths)
    return np.where(has_earlier, new_share, np.nan)


def stability(lists: Listed) -> Floats:
    """Jaccard's coefficient of two snapshots of a list, ``(T,)``.

        Stability = |shown ∩ shown last time| / |shown ∪ shown last time|

    >>> stability(Listed(np.array([[0, 1]]), 3, earlier=np.array([[1, 2]]))).round(3)
    array([0.333])
    """
    assert lists.earlier is not None
    common_count = np.count_nonzero(is_in_row(lists.items, lists.earlier), axis=-1).astype(
        np.float64
    )
    union_count = lists.lengths + np.count_nonzero(lists.earlier != NONE, axis=-1) - common_count
    return share(common_count, union_count)


def temporal_novelty(lists: Listed, *, against: Against = "shown") -> Floats:
    r"""The share of the items shown that the user was never shown before, ``(T,)``.

        TemporalNovelty = |shown \ ever shown before| / |shown|

    Args:
        lists: the lists; where nobody says what was ever shown, it is the list of last time.
        against: what was shown before, or what the user had before (`history`).

    >>> shown = Listed(np.array([[0, 1]]), 3, earlier=np.array([[2]]), before=np.array([[2, 1]]))
    >>> temporal_novelty(shown)
    array([0.5])
    """
    shown_before = lists.earlier if lists.before is None else lists.before
    earlier_items = lists.history if against == "history" else shown_before
    assert isinstance(earlier_items, np.ndarray)
    is_new = lists.shown & ~is_in_row(lists.items, earlier_items)
    new_share = share(np.count_nonzero(is_new, axis=-1).astype(np.float64), lists.lengths)
    return np.where(
        (earlier_items != NONE).any(axis=-1) | (against == "history"), new_share, np.nan
    )


Serendipity = ListMetric(
    "Serendipity",
    serendipity,
    title="The share of the places that hold what is relevant and not on an obvious list.",
    formula="Serendipity@K = |relevant ∩ (shown \\ obvious)| / K",
    needs=("relevant", "baseline"),
    source="Ge, Delgado-Battenfeld & Jannach, RecSys 2010, doi:10.1145/1864708.1864761",
    sees="which relevant items are shown that the simple system does not show",
    blind_to="the order within a list; what the simple system is, must be said",
)
Unexpectedness = ListMetric(
    "Unexpectedness",
    unexpectedness,
    title="How far the items shown are from those that their users had before.",
    formula="Unexpectedness = mean_{i shown} relᵢ · (1 − mean_{h in the history} cos(i, h))",
    high=2.0,
    needs=("features", "history"),
    source="Zhang et al., WSDM 2012, doi:10.1145/2124295.2124300; recommenders, evidently",
    sees="the features of the items shown and of the user's history",
)
TemporalDiversity = ListMetric(
    "TemporalDiversity",
    temporal_diversity,
    title="How much of a list was not on it last time.",
    formula="TemporalDiversity = |shown \\ shown last time| / |shown|",
    aliases=("lathia_diversity",),
    needs=("earlier",),
    source="Lathia et al., SIGIR 2010, doi:10.1145/1835449.1835486",
    sees="which items are on both snapshots of a list",
)
TemporalNovelty = ListMetric(
    "TemporalNovelty",
    temporal_novelty,
    title="How much of a list its user was never shown before.",
    formula="TemporalNovelty = |shown \\ ever shown before| / |shown|",
    aliases=("lathia_novelty",),
    needs=("earlier",),
    source="Lathia et al., SIGIR 2010, doi:10.1145/1835449.1835486",
    sees="which items were on any earlier list",
)
Stability = ListMetric(
    "Stability",
    stability,
    title="What two snapshots of a list have in common.",
    formula="Stability = |shown ∩ shown last time| / |shown ∪ shown last time|",
    needs=("earlier",),
    source="Jaccard's coefficient of the two lists",
    sees="which items are on both snapshots of a list",
)

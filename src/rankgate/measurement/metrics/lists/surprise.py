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
    among,
    mean_of,
    taken,
    totals,
    unit,
)
from rankgate.measurement.metrics.lists.listed import over as share

Over = Literal["cutoff", "shown"]
Relevance = Literal["ignore", "use", "only"]
Against = Literal["shown", "history"]


def serendipity(listed: Listed, *, over: Over = "cutoff", cutoff: Cutoff | None = None) -> Floats:
    r"""The share of the places that hold what is relevant and not on the obvious list, ``(T,)``.

        Serendipity@K = |relevant ∩ (shown \ obvious)| / K

    Args:
        listed: the lists.
        over: K, or the items that are shown, which makes short lists better.
        cutoff: K; the length of the list if not given.

    Returns:
        NaN for an empty list.

    >>> shown = Listed(np.array([[0, 1]]), 3, relevant=np.array([[0, 1]]), baseline=np.array([[0]]))
    >>> serendipity(shown)
    array([0.5])
    """
    assert isinstance(listed.relevant, np.ndarray)
    assert listed.baseline is not None
    found = among(listed.items, listed.relevant) & ~among(listed.items, listed.baseline)
    whole = listed.lengths
    if over == "cutoff" and cutoff is not None:
        whole = np.where(whole > 0, cutoff, 0)
    return share(np.count_nonzero(found, axis=-1).astype(np.float64), whole)


def unexpectedness(listed: Listed, *, relevance: Relevance = "ignore") -> Floats:
    """Mean distance of the items shown from those that the user had before, ``(T,)``.

        Unexpectedness = mean_{i shown} relᵢ · (1 − mean_{h in the history} cos(i, h))

    Args:
        listed: the lists; items whose features are all 0 are left out.
        relevance: items that are not relevant add nothing (`use`: serendipity in recommenders);
            or the value is 1 − Σ_{i relevant and shown} mean_h cos(i, h), without one where nothing
            relevant is shown (`only`: serendipity in evidently, which falls with every hit).

    >>> shown = Listed(np.array([[0, 1]]), 2, features=np.eye(2), history=np.array([[0]]))
    >>> unexpectedness(shown)
    array([0.5])
    """
    assert listed.features is not None
    assert isinstance(listed.history, np.ndarray)
    known = (listed.features != 0).any(axis=-1).astype(np.float64)
    direction = unit(listed.features)
    had = taken(known, listed.history).sum(axis=-1)
    taste = totals(direction, listed.history)
    taste = share(taste, np.broadcast_to(had[:, None], taste.shape))
    near = np.einsum("tkf,tf->tk", taken(direction, listed.items), taste)
    distance = 1 - near
    counted: Flags = taken(known, listed.items) > 0
    if relevance != "ignore":
        assert isinstance(listed.relevant, np.ndarray)
        hit = among(listed.items, listed.relevant)
        if relevance == "only":
            left = 1 - total(np.where(hit & counted, near, 0))
            return np.where((had > 0) & hit.any(axis=-1), left, np.nan)
        distance = distance * hit
    return np.where(had > 0, mean_of(distance, counted), np.nan)


def temporal_diversity(listed: Listed) -> Floats:
    r"""The share of the items shown that the list of last time did not show, ``(T,)``.

        TemporalDiversity = |shown \ shown last time| / |shown|

    >>> temporal_diversity(Listed(np.array([[0, 1]]), 3, earlier=np.array([[1, 2]])))
    array([0.5])
    """
    assert listed.earlier is not None
    fresh = listed.shown & ~among(listed.items, listed.earlier)
    before = (listed.earlier != NONE).any(axis=-1)
    new = share(np.count_nonzero(fresh, axis=-1).astype(np.float64), listed.lengths)
    return np.where(before, new, np.nan)


def stability(listed: Listed) -> Floats:
    """What two snapshots of a list have in common, over what one of them has, ``(T,)``.

        Stability = |shown ∩ shown last time| / |shown ∪ shown last time|

    >>> stability(Listed(np.array([[0, 1]]), 3, earlier=np.array([[1, 2]]))).round(3)
    array([0.333])
    """
    assert listed.earlier is not None
    both = np.count_nonzero(among(listed.items, listed.earlier), axis=-1).astype(np.float64)
    either = listed.lengths + np.count_nonzero(listed.earlier != NONE, axis=-1) - both
    return share(both, either)


def temporal_novelty(listed: Listed, *, against: Against = "shown") -> Floats:
    r"""The share of the items shown that the user was never shown before, ``(T,)``.

        TemporalNovelty = |shown \ ever shown before| / |shown|

    Args:
        listed: the lists; where nobody says what was ever shown, it is the list of last time.
        against: what was shown before, or what the user had before (`history`).

    >>> shown = Listed(np.array([[0, 1]]), 3, earlier=np.array([[2]]), before=np.array([[2, 1]]))
    >>> temporal_novelty(shown)
    array([0.5])
    """
    shown_before = listed.earlier if listed.before is None else listed.before
    known = listed.history if against == "history" else shown_before
    assert isinstance(known, np.ndarray)
    fresh = listed.shown & ~among(listed.items, known)
    new = share(np.count_nonzero(fresh, axis=-1).astype(np.float64), listed.lengths)
    return np.where((known != NONE).any(axis=-1) | (against == "history"), new, np.nan)


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

"""What intent-aware metrics see: which subtopics the documents of a ranking answer, by rank.

Shapes: T queries, J relevant documents retrieved, D relevant documents judged, S subtopics.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, fields

import numpy as np

from rankgate.metrics.judged import PAD, Counts, Flags, Floats, Ranks


@dataclass(frozen=True, slots=True, eq=False)
class Faceted:
    """Documents that are relevant to a subtopic or more; others matter through ranks alone.

    Attributes:
        rank: ``(T, J)`` ranks, 1-based and ascending, padded with `PAD`.
        covers: ``(T, J, S)``, which subtopics each of them answers; False in the padding.
        pool: ``(T, D, S)``, the same of all relevant documents judged, in the order in which
            equals go into the ideal ranking; False in the padding.
        subtopics: ``(T,)``, subtopics with a relevant document.
    """

    rank: Ranks
    covers: Flags
    pool: Flags
    subtopics: Counts

    def __post_init__(self) -> None:
        for each in fields(self):  # kernels share the block: none may write into it
            getattr(self, each.name).setflags(write=False)

    @property
    def relevant(self) -> Counts:
        """How many documents answer each subtopic, ``(T, S)``."""
        counts: Counts = np.count_nonzero(self.pool, axis=1)
        return counts


def gains(covers: Flags, alpha: float) -> Floats:
    """What each document adds, ``(T, J, S) -> (T, J)``.

    Σ_s covers(i, s) · (1 − α)^(how often s was answered above)
    """
    before = np.cumsum(covers, axis=1, dtype=np.float64) - covers
    added: Floats = np.where(covers, (1 - alpha) ** before, 0).sum(axis=-1)
    return added


def ideal_gains(pool: Flags, alpha: float, depth: int) -> Floats:
    """The gains of the greedy ideal ranking, ``(T, min(D, depth))``.

    At each rank is the document that adds most, of equals the first: the best ranking of all
    is too dear to find (Clarke et al. 2008).
    """
    rows = np.arange(len(pool))
    worth = np.ones((len(pool), pool.shape[2]))  # of another document on each subtopic
    left = pool.astype(np.float64)
    out = np.zeros((len(pool), min(pool.shape[1], depth)))
    for place in range(out.shape[1]):
        added = np.einsum("tds,ts->td", left, worth)
        best = added.argmax(axis=1)
        out[:, place] = added[rows, best]
        worth = np.where(left[rows, best] > 0, worth * (1 - alpha), worth)
        left[rows, best] = 0
    return out


def block(rankings: Sequence[Sequence[set[int]]], pools: Sequence[Sequence[set[int]]]) -> Faceted:
    """A block from plain lists: what each document of each ranking answers, best rank first.

    Args:
        rankings: for each query the subtopics (from 0) of each document; an empty set is a
            document that answers none.
        pools: for each query those of all relevant documents judged.

    >>> block([[{0}, set(), {0, 1}]], [[{0}, {0, 1}]]).rank
    array([[1, 3]], dtype=int32)
    """
    size = 1 + max((s for pool in pools for each in pool for s in each), default=0)
    ranked = [[(i, each) for i, each in enumerate(row, 1) if each] for row in rankings]
    rank = np.full((len(ranked), max([1, *map(len, ranked)])), PAD, np.int32)
    covers = np.zeros((*rank.shape, size), bool)
    pool = np.zeros((len(ranked), max([1, *map(len, pools)]), size), bool)
    for t, (row, all_of_it) in enumerate(zip(ranked, pools, strict=True)):
        for j, (i, each) in enumerate(row):
            rank[t, j] = i
            covers[t, j, list(each)] = True
        for j, each in enumerate(all_of_it):
            pool[t, j, list(each)] = True
    return Faceted(rank, covers, pool, np.count_nonzero(pool.any(axis=1), axis=-1))

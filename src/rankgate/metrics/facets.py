"""Metrics of diversity: how early a ranking covers the subtopics of a query.

Shapes: T queries, J documents of the ranking, I judged documents, S subtopics.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

Floats = NDArray[np.float64]
Flags = NDArray[np.bool_]


@dataclass(frozen=True, slots=True, eq=False)
class Faceted:
    """Rankings with what each document covers; a place without a judgment covers nothing.

    Attributes:
        covers: ``(T, J, S)``, which subtopics the document at each rank covers.
        pool: ``(T, I, S)``, the same of every judged document, in any order.
    """

    covers: Flags
    pool: Flags

    @property
    def subtopics(self) -> NDArray[np.int64]:
        """How many subtopics of each query any judged document covers, ``(T,)``."""
        found: NDArray[np.int64] = np.count_nonzero(self.pool.any(axis=1), axis=-1)
        return found


def alpha_dcg(faceted: Faceted, *, cutoff: int | None = None, alpha: float = 0.5) -> Floats:
    """Discounted gain in which a subtopic is worth less each time it comes back.

        α-DCG@k = Σ_{i≤k} Σ_s [i covers s] · (1 − α)^(times s came before) / log₂(i + 1)

    Args:
        faceted: the rankings.
        cutoff: k; without it the whole list counts.
        alpha: α, how much a repetition loses.

    Returns:
        ``(T,)``, 0 where nothing is covered.
    """
    covers = faceted.covers[:, :cutoff]
    before: NDArray[np.int64] = np.cumsum(covers, axis=1) - covers
    gains: Floats = np.where(covers, (1 - alpha) ** before, 0.0).sum(axis=-1)
    return _discounted(gains)


def alpha_ndcg(faceted: Faceted, *, cutoff: int | None = None, alpha: float = 0.5) -> Floats:
    """α-DCG over that of the ideal ranking, which is found greedily, document by document.

        α-nDCG@k = α-DCG@k / α-IDCG@k

    The best set is hard to find; like every tool, this takes at each rank the document that adds
    most (Clarke et al., SIGIR 2008, doi:10.1145/1390334.1390446).

    Args:
        faceted: the rankings.
        cutoff: k; without it the whole list counts, and the ideal has all judged documents.
        alpha: α, how much a repetition loses.

    Returns:
        ``(T,)``; NaN where no judged document covers anything.
    """
    best = _discounted(_greedy(faceted.pool, cutoff, alpha))
    out: Floats = np.full(best.shape, np.nan)
    return np.divide(alpha_dcg(faceted, cutoff=cutoff, alpha=alpha), best, out=out, where=best > 0)


def subtopic_recall(faceted: Faceted, *, cutoff: int | None = None) -> Floats:
    """Share of the subtopics that the first k documents cover.

        StRecall@k = |subtopics covered at ranks ≤ k| / |subtopics|

    Zhai, Cohen & Lafferty, SIGIR 2003, doi:10.1145/860435.860440.

    Returns:
        ``(T,)``; NaN where there is no subtopic.
    """
    seen = np.count_nonzero(faceted.covers[:, :cutoff].any(axis=1), axis=-1)
    out: Floats = np.full(seen.shape, np.nan)
    np.divide(seen, faceted.subtopics, out=out, where=faceted.subtopics > 0)
    return out


def _discounted(gains: Floats) -> Floats:
    """The sum of gains by rank, ``(T, K) -> (T,)``, added from left to right."""
    if not gains.shape[1]:
        return np.zeros(len(gains))
    discount = np.log2(np.arange(gains.shape[1]) + 2)
    added: Floats = np.cumsum(gains / discount, axis=-1)[:, -1]
    return added


def _greedy(pool: Flags, cutoff: int | None, alpha: float) -> Floats:
    """The gains of the ranking that takes what adds most at each rank, ``(T, K)``."""
    T, documents, S = pool.shape
    length = documents if cutoff is None else min(documents, cutoff)
    left, times = np.ones((T, documents), bool), np.zeros((T, S), np.int64)
    gains, every = np.zeros((T, length)), np.arange(T)
    for rank in range(length):
        worth = np.where(pool, (1 - alpha) ** times[:, None, :], 0.0).sum(axis=-1)
        chosen = np.where(left, worth, -1.0).argmax(axis=-1)
        gains[:, rank] = worth[every, chosen]
        left[every, chosen] = False
        times += pool[every, chosen]
    return gains

"""Condorcet fusion: documents are sorted by which of two more runs rank higher."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from rankgate.core.frozen import dataclass
from rankgate.measurement.fusion.candidates import Candidates
from rankgate.measurement.fusion.method import Method
from rankgate.measurement.fusion.methods.ranks import METHODS as RANKED

_BORDA = next(method for method in RANKED if method.name == "borda")
_ABSENT_RANK = np.iinfo(np.int64).max


def _condorcet(candidates: Candidates, *, weights: Any = None) -> NDArray[np.float64]:
    """Points from the number of candidates down to 1, in the order of a merge sort by majority.

    Majorities can go round in circles, so the order depends on the sort: it begins with the Borda
    count (documents in the order of their hash where that is equal) and keeps the order of two
    documents unless a majority turns it. A document that a run lacks loses to each that it has;
    a run that lacks both has no vote.
    """
    votes = np.ones(len(candidates.ranks)) if weights is None else weights
    ranks = np.where(candidates.present, candidates.ranks, _ABSENT_RANK)
    points = _BORDA.fuse(candidates)
    sorted_rows = _merge_sort(
        _Majorities(ranks, votes), np.lexsort((-points, candidates.owner)), candidates
    )
    sizes = candidates.sizes
    starts = np.cumsum(sizes) - sizes
    position = np.empty(len(sorted_rows), np.int64)
    position[sorted_rows] = np.arange(len(sorted_rows))
    fused: NDArray[np.float64] = (sizes + starts)[candidates.owner] - position.astype(np.float64)
    return fused


@dataclass(frozen=True)
class _Majorities:
    """Majorities between documents.

    Attributes:
        ranks: ``(R, n)``, the greatest integer where a run lacks a document.
        votes: ``(R,)``, the weight of each run.
    """

    ranks: NDArray[np.int64]
    votes: NDArray[np.float64]

    def turned(self, before: NDArray[np.int64], after: NDArray[np.int64]) -> NDArray[np.bool_]:
        """True if a majority prefers the second of two documents."""
        balance = np.zeros(len(before))
        for ranks, vote in zip(self.ranks, self.votes, strict=True):
            balance += vote * np.sign(ranks[before].astype(np.float64) - ranks[after])
        return balance > 0


def _merge_sort(
    duel: _Majorities, rows: NDArray[np.int64], candidates: Candidates
) -> NDArray[np.int64]:
    """Candidates by query, sorted by majority: a merge sort that merges all pairs at once.

    Args:
        duel: the majorities.
        rows: ``(n,)``, candidates by query, in the order that they begin with.
        candidates: the candidates of the rows.
    """
    sizes = candidates.sizes
    starts = np.cumsum(sizes) - sizes
    width, longest = 1, int(sizes.max(initial=0))
    while width < longest:
        pairs = -(-sizes // (2 * width))
        first_begin = np.repeat(starts, pairs) + 2 * width * _places(pairs)
        end = np.repeat(starts + sizes, pairs)
        middle = np.minimum(first_begin + width, end)
        rows = _merge(duel, rows, first_begin, middle, np.minimum(middle + width, end))
        width *= 2
    return rows


def _merge(
    duel: _Majorities,
    rows: NDArray[np.int64],
    first_begin: NDArray[np.int64],
    middle: NDArray[np.int64],
    end: NDArray[np.int64],
) -> NDArray[np.int64]:
    """Merge neighbouring ranges of rows, one document of each pair of ranges at a step."""
    out = rows.copy()
    a, b, target = first_begin.copy(), middle.copy(), first_begin.copy()
    unfinished = np.flatnonzero((a < middle) & (b < end))
    while len(unfinished):
        second = duel.turned(rows[a[unfinished]], rows[b[unfinished]])
        winners = np.where(second, b[unfinished], a[unfinished])
        out[target[unfinished]] = rows[winners]
        target[unfinished] += 1
        b[unfinished] += second
        a[unfinished] += ~second
        unfinished = unfinished[
            (a[unfinished] < middle[unfinished]) & (b[unfinished] < end[unfinished])
        ]
    # copy the rest of the first range; the rest of the second is in its place already
    lengths = middle - a
    source = np.repeat(a, lengths) + _places(lengths)
    out[np.repeat(target, lengths) + _places(lengths)] = rows[source]
    return out


def _places(counts: NDArray[np.int64]) -> NDArray[np.int64]:
    """0, 1, 2, ... for each count."""
    return np.arange(counts.sum()) - np.repeat(np.cumsum(counts) - counts, counts)


METHODS = (
    Method(
        "condorcet",
        _condorcet,
        "ranks",
        aliases=("w_condorcet",),
        source="Montague and Aslam, CIKM 2002",
        title="pairwise majority: documents sorted by which of two more runs rank higher",
        formula="candidates - place in the sorted list + 1",
    ),
)

"""Condorcet fusion: documents are sorted by which of two more runs rank higher."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from rankgate.core.frozen import dataclass
from rankgate.measurement.fusion.candidates import Candidates
from rankgate.measurement.fusion.method import Method
from rankgate.measurement.fusion.methods.ranks import METHODS as RANKED

_BORDA = next(each for each in RANKED if each.name == "borda")
_LAST = np.iinfo(np.int64).max


def _condorcet(candidates: Candidates, *, weights: Any = None) -> NDArray[np.float64]:
    """Points from the number of candidates down to 1, in the order of a merge sort by majority.

    Majorities can go round in circles, so the order depends on the sort: it begins with the Borda
    count (documents in the order of their hash where that is equal) and keeps the order of two
    documents unless a majority turns it. A document that a run lacks loses to each that it has;
    a run that lacks both has no vote.
    """
    votes = np.ones(len(candidates.ranks)) if weights is None else weights
    ranks = np.where(candidates.present, candidates.ranks, _LAST)
    points = _BORDA.fuse(candidates)
    sorted_ = _merged(_Duel(ranks, votes), np.lexsort((-points, candidates.owner)), candidates)
    sizes = candidates.sizes
    starts = np.cumsum(sizes) - sizes
    place = np.empty(len(sorted_), np.int64)
    place[sorted_] = np.arange(len(sorted_))
    fused: NDArray[np.float64] = (sizes + starts)[candidates.owner] - place.astype(np.float64)
    return fused


@dataclass(frozen=True)
class _Duel:
    """Majorities between documents.

    Attributes:
        ranks: ``(R, n)``, the greatest integer where a run lacks a document.
        votes: ``(R,)``, the weight of each run.
    """

    ranks: NDArray[np.int64]
    votes: NDArray[np.float64]

    def turned(self, before: NDArray[np.int64], after: NDArray[np.int64]) -> NDArray[np.bool_]:
        """Whether a majority wants the second of two documents first."""
        balance = np.zeros(len(before))
        for ranks, vote in zip(self.ranks, self.votes, strict=True):
            balance += vote * np.sign(ranks[before].astype(np.float64) - ranks[after])
        return balance > 0


def _merged(duel: _Duel, rows: NDArray[np.int64], candidates: Candidates) -> NDArray[np.int64]:
    """Candidates by query, sorted by majority: a merge sort that merges all pairs of runs at once.

    Args:
        duel: the majorities.
        rows: ``(n,)``, candidates by query, in the order that they begin with.
        candidates: theirs.
    """
    sizes = candidates.sizes
    starts = np.cumsum(sizes) - sizes
    width, longest = 1, int(sizes.max(initial=0))
    while width < longest:
        pairs = -(-sizes // (2 * width))
        left = np.repeat(starts, pairs) + 2 * width * _places(pairs)
        end = np.repeat(starts + sizes, pairs)
        middle = np.minimum(left + width, end)
        rows = _merge(duel, rows, left, middle, np.minimum(middle + width, end))
        width *= 2
    return rows


def _merge(
    duel: _Duel,
    rows: NDArray[np.int64],
    left: NDArray[np.int64],
    middle: NDArray[np.int64],
    end: NDArray[np.int64],
) -> NDArray[np.int64]:
    """Merge neighbouring stretches of rows, one document of each pair of stretches at a step."""
    out = rows.copy()
    a, b, at = left.copy(), middle.copy(), left.copy()
    live = np.flatnonzero((a < middle) & (b < end))
    while len(live):
        second = duel.turned(rows[a[live]], rows[b[live]])
        taken = np.where(second, b[live], a[live])
        out[at[live]] = rows[taken]
        at[live] += 1
        b[live] += second
        a[live] += ~second
        live = live[(a[live] < middle[live]) & (b[live] < end[live])]
    # what is left of the first stretch; what is left of the second is in its place already
    rest = middle - a
    source = np.repeat(a, rest) + _places(rest)
    out[np.repeat(at, rest) + _places(rest)] = rows[source]
    return out


def _places(counts: NDArray[np.int64]) -> NDArray[np.int64]:
    """0, 1, 2, ... for each count."""
    return np.arange(counts.sum()) - np.repeat(np.cumsum(counts) - counts, counts)


METHODS = (
    Method(
        "condorcet", _condorcet, "ranks", aliases=("w_condorcet",),
        source="Montague and Aslam, CIKM 2002",
        title="pairwise majority: documents sorted by which of two more runs rank higher",
        formula="candidates - place in the sorted list + 1",
    ),
)  # fmt: skip

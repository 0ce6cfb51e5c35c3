"""Fusion methods without training: on ranks, on scores, and by Condorcet votes.

Methods on ranks are reciprocal rank fusion, inverse square rank, rank-biased centroids and Borda.
Methods on scores are CombSUM and its variants, with and without weights. Condorcet fusion sorts two
documents by the majority of runs that rank one above the other.
"""

from __future__ import annotations

from typing import Annotated

import numpy as np
from numpy.typing import NDArray

from rankgate.core.declare import Range
from rankgate.core.frozen import dataclass
from rankgate.measurement.fusion.candidate_blocks import Candidates
from rankgate.measurement.fusion.fusion_method import Method

_MOURAO = "Mourao, Martins and Magalhaes, CMIG 2015"

Fused = NDArray[np.float64]


def _rrf(
    candidates: Candidates, *, k: Annotated[float, Range(0)] = 60, weights: Fused | None = None
) -> Fused:
    """Reciprocal rank fusion.

    Args:
        candidates: the candidates to fuse.
        k: added to each rank; the greater, the less the first ranks count.
        weights: the weights of the runs; all 1 by default.
    """
    return _weighted(candidates.present / (k + candidates.ranks), weights)


def _isr(candidates: Candidates) -> Fused:
    return _inverse_squares(candidates) * candidates.votes


def _log_isr(candidates: Candidates) -> Fused:
    return _inverse_squares(candidates) * np.log(candidates.votes)


def _logn_isr(candidates: Candidates, *, sigma: Annotated[float, Range(0, 1)] = 0.01) -> Fused:
    """Inverse square rank, times the logarithm of the number of runs.

    Args:
        candidates: the candidates to fuse.
        sigma: added to the number of runs, so that documents of one run keep an order.
    """
    return _inverse_squares(candidates) * np.log(candidates.votes + sigma)


def _rbc(
    candidates: Candidates,
    *,
    phi: Annotated[float, Range(0, 1, exclusive=True)] = 0.8,
    weights: Fused | None = None,
) -> Fused:
    """Rank-biased centroids.

    Args:
        candidates: the candidates to fuse.
        phi: the probability that a reader goes on to the next rank.
        weights: the weights of the runs; all 1 by default.
    """
    rank_weights = (1 - phi) * phi ** (candidates.ranks - 1.0)
    return _weighted(np.where(candidates.present, rank_weights, 0.0), weights)


def _borda(candidates: Candidates, *, weights: Fused | None = None) -> Fused:
    sizes = candidates.sizes[candidates.owner]
    lengths = candidates.lengths[:, candidates.owner]
    points = np.where(candidates.present, sizes - candidates.ranks + 1.0, (sizes - lengths + 1) / 2)
    return _weighted(points, weights)


def _inverse_squares(candidates: Candidates) -> Fused:
    squares = np.where(candidates.present, candidates.ranks, np.inf) ** 2.0
    return (1 / squares).sum(axis=0)


def _weighted(worth: NDArray[np.float64], weights: NDArray[np.float64] | None) -> Fused:
    return worth.sum(axis=0) if weights is None else weights @ worth


RANK_METHODS = (
    Method(
        "rrf",
        _rrf,
        "ranks",
        source="Cormack, Clarke and Buettcher, SIGIR 2009",
        title="reciprocal rank fusion",
        formula="sum of w / (k + rank)",
        grid={"k": (1.0, 5.0, 10.0, 20.0, 40.0, 60.0, 100.0, 200.0)},
    ),
    Method(
        "isr", _isr, "ranks", source=_MOURAO, title="inverse square rank", formula="m x sum of 1 / rank^2"
    ),
    Method(
        "logisr",
        _log_isr,
        "ranks",
        aliases=("log_isr",),
        source=_MOURAO,
        title="inverse square rank with the logarithm of the number of runs; a document of one run gets 0",
        formula="log(m) x sum of 1 / rank^2",
    ),
    Method(
        "lognisr",
        _logn_isr,
        "ranks",
        aliases=("logn_isr",),
        source=_MOURAO,
        title="logisr, but documents of one run get more than 0",
        formula="log(m + sigma) x sum of 1 / rank^2",
        grid={"sigma": (0.01, 0.05, 0.1, 0.25, 0.5, 1.0)},
    ),
    Method(
        "rbc",
        _rbc,
        "ranks",
        source="Bailey, Moffat, Scholer and Thomas, SIGIR 2017",
        title="rank-biased centroids",
        formula="sum of w (1 - phi) phi^(rank - 1)",
        grid={"phi": (0.5, 0.7, 0.8, 0.9, 0.95, 0.98, 0.99)},
    ),
    Method(
        "borda",
        _borda,
        "ranks",
        aliases=("bordafuse", "w_bordafuse"),
        source="Aslam and Montague, SIGIR 2001",
        title="Borda count: points by rank among all candidates; documents that a run lacks share its points "
        "that are left",
        formula="sum of w (c - rank + 1), or w (c - length + 1) / 2",
    ),
)


_FOX = "Fox and Shaw, TREC-2 1993"
_WU = "Wu and Crestani, CIKM 2002"


def _sum(candidates: Candidates) -> Fused:
    return candidates.scores.sum(axis=0)


def _mnz(candidates: Candidates) -> Fused:
    return candidates.scores.sum(axis=0) * candidates.votes


def _anz(candidates: Candidates) -> Fused:
    return candidates.scores.sum(axis=0) / candidates.votes


def _max(candidates: Candidates) -> Fused:
    return np.where(candidates.present, candidates.scores, -np.inf).max(axis=0)


def _min(candidates: Candidates) -> Fused:
    return np.where(candidates.present, candidates.scores, np.inf).min(axis=0)


def _median(candidates: Candidates) -> Fused:
    sorted_scores = np.sort(np.where(candidates.present, candidates.scores, np.inf), axis=0)
    votes, columns = candidates.votes, np.arange(sorted_scores.shape[1])
    return (sorted_scores[(votes - 1) // 2, columns] + sorted_scores[votes // 2, columns]) / 2


def _gmnz(candidates: Candidates, *, gamma: Annotated[float, Range(0)] = 1.0) -> Fused:
    """CombGMNZ.

    Args:
        candidates: the candidates to fuse.
        gamma: the exponent of the number of runs; 0 is CombSUM, 1 is CombMNZ.
    """
    return candidates.scores.sum(axis=0) * candidates.votes.astype(np.float64) ** gamma


def _linear(candidates: Candidates, *, weights: Fused | None = None) -> Fused:
    return _weights_or_ones(weights, candidates) @ candidates.scores


def _wmnz(candidates: Candidates, *, weights: Fused | None = None) -> Fused:
    return candidates.scores.sum(axis=0) * (_weights_or_ones(weights, candidates) @ candidates.present)


def _mixed(candidates: Candidates, *, weights: Fused | None = None) -> Fused:
    return _linear(candidates, weights=weights) * np.sqrt(candidates.votes)


def _weights_or_ones(weights: NDArray[np.float64] | None, candidates: Candidates) -> NDArray[np.float64]:
    return np.ones(len(candidates.scores)) if weights is None else weights


SCORE_METHODS = (
    Method(
        "combsum",
        _sum,
        "scores",
        aliases=("sum",),
        source=_FOX,
        title="the sum of the scores",
        formula="sum of s",
    ),
    Method(
        "combmnz",
        _mnz,
        "scores",
        aliases=("mnz",),
        source=_FOX,
        title="the sum of the scores times the number of runs that have the document",
        formula="m x sum of s",
    ),
    Method(
        "combanz",
        _anz,
        "scores",
        aliases=("anz",),
        source=_FOX,
        title="the mean score of the runs that have the document",
        formula="sum of s / m",
    ),
    Method(
        "combmax",
        _max,
        "scores",
        aliases=("max",),
        source=_FOX,
        title="the highest score",
        formula="max of s",
    ),
    Method(
        "combmin",
        _min,
        "scores",
        aliases=("min",),
        source=_FOX,
        title="the lowest score of the runs that have the document",
        formula="min of s",
    ),
    Method(
        "combmed",
        _median,
        "scores",
        aliases=("med",),
        source=_FOX,
        title="the median score of the runs that have the document",
        formula="median of s",
    ),
    Method(
        "combgmnz",
        _gmnz,
        "scores",
        aliases=("gmnz",),
        source="Lee, SIGIR 1997",
        title="CombMNZ with a power of the number of runs",
        formula="m^gamma x sum of s",
        grid={"gamma": (0.0, 0.25, 0.5, 0.75, 1.0, 1.5, 2.0)},
    ),
    Method(
        "linear",
        _linear,
        "scores",
        aliases=("wsum",),
        source="Vogt and Cottrell, IRJ 1999",
        title="the weighted sum of the scores",
        formula="sum of w s",
    ),
    Method(
        "wmnz",
        _wmnz,
        "scores",
        source=_WU,
        title="the sum of the scores times the weights of the runs that have the document",
        formula="sum of s x sum of w over the runs that have it",
    ),
    Method(
        "mixed",
        _mixed,
        "scores",
        source=_WU,
        title="the weighted sum times the root of the number of runs",
        formula="sqrt(m) sum of w s",
    ),
)


_BORDA = next(method for method in RANK_METHODS if method.name == "borda")
_ABSENT_RANK = np.iinfo(np.int64).max


def _condorcet(candidates: Candidates, *, weights: Fused | None = None) -> NDArray[np.float64]:
    """Points from the number of candidates down to 1, in the order of a merge sort by majority.

    Majorities can be cyclic, so the order depends on the sort. The sort begins with the Borda count
    (ties are ordered by hash) and keeps the order of two documents unless a majority reverses it. A
    document that is missing in a run loses to each document in the run; a run that lacks both has
    no vote.
    """
    votes = np.ones(len(candidates.ranks)) if weights is None else weights
    ranks = np.where(candidates.present, candidates.ranks, _ABSENT_RANK)
    points = _BORDA.fuse(candidates)
    sorted_rows = _merge_sort(_Majorities(ranks, votes), np.lexsort((-points, candidates.owner)), candidates)
    sizes = candidates.sizes
    starts = np.cumsum(sizes) - sizes
    position = np.empty(len(sorted_rows), np.int64)
    position[sorted_rows] = np.arange(len(sorted_rows))
    return (sizes + starts)[candidates.owner] - position.astype(np.float64)


@dataclass(frozen=True)
class _Majorities:
    """Majorities between documents.

    Attributes:
        ranks: ``(R, n)``, with the greatest integer if a run lacks a document.
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


def _merge_sort(duel: _Majorities, rows: NDArray[np.int64], candidates: Candidates) -> NDArray[np.int64]:
    """Candidates by query, sorted by majority: a merge sort that merges all pairs at the same time.

    Args:
        duel: the majorities between documents.
        rows: ``(n,)``, candidates by query, in the initial order.
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
    """Merge neighbouring ranges of rows, with one document of each pair of ranges per step."""
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
        unfinished = unfinished[(a[unfinished] < middle[unfinished]) & (b[unfinished] < end[unfinished])]
    # copy the rest of the first range; the rest of the second is already in its place
    lengths = middle - a
    source = np.repeat(a, lengths) + _places(lengths)
    out[np.repeat(target, lengths) + _places(lengths)] = rows[source]
    return out


def _places(counts: NDArray[np.int64]) -> NDArray[np.int64]:
    """0, 1, 2, ... for each count."""
    return np.arange(counts.sum()) - np.repeat(np.cumsum(counts) - counts, counts)


VOTE_METHODS = (
    Method(
        "condorcet",
        _condorcet,
        "ranks",
        aliases=("w_condorcet",),
        source="Montague and Aslam, CIKM 2002",
        title="pairwise majority: documents sorted by the runs that rank one of two higher",
        formula="candidates - place in the sorted list + 1",
    ),
)

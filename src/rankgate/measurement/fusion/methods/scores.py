"""Methods on scores: CombSUM and its kin, with and without weights."""

from __future__ import annotations

from typing import Annotated, Any

import numpy as np
from numpy.typing import NDArray

from rankgate.core.declare import Range
from rankgate.measurement.fusion.candidates import Candidates
from rankgate.measurement.fusion.method import Method

_FOX = "Fox and Shaw, TREC-2 1993"
_WU = "Wu and Crestani, CIKM 2002"

Fused = NDArray[np.float64]


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
        candidates: what is fused.
        gamma: the exponent of the number of runs; 0 is CombSUM, 1 is CombMNZ.
    """
    return candidates.scores.sum(axis=0) * candidates.votes.astype(np.float64) ** gamma


def _linear(candidates: Candidates, *, weights: Any = None) -> Fused:
    return _weights_or_ones(weights, candidates) @ candidates.scores


def _wmnz(candidates: Candidates, *, weights: Any = None) -> Fused:
    return candidates.scores.sum(axis=0) * (
        _weights_or_ones(weights, candidates) @ candidates.present
    )


def _mixed(candidates: Candidates, *, weights: Any = None) -> Fused:
    return _linear(candidates, weights=weights) * np.sqrt(candidates.votes)


def _weights_or_ones(
    weights: NDArray[np.float64] | None, candidates: Candidates
) -> NDArray[np.float64]:
    return np.ones(len(candidates.scores)) if weights is None else weights


METHODS = (
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

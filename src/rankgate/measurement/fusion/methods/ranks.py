"""Methods on ranks: reciprocal rank fusion, inverse square rank, rank-biased centroids, Borda."""

from __future__ import annotations

from typing import Annotated, Any

import numpy as np
from numpy.typing import NDArray

from rankgate.core.declare import Range
from rankgate.measurement.fusion.candidates import Candidates
from rankgate.measurement.fusion.method import Method

_MOURAO = "Mourao, Martins and Magalhaes, CMIG 2015"

Fused = NDArray[np.float64]


def _rrf(
    candidates: Candidates,
    *,
    k: Annotated[float, Range(0)] = 60,
    weights: Any = None,
) -> Fused:
    """Reciprocal rank fusion.

    Args:
        candidates: what is fused.
        k: added to each rank; the greater, the less the first ranks count.
        weights: of the runs; all 1 by default.
    """
    return _weighted(candidates.present / (k + candidates.ranks), weights)


def _isr(candidates: Candidates) -> Fused:
    return _inverse_squares(candidates) * candidates.votes


def _log_isr(candidates: Candidates) -> Fused:
    return _inverse_squares(candidates) * np.log(candidates.votes)


def _logn_isr(candidates: Candidates, *, sigma: Annotated[float, Range(0, 1)] = 0.01) -> Fused:
    """Inverse square rank, times the logarithm of the number of runs.

    Args:
        candidates: what is fused.
        sigma: added to the number of runs, so that documents of one run keep an order.
    """
    return _inverse_squares(candidates) * np.log(candidates.votes + sigma)


def _rbc(
    candidates: Candidates,
    *,
    phi: Annotated[float, Range(0, 1, exclusive=True)] = 0.8,
    weights: Any = None,
) -> Fused:
    """Rank-biased centroids.

    Args:
        candidates: what is fused.
        phi: the chance that a reader goes on to the next rank.
        weights: of the runs; all 1 by default.
    """
    rank_weights = (1 - phi) * phi ** (candidates.ranks - 1.0)
    return _weighted(np.where(candidates.present, rank_weights, 0.0), weights)


def _borda(candidates: Candidates, *, weights: Any = None) -> Fused:
    sizes = candidates.sizes[candidates.owner]
    lengths = candidates.lengths[:, candidates.owner]
    points = np.where(candidates.present, sizes - candidates.ranks + 1.0, (sizes - lengths + 1) / 2)
    return _weighted(points, weights)


def _inverse_squares(candidates: Candidates) -> Fused:
    squares = np.where(candidates.present, candidates.ranks, np.inf) ** 2.0
    return (1 / squares).sum(axis=0)


def _weighted(worth: NDArray[np.float64], weights: NDArray[np.float64] | None) -> Fused:
    return worth.sum(axis=0) if weights is None else weights @ worth


METHODS = (
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
        "isr",
        _isr,
        "ranks",
        source=_MOURAO,
        title="inverse square rank",
        formula="m x sum of 1 / rank^2",
    ),
    Method(
        "logisr",
        _log_isr,
        "ranks",
        aliases=("log_isr",),
        source=_MOURAO,
        title="inverse square rank with the logarithm of the number of runs; a document of one "
        "run gets 0",
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
        title="Borda count: points by rank among all candidates; documents that a run lacks share "
        "its points that are left",
        formula="sum of w (c - rank + 1), or w (c - length + 1) / 2",
    ),
)

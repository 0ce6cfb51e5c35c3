"""Dawid and Skene's model: true grades and raters' errors, each from the other."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

if TYPE_CHECKING:
    from rankgate.stats.ratings import Floats, Sheet

_TINY = 1e-300


@dataclass(frozen=True)
class Consensus:
    """The fitted model.

    Attributes:
        share: (K,) of each true grade.
        errors: (R, K, K) the probability that a rater gives the column's grade to an item whose
            true grade is the row's.
        belief: (I, K) the probability of each true grade of each item.
        log_likelihood: of the ratings.
        iterations: of the EM algorithm.
        converged: whether the likelihood came to rest within the iterations allowed.
    """

    share: Floats
    errors: Floats
    belief: Floats
    log_likelihood: float
    iterations: int
    converged: bool


def dawid_skene(
    sheet: Sheet, *, smoothing: float = 0.0, tolerance: float = 1e-9, iterations: int = 10_000
) -> Consensus:
    """Fit by EM from the shares of the ratings of each item (Dawid and Skene 1979).

    E: T_ij ∝ p_j Π_r Π_l π_rjl^n_irl. M: p_j = mean_i T_ij, π_rjl ∝ Σ_i T_ij n_irl (+ smoothing).

    Args:
        sheet: the ratings; a rater may rate an item several times.
        smoothing: added to every cell of a rater's table; 0 is the paper's.
        tolerance: the gain of the log-likelihood at which it rests.
        iterations: at most so many.
    """
    said = sheet.said
    counts = sheet.counts
    total = counts.sum(axis=1, keepdims=True)
    even = 1.0 / max(sheet.grades.size, 1)
    belief = np.where(total > 0, counts / np.where(total > 0, total, 1.0), even)
    before, value, steps = -np.inf, -np.inf, 0
    share, errors = _maximise(said, belief, smoothing)
    while steps < iterations:
        steps += 1
        share, errors = _maximise(said, belief, smoothing)
        belief, value = _expect(said, share, errors)
        if value - before < tolerance:
            break
        before = value
    return Consensus(share, errors, belief, value, steps, value - before < tolerance)


def _maximise(said: Floats, belief: Floats, smoothing: float) -> tuple[Floats, Floats]:
    given = np.einsum("ij,irl->rjl", belief, said) + smoothing
    total = given.sum(axis=2, keepdims=True)
    even = 1.0 / max(given.shape[2], 1)
    errors = np.where(total > 0, given / np.where(total > 0, total, 1.0), even)
    return belief.mean(axis=0), errors


def _expect(said: Floats, share: Floats, errors: Floats) -> tuple[Floats, float]:
    """In logarithms, as the product over many raters leaves the range of floats."""
    logs = np.einsum("irl,rjl->ij", said, np.log(np.maximum(errors, _TINY)))
    logs += np.log(np.maximum(share, _TINY))
    top = logs.max(axis=1, keepdims=True)
    likely = np.exp(logs - top)
    total = likely.sum(axis=1, keepdims=True)
    return likely / total, float((top + np.log(total)).sum())

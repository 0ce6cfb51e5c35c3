"""Dawid and Skene's model: estimate true grades and raters' errors."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from rankgate.core.frozen import dataclass

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from rankgate.core.arrays import Floats

    Codes = NDArray[np.int64]


_TINY = 1e-300


@dataclass(frozen=True)
class Consensus:
    """The fitted model of I items, R raters, K grades.

    Attributes:
        share: (K,) the share of each true grade.
        errors: (R, K, K) the probability that a rater gives the column's grade to an item whose
            true grade is the row's.
        belief: (I, K) the probability of each true grade of each item.
        log_likelihood: the log-likelihood of the ratings.
        iterations: the number of iterations of the EM algorithm.
        converged: True if the likelihood stopped changing within the number of iterations.
    """

    share: Floats
    errors: Floats
    belief: Floats
    log_likelihood: float
    iterations: int
    converged: bool


@dataclass(frozen=True)
class _RatingCodes:
    """N ratings as codes, and the numbers of items, raters and grades."""

    item: Codes
    rater: Codes
    grade: Codes
    items: int
    raters: int
    grades: int


def dawid_skene(
    item: Codes,
    rater: Codes,
    grade: Codes,
    *,
    smoothing: float = 0.0,
    tolerance: float = 1e-9,
    iterations: int = 10_000,
) -> Consensus:
    """Fit by EM from the shares of the ratings of each item (Dawid and Skene 1979).

    E: T_ij ∝ p_j Π_r Π_l π_rjl^n_irl. M: p_j = mean_i T_ij, π_rjl ∝ Σ_i T_ij n_irl (+ smoothing).

    Args:
        item: (N,) the rated item, from 0; every item must have a rating.
        rater: (N,) the rater, from 0; a rater may rate an item several times.
        grade: (N,) the index of the given grade, from 0.
        smoothing: added to every cell of a rater's table; the paper uses 0.
        tolerance: stop if the log-likelihood increases by less.
        iterations: the largest number of iterations.
    """
    ratings = _RatingCodes(item, rater, grade, *(int(codes.max()) + 1 for codes in (item, rater, grade)))
    counts = np.bincount(item * ratings.grades + grade, minlength=ratings.items * ratings.grades)
    rating_counts = counts.reshape(ratings.items, ratings.grades).astype(np.float64)
    belief: Floats = rating_counts / rating_counts.sum(axis=1, keepdims=True)
    previous, value, steps = -np.inf, -np.inf, 0
    share, errors = _maximise(ratings, belief, smoothing)
    while steps < iterations:
        steps += 1
        belief, value = _expect(ratings, share, errors)
        if value - previous < tolerance:
            break
        previous = value
        share, errors = _maximise(ratings, belief, smoothing)
    return Consensus(share, errors, belief, value, steps, value - previous < tolerance)


def _maximise(ratings: _RatingCodes, belief: Floats, smoothing: float) -> tuple[Floats, Floats]:
    cell = ratings.rater * ratings.grades + ratings.grade
    size = ratings.raters * ratings.grades
    tables = [np.bincount(cell, belief[ratings.item, j], minlength=size) for j in range(ratings.grades)]
    by_grade = np.stack(tables).reshape(ratings.grades, ratings.raters, ratings.grades)
    table = np.asarray(by_grade.transpose(1, 0, 2) + smoothing, np.float64)
    total = table.sum(axis=2, keepdims=True)
    uniform_share = 1.0 / ratings.grades
    errors = np.where(total > 0, table / np.where(total > 0, total, 1.0), uniform_share)
    return belief.mean(axis=0), np.asarray(errors, np.float64)


def _expect(ratings: _RatingCodes, share: Floats, errors: Floats) -> tuple[Floats, float]:
    """Compute in logarithms, because a product over many raters exceeds the range of floats."""
    log_errors = np.log(np.maximum(errors, _TINY))[ratings.rater, :, ratings.grade]  # (N, K)
    sums = [
        np.bincount(ratings.item, log_errors[:, j], minlength=ratings.items) for j in range(ratings.grades)
    ]
    logs = np.stack(sums, axis=1) + np.log(np.maximum(share, _TINY))
    top = logs.max(axis=1, keepdims=True)
    likelihoods = np.exp(logs - top)
    total = likelihoods.sum(axis=1, keepdims=True)
    return likelihoods / total, float((top + np.log(total)).sum())

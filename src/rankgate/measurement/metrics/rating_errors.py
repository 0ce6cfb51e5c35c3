"""Accuracy of predicted ratings: errors, explained variance, order.

Kernels on two arrays of the same shape; `rankgate.rating_accuracy` pairs the rows.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from types import MappingProxyType
from typing import Literal

import numpy as np
from numpy.typing import NDArray

from rankgate.core.arrays import Floats
from rankgate.core.frozen import dataclass

_EDGE = float(np.finfo(np.float64).eps)  # smallest distance of probabilities from 0 and 1
BINS = 10
"""Bins of predicted probabilities in `calibration_error`."""


def mae(actual: Floats, predicted: Floats) -> float:
    """Mean absolute error: the mean of |predicted − actual|; NaN without ratings.

    >>> mae(np.array([4.0, 2.0]), np.array([3.0, 2.0]))
    0.5
    """
    return _mean(np.abs(predicted - actual))


def rmse(actual: Floats, predicted: Floats) -> float:
    """Root mean squared error: √ mean (predicted − actual)²; NaN without ratings.

    >>> rmse(np.array([4.0, 2.0]), np.array([2.0, 2.0])) ** 2
    2.0000000000000004
    """
    return float(np.sqrt(_mean((predicted - actual) ** 2)))


def r2(actual: Floats, predicted: Floats) -> float:
    """Coefficient of determination: 1 − Σ (predicted − actual)² / Σ (actual − mean)².

    Returns:
        1 for perfect predictions, 0 for the mean of all ratings, below 0 for worse; NaN where all
        ratings are equal.
    """
    return _explained(actual, (predicted - actual) ** 2)


def explained_variance(actual: Floats, predicted: Floats) -> float:
    """Share of the variance of ratings that predictions explain: 1 − Var(error) / Var(actual).

    As `r2` where errors add up to 0; a constant error is not counted. NaN where all ratings are
    equal.
    """
    error = actual - predicted
    return _explained(actual, (error - _mean(error)) ** 2)


def log_loss(actual: Floats, predicted: Floats) -> float:
    """Mean of −log of the probability that was predicted for the rating; ratings are 0 or 1.

    Probabilities are kept away from 0 and 1 by the precision of floats, as scikit-learn does.
    """
    chance = np.clip(predicted, _EDGE, 1 - _EDGE)
    return _mean(-np.where(actual > 0, np.log(chance), np.log1p(-chance)))


def calibration_error(actual: Floats, predicted: Floats) -> float:
    """Expected calibration error: |mean predicted − share of ones| over ten bins of probability.

    Bins have equal width and count by the predictions in them (Naeini, Cooper, Hauskrecht 2015).
    """
    bin_index = np.minimum((predicted * BINS).astype(np.int64), BINS - 1)
    gaps = np.abs(np.bincount(bin_index, predicted - actual, minlength=BINS))
    return float(gaps.sum() / len(actual)) if len(actual) else float("nan")


def ndpm(actual: Floats, predicted: Floats) -> float:
    """Normalized distance-based performance measure of one user's ratings (Yao 1995).

        NDPM = (2 · contradicted pairs + tied pairs) / (2 · pairs with different ratings)

    Returns:
        0 for the user's order, 1 for the reverse; NaN where all ratings are equal.
    """
    lower, upper = _pairs(actual)
    differences = predicted[upper] - predicted[lower]
    if not len(differences):
        return float("nan")
    return float((2 * (differences < 0).sum() + (differences == 0).sum()) / (2 * len(differences)))


def spearman(actual: Floats, predicted: Floats) -> float:
    """Spearman's rank correlation of one user's ratings, ties at their mean rank; NaN if constant.

    Pearson's correlation of the ranks.
    """
    return _correlation(_ranks(actual), _ranks(predicted))


def kendall(actual: Floats, predicted: Floats) -> float:
    """Kendall's tau-b of one user's ratings; NaN if either order is constant."""
    actual_signs, predicted_signs = (
        np.sign(ratings[:, None] - ratings[None, :]) for ratings in (actual, predicted)
    )
    norm = np.sqrt((actual_signs**2).sum() * (predicted_signs**2).sum())
    return float((actual_signs * predicted_signs).sum() / norm) if norm else float("nan")


@dataclass(frozen=True)
class RatingMetric:
    """A metric of predicted ratings.

    Attributes:
        name: its name.
        kernel: a function of actual and predicted ratings to a number.
        over: all pairs at once (``pairs``), or each user, and the mean of users (``users``).
        higher_is_better: True if more is better.
        binary: True if ratings must be 0 or 1 and predictions probabilities.
        source: the source of its definition.
    """

    name: str
    kernel: Callable[[Floats, Floats], float]
    over: Literal["pairs", "users"] = "pairs"
    higher_is_better: bool = False
    binary: bool = False
    source: str = ""


RATING_METRICS: Mapping[str, RatingMetric] = MappingProxyType(
    {
        metric.name: metric
        for metric in (
            RatingMetric("RMSE", rmse),
            RatingMetric("MAE", mae),
            RatingMetric("R2", r2, higher_is_better=True),
            RatingMetric("ExplainedVariance", explained_variance, higher_is_better=True),
            RatingMetric("LogLoss", log_loss, binary=True),
            RatingMetric("CalibrationError", calibration_error, binary=True, source="AAAI 2015"),
            RatingMetric("NDPM", ndpm, "users", source="Yao, JASIS 46(2), 1995"),
            RatingMetric("Spearman", spearman, "users", higher_is_better=True),
            RatingMetric("Kendall", kendall, "users", higher_is_better=True),
        )
    }
)
"""Every metric of predicted ratings, by name."""


def _mean(values: Floats) -> float:
    return float(values.mean()) if len(values) else float("nan")


def _explained(actual: Floats, squares: Floats) -> float:
    total_squares = float(((actual - _mean(actual)) ** 2).sum()) if len(actual) else 0.0
    return 1 - float(squares.sum()) / total_squares if total_squares else float("nan")


def _pairs(actual: Floats) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
    """The positions of the lower and the higher rating of each pair with different ratings."""
    lower, upper = np.nonzero(actual[:, None] < actual[None, :])
    return lower, upper


def _ranks(values: Floats) -> Floats:
    """Ranks from 1; ties have their mean rank."""
    _, value_index, counts = np.unique(values, return_inverse=True, return_counts=True)
    last = np.cumsum(counts)
    return (last - (counts - 1) / 2)[value_index]


def _correlation(first: Floats, second: Floats) -> float:
    a, b = first - _mean(first), second - _mean(second)
    norm = float(np.sqrt((a**2).sum() * (b**2).sum()))
    return float((a * b).sum()) / norm if norm else float("nan")

"""How near predicted ratings are to those that users gave: errors, explained variance, order.

Kernels on two arrays of the same shape; `rankgate.rating_accuracy` pairs the rows.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from types import MappingProxyType
from typing import Literal

import numpy as np
from numpy.typing import NDArray

from rankgate.core.frozen import dataclass

Floats = NDArray[np.float64]

_EDGE = float(np.finfo(np.float64).eps)  # probabilities are kept so far from 0 and 1
BINS = 10
"""Bins of predicted probabilities in `calibration_error`."""


def mae(given: Floats, predicted: Floats) -> float:
    """Mean absolute error: the mean of |predicted − given|; NaN without ratings.

    >>> mae(np.array([4.0, 2.0]), np.array([3.0, 2.0]))
    0.5
    """
    return _mean(np.abs(predicted - given))


def rmse(given: Floats, predicted: Floats) -> float:
    """Root mean squared error: √ mean (predicted − given)²; NaN without ratings.

    >>> rmse(np.array([4.0, 2.0]), np.array([2.0, 2.0])) ** 2
    2.0000000000000004
    """
    return float(np.sqrt(_mean((predicted - given) ** 2)))


def r2(given: Floats, predicted: Floats) -> float:
    """Coefficient of determination: 1 − Σ (predicted − given)² / Σ (given − mean)².

    Returns:
        1 for perfect predictions, 0 for the mean of all ratings, below 0 for worse; NaN where all
        ratings are equal.
    """
    return _explained(given, (predicted - given) ** 2)


def explained_variance(given: Floats, predicted: Floats) -> float:
    """Share of the variance of ratings that predictions explain: 1 − Var(error) / Var(given).

    As `r2` where errors add up to 0; a constant error is not counted. NaN where all ratings are
    equal.
    """
    error = given - predicted
    return _explained(given, (error - _mean(error)) ** 2)


def log_loss(given: Floats, predicted: Floats) -> float:
    """Mean of −log of the probability that was given to what happened; ratings are 0 or 1.

    Probabilities are kept away from 0 and 1 by the precision of floats, as scikit-learn does.
    """
    chance = np.clip(predicted, _EDGE, 1 - _EDGE)
    return _mean(-np.where(given > 0, np.log(chance), np.log1p(-chance)))


def calibration_error(given: Floats, predicted: Floats) -> float:
    """Expected calibration error: |mean predicted − share of ones| over ten bins of probability.

    Bins have equal width and count by the predictions in them (Naeini, Cooper, Hauskrecht 2015).
    """
    which = np.minimum((predicted * BINS).astype(np.int64), BINS - 1)
    apart = np.abs(np.bincount(which, predicted - given, minlength=BINS))
    return float(apart.sum() / len(given)) if len(given) else float("nan")


def ndpm(given: Floats, predicted: Floats) -> float:
    """Normalized distance-based performance measure of one user's ratings (Yao 1995).

        NDPM = (2 · contradicted pairs + tied pairs) / (2 · pairs with different ratings)

    Returns:
        0 for the user's order, 1 for the reverse; NaN where all ratings are equal.
    """
    lower, upper = _pairs(given)
    apart = predicted[upper] - predicted[lower]
    if not len(apart):
        return float("nan")
    return float((2 * (apart < 0).sum() + (apart == 0).sum()) / (2 * len(apart)))


def spearman(given: Floats, predicted: Floats) -> float:
    """Spearman's rank correlation of one user's ratings, ties at their mean rank; NaN if constant.

    Pearson's correlation of the ranks.
    """
    return _correlation(_ranks(given), _ranks(predicted))


def kendall(given: Floats, predicted: Floats) -> float:
    """Kendall's tau-b of one user's ratings; NaN if either order is constant."""
    one, two = (np.sign(each[:, None] - each[None, :]) for each in (given, predicted))
    both = np.sqrt((one**2).sum() * (two**2).sum())
    return float((one * two).sum() / both) if both else float("nan")


@dataclass(frozen=True)
class RatingMetric:
    """A metric of predicted ratings.

    Attributes:
        name: what it is called.
        kernel: given and predicted ratings to a number.
        over: all pairs at once (``pairs``), or each user, and the mean of users (``users``).
        higher_is_better: whether more is better.
        binary: whether ratings must be 0 or 1 and predictions probabilities.
        source: where it is defined.
    """

    name: str
    kernel: Callable[[Floats, Floats], float]
    over: Literal["pairs", "users"] = "pairs"
    higher_is_better: bool = False
    binary: bool = False
    source: str = ""


RATING_METRICS: Mapping[str, RatingMetric] = MappingProxyType(
    {
        each.name: each
        for each in (
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


def _explained(given: Floats, squares: Floats) -> float:
    spread = float(((given - _mean(given)) ** 2).sum()) if len(given) else 0.0
    return 1 - float(squares.sum()) / spread if spread else float("nan")


def _pairs(given: Floats) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
    """Places of the lower and of the higher rating of every pair that has different ones."""
    lower, upper = np.nonzero(given[:, None] < given[None, :])
    return lower, upper


def _ranks(values: Floats) -> Floats:
    """Ranks from 1, ties at the mean of theirs."""
    _, place, counts = np.unique(values, return_inverse=True, return_counts=True)
    last = np.cumsum(counts)
    ranks: Floats = (last - (counts - 1) / 2)[place]
    return ranks


def _correlation(one: Floats, two: Floats) -> float:
    a, b = one - _mean(one), two - _mean(two)
    both = float(np.sqrt((a**2).sum() * (b**2).sum()))
    return float((a * b).sum()) / both if both else float("nan")

"""Intervals and p-values that hold at every look, however often one looks."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

if TYPE_CHECKING:
    from numpy.typing import ArrayLike, NDArray

    Floats = NDArray[np.float64]


def mixing_scale(tuned_to: float, alpha: float) -> float:
    """The rho that makes the interval narrowest at a number of units.

        rho² = (−2 log alpha + log(1 − 2 log alpha)) / tuned_to

    Waudby-Smith, Arbour, Sinha, Kennedy and Ramdas, Annals of Statistics 52 (2024), appendix B.2.
    """
    evidence = -2 * np.log(alpha)
    return float(np.sqrt((evidence + np.log(evidence + 1)) / tuned_to))


def half_width(se: ArrayLike, n: ArrayLike, alpha: float, tuned_to: float) -> Floats:
    """Half the width of an asymptotic confidence sequence.

    With the variance v = n se² of one unit's contribution,

        √v √(2 (n rho² + 1) / (n² rho²) · log(√(n rho² + 1) / alpha)).

    The interval holds at all looks together with a chance of 1 − alpha, as the number of units at
    the first look grows (Waudby-Smith and others 2024, theorem 2.2).

    Args:
        se: standard errors of the difference, any shape.
        n: units of both arms, same shape.
        alpha: the chance that the truth is outside at any look.
        tuned_to: the number of units at which the interval is narrowest.
    """
    error, units = np.asarray(se, float), np.asarray(n, float)
    scaled = units * mixing_scale(tuned_to, alpha) ** 2
    factor = 2 * (scaled + 1) / scaled * np.log(np.sqrt(scaled + 1) / alpha)
    return np.asarray(error * np.sqrt(factor))


def p_value(delta: float, se: float, n: float, alpha: float, tuned_to: float) -> float:
    """The least alpha at which the sequence, tuned at `alpha`, leaves out a difference of 0.

    √(n rho² + 1) · exp(−(delta/se)² n rho² / (2 (n rho² + 1))), at most 1
    """
    if not se > 0:
        return 1.0 if delta == 0 else 0.0
    scaled = n * mixing_scale(tuned_to, alpha) ** 2
    power = -((delta / se) ** 2) * scaled / (2 * (scaled + 1))
    return float(min(1.0, np.exp(np.log(scaled + 1) / 2 + power)))


def likelihood_ratio(delta: float, variance: float, n: float, tau2: float) -> float:
    """The mixture likelihood ratio of n pairs whose mean difference is delta (mSPRT).

        √(V/(V + n tau²)) · exp(n² tau² delta² / (2 V (V + n tau²)))

    Its inverse, at most 1, is a p-value at every look (Johari, Koomen, Pekelis and Walsh,
    Operations Research 70 (2022)).

    Args:
        delta: mean difference of the pairs.
        variance: V of one difference.
        n: pairs.
        tau2: variance of the effects that the test is tuned to.
    """
    total = variance + n * tau2
    power = n**2 * tau2 * delta**2 / (2 * variance * total)
    return float(np.sqrt(variance / total) * np.exp(power))


def likelihood_half_width(variance: float, n: float, tau2: float, alpha: float) -> float:
    """Half the width of the interval of differences that `likelihood_ratio` does not reject.

    √(V (V + n tau²) / (n² tau²) · (2 log(1/alpha) + log((V + n tau²)/V)))
    """
    total = variance + n * tau2
    evidence = -2 * np.log(alpha) + np.log(total / variance)
    return float(np.sqrt(variance * total / (n**2 * tau2) * evidence))

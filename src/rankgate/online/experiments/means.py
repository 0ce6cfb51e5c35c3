"""Means, ratios and proportions of two arms."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

import numpy as np

from rankgate.measurement.stats.experiments.two_arms import (
    TwoMeans,
    TwoShares,
    skewness_of_difference,
)
from rankgate.online.experiments.effect import Effect, Relative, independent_effect, make_effect
from rankgate.online.experiments.moments import Moments

if TYPE_CHECKING:
    import polars as pl

MIN_SKEWNESS = 0.05
"""The skewness of a difference from which its test is corrected: it moves a one-sided error of
2.5 % to 2.9 %. Below it values are those of Welch's test in any other tool."""


def compare_means(
    control: Moments,
    treatment: Moments,
    level: float = 0.95,
    relative: Relative = "fieller",
    *,
    slope: float | None = None,
    center: float = 0.0,
    shape: tuple[float, float] = (0.0, 0.0),
) -> Effect:
    """Compare two arms: Welch's t, the delta method for ratios, CUPED with a covariate.

    Proportions of units have the pooled z-test, and the intervals of the score tests that it is one
    of. With a covariate x (Deng, Xu, Kohavi and Walker, WSDM 2013) an arm's value is
    y − θ (x − c), with θ and c of the units of all arms, so that a control has one value however
    many arms it is compared with.

    Args:
        control: moments of the control.
        treatment: moments of the other arm.
        level: of intervals.
        relative: how the relative interval is made.
        slope: θ; see `covariate_slope`. None without a covariate.
        center: c.
        shape: central moments of units, second and third, pooled over arms, as
            `pooled_central_moments` has them.
    """
    from scipy.special import ndtr, ndtri, stdtr, stdtrit

    units = (control.n, treatment.n)
    if min(units) < 2:
        return independent_effect(
            control.ratio, treatment.ratio, (np.nan, np.nan), units, level, "t", relative
        )
    if control.binary and treatment.binary and slope is None:
        successes = (control.mean["value"] * control.n, treatment.mean["value"] * treatment.n)
        share_test = TwoShares(successes, units)
        p = float(2 * ndtr(-abs(share_test.statistic())))
        return make_effect(share_test, float(ndtri((1 + level) / 2)), p, sum(units), "z", relative)
    theta = slope or 0.0
    (var_control, cov_control, var_before), (var_treatment, cov_treatment, var_before_treatment) = (
        _variances(arm) for arm in (control, treatment)
    )
    first, second = (arm.ratio - theta * (arm.earlier - center) for arm in (control, treatment))
    residuals = (
        var_control - 2 * theta * cov_control + theta**2 * var_before,
        var_treatment - 2 * theta * cov_treatment + theta**2 * var_before_treatment,
    )
    skewness = skewness_of_difference(*shape, units)
    corrected = abs(skewness) >= MIN_SKEWNESS
    arms = TwoMeans(first, second, *residuals, skewness if corrected else 0.0)
    freedom = _welch_freedom(residuals, units)
    p = float(2 * stdtr(freedom, -abs(arms.statistic())))
    method = "delta" if "per" in control.mean else "t"
    method += ", cuped" * (slope is not None) + ", skewness" * corrected
    raw_variance = var_control + var_treatment
    explained = (
        None if slope is None else 1 - sum(residuals) / raw_variance if raw_variance > 0 else 0.0
    )
    t_limit = float(stdtrit(freedom, (1 + level) / 2))
    return make_effect(arms, t_limit, p, sum(units), method, relative, explained)


def _variances(arm: Moments) -> tuple[float, float, float]:
    """Variance of the arm's value, covariance with its earlier one, variance of that."""
    value, earlier = arm.gradients
    pairs = ((value, value), (value, earlier), (earlier, earlier))
    variance, covariance, earlier_variance = (arm.covariance(*pair) / arm.n for pair in pairs)
    return max(variance, 0.0), covariance, max(earlier_variance, 0.0)


def _welch_freedom(variances: tuple[float, float], units: tuple[int, int]) -> float:
    """Degrees of freedom (Welch, Biometrika 34, 1947)."""
    parts = [variance**2 / (n - 1) for variance, n in zip(variances, units, strict=True)]
    return sum(variances) ** 2 / sum(parts) if sum(parts) > 0 else float(sum(units) - 2)


def pooled_central_moments(
    arms: Sequence[pl.DataFrame], sums: Sequence[Moments], slope: float | None
) -> tuple[float, float]:
    """The second and the third central moment of units' shares in the values of their arms.

    Args:
        arms: the units of each arm.
        sums: their moments.
        slope: θ of a covariate.
    """
    unit_shares = []
    for rows, arm in zip(arms, sums, strict=True):
        value, earlier = arm.gradients
        factors = dict(value)
        for name, factor in earlier.items():
            factors[name] = -(slope or 0.0) * factor
        share = sum(
            rows[name].to_numpy().astype(float) * factor for name, factor in factors.items()
        )
        unit_shares.append(share - np.mean(share))
    pooled = np.concatenate(unit_shares)
    return float(np.mean(pooled**2)), float(np.mean(pooled**3))


def covariate_slope(units: Moments) -> tuple[float, float]:
    """θ and c, of the units of all arms.

    They are the slope of linearised values on linearised earlier ones, and the earlier value.
    """
    value, earlier = units.gradients
    variance = units.covariance(earlier, earlier)
    return (units.covariance(value, earlier) / variance if variance > 0 else 0.0), units.earlier

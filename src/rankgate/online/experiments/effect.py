"""The difference of two arms on one measure, with its error."""

from __future__ import annotations

from typing import Literal

import numpy as np

from rankgate.core.frozen import dataclass
from rankgate.measurement.stats.experiments.always_valid import half_width, p_value
from rankgate.measurement.stats.experiments.two_arms import Arms, Ends, TwoMeans

Relative = Literal["fieller", "log", "delta"]
"""The interval of a relative difference: by the test of p and of the absolute interval
(Fieller 1954), on the logarithm of the ratio as tea-tasting does, or by the delta method as
GrowthBook does. Only the first keeps its level where few units have a value above 0."""


@dataclass(frozen=True)
class Effect:
    """Treatment against control on one measure.

    Attributes:
        control: the control's value.
        treatment: the treatment's; with a covariate both are adjusted to its mean in all arms.
        delta: treatment − control.
        se: its standard error.
        low, high: the interval of delta.
        relative: delta / |control|; NaN where control is 0.
        relative_low, relative_high: its interval; an end is infinite where the control is not
            clearly different from 0.
        p_value: two-sided, against no difference.
        n: units of both arms.
        method: how it was computed: t, z, delta, cuped, order-statistics, bootstrap; with
            ``skewness`` behind it where a correction for skewed values moves the test, and
            ``always-valid`` where it holds at every look.
        arms: the test that p and intervals are of.
        relative_by: how the relative interval is made.
        explained: the share of the variance that a covariate explains; None without one.
    """

    control: float
    treatment: float
    delta: float
    se: float
    low: float
    high: float
    relative: float
    relative_low: float
    relative_high: float
    p_value: float
    n: int
    method: str
    arms: Arms
    relative_by: Relative = "fieller"
    explained: float | None = None

    def mde(self, alpha: float, power: float) -> float:
        """The smallest true difference that an experiment with this error shows.

        (z(1 − alpha/2) + z(power)) · se
        """
        from scipy.special import ndtri

        return float((ndtri(1 - alpha / 2) + ndtri(power)) * self.se)


def make_effect(
    arms: Arms,
    z_limit: float,
    p: float,
    n: int,
    method: str,
    relative_by: Relative = "fieller",
    explained: float | None = None,
) -> Effect:
    """The effect of a test, with intervals whose z is within ± z_limit.

    Args:
        arms: the test.
        z_limit: the quantile of its statistic.
        p: its p-value.
        n: units of both arms.
        method: the name of the test.
        relative_by: how the relative interval is made.
        explained: the share of the variance that a covariate explains.
    """
    control, treatment = arms.control, arms.treatment
    delta, se = treatment - control, float(np.sqrt(max(arms.variance, 0.0)))
    low, high = arms.differences(z_limit)
    relative = delta / abs(control) if control else np.nan
    ends = _relative_ends(arms, z_limit, relative_by)
    return Effect(
        control,
        treatment,
        delta,
        se,
        low,
        high,
        relative,
        *ends,
        p,
        n,
        method,
        arms,
        relative_by,
        explained,
    )


def _relative_ends(arms: Arms, z_limit: float, relative_by: Relative) -> Ends:
    control, treatment = arms.control, arms.treatment
    if relative_by == "fieller":
        low, high = arms.ratios(z_limit)
        return (low - 1, high - 1) if control > 0 else (1 - high, 1 - low)
    variances = (arms.control_variance, arms.treatment_variance)
    if relative_by == "log" and control > 0 and treatment > 0:
        control_variance, treatment_variance = variances
        margin = z_limit * float(
            np.sqrt(control_variance / control**2 + treatment_variance / treatment**2)
        )
        with np.errstate(over="ignore"):
            ends = treatment / control * np.exp([-margin, margin]) - 1
        return float(ends[0]), float(ends[1])
    margin = z_limit * relative_error(control, treatment, variances)
    relative = (treatment - control) / abs(control) if control else np.nan
    return relative - margin, relative + margin


def relative_error(control: float, treatment: float, variances: tuple[float, float]) -> float:
    """The standard error of treatment / control − 1, by the delta method.

    √(v_c t² / c⁴ + v_t / c²)

    Args:
        control: c.
        treatment: t.
        variances: v_c and v_t, of these estimates.
    """
    if not control:
        return np.nan
    control_variance, treatment_variance = variances
    return float(
        np.sqrt(control_variance * treatment**2 / control**4 + treatment_variance / control**2)
    )


def independent_effect(
    control: float,
    treatment: float,
    errors: tuple[float, float],
    units: tuple[int, int],
    level: float,
    method: str,
    relative_by: Relative = "fieller",
) -> Effect:
    """The difference of two independent estimates by normal theory."""
    from scipy.special import ndtr, ndtri

    control_error, treatment_error = errors
    arms = TwoMeans(control, treatment, control_error**2, treatment_error**2)
    p = float(2 * ndtr(-abs(arms.statistic())))
    return make_effect(arms, float(ndtri((1 + level) / 2)), p, sum(units), method, relative_by)


def always_valid_effect(effect: Effect, level: float, tuned_to: float) -> Effect:
    """The same with intervals and a p-value that hold at every look."""
    alpha = 1 - level
    z_limit = float(half_width(1.0, effect.n, alpha, tuned_to))
    p = p_value(effect.arms.statistic(), 1.0, effect.n, alpha, tuned_to)
    return make_effect(
        effect.arms,
        z_limit,
        p,
        effect.n,
        f"{effect.method}, always-valid",
        effect.relative_by,
        effect.explained,
    )

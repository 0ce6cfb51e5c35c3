"""How much one arm differs from another, with its error."""

from __future__ import annotations

from typing import Literal

import numpy as np

from rankgate.core.frozen import dataclass
from rankgate.measurement.stats.experiments.always_valid import half_width, p_value
from rankgate.measurement.stats.experiments.two_arms import Arms, Ends, TwoMeans

Relative = Literal["fieller", "log", "delta"]
"""How the interval of a relative difference is made: by the test of p and of the absolute interval
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


def effect_of(
    arms: Arms,
    reach: float,
    p: float,
    n: int,
    method: str,
    relative_by: Relative = "fieller",
    explained: float | None = None,
) -> Effect:
    """The effect of a test, with intervals whose z is within ± reach.

    Args:
        arms: the test.
        reach: the quantile of its statistic.
        p: its p-value.
        n: units of both arms.
        method: the name of the test.
        relative_by: how the relative interval is made.
        explained: the share of the variance that a covariate explains.
    """
    control, treatment = arms.control, arms.treatment
    delta, se = treatment - control, float(np.sqrt(max(arms.variance, 0.0)))
    low, high = arms.differences(reach)
    relative = delta / abs(control) if control else np.nan
    ends = _relative_ends(arms, reach, relative_by)
    return Effect(control, treatment, delta, se, low, high, relative, *ends, p, n, method, arms,
                  relative_by, explained)  # fmt: skip


def _relative_ends(arms: Arms, reach: float, relative_by: Relative) -> Ends:
    control, treatment = arms.control, arms.treatment
    if relative_by == "fieller":
        low, high = arms.ratios(reach)
        return (low - 1, high - 1) if control > 0 else (1 - high, 1 - low)
    variances = (arms.control_variance, arms.treatment_variance)
    if relative_by == "log" and control > 0 and treatment > 0:
        own, other = variances
        wide = reach * float(np.sqrt(own / control**2 + other / treatment**2))
        with np.errstate(over="ignore"):
            ends = treatment / control * np.exp([-wide, wide]) - 1
        return float(ends[0]), float(ends[1])
    wide = reach * relative_error(control, treatment, variances)
    relative = (treatment - control) / abs(control) if control else np.nan
    return relative - wide, relative + wide


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
    own, other = variances
    return float(np.sqrt(own * treatment**2 / control**4 + other / control**2))


def simple(
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

    own, other = errors
    arms = TwoMeans(control, treatment, own**2, other**2)
    p = float(2 * ndtr(-abs(arms.statistic())))
    return effect_of(arms, float(ndtri((1 + level) / 2)), p, sum(units), method, relative_by)


def always_valid(effect: Effect, level: float, tuned_to: float) -> Effect:
    """The same with intervals and a p-value that hold at every look."""
    alpha = 1 - level
    reach = float(half_width(1.0, effect.n, alpha, tuned_to))
    p = p_value(effect.arms.statistic(), 1.0, effect.n, alpha, tuned_to)
    return effect_of(effect.arms, reach, p, effect.n, f"{effect.method}, always-valid",
                  effect.relative_by, effect.explained)  # fmt: skip

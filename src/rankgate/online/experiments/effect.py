"""How much one arm differs from another, with its error."""

from __future__ import annotations

from dataclasses import replace

import numpy as np

from rankgate.frozen import dataclass
from rankgate.stats.experiments.always_valid import half_width, p_value


@dataclass(frozen=True)
class Effect:
    """Treatment against control on one measure.

    Attributes:
        control, treatment: the values of the arms; with a covariate adjusted for it.
        delta: treatment − control.
        se: its standard error.
        low, high: the interval of delta.
        relative: delta / control; NaN where control is 0.
        relative_low, relative_high: its interval.
        p_value: two-sided, against no difference.
        n: units of both arms.
        method: how it was computed: t, z, delta, cuped, order-statistics, bootstrap; with
            ``always-valid`` behind it where it holds at every look.
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
    explained: float | None = None

    def mde(self, alpha: float, power: float) -> float:
        """The smallest true difference that an experiment with this error shows.

        (z(1 − alpha/2) + z(power)) · se
        """
        from scipy.special import ndtri

        return float((ndtri(1 - alpha / 2) + ndtri(power)) * self.se)


def relative_error(control: float, treatment: float, errors: tuple[float, float]) -> float:
    """The standard error of treatment / control − 1, by the delta method.

    √(se_t² / c² + se_c² t² / c⁴)
    """
    if not control:
        return np.nan
    own, other = errors
    return float(np.sqrt(other**2 / control**2 + own**2 * treatment**2 / control**4))


def simple(
    control: float,
    treatment: float,
    errors: tuple[float, float],
    units: tuple[int, int],
    level: float,
    method: str,
) -> Effect:
    """The difference of two independent estimates by normal theory."""
    from scipy.special import ndtr, ndtri

    delta, se = treatment - control, float(np.hypot(*errors))
    z = float(ndtri((1 + level) / 2))
    relative = delta / control if control else np.nan
    wide = z * relative_error(control, treatment, errors)
    if se > 0:
        p = float(2 * ndtr(-abs(delta) / se))
    else:
        p = np.nan if np.isnan(se) else float(delta == 0)
    return Effect(
        control, treatment, delta, se, delta - z * se, delta + z * se, relative, relative - wide,
        relative + wide, p, sum(units), method,
    )  # fmt: skip


def always_valid(effect: Effect, level: float, tuned_to: float) -> Effect:
    """The same with an interval and a p-value that hold at every look.

    The relative interval is widened as much as the absolute one, about relative errors of the
    delta method.
    """
    alpha = 1 - level
    wide = float(half_width(effect.se, effect.n, alpha, tuned_to))
    share = 2 * wide / (effect.high - effect.low) if effect.high > effect.low else 1.0
    return replace(
        effect,
        low=effect.delta - wide,
        high=effect.delta + wide,
        relative_low=effect.relative - share * (effect.relative - effect.relative_low),
        relative_high=effect.relative + share * (effect.relative_high - effect.relative),
        p_value=p_value(effect.delta, effect.se, effect.n, alpha, tuned_to),
        method=f"{effect.method}, always-valid",
    )

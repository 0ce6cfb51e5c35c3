"""The difference of two arms in one measure, with its standard error.

Moments are the numbers of an arm that tests of means need: units, means and covariances of a
few columns. Means, ratios and proportions of two arms follow.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Literal

import numpy as np

from rankgate.core.frozen import dataclass
from rankgate.measurement.stats.experiment_arms import Arms, Ends, TwoMeans, TwoShares, skewness_of_difference
from rankgate.measurement.stats.sequential_experiments import half_width, p_value

if TYPE_CHECKING:
    import polars as pl


Relative = Literal["fieller", "log", "delta"]
"""The interval of a relative difference: by the test of p and of the absolute interval
(Fieller 1954), on the logarithm of the ratio as tea-tasting does, or by the delta method as
GrowthBook does. Only the first keeps its level where few units have a value above 0."""


@dataclass(frozen=True)
class Effect:
    """The effect of a treatment against the control on one measure.

    Attributes:
        control: the control's value.
        treatment: the treatment's value; with a covariate both values are adjusted to the
            covariate's mean in all arms.
        delta: treatment − control.
        se: the standard error of delta.
        low, high: the interval of delta.
        relative: delta / |control|; NaN if control is 0.
        relative_low, relative_high: the interval of relative; an end is infinite if the control is
            not clearly different from 0.
        p_value: the two-sided p-value of the test against no difference.
        n: units of both arms.
        method: the method: t, z, delta, cuped, order-statistics, bootstrap; followed by
            ``skewness`` if a correction for skewed values moves the test, and ``always-valid`` if
            it holds at every look.
        arms: the test that gives p and the intervals.
        relative_by: the method of the relative interval.
        explained: the share of the variance that a covariate explains; None without a covariate.
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
        """The smallest true difference that an experiment with this standard error detects.

        (z(1 − alpha/2) + z(power)) · se
        """
        from rankgate.measurement.stats.special_functions import ndtri

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
        z_limit: the quantile of the test statistic.
        p: the p-value of the test.
        n: units of both arms.
        method: the name of the test.
        relative_by: the method of the relative interval.
        explained: the share of the variance that a covariate explains.
    """
    control, treatment = arms.control, arms.treatment
    delta, se = treatment - control, float(np.sqrt(max(arms.variance, 0.0)))
    low, high = arms.differences(z_limit)
    relative = delta / abs(control) if control else np.nan
    ends = _relative_ends(arms, z_limit, relative_by)
    return Effect(
        control, treatment, delta, se, low, high, relative, *ends, p, n, method, arms, relative_by, explained
    )


def _relative_ends(arms: Arms, z_limit: float, relative_by: Relative) -> Ends:
    control, treatment = arms.control, arms.treatment
    if relative_by == "fieller":
        low, high = arms.ratios(z_limit)
        return (low - 1, high - 1) if control > 0 else (1 - high, 1 - low)
    variances = (arms.control_variance, arms.treatment_variance)
    if relative_by == "log" and control > 0 and treatment > 0:
        control_variance, treatment_variance = variances
        margin = z_limit * float(np.sqrt(control_variance / control**2 + treatment_variance / treatment**2))
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
    return float(np.sqrt(control_variance * treatment**2 / control**4 + treatment_variance / control**2))


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
    from rankgate.measurement.stats.special_functions import ndtr, ndtri

    control_error, treatment_error = errors
    arms = TwoMeans(control, treatment, control_error**2, treatment_error**2)
    p = float(2 * ndtr(-abs(arms.statistic())))
    return make_effect(arms, float(ndtri((1 + level) / 2)), p, sum(units), method, relative_by)


def always_valid_effect(effect: Effect, level: float, tuned_to: float) -> Effect:
    """The effect with intervals and a p-value that hold at every look."""
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


UNIT_COLUMNS = ("value", "per", "before", "before_per")
"""The columns of a unit: numerator and denominator, and both before the experiment."""


@dataclass(frozen=True)
class Moments:
    """Sums over the units of one arm.

    Attributes:
        n: units.
        mean: the mean of each column.
        cov: the covariance of two columns, with n − 1.
        binary: True if every value is 0 or 1, and every unit has one.
    """

    n: int
    mean: Mapping[str, float]
    cov: Mapping[tuple[str, str], float]
    binary: bool = False

    @property
    def ratio(self) -> float:
        """The sum of values divided by the sum of denominators; the mean without denominators."""
        below = self.mean.get("per", 1.0)
        return self.mean["value"] / below if below else np.nan

    @property
    def earlier(self) -> float:
        """The ratio from before the experiment; 0 without a covariate."""
        if "before" not in self.mean:
            return 0.0
        below = self.mean.get("before_per", 1.0)
        return self.mean["before"] / below if below else np.nan

    @property
    def gradients(self) -> tuple[dict[str, float], dict[str, float]]:
        """The factors of columns in a unit's share of `ratio`, and of `earlier`.

        (x − R y) / mean of y, by the delta method (Deng, Knoblich and Lu, KDD 2018).
        """
        gradients: list[dict[str, float]] = []
        for numerator, denominator, ratio in (
            ("value", "per", self.ratio),
            ("before", "before_per", self.earlier),
        ):
            if numerator not in self.mean:
                gradients.append({})
            elif denominator not in self.mean:
                gradients.append({numerator: 1.0})
            else:
                scale = 1 / self.mean[denominator] if self.mean[denominator] else np.nan
                gradients.append({numerator: scale, denominator: -ratio * scale})
        return gradients[0], gradients[1]

    def covariance(self, left_factors: Mapping[str, float], right_factors: Mapping[str, float]) -> float:
        """The covariance, among units, of two sums of columns with factors."""
        return sum(
            first * second * self.cov[min(a, b), max(a, b)]
            for a, first in left_factors.items()
            for b, second in right_factors.items()
        )

    @property
    def se(self) -> float:
        """The standard error of `ratio`, by the delta method.

        √((s_x² − 2 R s_xy + R² s_y²) / n) / mean of y
        """
        if self.n < 2:
            return np.nan
        value, _ = self.gradients
        return float(np.sqrt(max(self.covariance(value, value), 0.0) / self.n))


def compute_moments(units: pl.DataFrame) -> Moments:
    """The moments of units, for the columns of `UNIT_COLUMNS` that the table has."""
    names = [name for name in UNIT_COLUMNS if name in units.columns]
    n = len(units)
    if not n:
        return Moments(0, dict.fromkeys(names, np.nan), {})
    rows = units.select(names).to_numpy().astype(float)
    middle = rows.mean(axis=0)
    centred = rows - middle
    covariances = centred.T @ centred / max(n - 1, 1)
    mean = dict(zip(names, middle.tolist(), strict=True))
    cov = {
        tuple(sorted((a, b))): float(covariances[i, j])
        for i, a in enumerate(names)
        for j, b in enumerate(names)
    }
    binary = "per" not in names and bool(np.isin(rows[:, 0], (0.0, 1.0)).all())
    return Moments(n, mean, cov, binary)  # type: ignore[arg-type]


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

    Proportions of units have the pooled z-test, a score test, and the intervals of score tests.
    With a covariate x (Deng, Xu, Kohavi and Walker, WSDM 2013) an arm's value is y − θ (x − c),
    with θ and c from the units of all arms, so that a control has the same value in all
    comparisons.

    Args:
        control: moments of the control.
        treatment: moments of the other arm.
        level: the confidence level of intervals.
        relative: the method of the relative interval.
        slope: θ; see `covariate_slope`. None without a covariate.
        center: c.
        shape: central moments of units, second and third, pooled over arms, as
            `pooled_central_moments` has them.
    """
    from rankgate.measurement.stats.special_functions import ndtr, ndtri, stdtr, stdtrit

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
    explained = None if slope is None else 1 - sum(residuals) / raw_variance if raw_variance > 0 else 0.0
    t_limit = float(stdtrit(freedom, (1 + level) / 2))
    return make_effect(arms, t_limit, p, sum(units), method, relative, explained)


def _variances(arm: Moments) -> tuple[float, float, float]:
    """The variance of the arm's value, and covariance with and variance of its earlier value."""
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
        sums: the moments of the arms.
        slope: θ of a covariate.
    """
    unit_shares = []
    for rows, arm in zip(arms, sums, strict=True):
        value, earlier = arm.gradients
        factors = dict(value)
        for name, factor in earlier.items():
            factors[name] = -(slope or 0.0) * factor
        share = sum(rows[name].to_numpy().astype(float) * factor for name, factor in factors.items())
        unit_shares.append(share - np.mean(share))
    pooled = np.concatenate(unit_shares)
    return float(np.mean(pooled**2)), float(np.mean(pooled**3))


def covariate_slope(units: Moments) -> tuple[float, float]:
    """θ and c from the units of all arms.

    θ is the slope of linearised values on linearised earlier values; c is the earlier value.
    """
    value, earlier = units.gradients
    variance = units.covariance(earlier, earlier)
    return (units.covariance(value, earlier) / variance if variance > 0 else 0.0), units.earlier

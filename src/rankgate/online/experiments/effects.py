"""The difference of two arms in one measure, with its standard error.

Moments are the numbers of an arm that tests of means need: units, means and covariances of a
few columns. Means, ratios and proportions of two arms follow.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import TYPE_CHECKING, Literal

import numpy as np

from rankgate.core.frozen import dataclass
from rankgate.measurement.stats.experiment_arms import (
    MOST_SKEWED,
    Arms,
    Ends,
    TwoMeans,
    TwoShares,
    skewness_of_difference,
)
from rankgate.measurement.stats.sequential_experiments import half_width, p_value

if TYPE_CHECKING:
    import polars as pl

    from rankgate.core.arrays import Floats


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
    log_limit: float | None = None,
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
        log_limit: the quantile of the interval on the logarithm of the ratio, if it is another.
    """
    control, treatment = arms.control, arms.treatment
    delta, se = treatment - control, float(np.sqrt(max(arms.variance, 0.0)))
    low, high = arms.differences(z_limit)
    relative = delta / abs(control) if control else np.nan
    limit = z_limit if log_limit is None or relative_by != "log" else log_limit
    ends = _relative_ends(arms, limit, relative_by)
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
    from rankgate.measurement.stats.special_functions import ndtr, ndtri

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
    raw_variance = var_control + var_treatment
    explained = None if slope is None else 1 - sum(residuals) / raw_variance if raw_variance > 0 else 0.0
    return _effect_of_means(
        (first, second),
        residuals,
        (residuals[0] ** 2 / (units[0] - 1), residuals[1] ** 2 / (units[1] - 1)),
        skewness_of_difference(*shape, units),
        units,
        level,
        ("delta" if "per" in control.mean else "t") + ", cuped" * (slope is not None),
        relative,
        explained,
    )


def _effect_of_means(
    means: tuple[float, float],
    variances: tuple[float, float],
    squares: tuple[float, float],
    skewness: float,
    units: tuple[int, int],
    level: float,
    method: str,
    relative: Relative,
    explained: float | None,
) -> Effect:
    """The effect of two means by Welch's t, corrected for skewness.

    Args:
        means: the values of the control and the treatment.
        variances: the variances of these values.
        squares: for each arm the squares of its variance, or of the parts of its variance, divided by
            their degrees of freedom (Welch, Biometrika 34, 1947).
        skewness: of the difference.
        units: the units of the arms.
        level: the confidence level of intervals.
        method: the name of the test.
        relative: the method of the relative interval.
        explained: as in `Effect`.
    """
    from rankgate.measurement.stats.special_functions import stdtr, stdtrit

    def limit(freedom: float) -> float:
        return float(stdtrit(freedom, (1 + level) / 2))

    corrected = abs(skewness) >= MIN_SKEWNESS
    test = TwoMeans(*means, *variances, skewness if corrected else 0.0)
    freedom = _welch_freedom(variances, squares, units)
    p = float(2 * stdtr(freedom, -abs(test.statistic())))
    log_limit = None
    if min(means) > 0:  # the degrees of freedom of the logarithms, as tea-tasting has them
        log_variances = (variances[0] / means[0] ** 2, variances[1] / means[1] ** 2)
        log_squares = (squares[0] / means[0] ** 4, squares[1] / means[1] ** 4)
        log_limit = limit(_welch_freedom(log_variances, log_squares, units))
    method += ", skewness" * corrected
    return make_effect(test, limit(freedom), p, sum(units), method, relative, explained, log_limit)


def _variances(arm: Moments) -> tuple[float, float, float]:
    """The variance of the arm's value, and covariance with and variance of its earlier value."""
    value, earlier = arm.gradients
    pairs = ((value, value), (value, earlier), (earlier, earlier))
    variance, covariance, earlier_variance = (arm.covariance(*pair) / arm.n for pair in pairs)
    return max(variance, 0.0), covariance, max(earlier_variance, 0.0)


def _welch_freedom(
    variances: tuple[float, float], squares: tuple[float, float], units: tuple[int, int]
) -> float:
    """The degrees of freedom of a difference; arguments as in `_effect_of_means`."""
    return sum(variances) ** 2 / sum(squares) if sum(squares) > 0 else float(sum(units) - 2)


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


def effect_by_day(
    arms: Sequence[pl.DataFrame], level: float = 0.95, relative: Relative = "fieller"
) -> Effect:
    """Compare two arms within days: means and ratios after stratification, with a covariate or not.

    With W_s the share of all units in period s, n_s the units of an arm in it, and w = W_s / n_s,
    an arm's value is R = Σ w x / Σ w y, and its variance

        Σ_s W_s² v_s / n_s,  v_s the variance in the period of (x − R y) / Σ w y − θ (b − E p) / Σ w p

    with b and p before the experiment, E their ratio, and θ the slope of the first on the second
    within periods (post-stratification: Miratrix, Sekhon and Yu, JRSS B 75, 2013).

    Args:
        arms: the units of the control and the treatment: the columns of `UNIT_COLUMNS` that they
            have, ``period`` and ``weight``.
        level: the confidence level of intervals.
        relative: the method of the relative interval.
    """
    units = (len(arms[0]), len(arms[1]))
    if min(units) < 2:
        return independent_effect(np.nan, np.nan, (np.nan, np.nan), units, level, "t", relative)
    weights = [arm["weight"].to_numpy() / len(arm) for arm in arms]
    values = [_linearised(arm, weight, "value", "per") for arm, weight in zip(arms, weights, strict=True)]
    control, treatment = (ratio for ratio, _ in values)
    residuals = [_within_periods(arm, shares) for arm, (_, shares) in zip(arms, values, strict=True)]
    has_covariate = "before" in arms[0].columns
    raw_variance = sum(
        _variance_of_arm(arm, values_left)[0] for arm, values_left in zip(arms, residuals, strict=True)
    )
    if has_covariate:
        earlier = [
            _linearised(arm, weight, "before", "before_per")
            for arm, weight in zip(arms, weights, strict=True)
        ]
        slopes = [_within_periods(arm, shares) for arm, (_, shares) in zip(arms, earlier, strict=True)]
        squares = sum(float(slope @ slope) for slope in slopes)
        theta = (
            sum(float(r @ s) for r, s in zip(residuals, slopes, strict=True)) / squares if squares else 0.0
        )
        (earlier_control, _), (earlier_treatment, _) = earlier
        center = (earlier_control + earlier_treatment) / 2
        control -= theta * (earlier_control - center)
        treatment -= theta * (earlier_treatment - center)
        residuals = [r - theta * s for r, s in zip(residuals, slopes, strict=True)]
    (control_variance, control_squares), (treatment_variance, treatment_squares) = (
        _variance_of_arm(arm, values_left) for arm, values_left in zip(arms, residuals, strict=True)
    )
    variance = control_variance + treatment_variance
    third = float(np.mean(np.concatenate(residuals) ** 3))
    third *= float((weights[1] ** 3).sum()) - float((weights[0] ** 3).sum())
    skewness = third / variance**1.5 if variance > 0 else 0.0
    effect = _effect_of_means(
        (control, treatment),
        (control_variance, treatment_variance),
        (control_squares, treatment_squares),
        max(-MOST_SKEWED, min(MOST_SKEWED, skewness)),
        units,
        level,
        ("delta" if "per" in arms[0].columns else "t") + ", cuped" * has_covariate,
        relative,
        1 - variance / raw_variance if has_covariate and raw_variance > 0 else None,
    )
    return replace(effect, method=f"{effect.method}, by day")


def _linearised(
    arm: pl.DataFrame, weight: Floats, value_column: str, per_column: str
) -> tuple[float, Floats]:
    """The weighted ratio of two columns, and the share of each unit in it, but for its weight."""
    numerator = arm[value_column].to_numpy().astype(float)
    if per_column not in arm.columns:
        return float(weight @ numerator / weight.sum()), numerator
    denominator = arm[per_column].to_numpy().astype(float)
    total = float(weight @ denominator)
    ratio = float(weight @ numerator) / total if total else np.nan
    return ratio, (numerator - ratio * denominator) / total if total else np.full(len(arm), np.nan)


def _within_periods(arm: pl.DataFrame, values: Floats) -> Floats:
    """Values minus the mean of their period."""
    periods = arm["period"].to_numpy()
    sizes = np.maximum(np.bincount(periods), 1)
    return np.asarray(values - (np.bincount(periods, values) / sizes)[periods], np.float64)


def _variance_of_arm(arm: pl.DataFrame, residuals: Floats) -> tuple[float, float]:
    """Σ W_s² v_s / n_s over periods, and the sum of their squares divided by n_s − 1."""
    periods, weight = arm["period"].to_numpy(), arm["weight"].to_numpy() / len(arm)
    sizes = np.bincount(periods)
    squares = np.bincount(periods, weight**2 * residuals**2)
    with np.errstate(invalid="ignore", divide="ignore"):
        parts = np.where(sizes > 1, squares * sizes / (sizes - 1.0), 0.0)
        return float(parts.sum()), float(np.where(sizes > 1, parts**2 / (sizes - 1.0), 0.0).sum())

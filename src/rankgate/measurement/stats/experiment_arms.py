"""Two arms of an experiment: test, intervals, quantiles, posterior effect, sample sizes.

One test compares the values of two arms, with the intervals that it does not reject. A test is
a statistic z(ρ) of the hypothesis treatment = ρ · control, and z(1) is that of equal arms. The
interval of the ratio holds every ρ that the test does not reject, the interval of the
difference is made by the same test, so that p, both intervals and a margin never disagree.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import TYPE_CHECKING, TypeAlias

import numpy as np

from rankgate.core.frozen import dataclass
from rankgate.measurement.stats.bisection import root_of_rising

if TYPE_CHECKING:
    from rankgate.core.arrays import Floats, Ints


Ends: TypeAlias = tuple[float, float]

_FAR = 1e7  # a ratio of shares, of that of the estimates
_EDGE = 1e-12
_STEEP = 0.4  # the root of the least slope of Hall's transformation

MOST_SKEWED = 0.45
"""The largest skewness of a difference that is corrected; a larger one is known too badly."""


@dataclass(frozen=True)
class TwoMeans:
    """Two estimates that are nearly normal: means, ratios of sums, quantiles.

    z(ρ) = h((treatment − ρ control) / √(v_t + ρ² v_c)), with Hall's (1992) transformation
    h(x) = x + κx²/3 + κ²x³/27 + κ/6 of a statistic whose skewness is κ, which Zhou
    and Dinh (Biostatistics 6(2), 2005) use for two samples; without skewness h(x) = x. The slope of
    h is (1 + κx/3)²; from where it is .16 on, h goes on with slope 1, as a flat h would find no
    difference however large.

    Attributes:
        control, treatment: the estimates, which are independent.
        control_variance, treatment_variance: the variances of these estimates.
        skewness: κ, that of treatment − control as an estimate.
    """

    control: float
    treatment: float
    control_variance: float
    treatment_variance: float
    skewness: float = 0.0

    @property
    def variance(self) -> float:
        """The variance of treatment − control."""
        return self.treatment_variance + self.control_variance

    def statistic(self, ratio: float = 1.0) -> float:
        """Z of treatment = ratio · control; 0 or infinite where nothing varies."""
        difference = self.treatment - ratio * self.control
        variance = self.treatment_variance + ratio**2 * self.control_variance
        if math.isnan(variance):
            return math.nan
        if variance <= 0:
            return math.copysign(math.inf, difference) if difference else 0.0
        return self._transformed(difference / math.sqrt(variance))

    def _transformed(self, x: float) -> float:
        """h(x)."""
        skew = self.skewness
        if skew and 1 + skew * x / 3 < _STEEP:
            start, value = self._straight
            return value + x - start
        return x + skew * x**2 / 3 + skew**2 * x**3 / 27 + skew / 6

    @property
    def _straight(self) -> Ends:
        """The x from which h continues with slope 1, and the value of h there."""
        skew = self.skewness
        return -3 * (1 - _STEEP) / skew, (_STEEP**3 - 1) / skew + skew / 6

    def _unskewed(self, bound: float) -> float:
        """The x with h(x) = bound."""
        skew = self.skewness
        if not skew:
            return bound
        start, value = self._straight
        if (bound - value) * skew < 0:
            return start + bound - value
        return 3 / skew * (math.cbrt(1 + skew * (bound - skew / 6)) - 1)

    def differences(self, bound: float) -> Ends:
        """The interval of treatment − control in which z is within ± bound."""
        delta, error = self.treatment - self.control, math.sqrt(max(self.variance, 0.0))
        return delta - self._unskewed(bound) * error, delta - self._unskewed(-bound) * error

    def ratios(self, bound: float) -> Ends:
        """The interval of treatment / control in which z(ρ) is within ± bound (Fieller 1954).

        Its ends are roots of (c² − q²v_c) ρ² − 2ct ρ + t² − q²v_t = 0. An end is infinite if the
        control is not clearly different from 0, because then large ratios are possible. NaN if the
        control is 0.
        """
        if not self.control or math.isnan(self.variance):
            return math.nan, math.nan
        if self.control < 0:
            skewness = -self.skewness
            mirrored = TwoMeans(
                -self.control, -self.treatment, self.control_variance, self.treatment_variance, skewness
            )
            return mirrored.ratios(bound)
        estimate = self.treatment / self.control
        low = self._root(self._unskewed(bound), -1)
        high = self._root(self._unskewed(-bound), 1)
        return low if low <= estimate else -math.inf, high if high >= estimate else math.inf

    def _root(self, bound: float, side: int) -> float:
        square = bound**2
        first = self.control**2 - square * self.control_variance
        middle = self.control * self.treatment
        last = self.treatment**2 - square * self.treatment_variance
        inner = middle**2 - first * last
        if not first or (inner <= 0 and first < 0):
            return side * math.inf
        return (middle + side * math.sqrt(max(inner, 0.0))) / first


@dataclass(frozen=True)
class TwoShares:
    """Shares of units: score tests, with the variance under the hypothesis.

    The test of no difference is the pooled z-test. That of a difference is of Mee (Biometrics 40,
    1984), that of a ratio of Koopman (Biometrics 40, 1984); both use the most probable shares under
    the hypothesis, in the closed forms of Miettinen and Nurminen (Statistics in Medicine 4, 1985).

    Attributes:
        successes: the successes of the control and of the treatment.
        units: the units of the control and of the treatment.
    """

    successes: tuple[float, float]
    units: tuple[int, int]

    @property
    def control(self) -> float:
        """The share of the control."""
        return self.successes[0] / self.units[0]

    @property
    def treatment(self) -> float:
        """The share of the treatment."""
        return self.successes[1] / self.units[1]

    @property
    def control_variance(self) -> float:
        """The variance of the control's share."""
        return self.control * (1 - self.control) / self.units[0]

    @property
    def treatment_variance(self) -> float:
        """The variance of the treatment's share."""
        return self.treatment * (1 - self.treatment) / self.units[1]

    @property
    def skewness(self) -> float:
        """0: the score test needs no correction."""
        return 0.0

    @property
    def variance(self) -> float:
        """The variance of treatment − control."""
        return self.control_variance + self.treatment_variance

    def statistic(self, ratio: float = 1.0) -> float:
        """Z of treatment = ratio · control; 0 if neither arm varies under the hypothesis."""
        (control_hits, treated_hits), (control_units, treated_units) = self.successes, self.units
        outer = (control_units + treated_units) * ratio
        inner = treated_units * ratio + treated_hits + control_units + control_hits * ratio
        root = math.sqrt(max(inner**2 - 4 * outer * (control_hits + treated_hits), 0.0))
        share = (inner - root) / (2 * outer)
        return self._z(share, ratio * share, self.treatment - ratio * self.control, ratio)

    def _difference_statistic(self, delta: float) -> float:
        """Z of treatment = control + delta."""
        (control_hits, treated_hits), (control_units, treated_units) = self.successes, self.units
        total, count = control_units + treated_units, control_hits + treated_hits
        square = ((treated_units + 2 * control_units) * delta - total - count) / (3 * total)
        linear = ((control_units * delta - total - 2 * control_hits) * delta + count) / total
        constant = control_hits * delta * (1 - delta) / total
        q = square**3 - linear * square / 2 + constant / 2
        p = math.copysign(math.sqrt(max(square**2 - linear / 3, 0.0)), q)
        angle = math.acos(min(1.0, max(-1.0, q / p**3))) if p else 0.0
        share = 2 * p * math.cos((math.pi + angle) / 3) - square
        return self._z(share, share + delta, self.treatment - self.control - delta, 1.0)

    def _z(self, control: float, treatment: float, difference: float, ratio: float) -> float:
        """The difference in standard errors under shares of the hypothesis."""
        control, treatment = (min(1.0, max(0.0, share)) for share in (control, treatment))
        variance = (
            treatment * (1 - treatment) / self.units[1] + ratio**2 * control * (1 - control) / self.units[0]
        )
        if not variance > 0:
            return 0.0 if abs(difference) < _EDGE else math.copysign(math.inf, difference)
        return difference / math.sqrt(variance)

    def differences(self, bound: float) -> Ends:
        """The interval of treatment − control in which z is within ± bound."""
        delta = self.treatment - self.control
        edge = 1 - _EDGE
        return (
            _find_crossing(self._difference_statistic, bound, -edge, delta),
            _find_crossing(self._difference_statistic, -bound, delta, edge),
        )

    def ratios(self, bound: float) -> Ends:
        """The interval of treatment / control in which z(ρ) is within ± bound.

        Its upper end is infinite if the control's share may be 0. NaN if the control has no
        successes.
        """
        if not self.successes[0]:
            return math.nan, math.nan
        middle = max(self.treatment, 0.5 / self.units[1]) / self.control

        def ratio_at(power: float) -> float:
            return self.statistic(math.exp(power))

        center, log_far = math.log(middle), math.log(_FAR)
        low = _find_crossing(ratio_at, bound, center - log_far, center) if self.successes[1] else -math.inf
        high = _find_crossing(ratio_at, -bound, center, center + log_far)
        return math.exp(low), math.inf if high >= center + log_far else math.exp(high)


Arms: TypeAlias = TwoMeans | TwoShares


def _find_crossing(falling: Callable[[float], float], level: float, low: float, high: float) -> float:
    """The argument at which a falling function has a value; an end if there is none."""
    if falling(low) <= level:
        return low
    if falling(high) >= level:
        return high
    return root_of_rising(lambda x: level - falling(x), low, high)


def skewness_of_difference(second: float, third: float, units: tuple[int, int]) -> float:
    """κ, the skewness of the difference of two means of units with one distribution.

        γ (1/m² − 1/n²) / (1/m + 1/n)^(3/2),  γ = third / second^(3/2)

    With arms of equal size it is 0, because both arms have the same skewness. It is limited to ±
    .45, because γ of few values is imprecise.

    Args:
        second: the second central moment of a unit's value, pooled over both arms.
        third: the third central moment, pooled over both arms.
        units: n of the control, m of the treatment.
    """
    if not second > 0:
        return 0.0
    n, m = units
    skew: float = third / second**1.5
    of_difference: float = skew * (1 / m**2 - 1 / n**2) / (1 / m + 1 / n) ** 1.5
    return max(-MOST_SKEWED, min(MOST_SKEWED, of_difference))


@dataclass(frozen=True)
class QuantileEstimate:
    """A quantile with its standard error.

    Attributes:
        value: the quantile, linear between order statistics.
        se: its standard error; NaN if there are too few values.
        n: the number of values.
        clusters: the number of independent clusters.
    """

    value: float
    se: float
    n: int
    clusters: int


def quantile(values: Floats, share: float, cluster: Ints | None = None) -> QuantileEstimate:
    """A quantile, with a standard error from its outer interval of order statistics.

    With s = √(n · variance) the interval ends at the values ⌊n share − z s⌋ and ⌈n share + z s⌉
    (from 0), and its width divided by 2z is the standard error. The variance of one value is
    share (1 − share); with clusters it is Σ_clusters (Σ_values (I − share))² / n, I being whether
    a value is at most the quantile (Deng, Knoblich and Lu, KDD 2018, section 4).

    Args:
        values: (n,) values.
        share: the probability of the quantile, between 0 and 1.
        cluster: (n,) the cluster of each value; by default values are independent.
    """
    from rankgate.measurement.stats.special_functions import ndtri

    n = len(values)
    if n < 2:
        return QuantileEstimate(float(values[0]) if n else np.nan, np.nan, n, n)
    sorted_values = np.sort(values)
    value = float(np.quantile(sorted_values, share))
    variance, clusters = share * (1 - share), n
    if cluster is not None:
        _, cluster_index = np.unique(cluster, return_inverse=True)
        clusters = int(cluster_index.max()) + 1
        below = (values <= value) - np.mean(values <= value)
        sums = np.bincount(cluster_index, below, minlength=clusters)
        variance = float(sums @ sums) / n if clusters < n else variance
    z = float(ndtri(0.975))
    margin = z * np.sqrt(n * variance)
    low = int(np.floor(n * share - margin))
    high = int(np.ceil(n * share + margin))
    if low < 0 or high > n - 1:
        return QuantileEstimate(value, np.nan, n, clusters)
    return QuantileEstimate(value, float(sorted_values[high] - sorted_values[low]) / (2 * z), n, clusters)


@dataclass(frozen=True)
class Posterior:
    """The posterior distribution of an effect.

    Attributes:
        mean, sd: the mean and standard deviation of the posterior.
        better: the probability that the effect is above 0.
        loss: the expected loss of choosing the treatment: E[max(−effect, 0)].
    """

    mean: float
    sd: float
    better: float
    loss: float


def posterior(delta: float, se: float, prior_sd: float) -> Posterior:
    """Combine an estimate with the prior N(0, prior_sd²).

    The posterior is N(w delta, w se²) with w = prior_sd² / (prior_sd² + se²); the loss is
    sd φ(mean/sd) − mean Φ(−mean/sd).
    """
    from rankgate.measurement.stats.special_functions import ndtr

    weight = prior_sd**2 / (prior_sd**2 + se**2)
    mean, sd = weight * delta, float(np.sqrt(weight)) * se
    if not sd > 0:
        return Posterior(mean, sd, float(mean > 0), max(-mean, 0.0))
    z = mean / sd
    density = np.exp(-(z**2) / 2) / np.sqrt(2 * np.pi)
    return Posterior(mean, sd, float(ndtr(z)), float(sd * density - mean * ndtr(-z)))


def detectable(
    deviation: float, units: float, share: float, alpha: float = 0.05, power: float = 0.8
) -> float:
    """The smallest difference that an experiment can detect.

        (z(1 − alpha/2) + z(power)) · sd · √(1/(n s) + 1/(n (1 − s)))

    Args:
        deviation: the standard deviation of one unit's value.
        units: n, the units of both arms together.
        share: s, the share of units in the treatment.
        alpha: the level of the two-sided test.
        power: the probability to detect the difference.
    """
    if not units > 0:
        return math.inf
    return _z(alpha, power) * deviation * math.sqrt(1 / (units * share) + 1 / (units * (1 - share)))


def _z(alpha: float, power: float) -> float:
    from rankgate.measurement.stats.special_functions import ndtri

    return float(ndtri(1 - alpha / 2) + ndtri(power))

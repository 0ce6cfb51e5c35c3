"""Sequential experiments: sample ratio mismatch, always-valid intervals, planned looks.

Shapes: K looks. The statistics at information t(1) < … < t(K) = 1 are those of a Brownian motion,
z(k) = B(t(k)) / √t(k); the density of B between its bounds is carried from look to look (Armitage,
McPherson and Rowe 1969) on a grid.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import TYPE_CHECKING, Literal

import numpy as np

from rankgate.core.frozen import dataclass
from rankgate.measurement.stats.bisection import root_of_rising

if TYPE_CHECKING:
    from numpy.typing import ArrayLike, NDArray

    from rankgate.core.arrays import Floats


CONCENTRATION = 500.0
"""Of the prior of true shares: with two equal arms its standard deviation is .022."""


@dataclass(frozen=True)
class SampleRatio:
    """A test of units per arm against planned shares.

    Attributes:
        statistic: chi-squared; for two arms of fewer than 1,000 units together the number of the
            first arm; at any look the e-value.
        p_value: two-sided; at any look 1 / e-value, and at most 1.
        method: ``chi2``, ``binomial`` or ``any look``.
    """

    statistic: float
    p_value: float
    method: str

    @property
    def levels(self) -> tuple[float, float]:
        """The p-values below which a mismatch blocks, and below which it warns.

        Those of one look are of Fabijan and others, KDD 2019. Those of any look are the probabilities of
        a false alarm at all looks together: a look a day for four weeks at .001 and .01 has .01 and
        .07.
        """
        return (0.01, 0.05) if self.method == ANY_LOOK else (0.001, 0.01)


def sample_ratio(counts: Sequence[int], shares: Sequence[float]) -> SampleRatio:
    """Test units per arm against planned shares: chi-squared, exact for few units of two arms.

    Fabijan and others, KDD 2019.

    Args:
        counts: the units of each arm.
        shares: planned shares, positive; they need not sum to 1.
    """
    total, planned = sum(counts), sum(shares)
    if len(counts) == 2 and total < _EXACT:
        from scipy.stats import binomtest

        test = binomtest(counts[0], total, shares[0] / planned)
        return SampleRatio(float(counts[0]), float(test.pvalue), "binomial")
    from rankgate.measurement.stats.special_functions import chdtrc

    expected = [total * share / planned for share in shares]
    statistic = sum(
        (observed - expected_count) ** 2 / expected_count
        for observed, expected_count in zip(counts, expected, strict=True)
    )
    return SampleRatio(statistic, float(chdtrc(len(counts) - 1, statistic)), "chi2")


_EXACT = 1000


def log_e_value(counts: ArrayLike, shares: Sequence[float]) -> NDArray[np.float64]:
    """Logarithm of the e-value of units per arm against planned shares t, at any look.

    With n units, n_k of arm k, and a_k = 500 t_k it is the likelihood of the units where the true
    shares have a Dirichlet distribution around the planned ones, divided by that of the planned:

        ln G(A) − ln G(A + n) + sum_k [ln G(a_k + n_k) − ln G(a_k) − n_k ln t_k],  A = sum_k a_k

    where G is the gamma function. If the data follow the plan, the probability that the e-value is
    ever 1 / p or more, at any of all looks, is p at most (Ville's inequality; Lindon and Malek,
    NeurIPS 2022).

    Args:
        counts: (..., K) units of each arm up to a look.
        shares: planned shares, positive; they need not sum to 1.
    """
    from rankgate.measurement.stats.special_functions import gammaln

    units = np.asarray(counts, np.float64)
    planned = np.asarray(shares, np.float64) / sum(shares)
    prior = CONCENTRATION * planned
    of_arms = gammaln(prior + units) - gammaln(prior) - units * np.log(planned)
    total = gammaln(CONCENTRATION) - gammaln(CONCENTRATION + units.sum(axis=-1))
    return np.asarray(total + of_arms.sum(axis=-1))


def sequential_sample_ratio(counts: Sequence[int], shares: Sequence[float]) -> SampleRatio:
    """Test units per arm against planned shares; the error rate holds for all looks together.

    Args:
        counts: units of each arm up to this look.
        shares: planned shares, positive; they need not sum to 1.
    """
    evidence = float(log_e_value(counts, shares))
    return SampleRatio(math.exp(min(evidence, 700.0)), min(1.0, math.exp(-evidence)), ANY_LOOK)


ANY_LOOK = "any look"


def mixing_scale(tuned_to: float, alpha: float) -> float:
    """The rho for which the interval is narrowest at a number of units.

        rho² = (−2 log alpha + log(1 − 2 log alpha)) / tuned_to

    Waudby-Smith, Arbour, Sinha, Kennedy and Ramdas, Annals of Statistics 52 (2024), appendix B.2.
    """
    evidence = -2 * np.log(alpha)
    return float(np.sqrt((evidence + np.log(evidence + 1)) / tuned_to))


def half_width(se: ArrayLike, n: ArrayLike, alpha: float, tuned_to: float) -> Floats:
    """Half the width of an asymptotic confidence sequence.

    With the variance v = n se² of one unit's contribution,

        √v √(2 (n rho² + 1) / (n² rho²) · log(√(n rho² + 1) / alpha)).

    The interval holds at all looks together with a probability of 1 − alpha, as the number of units at
    the first look grows (Waudby-Smith and others 2024, theorem 2.2).

    Args:
        se: standard errors of the difference, any shape.
        n: units of both arms, same shape.
        alpha: the probability that the truth is outside at any look.
        tuned_to: the number of units at which the interval is narrowest.
    """
    error, units = np.asarray(se, float), np.asarray(n, float)
    scaled = units * mixing_scale(tuned_to, alpha) ** 2
    factor = 2 * (scaled + 1) / scaled * np.log(np.sqrt(scaled + 1) / alpha)
    return np.asarray(error * np.sqrt(factor))


def p_value(delta: float, se: float, n: float, alpha: float, tuned_to: float) -> float:
    """The smallest alpha at which the sequence, tuned at `alpha`, excludes a difference of 0.

    √(n rho² + 1) · exp(−(delta/se)² n rho² / (2 (n rho² + 1))), at most 1
    """
    if not se > 0:
        return 1.0 if delta == 0 else 0.0
    scaled = n * mixing_scale(tuned_to, alpha) ** 2
    power = -((delta / se) ** 2) * scaled / (2 * (scaled + 1))
    return float(min(1.0, np.exp(np.log(scaled + 1) / 2 + power)))


Spending = Literal["obrien-fleming", "pocock"]

_GRID = 401  # odd, for Simpson's rule
_FAR = 8.0  # distance in standard deviations


def spent_alpha(times: Floats, alpha: float, spending: Spending | float) -> Floats:
    """(K,) the part of alpha that is spent at each time.

    Lan and DeMets (1983): O'Brien-Fleming type, for each side 2 − 2Φ(z(1−alpha/4)/√t); Pocock
    type alpha log(1 + (e − 1) t); or the power alpha t**rho for a number rho.
    """
    from rankgate.measurement.stats.special_functions import ndtr, ndtri

    if spending == "obrien-fleming":
        return np.asarray(4 * ndtr(-ndtri(1 - alpha / 4) / np.sqrt(times)))
    if spending == "pocock":
        return np.asarray(alpha * np.log1p((np.e - 1) * times))
    return np.asarray(alpha * times ** float(spending))


def spending_bounds(
    times: Sequence[float], alpha: float = 0.05, spending: Spending | float = "obrien-fleming"
) -> Floats:
    """(K,) two-sided bounds of z, where each look rejects with the probability that it may spend.

    Args:
        times: information at the looks, ascending, the last one 1.
        alpha: the probability of a false rejection at any look.
        spending: the function, or the rho of a power.
    """
    information_times = np.asarray(times, float)
    share = np.diff(spent_alpha(information_times, alpha, spending), prepend=0.0)
    process = _BrownianProcess()
    bounds = []
    for time, alpha_step in zip(information_times, share, strict=True):
        bounds.append(process.bound(time, alpha_step))
        process = process.step(time, bounds[-1])
    return np.asarray(bounds)


class _BrownianProcess:
    """The density of the motion over the paths that no earlier look rejected."""

    def __init__(self, time: float = 0.0, points: Floats | None = None, mass: Floats | None = None) -> None:
        self.time = time
        self.at = np.zeros(1) if points is None else points
        self.mass = np.ones(1) if mass is None else mass  # density times the rule's weight

    def outside(self, time: float, bound: float) -> float:
        """The probability to be outside the bounds of z at a time."""
        from rankgate.measurement.stats.special_functions import ndtr

        edge, sd = bound * np.sqrt(time), np.sqrt(time - self.time)
        tails = ndtr((-edge - self.at) / sd) + ndtr((self.at - edge) / sd)
        return float(self.mass @ tails)

    def bound(self, time: float, chance: float) -> float:
        """The bound of z that is exceeded with a given probability."""
        return root_of_rising(lambda c: chance - self.outside(time, c), 0.5, _FAR)

    def step(self, time: float, bound: float) -> _BrownianProcess:
        """The motion at a time, restricted to the bounds of z."""
        edge = min(bound, _FAR) * np.sqrt(time)
        grid = np.linspace(-edge, edge, _GRID)
        sd = np.sqrt(time - self.time)
        steps = (grid[:, None] - self.at[None, :]) / sd
        density = np.exp(-(steps**2) / 2) @ self.mass / (sd * np.sqrt(2 * np.pi))
        weights = np.ones(_GRID)
        weights[1:-1:2], weights[2:-1:2] = 4, 2
        return _BrownianProcess(time, grid, density * weights * (grid[1] - grid[0]) / 3)

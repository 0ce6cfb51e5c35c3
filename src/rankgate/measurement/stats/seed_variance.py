"""The error of means of systems that were trained with several seeds.

A difference between two models must hold for other users and for other seeds. Users and seeds are
crossed: every seed's model ranks for every user, so that the values of a user are not independent,
nor are those of a seed.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

import numpy as np

from rankgate.core.frozen import dataclass
from rankgate.measurement.stats.bisection import root_of_rising
from rankgate.measurement.stats.paired_tests import TIE
from rankgate.measurement.stats.variance_components import facets

if TYPE_CHECKING:
    from rankgate.core.arrays import Floats

LEAST_SEEDS = 3
"""The fewest seeds of a system that allow a test: with two, p < 0.05 came up to 8% of the time where
two systems were equal."""


@dataclass(frozen=True)
class SeedVariance:
    """What seeds add to the variance of a system's mean.

    Attributes:
        seeds: R, the number of seeds.
        variance: the variance that seeds add to the mean over R seeds, not below 0.
        mean_square: this variance with the part in it that users explain, the base of `degrees`.
    """

    seeds: int
    variance: float
    mean_square: float

    @classmethod
    def from_values(cls, values: Floats) -> SeedVariance:
        """The variance from values of n users by R seeds.

            variance = max(s² − e²/n, 0)/R,   s² = Σ_r (m_r − m)²/(R − 1)

        m_r is the mean of a seed. It varies by the seed and by e²/n, the interaction of users and
        seeds, which the spread over users has in it already (`facets`; Owen & Eckles, Annals of
        Applied Statistics 2012, doi:10.1214/12-AOAS547, on crossed random effects).

        Args:
            values: ``(n, R)``, n and R at least 2.
        """
        _, variance, interaction = facets(values).shares.tolist()
        return cls(values.shape[1], variance, variance + interaction)

    @classmethod
    def from_numbers(cls, numbers: Floats) -> SeedVariance:
        """The variance from ``(R,)`` numbers about all users together, one of each seed.

        What users explain cannot be told apart, and counts: the error is too large, not too small.
        """
        variance = float(numbers.var(ddof=1)) / len(numbers)
        return cls(len(numbers), variance, variance)


def seed_factor(
    user_variance: float, user_degrees: float, systems: Sequence[SeedVariance], level: float
) -> tuple[float, float]:
    """Widen the error over users to one over users and seeds.

    Args:
        user_variance: the squared standard error of a difference over users, above 0.
        user_degrees: its degrees of freedom.
        systems: the variance between the seeds of each system that has seeds.
        level: the confidence level of the intervals.

    Returns:
        the ratio of the standard errors, and the degrees of freedom of the new one; NaN if a system
        has fewer than `LEAST_SEEDS` seeds.

    The variances of independent parts add up. The degrees of freedom are those of Student's t whose
    quantile at the level is the mean of the quantiles for users and for seeds, weighted by their
    variances (Cochran & Cox, Experimental Designs, 1957, section 4.14); those of seeds follow from
    Satterthwaite (1946). A few seeds are few values, however many users there are.
    """
    from rankgate.measurement.stats.special_functions import stdtrit

    if min(system.seeds for system in systems) < LEAST_SEEDS:
        return float("nan"), float("nan")
    seed_variance = sum(system.variance for system in systems)
    if not seed_variance:
        return 1.0, user_degrees
    squares = sum(system.mean_square for system in systems) ** 2
    seed_degrees = squares / sum(system.mean_square**2 / (system.seeds - 1) for system in systems)
    total, tail = user_variance + seed_variance, (1 + level) / 2
    quantile = user_variance * stdtrit(user_degrees, tail) + seed_variance * stdtrit(seed_degrees, tail)

    def excess(degrees: float) -> float:
        return float(quantile / total - stdtrit(degrees, tail))

    low, high = sorted((seed_degrees, user_degrees))
    return float(np.sqrt(total / user_variance)), root_of_rising(excess, low, high)


def widen(values: Floats, systems: Sequence[Floats], level: float) -> tuple[Floats, float]:
    """Stretch differences around their mean, so that their standard error has that of seeds in it.

    Args:
        values: ``(n,)`` the difference of each user, the mean over seeds.
        systems: ``(n, R)`` the values of the users with each seed, for each system with R ≥ 2.
        level: the confidence level of the intervals.

    Returns:
        the differences, and the degrees of freedom of their standard error; NaN as of `seed_factor`.
    """
    if not systems or np.ptp(values) <= TIE:
        return values, len(values) - 1.0
    variance, seeds = float(values.var(ddof=1)) / len(values), map(SeedVariance.from_values, systems)
    factor, degrees = seed_factor(variance, len(values) - 1, list(seeds), level)
    mean = values.mean()
    return values if np.isnan(factor) else mean + (values - mean) * factor, degrees

"""The number of units that an experiment needs, and the differences it can show."""

from __future__ import annotations

import math


def units_per_arm(
    variances: tuple[float, float], delta: float, alpha: float = 0.05, power: float = 0.8
) -> float:
    """Units of each of two equal arms that show a difference.

        (z(1 − alpha/2) + z(power))² (v₁ + v₂) / delta²

    Args:
        variances: of one unit's value in both arms.
        delta: the difference of means.
        alpha: of the two-sided test.
        power: the chance to find the difference.
    """
    return _z(alpha, power) ** 2 * sum(variances) / delta**2


def detectable(
    deviation: float, units: float, share: float, alpha: float = 0.05, power: float = 0.8
) -> float:
    """The smallest difference that an experiment shows.

        (z(1 − alpha/2) + z(power)) · sd · √(1/(n s) + 1/(n (1 − s)))

    Args:
        deviation: sd of one unit's value.
        units: n of both arms.
        share: s, that of the treatment.
        alpha: of the two-sided test.
        power: the chance to find the difference.
    """
    if not units > 0:
        return math.inf
    return _z(alpha, power) * deviation * math.sqrt(1 / (units * share) + 1 / (units * (1 - share)))


def _z(alpha: float, power: float) -> float:
    from scipy.special import ndtri

    return float(ndtri(1 - alpha / 2) + ndtri(power))

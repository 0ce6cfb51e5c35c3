"""The distribution of the studentised range: the range of k normal means over a spread.

P(Q < q) = ∫ f(s) W(q·s) ds with W(w) = k ∫ φ(z) (Φ(z) − Φ(z − w))^(k−1) dz, where s² is a
chi-square of df degrees over df (Lund and Lund, Applied Statistics 1983, AS 190). Both integrals
are Gauss-Legendre sums over all values at once, as scipy's take 5 ms for each value.
"""

from __future__ import annotations

from functools import cache, lru_cache
from typing import TYPE_CHECKING

import numpy as np
from scipy.optimize import brentq

from rankgate.measurement.stats.special_functions import gammaincinv, gammaln, ndtr

if TYPE_CHECKING:
    from rankgate.core.arrays import Floats

_FAR = 8.5  # the normal density is negligible beyond this number of standard deviations
_NODES = 128
_TINY = 1e-17
_RANGES = 32  # ranges to compute at one time: close ranges need the same nodes


def tail(q: Floats, means: int, df: float) -> Floats:
    """P(Q ≥ q) for each q; exact to about 1e-12.

    Args:
        q: (n,) ranges, 0 or more.
        means: the number of means, 2 or more.
        df: degrees of freedom of the spread.
    """
    scales, weight = _spreads(df)
    z, node_weights = legendre(-_FAR, _FAR)
    density = means * node_weights * np.exp(-(z**2) / 2) / np.sqrt(2 * np.pi)
    below = np.empty(len(q))
    for i, range_value in enumerate(np.asarray(q, np.float64)):
        below[i] = weight @ (power_of_range(range_value * scales, means) @ density)
    return np.clip(1 - below, 0.0, 1.0)


def power_of_range(widths: Floats, means: int) -> Floats:
    """(n, nodes) (Φ(z) − Φ(z − w))^(k−1) at the nodes z of the normal law, for each width w.

    Most values are 0, as the power underflows, or Φ(z)^(k−1), as Φ(z − w) is below the last bit of
    Φ(z). Only the other bounds are computed from w; all bounds equal those of the formula.
    """
    z, _ = legendre(-_FAR, _FAR)
    cdf = ndtr(z)
    power_of_cdf = cdf ** (means - 1)
    is_whole = cdf - ndtr(z - widths.min()) == cdf
    is_zero = (cdf - ndtr(z - widths.max())) ** (means - 1) == 0
    power = np.where(is_whole, power_of_cdf, 0.0)[None].repeat(len(widths), axis=0)
    is_between = ~(is_whole | is_zero)
    power[:, is_between] = (cdf[is_between] - ndtr(z[is_between] - widths[:, None])) ** (means - 1)
    return power


@lru_cache
def quantile(level: float, means: int, df: float) -> float:
    """The q with P(Q < q) = level, above 0 and below 1."""

    def gap(q: float) -> float:
        return float(tail(np.array([q]), means, df)[0]) - (1 - level)

    high = 4.0
    while gap(high) > 0:
        high *= 2
    return float(brentq(gap, 0.0, high, xtol=1e-12))


def range_tail(q: Floats, means: int) -> Floats:
    """P(range of normal means of a known spread ≥ q), the studentised range with df = ∞.

    Args:
        q: (n,) the ranges.
        means: the number of means, 2 or more.
    """
    z, weights = legendre(-_FAR, _FAR)
    density = means * weights * np.exp(-(z**2) / 2) / np.sqrt(2 * np.pi)
    power = np.empty((len(q), len(z)))
    rising = np.argsort(q)
    for begin in range(0, len(q), _RANGES):
        rows = rising[begin : begin + _RANGES]
        power[rows] = power_of_range(q[rows], means)
    return np.asarray(np.clip(1 - power @ density, 0.0, 1.0), np.float64)


@lru_cache
def range_quantile(level: float, means: int) -> float:
    """The q with P(range < q) = level."""

    def gap(q: float) -> float:
        return float(range_tail(np.array([q]), means)[0]) - (1 - level)

    return float(brentq(gap, 0.0, 40.0, xtol=1e-12))


def _spreads(df: float) -> tuple[Floats, Floats]:
    """The values of s and their weights."""
    low, high = (np.sqrt(2 * gammaincinv(df / 2, p) / df) for p in (_TINY, 1 - 1e-16))
    s, weight = legendre(float(low), float(high))
    half = df / 2
    log = np.log(2) + half * np.log(half) - gammaln(half) + (df - 1) * np.log(s) - half * s**2
    return s, weight * np.exp(log)


@lru_cache
def legendre(low: float, high: float) -> tuple[Floats, Floats]:
    """The points and weights of an integral from low to high."""
    points, weights = _unit_legendre()
    middle, half_width = (high + low) / 2, (high - low) / 2
    return middle + half_width * points, half_width * weights


@cache
def _unit_legendre() -> tuple[Floats, Floats]:
    """Points and weights from -1 to 1; numpy computes them from eigenvalues, which takes 15 ms."""
    points, weights = np.polynomial.legendre.leggauss(_NODES)
    return points, weights

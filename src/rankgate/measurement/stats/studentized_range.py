"""The distribution of the studentised range: the range of k normal means over a spread.

P(Q < q) = ∫ f(s) W(q·s) ds with W(w) = k ∫ φ(z) (Φ(z) − Φ(z − w))^(k−1) dz, where s² is a
chi-square of df degrees over df (Lund and Lund, Applied Statistics 1983, AS 190), or s = 1 with
df = ∞. Both integrals are Gauss-Legendre sums, as scipy's take 5 ms for each value. Many values
come from a polynomial that is equal to the sums at Chebyshev's points.
"""

from __future__ import annotations

from functools import cache, lru_cache
from typing import TYPE_CHECKING

import numpy as np

from rankgate.measurement.stats.bisection import root_of_rising
from rankgate.measurement.stats.special_functions import gammaincinv, gammaln, ndtr, ndtri

if TYPE_CHECKING:
    from rankgate.core.arrays import Floats

_FAR = 8.5  # the normal density is negligible beyond this number of standard deviations
_NODES = 128
_TINY = 1e-17
_MOST_INTEGRALS = 100  # for more ranges the polynomial takes less time
_DEGREE = 200
_BLOCK = 1 << 13  # values of the polynomial at one time, which fit the cache
_LONG = 30  # with fewer degrees of freedom the tail is too long for the polynomial


def tail(q: Floats, means: int, df: float = np.inf) -> Floats:
    """P(Q ≥ q) for each q; exact to about 1e-12.

    Args:
        q: (n,) ranges, 0 or more.
        means: the number of means, 2 or more.
        df: degrees of freedom of the spread; infinite if it is known.
    """
    if len(q) <= _MOST_INTEGRALS or df < _LONG:
        return _integrate_tail(q, means, df)
    polynomial = _interpolate_tail(means, df)
    far = polynomial.domain[1]
    blocks = np.array_split(np.minimum(q, far), -(-len(q) // _BLOCK))
    values = np.concatenate([polynomial(block) for block in blocks])
    return np.select([q == 0, q < far], [1.0, np.clip(values, 0.0, 1.0)], 0.0)


@lru_cache
def quantile(level: float, means: int, df: float = np.inf) -> float:
    """The q with P(Q < q) = level, above 0 and below 1."""

    def excess(q: float) -> float:
        return (1 - level) - float(tail(np.array([q]), means, df)[0])

    high = 4.0
    while excess(high) < 0:
        high *= 2
    return root_of_rising(excess, 0.0, high)


def power_of_range(widths: Floats, means: int) -> Floats:
    """(n, nodes) (Φ(z) − Φ(z − w))^(k−1) at the nodes z of the normal law, for each width w.

    Most values are 0, as the power underflows, or Φ(z)^(k−1), as Φ(z − w) is below the last bit of
    Φ(z). Only the other bounds are computed from w; all bounds equal those of the formula.
    """
    z, _ = normal_nodes()
    cdf = ndtr(z)
    power_of_cdf = cdf ** (means - 1)
    is_whole = cdf - ndtr(z - widths.min()) == cdf
    is_zero = (cdf - ndtr(z - widths.max())) ** (means - 1) == 0
    power = np.where(is_whole, power_of_cdf, 0.0)[None].repeat(len(widths), axis=0)
    is_between = ~(is_whole | is_zero)
    power[:, is_between] = (cdf[is_between] - ndtr(z[is_between] - widths[:, None])) ** (means - 1)
    return power


@cache
def normal_nodes() -> tuple[Floats, Floats]:
    """The nodes z of the normal law, and their weights times its density.

    Either side of 0 has nodes of its own: with many means, Φ(z)^(k−1) rises steeply above 0.
    """
    (negative_z, weight), (positive_z, _) = _legendre(-_FAR, 0.0), _legendre(0.0, _FAR)
    z = np.concatenate([negative_z, positive_z])
    return z, np.tile(weight, 2) * np.exp(-(z**2) / 2) / np.sqrt(2 * np.pi)


def _integrate_tail(q: Floats, means: int, df: float) -> Floats:
    """P(Q ≥ q) for each q by both integrals."""
    scales, scale_weights = _spreads(df)
    _, density = normal_nodes()
    below = np.empty(len(q))
    for i, range_value in enumerate(np.asarray(q, np.float64)):
        below[i] = scale_weights @ (power_of_range(range_value * scales, means) @ density)
    return np.clip(1 - means * below, 0.0, 1.0)


@lru_cache
def _interpolate_tail(means: int, df: float) -> np.polynomial.Chebyshev:
    """P(Q ≥ q) from 0 to a range above which it is negligible: k² of its bound for two means."""
    scales, _ = _spreads(df)
    far = -np.sqrt(2) * ndtri(_TINY / means**2) / scales.min()
    return np.polynomial.Chebyshev.interpolate(lambda q: _integrate_tail(q, means, df), _DEGREE, [0.0, far])


def _spreads(df: float) -> tuple[Floats, Floats]:
    """The values of s and their weights."""
    if df == np.inf:
        return np.ones(1), np.ones(1)
    low, high = (np.sqrt(2 * gammaincinv(df / 2, p) / df) for p in (_TINY, 1 - 1e-16))
    s, weight = _legendre(float(low), float(high))
    half = df / 2
    log = np.log(2) + half * np.log(half) - gammaln(half) + (df - 1) * np.log(s) - half * s**2
    return s, weight * np.exp(log)


def _legendre(low: float, high: float) -> tuple[Floats, Floats]:
    """The points and weights of an integral from low to high."""
    points, weights = _unit_legendre()
    middle, half_width = (high + low) / 2, (high - low) / 2
    return middle + half_width * points, half_width * weights


@cache
def _unit_legendre() -> tuple[Floats, Floats]:
    """Points and weights from -1 to 1; numpy computes them from eigenvalues, which takes 15 ms."""
    points, weights = np.polynomial.legendre.leggauss(_NODES)
    return points, weights

"""Correlation of two lists of numbers: Pearson, Spearman, Kendall, with intervals and tests."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from rankgate.core.frozen import dataclass
from rankgate.measurement.stats.ranks.order import levels, tau

if TYPE_CHECKING:
    from rankgate.measurement.stats.paired import Floats

_KENDALL = 0.437  # variance of the z of tau, times n − 4 (Fieller, Hartley and Pearson 1957)


@dataclass(frozen=True)
class Correlation:
    """A coefficient of n pairs.

    Attributes:
        value: −1 to 1; NaN where one list has no spread, or there are fewer than 2 pairs.
        low, high: its interval; NaN where there are too few pairs for one.
        p_value: of H₀: no association.
        n: pairs.
    """

    value: float
    low: float
    high: float
    p_value: float
    n: int


def pearson(one: Floats, two: Floats, level: float = 0.95) -> Correlation:
    """Return r = Σ(x−x̄)(y−ȳ)/√(Σ(x−x̄)²Σ(y−ȳ)²); interval by Fisher's z, p by Student's t.

    z = atanh r has the standard error 1/√(n − 3) for normal pairs (Fisher 1915).

    >>> [round(x, 4) for x in vars(pearson(np.arange(5.0), np.array([1.0, 3, 2, 5, 4]))).values()]
    [0.8, -0.2796, 0.9862, 0.1041, 5]
    """
    value = product_moment(np.asarray(one, np.float64), np.asarray(two, np.float64))
    n = len(one)
    return Correlation(value, *_fisher(value, n, 1.0, 3, level), _student(value, n), n)


def spearman(one: Floats, two: Floats, level: float = 0.95) -> Correlation:
    """Pearson's r of the ranks, ties at their mean rank (Spearman 1904).

    The interval is by Fisher's z with the variance (1 + ρ²/2)/(n − 3) of Bonett and Wright
    (Psychometrika 65, 2000); p is exact for up to 9 pairs without ties, else by Student's t.
    """
    value, n = rank_correlation(one, two), len(one)
    ends = _fisher(value, n, 1 + value**2 / 2, 3, level)
    return Correlation(value, *ends, _spearman_p(one, two, value), n)


def kendall(one: Floats, two: Floats, level: float = 0.95) -> Correlation:
    """Kendall's tau b, with the interval by Fisher's z and the variance .437/(n − 4).

    The variance is that of Fieller, Hartley and Pearson (1957), which Bonett and Wright (2000)
    confirm for tau up to .8. p is exact without ties, else by the normal approximation with the
    variance for ties (Kendall 1970), as R's cor.test and scipy compute it.
    """
    value, n = tau(one, two), len(one)
    ends = _fisher(value, n, _KENDALL, 4, level)
    if np.isnan(value):
        return Correlation(value, *ends, float("nan"), n)
    from scipy.stats import kendalltau

    p = float(kendalltau(levels(one), levels(two)).pvalue)
    return Correlation(value, *ends, p, n)


def product_moment(one: Floats, two: Floats) -> float:
    """Pearson's r alone; NaN where one list has no spread."""
    if len(one) < 2 or np.ptp(one) == 0 or np.ptp(two) == 0:
        return float("nan")
    x, y = one - one.mean(), two - two.mean()
    r = float((x @ y) / np.sqrt((x @ x) * (y @ y)))
    return min(1.0, max(-1.0, r))


def rank_correlation(one: Floats, two: Floats) -> float:
    """Spearman's rho alone; values equal but for rounding are tied."""
    from scipy.stats import rankdata

    return product_moment(rankdata(levels(one)), rankdata(levels(two)))


def _fisher(value: float, n: int, variance: float, lost: int, level: float) -> tuple[float, float]:
    """tanh(atanh value ± z √(variance/(n − lost))); the ends meet at −1 and 1."""
    from scipy.special import ndtri

    if n <= lost or np.isnan(value):
        return float("nan"), float("nan")
    if abs(value) == 1:
        return value, value
    reach = float(ndtri((1 + level) / 2)) * np.sqrt(variance / (n - lost))
    middle = np.arctanh(value)
    return float(np.tanh(middle - reach)), float(np.tanh(middle + reach))


def _student(value: float, n: int) -> float:
    from scipy.special import stdtr

    if n < 3 or np.isnan(value):
        return float("nan")
    if abs(value) == 1:
        return 0.0
    t = value * np.sqrt((n - 2) / (1 - value**2))
    return float(2 * stdtr(n - 2, -abs(t)))


_EXACT = 9  # pairs up to which all orders are counted: 362,880


def _spearman_p(one: Floats, two: Floats, value: float) -> float:
    from scipy.stats import rankdata

    n = len(one)
    first, second = (rankdata(levels(each)) for each in (one, two))
    tied = len(np.unique(first)) < n or len(np.unique(second)) < n
    if tied or n > _EXACT or n < 2:
        return _student(value, n)
    from itertools import permutations

    orders = np.array(list(permutations(range(1, n + 1))), np.int8)
    gap = ((orders - np.arange(1, n + 1)) ** 2).sum(axis=1, dtype=np.int64)
    seen = int(np.rint(((first - second) ** 2).sum()))
    return float(min(1.0, 2 * min((gap <= seen).mean(), (gap >= seen).mean())))

"""Correlation of two lists of numbers: Pearson, Spearman, Kendall, with intervals and tests."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from rankgate.core.frozen import dataclass
from rankgate.measurement.stats.ranks.order import tau, tie_levels

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


def pearson(first: Floats, second: Floats, level: float = 0.95) -> Correlation:
    """Return r = Σ(x−x̄)(y−ȳ)/√(Σ(x−x̄)²Σ(y−ȳ)²); interval by Fisher's z, p by Student's t.

    z = atanh r has the standard error 1/√(n − 3) for normal pairs (Fisher 1915).

    >>> [round(x, 4) for x in vars(pearson(np.arange(5.0), np.array([1.0, 3, 2, 5, 4]))).values()]
    [0.8, -0.2796, 0.9862, 0.1041, 5]
    """
    value = product_moment(np.asarray(first, np.float64), np.asarray(second, np.float64))
    n = len(first)
    return Correlation(value, *_fisher(value, n, 1.0, 3, level), _student(value, n), n)


def spearman(first: Floats, second: Floats, level: float = 0.95) -> Correlation:
    """Pearson's r of the ranks, ties at their mean rank (Spearman 1904).

    The interval is by Fisher's z with the variance (1 + ρ²/2)/(n − 3) of Bonett and Wright
    (Psychometrika 65, 2000); p is exact for up to 9 pairs without ties, else by Student's t.
    """
    value, n = rank_correlation(first, second), len(first)
    ends = _fisher(value, n, 1 + value**2 / 2, 3, level)
    return Correlation(value, *ends, _spearman_p(first, second, value), n)


def kendall(first: Floats, second: Floats, level: float = 0.95) -> Correlation:
    """Kendall's tau b, with the interval by Fisher's z and the variance .437/(n − 4).

    The variance is that of Fieller, Hartley and Pearson (1957), which Bonett and Wright (2000)
    confirm for tau up to .8. p is exact without ties, else by the normal approximation with the
    variance for ties (Kendall 1970), as R's cor.test and scipy compute it.
    """
    value, n = tau(first, second), len(first)
    ends = _fisher(value, n, _KENDALL, 4, level)
    if np.isnan(value):
        return Correlation(value, *ends, float("nan"), n)
    from scipy.stats import kendalltau

    p = float(kendalltau(tie_levels(first), tie_levels(second)).pvalue)
    return Correlation(value, *ends, p, n)


def product_moment(first: Floats, second: Floats) -> float:
    """Pearson's r without an interval; NaN where one list has no spread."""
    if len(first) < 2 or np.ptp(first) == 0 or np.ptp(second) == 0:
        return float("nan")
    x, y = first - first.mean(), second - second.mean()
    r = float((x @ y) / np.sqrt((x @ x) * (y @ y)))
    return min(1.0, max(-1.0, r))


def rank_correlation(first: Floats, second: Floats) -> float:
    """Spearman's rho without an interval; values that differ by rounding only are tied."""
    from scipy.stats import rankdata

    return product_moment(rankdata(tie_levels(first)), rankdata(tie_levels(second)))


def _fisher(
    value: float, n: int, variance: float, lost_degrees: int, level: float
) -> tuple[float, float]:
    """tanh(atanh value ± z √(variance/(n − lost))); the ends meet at −1 and 1."""
    from scipy.special import ndtri

    if n <= lost_degrees or np.isnan(value):
        return float("nan"), float("nan")
    if abs(value) == 1:
        return value, value
    half_width = float(ndtri((1 + level) / 2)) * np.sqrt(variance / (n - lost_degrees))
    middle = np.arctanh(value)
    return float(np.tanh(middle - half_width)), float(np.tanh(middle + half_width))


def _student(value: float, n: int) -> float:
    from scipy.special import stdtr

    if n < 3 or np.isnan(value):
        return float("nan")
    if abs(value) == 1:
        return 0.0
    t = value * np.sqrt((n - 2) / (1 - value**2))
    return float(2 * stdtr(n - 2, -abs(t)))


_EXACT = 9  # pairs up to which all orders are counted: 362,880


def _spearman_p(first: Floats, second: Floats, value: float) -> float:
    from scipy.stats import rankdata

    n = len(first)
    first_ranks, second_ranks = (rankdata(tie_levels(values)) for values in (first, second))
    has_ties = len(np.unique(first_ranks)) < n or len(np.unique(second_ranks)) < n
    if has_ties or n > _EXACT or n < 2:
        return _student(value, n)
    from itertools import permutations

    orders = np.array(list(permutations(range(1, n + 1))), np.int8)
    gap = ((orders - np.arange(1, n + 1)) ** 2).sum(axis=1, dtype=np.int64)
    observed = int(np.rint(((first_ranks - second_ranks) ** 2).sum()))
    return float(min(1.0, 2 * min((gap <= observed).mean(), (gap >= observed).mean())))

"""Tests by ranks: Wilcoxon's signed-rank test, Friedman's test, Nemenyi's comparison.

Wilcoxon's signed-rank test treats zeros, the continuity correction, and exact p-values.
Friedman's test compares several systems by their ranks, and Nemenyi's comparison every pair.
"""

from __future__ import annotations

from functools import lru_cache
from typing import TYPE_CHECKING, Literal

import numpy as np

from rankgate.core.frozen import dataclass
from rankgate.measurement.stats.paired_tests import PairedTest, as_columns
from rankgate.measurement.stats.rank_correlation import mean_ranks, tie_ends

if TYPE_CHECKING:
    from rankgate.core.arrays import Floats


Zeros = Literal["wilcox", "pratt"]
SignedRankMethod = Literal["corrected", "uncorrected", "exact"]

MAX_EXACT = 1000
"""Differences up to which a p-value is computed exactly."""


def signed_ranks(
    delta: Floats, *, zeros: Zeros = "wilcox", way: SignedRankMethod = "corrected"
) -> PairedTest:
    """Wilcoxon's (1945) signed ranks, two-sided, with a stated treatment of zeros.

    W is the smaller sum of the ranks of |d| of gains and of losses; ties share their mean rank.

    Args:
        delta: (n, M) differences.
        zeros: ``wilcox`` leaves zeros out before ranking; ``pratt`` ranks them too and then
            leaves out their ranks (Pratt 1959), so that many zeros weigh against large ranks.
        way: ``corrected`` and ``uncorrected`` are the normal approximation with and without a
            continuity correction of 1/2; ``exact`` counts all assignments of signs to the ranks
            that occurred, ties and zeros included, for up to 1,000 differences.

    Raises:
        ValueError: more differences than are counted exactly.
    """
    table = as_columns(delta)
    results = [_signed_rank_test(column, zeros, way) for column in table.T]
    statistic, p, n = (np.array([result[i] for result in results]) for i in range(3))
    return PairedTest(statistic, p, n.astype(np.int64))


def _signed_rank_test(
    delta: Floats, zeros: Zeros, method: SignedRankMethod
) -> tuple[float, float, int]:
    from scipy.special import ndtr

    differences = delta if zeros == "pratt" else delta[delta != 0]
    ranks = mean_ranks(np.abs(differences))[differences != 0]
    nonzero, sign = differences[differences != 0], np.sign(differences[differences != 0])
    if not len(nonzero):
        return 0.0, 1.0, 0
    gain_rank_sum = float(ranks[sign > 0].sum())
    rank_sum = float(ranks.sum())
    statistic = min(gain_rank_sum, rank_sum - gain_rank_sum)
    if method == "exact":
        if len(ranks) > MAX_EXACT:
            raise ValueError(f"{len(ranks)} differences; at most {MAX_EXACT} are counted exactly.")
        return statistic, _exact(ranks, statistic), len(nonzero)
    deviation = abs(
        gain_rank_sum - rank_sum / 2
    )  # the variance of Σ s·r/2 is Σ r²/4, whatever is tied or left out
    deviation = max(0.0, deviation - 0.5) if method == "corrected" else deviation
    z = deviation / np.sqrt((ranks**2).sum() / 4)
    return statistic, float(min(1.0, 2 * ndtr(-z))), len(nonzero)


def _exact(ranks: Floats, statistic: float) -> float:
    """2 · P(W₊ ≤ smaller) over all signs, by the sums that subsets of the doubled ranks have."""
    doubled = np.rint(2 * ranks).astype(np.int64)
    share = np.zeros(int(doubled.sum()) + 1)
    share[0] = 1.0
    for rank in doubled:
        shifted = share.copy()
        shifted[rank:] += share[: len(share) - rank]
        share = shifted / 2
    return float(min(1.0, 2 * share[: int(np.rint(2 * statistic)) + 1].sum()))


_FAR = 8.5
_RANGES = 32  # ranges computed at once: close ones need the same nodes


@dataclass(frozen=True)
class Friedman:
    """Systems ranked within each query.

    Attributes:
        ranks: (S,) mean ranks, 1 is the best.
        statistic: Friedman's χ², corrected for ties; NaN where all values of all queries are tied.
        p_value: the p-value of the statistic with S − 1 degrees of freedom.
        f, f_p_value: Iman and Davenport's F, which is less conservative.
        nemenyi: (S, S) p-values of pairs, corrected for all pairs.
        critical: the difference of two mean ranks from which on a pair is distinguished.
    """

    ranks: Floats
    statistic: float
    p_value: float
    f: float
    f_p_value: float
    nemenyi: Floats
    critical: float


def friedman(matrix: Floats, level: float = 0.95) -> Friedman:
    """Test systems by their ranks within queries, and every pair (Friedman 1937; Nemenyi 1963).

        χ² = (12n/(S(S+1)) Σ R̄ⱼ² − 3n(S+1)) / C,  C = 1 − Σ(t³ − t)/(nS(S² − 1)) over ties of t
        F = (n−1)χ²/(n(S−1) − χ²) with S−1 and (S−1)(n−1) degrees of freedom (Iman and
        Davenport 1980)
        p of a pair: that of |R̄ᵢ − R̄ⱼ| √2 / √(S(S+1)/(6n)) as a studentised range of S means with
        infinite degrees of freedom (Demšar, JMLR 7, 2006).

    Args:
        matrix: (n, S) values, all finite, larger is better.
        level: 1 minus the level of the critical difference.
    """
    from scipy.special import chdtrc, fdtrc

    n, systems = matrix.shape
    low, high = tie_ends(-matrix)
    mean = ((low + high) / 2).mean(axis=0)
    tie_sum = float(((high - low + 1) ** 2 - 1).sum())  # t values in a tie of t: t³ − t
    scale = n * systems * (systems**2 - 1)
    uncorrected = 12 * n / (systems * (systems + 1)) * (mean**2).sum() - 3 * n * (systems + 1)
    nan = float("nan")
    chi = float(uncorrected / (1 - tie_sum / scale)) if tie_sum < scale else nan
    denominator = n * (systems - 1) - chi  # 0 where all queries give the same order
    f = (
        float((n - 1) * chi / denominator)
        if denominator > 0
        else float("inf")
        if denominator == 0
        else nan
    )
    f_p = float(fdtrc(systems - 1, (systems - 1) * (n - 1), f)) if n > 1 else nan
    error = np.sqrt(systems * (systems + 1) / (6 * n))
    upper = np.triu_indices(systems, 1)
    gap = np.abs(mean[upper[0]] - mean[upper[1]])
    p = np.eye(systems)
    p[upper] = p.T[upper] = range_tail(gap / error * np.sqrt(2), systems)
    critical = float(range_quantile(level, systems) / np.sqrt(2) * error)
    return Friedman(mean, chi, float(chdtrc(systems - 1, chi)), f, f_p, p, critical)


def range_tail(q: Floats, means: int) -> Floats:
    """P(range of normal means of a known spread ≥ q), the studentised range with df = ∞.

    Args:
        q: (n,) ranges.
        means: the number of means, 2 or more.
    """
    from rankgate.measurement.stats.studentized_range import legendre, power_of_range

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
    from scipy.optimize import brentq

    def gap(q: float) -> float:
        return float(range_tail(np.array([q]), means)[0]) - (1 - level)

    return float(brentq(gap, 0.0, 40.0, xtol=1e-12))

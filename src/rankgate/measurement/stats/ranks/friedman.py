"""Friedman's test of several systems by their ranks, and Nemenyi's comparison of every pair."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from rankgate.core.frozen import dataclass

if TYPE_CHECKING:
    from rankgate.measurement.stats.paired import Floats

_FAR = 8.5


@dataclass(frozen=True)
class Friedman:
    """Systems ranked within each query.

    Attributes:
        ranks: (S,) mean ranks, 1 is the best.
        statistic: Friedman's χ², corrected for ties; NaN where all values of all queries are tied.
        p_value: of it with S − 1 degrees of freedom.
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
    from scipy.stats import rankdata

    n, systems = matrix.shape
    ranks = rankdata(-matrix, axis=1)
    mean = ranks.mean(axis=0)
    tie_sum = sum(float((counts**3 - counts).sum()) for counts in _ties(ranks))
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
    gap = np.abs(mean[:, None] - mean[None, :])
    p = range_tail(gap / error * np.sqrt(2), systems)
    np.fill_diagonal(p, 1.0)
    critical = float(range_quantile(level, systems) / np.sqrt(2) * error)
    return Friedman(mean, chi, float(chdtrc(systems - 1, chi)), f, f_p, p, critical)


def range_tail(q: Floats, means: int) -> Floats:
    """P(range of normal means of a known spread ≥ q), the studentised range with df = ∞."""
    from scipy.special import ndtr

    from rankgate.measurement.stats.studentized_range import legendre

    z, weights = legendre(-_FAR, _FAR)
    density = means * weights * np.exp(-(z**2) / 2) / np.sqrt(2 * np.pi)
    inside = (ndtr(z) - ndtr(z - np.asarray(q)[..., None])) ** (means - 1)
    return np.asarray(np.clip(1 - inside @ density, 0.0, 1.0), np.float64)


def range_quantile(level: float, means: int) -> float:
    """The q with P(range < q) = level."""
    from scipy.optimize import brentq

    def gap(q: float) -> float:
        return float(range_tail(np.array(q), means)) - (1 - level)

    return float(brentq(gap, 0.0, 40.0, xtol=1e-12))


def _ties(ranks: Floats) -> list[Floats]:
    return [np.unique(row, return_counts=True)[1].astype(np.float64) for row in ranks]

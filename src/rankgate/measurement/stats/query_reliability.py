"""Reliability of a set of queries: generalizability theory, and split halves.

In generalizability theory, values = system + query + residual, all random: the share of
variance that is the systems' shows how well this many queries put systems in order (Brennan
2001; Urbano, Marrero and Martín, SIGIR 2013; the R package gt4ireval).

Split-half reliability is the agreement of two halves of the queries on systems.
"""

from __future__ import annotations

from math import ceil
from typing import TYPE_CHECKING

import numpy as np

from rankgate.core.frozen import dataclass
from rankgate.measurement.stats.multiple_comparisons import anova
from rankgate.measurement.stats.rank_correlation import product_moment, tau_of_rows

if TYPE_CHECKING:
    from rankgate.core.arrays import Floats
    from rankgate.measurement.stats.multiple_comparisons import TwoWay


TAU, TAU_AP, POWER = 2.84729794002905, 3.98652984123827, 4.77902509574171
"""Exponents by which Eρ² becomes an expected tau, tau-AP and power (gt4ireval)."""


@dataclass(frozen=True)
class Reliability:
    """The reliability of system means over these queries, with its components of variance.

    Attributes:
        queries, systems: the sizes of the matrix.
        var_system, var_query, var_residual: components of variance, negative ones set to 0.
        e_rho2: Eρ² = σ²s / (σ²s + σ²e/n), of the differences between systems; with interval.
        phi: Φ = σ²s / (σ²s + (σ²q + σ²e)/n), of their absolute values; with interval.
        level: the confidence level of the intervals.
        tau, tau_ap, power: the expected values by Eρ² (Urbano 2013); NaN if undefined.
    """

    queries: int
    systems: int
    var_system: float
    var_query: float
    var_residual: float
    e_rho2: float
    e_rho2_low: float
    e_rho2_high: float
    phi: float
    phi_low: float
    phi_high: float
    level: float
    tau: float
    tau_ap: float
    power: float

    def needed(self, target: float = 0.95, *, absolute: bool = False) -> float:
        """Queries for Eρ² (or Φ) to reach the target; infinity if systems are equal."""
        if self.var_system <= 0:
            return float("inf")
        noise = self.var_residual + (self.var_query if absolute else 0.0)
        return float(ceil(round(target * noise / ((1 - target) * self.var_system), 9)))


def reliability(matrix: Floats, level: float = 0.95) -> Reliability:
    """Components of variance, Eρ² and Φ with intervals, from a matrix (n queries, S systems).

    Intervals: Feldt (1965) for Eρ², by the F of systems; Arteaga, Jeyaratnam and Franklin (1982)
    for Φ; both as gt4ireval. NaN where there are fewer than two queries or systems, or no
    residual.
    """
    n, systems = matrix.shape
    nan = float("nan")
    if n < 2 or systems < 2:  # variance needs two of each
        return Reliability(n, systems, nan, nan, nan, nan, nan, nan, nan, nan, nan, level, nan, nan, nan)
    result = anova(matrix)
    var_system = max(0.0, (result.ms_system - result.ms_residual) / n)
    var_query = max(0.0, (result.ms_query - result.ms_residual) / systems)
    e_rho2 = _share(var_system, result.ms_residual / n)
    phi = _share(var_system, (var_query + result.ms_residual) / n)
    relative = _relative(result.f, result.df_system, result.df_residual, level)
    absolute = _absolute(result, n, systems, level)
    expected = [e_rho2**power for power in (TAU, TAU_AP, POWER)]
    return Reliability(
        n,
        systems,
        var_system,
        var_query,
        result.ms_residual,
        e_rho2,
        *relative,
        phi,
        *absolute,
        level,
        *expected,
    )


def _share(signal: float, noise: float) -> float:
    return signal / (signal + noise) if signal + noise > 0 else float("nan")


def _relative(f: float, df_system: int, df_residual: int, level: float) -> tuple[float, float]:
    """1 − F quantile / F observed."""
    from rankgate.measurement.stats.special_functions import fdtri

    if not f > 0:
        return float("nan"), float("nan")
    ends = [1 - fdtri(df_system, df_residual, tail) / f for tail in _tails(level)]
    return max(0.0, float(ends[1])), max(0.0, float(ends[0]))


def _absolute(result: TwoWay, n: int, systems: int, level: float) -> tuple[float, float]:
    """Compute it from the F of systems and both other mean squares, for one query, then for n."""
    from rankgate.measurement.stats.special_functions import chdtri, fdtri

    if not result.f > 0:
        return float("nan"), float("nan")
    ends = []
    for tail in _tails(level):
        system_f = float(chdtri(result.df_system, 1 - tail)) / result.df_system  # F with infinite df
        residual = float(fdtri(result.df_system, result.df_residual, tail))
        query = float(fdtri(result.df_system, result.df_query, tail))
        numerator = result.ms_system**2 - system_f * result.ms_system * result.ms_residual
        numerator += (system_f - residual) * residual * result.ms_residual**2
        denominator = (systems - 1) * system_f * result.ms_system * result.ms_residual
        denominator += query * result.ms_system * result.ms_query
        variance_ratio = max(
            0.0, systems * numerator / denominator
        )  # a variance ratio that was estimated below 0
        single = variance_ratio / (variance_ratio + n)
        ends.append(n * single / (1 + (n - 1) * single))
    return ends[1], ends[0]


def _tails(level: float) -> tuple[float, float]:
    return (1 - level) / 2, (1 + level) / 2


SPLITS = 200
"""Random splits of the queries."""


@dataclass(frozen=True)
class SplitHalf:
    """Agreement of two halves of the queries on systems.

    Attributes:
        value: the mean over splits of Pearson's r between the halves' means of systems, stepped
            up to all queries by Spearman and Brown: 2r/(1 + r), and at least −1, as the formula has
            a pole at r = −1.
        low, high: the range of 95 % of the splits.
        tau: the mean of Kendall's tau b between the halves' orders, not stepped up.
        splits: the number of splits in which both halves have a spread.
    """

    value: float
    low: float
    high: float
    tau: float
    splits: int


def split_half(matrix: Floats, *, splits: int = SPLITS, seed: int = 0) -> SplitHalf:
    """Split queries at random into halves, many times (Spearman 1910; Brown 1910).

    With an odd number of queries, each split leaves one out. The range over splits shows the effect
    of the choice of the split; it is not a confidence interval.

    Args:
        matrix: (n, S) values, all finite.
        splits: the number of splits.
        seed: the seed of the splits.
    """
    n, systems = matrix.shape
    nan, half = float("nan"), n // 2
    if half < 1 or systems < 3:  # two systems always correlate by ±1
        return SplitHalf(nan, nan, nan, nan, 0)
    rng = np.random.default_rng(seed)
    orders = [rng.permutation(n) for _ in range(splits)]
    first_means, second_means = (
        np.stack([matrix[order[rows]].mean(axis=0) for order in orders])
        for rows in (slice(half), slice(half, 2 * half))
    )
    r_values = np.array([*map(product_moment, first_means, second_means)])
    is_defined = np.isfinite(r_values)
    if not is_defined.any():
        return SplitHalf(nan, nan, nan, nan, 0)
    correlations = [spearman_brown(max(r, -1 / 3)) for r in r_values[is_defined].tolist()]
    taus = tau_of_rows(first_means[is_defined], second_means[is_defined])
    low, high = np.quantile(correlations, [0.025, 0.975])
    return SplitHalf(
        float(np.mean(correlations)), float(low), float(high), float(np.nanmean(taus)), len(correlations)
    )


def spearman_brown(r: float, times: float = 2.0) -> float:
    """The reliability of a test of k times the length: k·r / (1 + (k − 1)·r).

    >>> spearman_brown(0.5)
    0.6666666666666666
    """
    return times * r / (1 + (times - 1) * r)

"""Corrections of several p-values, Welch's tests of groups, and comparisons of many systems.

Shapes: n queries, S systems; a matrix (n, S) of one metric's values, all finite.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import TYPE_CHECKING, Literal

import numpy as np

from rankgate.core.errors import UsageError
from rankgate.core.frozen import dataclass
from rankgate.measurement.stats.rank_correlation import tie_ends

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from rankgate.core.arrays import Floats


Correction = Literal["holm", "bonferroni", "hochberg", "bh", "by", "none"]

CORRECTIONS: dict[str, str] = {
    "holm": "Holm 1979; holds the probability of any false alarm",
    "bonferroni": "Bonferroni; as Holm, with less power",
    "hochberg": "Hochberg 1988; as Holm, for tests that are not negatively dependent",
    "bh": "Benjamini and Hochberg 1995; holds the expected share of false alarms",
    "by": "Benjamini and Yekutieli 2001; as bh, under any dependence",
    "none": "each p-value as it is",
}
"""The guarantee of each correction."""


def correct(p_value: Floats, method: Correction = "holm") -> Floats:
    """Adjusted p-values: reject where they are at most alpha.

    Bonferroni m·p; Holm max over smaller p of (m−i+1)·p₍ᵢ₎; Hochberg min over larger p of the same;
    BH min over larger p of m·p₍ᵢ₎/i; BY the same times Σ 1/i. All are at most 1. NaN is kept and
    does not count.

    Args:
        p_value: the p-values, in an array of any shape.
        method: one of `CORRECTIONS`.

    Raises:
        UsageError: the correction is unknown.
    """
    if method not in CORRECTIONS:
        raise UsageError(
            f"unknown correction {method!r}; known: {', '.join(CORRECTIONS)}.", code="unknown-choice"
        )
    p_values = np.asarray(p_value, dtype=np.float64)
    is_defined = ~np.isnan(p_values)
    adjusted = p_values.copy()
    if is_defined.any():
        adjusted[is_defined] = corrected_rows(p_values[is_defined], method)
    return adjusted


def corrected_rows(p_value: Floats, method: Correction) -> Floats:
    """Adjusted p-values, where each row of the last axis is a family; no value may be NaN.

    Args:
        p_value: (…, m), the p-values.
        method: one of `CORRECTIONS`.
    """
    m = p_value.shape[-1]
    if method == "none":
        return p_value
    if method == "bonferroni":
        return np.asarray(np.minimum(1.0, p_value * m), np.float64)
    order = np.argsort(p_value, axis=-1, kind="stable")
    ranked, rank = np.take_along_axis(p_value, order, axis=-1), np.arange(1, m + 1)
    if method == "holm":
        adjusted = np.maximum.accumulate((m - rank + 1) * ranked, axis=-1)
    else:
        steps = (m - rank + 1.0) if method == "hochberg" else m / rank
        scale = (1 / rank).sum() if method == "by" else 1.0
        upwards = (steps * scale * ranked)[..., ::-1]
        adjusted = np.minimum.accumulate(upwards, axis=-1)[..., ::-1]
    in_input_order = np.empty_like(adjusted)
    np.put_along_axis(in_input_order, order, adjusted, axis=-1)
    return np.asarray(np.minimum(1.0, in_input_order), np.float64)


MIN_GROUP = 10
"""The least size of a group that `groups_differ` compares: where spreads differ three times, smaller
groups reject too often (docs/validity.md)."""

_MAX_DRAWN = 1 << 24  # values in all permutations of one test
_BLOCK = 1 << 20  # values in the permutations that are computed at one time


def groups_differ(values: Floats, group: NDArray[np.int64], *, samples: int = 10_000, seed: int = 0) -> float:
    """The p-value of H₀, all groups have one distribution, by permuting which group a value is in.

    The statistic is Welch's Σ w (m − m̄)² with w = n / v for each group's size n, mean m and variance
    v, of which one degree of freedom is that of the pooled variance, so that no group lacks spread.
    Exact for equal distributions of any form (Pitman 1937); nearly so for equal means with other
    spreads, because it is studentised (Chung and Romano 2013).

    Args:
        values: ``(n,)``, finite.
        group: ``(n,)``, the group of each value, from 0.
        samples: the number of permutations; fewer for more than 1,677 values, at least 999.
        seed: the seed of the draws.

    Returns:
        NaN with fewer than two groups of `MIN_GROUP` values; smaller groups do not take part.
    """
    sizes = np.bincount(group)
    takes_part = sizes[group] >= MIN_GROUP
    values, group = values[takes_part], np.unique(group[takes_part], return_inverse=True)[1]
    if not len(values) or group.max() == 0:
        return float("nan")
    if np.ptp(values) == 0:
        return 1.0
    members = np.eye(group.max() + 1)[group]
    centred = values - values.mean()
    bound = float(_between_groups(centred[None], members)[0]) * (1 - 1e-9)
    count = max(999, min(samples, _MAX_DRAWN // len(values)))
    rng = np.random.default_rng(seed)
    exceeded, rows = 0, max(1, _BLOCK // len(values))
    for begin in range(0, count, rows):
        permuted = rng.permuted(np.tile(centred, (min(rows, count - begin), 1)), axis=1)
        exceeded += int((_between_groups(permuted, members) >= bound).sum())
    return (exceeded + 1) / (count + 1)


def _between_groups(values: Floats, members: Floats) -> Floats:
    """The statistic of `groups_differ` in each row of ``values``, ``(B, n)``; members ``(n, G)``."""
    n = members.sum(axis=0)
    means = values @ members / n
    squares = np.maximum((values**2) @ members - n * means**2, 0.0)
    pooled = squares.sum(axis=1, keepdims=True) / (len(members) - len(n))
    floor = np.finfo(float).eps * (values[0] ** 2).sum()  # where no group has any spread
    weight = n**2 / np.maximum(pooled + squares, floor)
    centre = (weight * means).sum(axis=1, keepdims=True) / weight.sum(axis=1, keepdims=True)
    result: Floats = (weight * (means - centre) ** 2).sum(axis=1)
    return result


def mean_difference(first: Floats, second: Floats, level: float = 0.95) -> tuple[float, float, float, float]:
    """The difference of the means of two groups, first − second, its interval, and p (Welch 1947).

    All but the difference are NaN if a group has fewer than two numbers, or if neither has a
    spread.

    >>> [round(each, 4)
    ...  for each in mean_difference(np.array([1.0, 2.0, 3.0]), np.array([2.0, 4.0]))]
    [-1.0, -6.977, 4.977, 0.4921]
    """
    from rankgate.measurement.stats.special_functions import stdtr, stdtrit

    nan = float("nan")
    delta = float(first.mean() - second.mean()) if len(first) and len(second) else nan
    if min(len(first), len(second)) < 2:  # the spread needs two numbers
        return delta, nan, nan, nan
    parts = np.array([group.var(ddof=1) / len(group) for group in (first, second)])
    if not parts.sum():
        return delta, nan, nan, nan
    df = parts.sum() ** 2 / (parts**2 / (np.array([len(first), len(second)]) - 1)).sum()
    error = float(np.sqrt(parts.sum()))
    half_width = float(stdtrit(df, (1 + level) / 2)) * error
    return delta, delta - half_width, delta + half_width, float(2 * stdtr(df, -abs(delta) / error))


_BLOCK = 1 << 14  # sums of shuffled values at one time, which fit the cache
_LARGE = 1 << 11  # with more values, rows are rotated instead of shuffled, in a fifth of the time
_TABLE = 1 << 12  # sums of rotated rows in the look-up table
_COLUMNS = 64  # systems of matrices that are rotated together, whose tables fit the cache


@dataclass(frozen=True)
class TwoWay:
    """Two-way analysis of variance without replication: value = system + query + residual.

    Attributes:
        ms_system, ms_query, ms_residual: mean squares.
        df_system, df_query, df_residual: degrees of freedom.
        f: ms_system / ms_residual; NaN if the residual is 0.
        p_value: the p-value of H₀: all systems have the same mean; it holds if the differences of all
            pairs of systems have one variance (sphericity).
        sphericity: Greenhouse and Geisser's ε, from 1/(S − 1) to 1, which is sphericity; NaN if the
            residual is 0.
        p_corrected: the p-value with both degrees of freedom times ε, which holds without sphericity.
    """

    ms_system: float
    ms_query: float
    ms_residual: float
    df_system: int
    df_query: int
    df_residual: int
    f: float
    p_value: float
    sphericity: float
    p_corrected: float


@dataclass(frozen=True)
class Pairwise:
    """All pairs of systems, compared with one common level.

    Attributes:
        delta: (S, S) mean of the row's system minus mean of the column's system.
        p_value: (S, S), corrected for all pairs; 1 on the diagonal.
        low, high: (S, S) simultaneous intervals of delta; NaN if the method has none.
        method: the method.
    """

    delta: Floats
    p_value: Floats
    low: Floats
    high: Floats
    method: str


def anova(matrix: Floats) -> TwoWay:
    """Two-way ANOVA; with two systems F is the square of the paired t (Carterette, TOIS 2012).

    ε = (tr C)² / ((S − 1) tr C²), C the covariances of the residuals of systems (Greenhouse and
    Geisser, Psychometrika 24, 1959)
    """
    from rankgate.measurement.stats.special_functions import fdtrc

    n, systems = matrix.shape
    grand_mean, by_system, by_query = matrix.mean(), matrix.mean(axis=0), matrix.mean(axis=1)
    residual = matrix - by_query[:, None] - by_system[None, :] + grand_mean
    df = (systems - 1, n - 1, (systems - 1) * (n - 1))
    ms_system = n * ((by_system - grand_mean) ** 2).sum() / max(df[0], 1)
    ms_query = systems * ((by_query - grand_mean) ** 2).sum() / max(df[1], 1)
    ms_residual = (residual**2).sum() / max(df[2], 1)
    tiny = np.finfo(float).eps * max(float((matrix**2).mean()), np.finfo(float).tiny)
    is_defined = df[2] > 0 and ms_residual > tiny
    nan = float("nan")
    f = float(ms_system / ms_residual) if is_defined else nan
    p = float(fdtrc(df[0], df[2], f)) if is_defined else nan
    covariance = residual.T @ residual
    epsilon = float(np.trace(covariance) ** 2 / (df[0] * (covariance**2).sum())) if is_defined else nan
    p_corrected = float(fdtrc(epsilon * df[0], epsilon * df[2], f))  # nan where f is
    return TwoWay(float(ms_system), float(ms_query), float(ms_residual), *df, f, p, epsilon, p_corrected)


def tukey(matrix: Floats, level: float = 0.95) -> Pairwise:
    """Tukey's HSD with the two-way residual, so that queries are paired.

    q = |difference| / √(ms_residual / n), by the studentised range of S means and
    (n−1)(S−1) degrees of freedom (Carterette 2012). The test that ignores the pairing, as ranx
    and scipy.stats.tukey_hsd compute it, sees far less.
    """
    from rankgate.measurement.stats.studentized_range import quantile

    result, (n, systems) = anova(matrix), matrix.shape
    mean = matrix.mean(axis=0)
    delta = mean[:, None] - mean[None, :]
    error = np.sqrt(result.ms_residual / n)
    if np.isnan(result.f):
        p = np.where(delta == 0, 1.0, np.nan)
        return Pairwise(delta, p, np.full_like(delta, np.nan), np.full_like(delta, np.nan), "tukey")
    p = _tail(np.abs(delta) / error, systems, result.df_residual)
    half_width = quantile(level, systems, result.df_residual) * error
    return Pairwise(delta, p, delta - half_width, delta + half_width, "tukey")


def randomised_tukey(matrices: Sequence[Floats], *, samples: int = 10_000, seed: int = 0) -> list[Pairwise]:
    """Shuffle systems within each query; a pair is as far apart as the widest range of means.

    p = (c + 1)/(samples + 1), c the shuffles whose range of means is at least the pair's
    difference (Carterette 2012; Sakai 2018). It needs no normal residuals. A large matrix has
    the values of each query put into a drawn order once, and turned by a drawn step each time:
    turns are a group, so the test keeps its level (Hemerik and Goeman, TEST 2018), and their
    sums can be looked up. Matrices of one shape, such as those of several metrics, are shuffled by
    the same draws, which take most of the time; the result of each is that of the matrix alone.
    """
    ranges: dict[int, Floats] = {}
    for shape in dict.fromkeys(matrix.shape for matrix in matrices):
        places = [i for i, matrix in enumerate(matrices) if matrix.shape == shape]
        same_shape = [matrices[i] for i in places]
        is_large = same_shape[0].size >= _LARGE
        compute_ranges = _rotated_ranges if is_large else _shuffled_ranges
        step = max(1, _COLUMNS // shape[1]) if is_large else len(places)
        range_lists = [
            matrix_ranges
            for begin in range(0, len(places), step)
            for matrix_ranges in compute_ranges(same_shape[begin : begin + step], samples, seed)
        ]
        ranges |= dict(zip(places, range_lists, strict=True))
    return [_pairwise_test(matrix, np.sort(ranges[i])) for i, matrix in enumerate(matrices)]


def _pairwise_test(matrix: Floats, ranges: Floats) -> Pairwise:
    """For each pair, the share of the sorted ranges that are at least its difference."""
    mean = matrix.mean(axis=0)
    delta = mean[:, None] - mean[None, :]
    tolerance = 1e-12 * np.abs(matrix).sum() / len(matrix)
    exceed_count = len(ranges) - np.searchsorted(ranges, np.abs(delta) - tolerance, side="left")
    p = (exceed_count + 1) / (len(ranges) + 1)
    np.fill_diagonal(p, 1.0)
    none = np.full_like(delta, np.nan)
    return Pairwise(delta, p, none, none, "randomised tukey")


def _shuffled_ranges(matrices: Sequence[Floats], samples: int, seed: int) -> list[Floats]:
    """The range of means of each shuffle, for matrices of one shape."""
    from rankgate.data.streams.source import read_ahead

    rng = np.random.default_rng(seed)
    (n, systems), count = matrices[0].shape, len(matrices)
    values_of_query = np.stack(matrices, axis=-1)
    in_order = np.tile(np.arange(systems), (n, 1))
    step = max(1, _BLOCK // (systems * count))

    def draw_blocks() -> Iterator[NDArray[np.int64]]:
        for begin in range(0, samples, step):
            shuffles = np.tile(in_order, (min(step, samples - begin), 1, 1))
            yield rng.permuted(shuffles, axis=2, out=shuffles)

    ranges = []
    for shuffles in read_ahead(draw_blocks()):  # random draws let other threads run
        sums = np.zeros((len(shuffles), systems, count))
        for query, values in enumerate(values_of_query):
            sums += np.take(values, shuffles[:, query], axis=0, mode="clip")  # without a check
        ranges.append(np.ptp(sums / n, axis=1))
    return list(np.concatenate(ranges).T)


def _rotated_ranges(matrices: Sequence[Floats], samples: int, seed: int) -> list[Floats]:
    """The range of means of each rotation; some rows are looked up in a table of all rotations."""
    rng = np.random.default_rng(seed)
    (n, systems), count = matrices[0].shape, len(matrices)
    order = rng.permuted(np.tile(np.arange(systems), (n, 1)), axis=1)
    shuffled = np.take_along_axis(np.stack(matrices, axis=-1), order[..., None], axis=1)
    doubled = np.concatenate([shuffled, shuffled[:, :-1]], axis=1)
    turns = np.moveaxis(np.lib.stride_tricks.sliding_window_view(doubled, systems, axis=1), -1, 2)
    columns = systems * count
    rows_per_table = max(1, int(np.log(_TABLE) / np.log(systems)))
    step = max(1, _BLOCK // columns)
    sums = np.zeros((samples, columns))
    for begin in range(0, n, rows_per_table):
        table = np.zeros((1, columns))
        for row in turns[begin : begin + rows_per_table]:
            table = (table[:, None] + row.reshape(systems, columns)).reshape(-1, columns)
        draw_index = rng.integers(len(table), size=samples)
        for block in range(0, samples, step):
            rows = draw_index[block : block + step]
            table_rows = np.take(table, rows, axis=0, mode="clip")  # without a check
            sums[block : block + step] += table_rows
    return list((np.ptp(sums.reshape(samples, systems, count), axis=1) / n).T)


def _tail(q: Floats, systems: int, df: float = np.inf) -> Floats:
    """(S, S) P(range ≥ q) of each pair, for a symmetric q; 1 for a system and itself."""
    from rankgate.measurement.stats.studentized_range import tail

    upper = np.triu_indices(systems, 1)
    p = np.zeros_like(q)
    p[upper] = tail(q[upper], systems, df)
    return np.asarray(p + p.T + np.eye(systems), np.float64)


@dataclass(frozen=True)
class Friedman:
    """Systems ranked within each query.

    Attributes:
        ranks: (S,) mean ranks; 1 is the best rank.
        statistic: Friedman's χ², corrected for ties; NaN where all values of all queries are tied.
        p_value: the p-value of the statistic with S − 1 degrees of freedom.
        f, f_p_value: Iman and Davenport's F, which is less conservative.
        nemenyi: (S, S) p-values of pairs, corrected for all pairs.
        critical: the smallest difference of mean ranks at which a pair is significant.
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
    from rankgate.measurement.stats.special_functions import chdtrc, fdtrc
    from rankgate.measurement.stats.studentized_range import quantile

    n, systems = matrix.shape
    low, high = tie_ends(-matrix)
    doubled_rank_sums = (low + high).sum(axis=0)  # whole numbers, as ties have half ranks
    mean = doubled_rank_sums / (2 * n)
    tie_sum = float(((high - low + 1) ** 2 - 1).sum())  # t values in a tie of t: t³ − t
    scale = n * systems * (systems**2 - 1)
    uncorrected = 12 * n / (systems * (systems + 1)) * (mean**2).sum() - 3 * n * (systems + 1)
    nan = float("nan")
    chi = float(uncorrected / (1 - tie_sum / scale)) if tie_sum < scale else nan
    denominator = n * (systems - 1) - chi  # 0 where all queries give the same order
    f = float((n - 1) * chi / denominator) if denominator > 0 else float("inf") if denominator == 0 else nan
    f_p = float(fdtrc(systems - 1, (systems - 1) * (n - 1), f)) if n > 1 else nan
    error = np.sqrt(systems * (systems + 1) / (6 * n))
    gaps = np.abs(doubled_rank_sums[:, None] - doubled_rank_sums)
    p = _tail(gaps / (2 * n) / error * np.sqrt(2), systems)
    critical = float(quantile(level, systems) / np.sqrt(2) * error)
    return Friedman(mean, chi, float(chdtrc(systems - 1, chi)), f, f_p, p, critical)


def permuted_friedman(matrix: Floats, *, samples: int = 100_000, seed: int = 0) -> float:
    """Friedman's p-value by permuting the ranks within each row, which holds for any number of rows.

    p = (c + 1)/(samples + 1), c the permutations whose Σ R̄ⱼ² is at least that of the matrix: ties and
    the scale of Friedman's χ² are the same in all of them (Friedman 1937).

    Args:
        matrix: (n, S) values, all finite.
        samples: the number of permutations.
        seed: the seed of the draws.
    """
    low, high = tie_ends(matrix)
    ranks, rng = low + high, np.random.default_rng(seed)  # doubled, so that ties have whole numbers
    bound, exceed_count = (ranks.sum(axis=0) ** 2).sum(), 0
    step = max(1, _BLOCK // ranks.size)
    for begin in range(0, samples, step):
        permutations = rng.permuted(np.tile(ranks, (min(step, samples - begin), 1, 1)), axis=2)
        exceed_count += int(((permutations.sum(axis=1) ** 2).sum(axis=1) >= bound).sum())
    return (exceed_count + 1) / (samples + 1)

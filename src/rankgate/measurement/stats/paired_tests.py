"""Tests of paired differences, effect sizes, equivalence, posterior, ratio and influence.

Tests of paired differences take one column per metric and one row per query. Shapes: n queries, M
columns. Differences must be finite; the caller leaves out all others.

After them come sizes of an effect in units of spread; two one-sided tests of equivalence, for
a difference smaller than a margin, either way; the Bayesian comparison of paired means with a
region of practical equivalence; the relative difference of two paired means, with its own
interval; and the influence of single queries on a difference.

Wilcoxon's signed-rank test treats zeros, the continuity correction, and exact p-values.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Literal

import numpy as np

from rankgate.core.frozen import dataclass
from rankgate.core.present.number_formats import count_noun
from rankgate.measurement.stats.rank_correlation import mean_ranks

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from rankgate.core.arrays import Floats


@dataclass(frozen=True)
class PairedTest:
    """A test of each column.

    Attributes:
        statistic: (M,) the statistic of the test.
        p_value: (M,); 1 if all differences are 0, NaN for too few differences.
        n: (M,) the number of differences that the test used.
    """

    statistic: Floats
    p_value: Floats
    n: NDArray[np.int64]


def as_columns(delta: Floats) -> Floats:
    """Convert one or several columns to (n, M)."""
    table = np.asarray(delta, dtype=np.float64)
    return table[:, None] if table.ndim == 1 else table


TIE = 1e-9
"""Differences that are this close are equal: 0.7 - 0.6 and 0.2 - 0.1 differ by rounding alone."""


def tie_differences(delta: Floats) -> Floats:
    """Give differences whose sizes are equal within `TIE` one size, and 0 to those as small.

    Sizes that form a chain of such steps are one tie. All tests that rank or count differences use
    this function, so that ranks, wins, ties and losses agree.

    >>> tie_differences(np.array([0.7 - 0.6, 0.1 - 0.2, 0.3, 1e-12])).tolist()
    [0.09999999999999998, -0.09999999999999998, 0.3, 0.0]
    """
    sizes = np.abs(delta)
    order = np.argsort(sizes, kind="stable")
    is_new = np.diff(sizes[order], prepend=0.0) > TIE
    tied = np.empty_like(sizes)
    tied[order] = np.append(0.0, sizes[order][is_new])[np.cumsum(is_new)]
    return np.sign(delta) * tied


def student_test(delta: Floats, degrees: float | None = None) -> PairedTest:
    """Paired t, two-sided: t = mean / (sd / √n), n − 1 degrees of freedom (Student 1908).

    The test keeps its level if differences are symmetric about 0, on IR data at every n (Urbano,
    Lima and Hanjalic, SIGIR 2019). If only their mean is 0 it rejects too often for few queries:
    with 15, up to 8-20 % for single pairs of systems at TREC (docs/validity.md). If all differences
    are equal and not 0, the spread is unknown: p is that of the sign test, 2/2ⁿ at most.

    Args:
        delta: (n, M) differences.
        degrees: the degrees of freedom of the standard error; n − 1 if None.
    """
    from rankgate.measurement.stats.special_functions import stdtr

    table = as_columns(delta)
    n = len(table)
    mean, error = table.mean(axis=0) if n else np.zeros(table.shape[1]), standard_error(table)
    with np.errstate(divide="ignore", invalid="ignore"):
        t = np.where(mean == 0, 0.0, mean / error)
    too_few = n < 2  # the spread needs two differences
    df = n - 1 if degrees is None else degrees
    p = np.full_like(t, np.nan) if too_few else np.minimum(1.0, 2 * stdtr(df, -np.abs(t)))
    is_constant = (error == 0) & (n > 1) & ~np.isnan(df)
    if is_constant.any():
        p = np.where(is_constant, np.where(mean == 0, 1.0, sign_test(table).p_value), p)
    return PairedTest(t, p, np.full(table.shape[1], n, dtype=np.int64))


def standard_error(delta: Floats) -> Floats:
    """(M,) standard errors of means, sd / √n with n − 1; 0 for fewer than two rows."""
    table = as_columns(delta)
    n = len(table)
    if n < 2:
        return np.zeros(table.shape[1])
    is_constant = np.ptp(table, axis=0) == 0  # rounding can give equal numbers a spread
    return np.asarray(np.where(is_constant, 0.0, table.std(axis=0, ddof=1) / np.sqrt(n)), np.float64)


def sign_test(delta: Floats, *, band: float = 0.0) -> PairedTest:
    """The sign test of equally frequent gains and losses: exact binomial, two-sided.

    Args:
        delta: the differences.
        band: a difference of at most this size, or `TIE`, is a tie, which is left out.
    """
    from rankgate.measurement.stats.special_functions import bdtr

    table = as_columns(delta)
    wins = (table > max(band, TIE)).sum(axis=0)
    losses = (table < -max(band, TIE)).sum(axis=0)
    total = wins + losses
    smaller_count = np.minimum(wins, losses)
    tail = np.array(
        [bdtr(float(k), int(n), 0.5) if n else 1.0 for k, n in zip(smaller_count, total, strict=True)]
    )
    return PairedTest(wins.astype(np.float64), np.minimum(1.0, 2 * tail), total.astype(np.int64))


def hedges_g(baseline: Floats, candidate: Floats) -> Floats:
    """(M,) the standardised size of candidate − baseline (Lakens 2013, g_z).

    The mean difference over its standard deviation, times 1 − 3/(4(n−1) − 1), Hedges' correction
    for few queries. NaN where nothing varies, and for two queries or less, of which nothing would
    be left.
    """
    delta = as_columns(candidate) - as_columns(baseline)
    n = len(delta)
    if n < 3:
        return np.full(delta.shape[1], np.nan)
    mean, sd = delta.mean(axis=0), delta.std(axis=0, ddof=1)
    return np.where(sd > 0, mean / np.where(sd > 0, sd, 1.0), np.nan) * (1 - 3 / (4 * (n - 1) - 1))


@dataclass(frozen=True)
class Equivalence:
    """Two one-sided tests of each column; (M,) arrays, NaN for fewer than two differences.

    Attributes:
        p_value: the larger p-value of both sides; at most alpha shows equivalence.
        low, high: the interval of level 1 − 2α, which is within ±margin if p ≤ α.
    """

    p_value: Floats
    low: Floats
    high: Floats


def tost(delta: Floats, margin: float, level: float = 0.95, degrees: float | None = None) -> Equivalence:
    """Schuirmann's (1987) two one-sided t-tests of paired differences.

    t₁ = (mean + margin)/se, t₂ = (mean − margin)/se; p = max(P(T > t₁), P(T < t₂)) with n − 1
    degrees of freedom. If all differences are equal there is no spread: p is 0 within the margin
    and 1 at or beyond it.

    Args:
        delta: (n, M) differences.
        margin: the largest difference that is not relevant, above 0.
        level: 1 − α; the interval has 1 − 2α.
        degrees: the degrees of freedom of the standard error; n − 1 if None.
    """
    from rankgate.measurement.stats.special_functions import stdtr, stdtrit

    table = as_columns(delta)
    n = len(table)
    mean = table.mean(axis=0) if n else np.full(table.shape[1], np.nan)
    if n < 2:  # the spread needs two differences
        undefined = np.full(table.shape[1], np.nan)
        return Equivalence(undefined, undefined, undefined)
    error = standard_error(table)
    with np.errstate(divide="ignore", invalid="ignore"):
        lower_t, upper_t = (mean + margin) / error, (mean - margin) / error
    lower_t = np.where(np.isnan(lower_t), -np.inf, lower_t)  # a mean at the margin without spread
    upper_t = np.where(np.isnan(upper_t), np.inf, upper_t)
    df = n - 1 if degrees is None else degrees
    low, high = stdtr(df, -lower_t), stdtr(df, upper_t)
    half_width = float(stdtrit(df, level)) * error
    return Equivalence(np.maximum(low, high), mean - half_width, mean + half_width)


@dataclass(frozen=True)
class Posterior:
    """Probabilities of the true mean difference, (M,) each; they add up to 1.

    Attributes:
        worse: the probability that the difference is below −rope.
        same: the probability that it is within ±rope, the region of practical equivalence.
        better: the probability that it is above rope.
    """

    worse: Floats
    same: Floats
    better: Floats


def posterior(gain: Floats, rope: float, degrees: float | None = None) -> Posterior:
    """The posterior of the mean under the usual flat prior p(μ, σ²) ∝ 1/σ².

    μ has Student's t of n − 1 degrees of freedom around the mean with scale sd/√n (Kruschke 2013;
    Corani and Benavoli, Machine Learning 100, 2015, with no correlation between queries). If all
    differences are equal, their value has probability 1.

    Args:
        gain: (n, M) differences, positive is better.
        rope: the largest difference that is not relevant, 0 or more.
        degrees: the degrees of freedom of the standard error; n − 1 if None.
    """
    from rankgate.measurement.stats.special_functions import stdtr

    table = as_columns(gain)
    n = len(table)
    if n < 2:  # the spread needs two differences
        undefined = np.full(table.shape[1], np.nan)
        return Posterior(undefined, undefined, undefined)
    mean, error = table.mean(axis=0), standard_error(table)
    with np.errstate(divide="ignore", invalid="ignore"):
        below_t, above_t = (-rope - mean) / error, (mean - rope) / error
    # a mean exactly at an edge without spread is inside the region
    below_t, above_t = (np.where(np.isnan(statistic), -np.inf, statistic) for statistic in (below_t, above_t))
    df = n - 1 if degrees is None else degrees
    worse, better = stdtr(df, below_t), stdtr(df, above_t)
    return Posterior(worse, np.maximum(0.0, 1 - worse - better), better)


@dataclass(frozen=True)
class Relative:
    """(candidate − baseline) / |baseline| of means.

    Attributes:
        value: the relative difference; NaN if the baseline's mean is 0.
        low, high: Fieller's interval; ends are infinite if the baseline's mean is not clearly
            different from 0, because then every ratio is possible.
    """

    value: float
    low: float
    high: float


def fieller(baseline: Floats, candidate: Floats, level: float = 0.95) -> Relative:
    """Fieller's (1954) interval of the relative difference of two paired means.

    It holds the ratios ρ for which a paired t-test does not reject mean(candidate − ρ·baseline)
    = 0: the roots of

        (b² − t²s_bb) ρ² − 2(bc − t²s_bc) ρ + c² − t²s_cc = 0,

    with the means b and c, the variances and covariance of the means, and t(n−1). An interval that
    treats the baseline's mean as known is too short. If the first factor is not above 0 the
    baseline's mean may be 0, and no finite interval has the level.

    Args:
        baseline: (n,) values.
        candidate: (n,) values of the same queries.
        level: the confidence level of the interval.
    """
    from rankgate.measurement.stats.special_functions import stdtrit

    n, b, c = len(baseline), float(np.mean(baseline)), float(np.mean(candidate))
    nan, inf = float("nan"), float("inf")
    if not b:
        return Relative(nan, nan, nan)
    sign = 1.0 if b > 0 else -1.0
    value = sign * (c / b - 1)
    if n < 2:  # the spread needs two queries
        return Relative(value, nan, nan)
    covariance = np.cov(baseline, candidate) / n
    square = float(stdtrit(n - 1, (1 + level) / 2)) ** 2
    first = b**2 - square * covariance[0, 0]
    middle = b * c - square * covariance[0, 1]
    last = c**2 - square * covariance[1, 1]
    if first <= 0:
        return Relative(value, -inf, inf)
    root = np.sqrt(max(0.0, middle**2 - first * last))
    ends = sorted(sign * (edge / first - 1) for edge in (middle - root, middle + root))
    return Relative(value, float(ends[0]), float(ends[1]))


def relative_gain(baseline: Floats, candidate: Floats, share: float) -> Floats:
    """(n,) candidate − (1 − share) · baseline, with a mean above 0 if the loss is less.

    The linear form of Fieller's interval: a test of its mean includes the error of the margin.
    """
    return np.asarray(candidate - (1 - share) * baseline, np.float64)


def largest_share(delta: Floats) -> tuple[NDArray[np.int64], Floats]:
    """The query whose removal changes the sum of differences most, and the size of the change.

    Returns:
        (M,) its row, and (M,) |d| / |Σd|: 0.2 means that a fifth of the difference is this query;
        more than 1 that the difference changes its sign without it, or nearly. NaN where the
        differences add up to 0.
    """
    table = as_columns(delta)
    if not len(table):
        return np.zeros(table.shape[1], np.int64), np.full(table.shape[1], np.nan)
    # only a query with the sign of the sum contributes to it
    total = table.sum(axis=0)
    signed_values = table * np.sign(total)
    row = signed_values.argmax(axis=0)
    size = signed_values[row, np.arange(table.shape[1])]
    return row, np.where(total != 0, size / np.where(total != 0, np.abs(total), 1.0), np.nan)


Zeros = Literal["wilcox", "pratt"]
SignedRankMethod = Literal["corrected", "uncorrected", "exact"]

MAX_EXACT = 1000
"""Differences up to which a p-value is computed exactly."""


def signed_ranks(
    delta: Floats, *, zeros: Zeros = "wilcox", way: SignedRankMethod = "corrected"
) -> PairedTest:
    """Wilcoxon's (1945) signed ranks, two-sided, with a stated treatment of zeros.

    W is the smaller sum of the ranks of |d| of gains and of losses; ties share their mean rank
    (`tie_differences`).

    Args:
        delta: (n, M) differences.
        zeros: ``wilcox`` leaves zeros out before ranking; ``pratt`` ranks them too and then
            leaves out their ranks (Pratt 1959), so that many zeros weigh against large ranks.
        way: ``corrected`` and ``uncorrected`` are the normal approximation with and without a
            continuity correction of 1/2; ``exact`` counts all assignments of signs to the ranks
            that occurred, ties and zeros included, for up to 1,000 differences.

    Raises:
        ValueError: there are too many differences for an exact count.
    """
    table = as_columns(delta)
    results = [_signed_rank_test(tie_differences(column), zeros, way) for column in table.T]
    statistic, p, n = (np.array([result[i] for result in results]) for i in range(3))
    return PairedTest(statistic, p, n.astype(np.int64))


def _signed_rank_test(delta: Floats, zeros: Zeros, method: SignedRankMethod) -> tuple[float, float, int]:
    from rankgate.measurement.stats.special_functions import ndtr

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
            raise ValueError(
                f"{count_noun(len(ranks), 'difference')}; at most {MAX_EXACT} are counted exactly."
            )
        return statistic, _exact(ranks, statistic), len(nonzero)
    deviation = abs(
        gain_rank_sum - rank_sum / 2
    )  # the variance of Σ s·r/2 is Σ r²/4, for all ties and omissions
    deviation = max(0.0, deviation - 0.5) if method == "corrected" else deviation
    z = deviation / np.sqrt((ranks**2).sum() / 4)
    return statistic, float(min(1.0, 2 * ndtr(-z))), len(nonzero)


def _exact(ranks: Floats, statistic: float) -> float:
    """2 · P(W₊ ≤ smaller) over all signs, from the sums of subsets of the doubled ranks."""
    doubled = np.rint(2 * ranks).astype(np.int64)
    share = np.zeros(int(doubled.sum()) + 1)
    share[0] = 1.0
    for rank in doubled:
        shifted = share.copy()
        shifted[rank:] += share[: len(share) - rank]
        share = shifted / 2
    return float(min(1.0, 2 * share[: int(np.rint(2 * statistic)) + 1].sum()))

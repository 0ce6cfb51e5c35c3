"""Confidence intervals of a mean or share: Student's t, bounded values, rare large values."""

from __future__ import annotations

import math
from functools import lru_cache
from typing import TYPE_CHECKING

import numpy as np

from rankgate.core.frozen import dataclass
from rankgate.core.present.number_formats import count_noun
from rankgate.measurement.stats.paired_tests import as_columns, standard_error

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from rankgate.core.arrays import Floats


FEW, SKEWED = 15, 1.0
"""Below 15 queries, or below 50 with a skewness beyond 1, no interval is sure to cover."""
_MANY = 50
_EQUAL_VALUES_SPREAD = 1e-6  # a skewness that changes nothing, and can be divided by
_STEEP = 0.05  # where Hall's cube root, which would leap at 0, is left for the corrected skewness


@dataclass(frozen=True)
class Intervals:
    """An interval of each column's mean.

    Attributes:
        mean: (M,) the means, weighted if weights were given.
        low, high: (M,) the ends; NaN for fewer than two rows.
        level: the confidence level of the intervals, such as 0.95.
        method: the method of the intervals.
        warnings: the reasons why the intervals may not have their level, one sentence each.
    """

    mean: Floats
    low: Floats
    high: Floats
    level: float
    method: str
    warnings: tuple[str, ...] = ()


def t_interval(
    delta: Floats, level: float = 0.95, weights: Floats | None = None, degrees: float | None = None
) -> Intervals:
    """Mean ± t(n−1) · se; with weights the ratio Σwd/Σw and its linearised standard error.

    Args:
        delta: (n, M) differences.
        level: the confidence level of the intervals.
        weights: (n,) the weight of each query, such as its traffic.
        degrees: the degrees of freedom of the standard error; n − 1 if None.
    """
    from rankgate.measurement.stats.special_functions import stdtrit

    table = as_columns(delta)
    n = len(table)
    mean, error = weighted_mean(table, weights)
    if n < 2:  # the spread needs two differences
        empty = np.full(table.shape[1], np.nan)
        return Intervals(mean, empty, empty, level, "t", interval_warnings(table))
    half_width = float(stdtrit(n - 1 if degrees is None else degrees, (1 + level) / 2)) * error
    return Intervals(mean, mean - half_width, mean + half_width, level, "t", interval_warnings(table))


def student_quantile(df: float, share: float) -> float:
    """The value below which Student's t of df lies with a probability of ``share``."""
    from rankgate.measurement.stats.special_functions import stdtrit

    return float(stdtrit(df, share))


def guarded_interval(delta: Floats, level: float = 0.95, degrees: float | None = None) -> Intervals:
    """Student's t interval, each end moved outwards to Hall's where skew demands it.

    Hall (1992) inverts T + γT²/(3√n) + γ²T³/(27n) + γ/(6√n), so that the interval of a skewed
    sample leans the way its tail does. γ is tried as the sample shows it and as it is once its
    bias is taken away (see ``lean``): a small sample mostly misses the tail, and shows too little
    skew. The latter stops short of where the cube root of the solution leaps: what is corrected to
    the order 1/n is not known so well. Alone, Hall's covers too rarely where most differences are
    0; the outermost of the three ends keeps its level there too (docs/validity.md).

    Args:
        delta: (n, M) differences.
        level: the confidence level of the intervals.
        degrees: the degrees of freedom of the standard error, 2 at least; n − 1 if None.
    """
    table = as_columns(delta)
    student_interval = t_interval(table, level, degrees=degrees)
    n = len(table)
    if n < 3:  # the skew needs three numbers
        return student_interval
    size = n if degrees is None else max(degrees + 1, 3.0)
    low, high = guarded_ends(student_interval.mean, standard_error(table), skewness(table), size, level)
    return Intervals(student_interval.mean, low, high, level, "t, guarded", student_interval.warnings)


def guarded_ends(
    mean: Floats, error: Floats, skew: Floats, n: Floats | float, level: float
) -> tuple[Floats, Floats]:
    """The ends of `guarded_interval`, from moments of samples of 3 differences at least.

    Args:
        mean: means, any shape.
        error: the standard errors of the means.
        skew: the third standardised moments, g₁.
        n: the number of differences in each sample.
        level: the confidence level of the intervals.
    """
    from rankgate.measurement.stats.special_functions import stdtrit

    quantile = np.asarray(stdtrit(np.asarray(n) - 1, (1 + level) / 2), np.float64)
    low, high = mean - quantile * error, mean + quantile * error
    for gamma, floor in zip(corrected_skewness(skew, n), (-np.inf, _STEEP), strict=True):
        low = np.minimum(low, mean - error * _inverse_hall(quantile, gamma, n, floor))
        high = np.maximum(high, mean - error * _inverse_hall(-quantile, gamma, n, floor))
    return low, high


def corrected_skewness(skew: Floats, n: Floats | float) -> tuple[Floats, Floats]:
    """The skewness G₁ of the k-statistics, and G₁ less its bias, for n of 3 at least.

    By the delta method and Fisher's (1929) variances of k-statistics, the mean of G₁ is
    γ − (21γ/4 + 3κ₅/2 − 15γκ₄/8)/n to the order 1/n. κ₄ = 3γ²/2 and κ₅ = 3γ³ of a Pearson III
    law, exponential, gamma or normal, make that γ(1 − (21/4 + 27γ²/16)/n), and so

        γ̂ = G₁(1 + (21/4 + 27G₁²/16)/n).

    Bobée and Robitaille (1975) fitted a correction of the same form to simulated samples.
    """
    size = np.asarray(n, np.float64)
    adjusted = skew * np.sqrt(size * (size - 1)) / (size - 2)
    return adjusted, adjusted * (1 + (21 / 4 + 27 / 16 * adjusted**2) / n)


def _inverse_hall(target: Floats, gamma: Floats, n: Floats | float, floor: float) -> Floats:
    """The T at which Hall's transformation is `target`; roots are of `floor` at least."""
    slope = np.where(np.abs(gamma) < _EQUAL_VALUES_SPREAD, _EQUAL_VALUES_SPREAD, gamma) / np.sqrt(n)
    inner = np.maximum(1 + slope * (target - slope / 6), floor)
    return np.asarray(3 / slope * (np.cbrt(inner) - 1), np.float64)


def weighted_mean(table: Floats, weights: Floats | None) -> tuple[Floats, Floats]:
    """(M,) the means and their standard errors."""
    if weights is None:
        n = max(len(table), 1)
        return np.asarray(table.sum(axis=0) / n, np.float64), standard_error(table)
    total = weights.sum()
    mean = (weights @ table) / total
    n = len(table)
    squares = (weights**2) @ (table - mean) ** 2
    return mean, np.sqrt(squares * n / max(n - 1, 1)) / total


def skewness(delta: Floats) -> Floats:
    """(M,) the third standardised moment; 0 if all values are equal."""
    table = as_columns(delta)
    deviations = table - table.mean(axis=0)
    sd = np.sqrt((deviations**2).mean(axis=0))
    is_constant = sd <= np.finfo(float).eps * np.maximum(1.0, np.abs(table).max(axis=0, initial=0.0))
    return np.asarray(
        np.where(is_constant, 0.0, (deviations**3).mean(axis=0) / np.where(is_constant, 1.0, sd) ** 3),
        np.float64,
    )


def interval_warnings(table: Floats) -> tuple[str, ...]:
    """Warnings that an interval of these differences may cover less often than its level."""
    n = len(table)
    if n < 2:
        return (f"{count_noun(n, 'query')}: no interval can be computed.",)
    sentences = []
    if n < FEW:
        sentences.append(
            f"{count_noun(n, 'query is', 'queries are')} too few: their intervals cover the true value less "
            "often than stated."
        )
    elif n < _MANY and np.abs(skewness(table)).max() > SKEWED:
        sentences.append(
            f"differences are skewed and {count_noun(n, 'query is', 'queries are')} few: intervals may cover "
            "the true value less often than stated."
        )
    if (np.ptp(table, axis=0) == 0).any():
        sentences.append(
            "all differences are equal, so they show no spread: neither Student's t nor the bootstrap can "
            "compute an interval, and rules take bounds by betting; p of the t-test is that of the sign test."
        )
    return tuple(sentences)


_BETS = 64
_STEPS = 40  # halvings of the range: a bound to 1e-12 of it
_CELLS = 4_000_000  # numbers in memory at once
_TINY = 1e-12  # the smallest mean that can be a divisor


def betting_low(values: Floats, low: float, high: float, alpha: float) -> Floats:
    """(M,) lower bounds of means by betting, each at one-sided level 1 − alpha.

    With y = (x − low)/(high − low) and a mean of y of at most m, the capital of a gambler who
    always bets the share u, Π(1 + u(yᵢ/m − 1)), is a supermartingale for u in [0, 1], and so is
    its average over several u; it reaches 1/alpha with a probability of at most alpha, at any
    number of values one looks (Ville's inequality). The bound is the smallest m at which the
    capital is below 1/alpha. Here u has `_BETS` values, the quantiles of the arcsine law, as in
    Cover's universal portfolio.

    The bound depends on no order, holds for every law on [low, high] if values are drawn
    independently, and at all sample sizes together: queries may be added and looked at again.

    Waudby-Smith and Ramdas, Estimating means of bounded random variables by betting, JRSS B 86
    (2024), there "diversified Kelly"; Orabona and Jun, Tight concentrations and confidence
    sequences from the regret of universal portfolio, IEEE Trans. Inf. Theory 70 (2024).

    Args:
        values: (n, M), each within [low, high].
        low: the lowest possible value.
        high: the highest possible value.
        alpha: the largest probability that a bound lies above its mean.
    """
    table = (as_columns(values) - low) / (high - low)
    lower, upper = np.zeros(table.shape[1]), np.ones(table.shape[1])
    for _ in range(_STEPS):
        middle = (lower + upper) / 2
        is_rejected = _log_capital(table, middle) >= -np.log(alpha)
        lower, upper = np.where(is_rejected, middle, lower), np.where(is_rejected, upper, middle)
    return np.asarray(low + (high - low) * lower, np.float64)


def betting_exceeds(
    values: Floats, bound: Floats | float, low: float, high: float, alpha: float
) -> NDArray[np.bool_]:
    """(M,) True if `betting_low` is above a bound, without computing the bound."""
    table = (as_columns(values) - low) / (high - low)
    share = (np.asarray(bound, np.float64) - low) / (high - low)
    mean = np.broadcast_to(np.clip(share, _TINY, 1.0), table.shape[1:])
    is_rejected = (share < 1) & (_log_capital(table, mean) >= -np.log(alpha))
    return np.asarray(is_rejected | (share < 0), np.bool_)


def _log_capital(table: Floats, mean: Floats) -> Floats:
    """(M,) the logarithm of the average capital, against a mean of at most `mean`."""
    bets = np.sin(np.pi * (np.arange(_BETS) + 0.5) / (2 * _BETS)) ** 2
    gain = table / mean - 1
    step = max(1, _CELLS // max(table.size, 1))
    logs = np.concatenate(
        [np.log1p(bets[i : i + step, None, None] * gain).sum(axis=1) for i in range(0, _BETS, step)]
    )
    top = logs.max(axis=0)
    return np.asarray(top + np.log(np.exp(logs - top).mean(axis=0)), np.float64)


_DRAWN_WEIGHTS = 20_000


def spacing_low(values: Floats, low: float, alpha: float) -> float:
    """Lower bound of the mean of values that are drawn independently, by random spacings.

    The alpha quantile of Σ wᵢ zᵢ over uniform weights w on the simplex, where z are the values and
    `low`, which stands for all that the sample did not show (Gaffke, Mathematical Methods of Statistics
    14, 2005; Learned-Miller and Thomas, arXiv:1905.06208, 2019). For values of two sizes it is the
    limit of Clopper and Pearson. That it keeps its level for every law is a conjecture without a
    counterexample; docs/validity.md has what it did on adverse ones. It rises with each value, so that
    values that are known to be at least something may stand for it: the level remains.

    Args:
        values: (n,), each at least `low`.
        low: the lowest possible value.
        alpha: the largest probability that the bound lies above the mean.

    >>> round(spacing_low(np.ones(28), 0.0, 0.05), 2)  # 0.05^(1/28)
    0.9
    """
    return float(np.quantile(_simplex_weights(len(values) + 1) @ np.append(values, low), alpha))


@lru_cache(maxsize=1)
def _simplex_weights(count: int) -> Floats:
    """(W, count) weights, each row uniform on the simplex."""
    weights = np.random.default_rng(0).standard_exponential((_DRAWN_WEIGHTS, count))
    weights /= weights.sum(axis=1, keepdims=True)
    return weights


def unseen_share(n: int, alpha: float) -> float:
    """The largest share of queries that n queries miss with a probability of alpha: 1 − α^(1/n).

    About 3/n for alpha = 0.05, the rule of three (Hanley and Lippman-Hand, JAMA 249, 1983).
    """
    return float(1 - alpha ** (1 / n))


def wilson_interval(count: Floats, n: Floats, level: float = 0.95) -> tuple[Floats, Floats]:
    """Wilson's score interval of count / n.

    (p + z²/2n ± z·√(p(1 − p)/n + z²/4n²)) / (1 + z²/n), p = count / n; it stays within 0 and 1
    and has a width where p is one of them (Wilson, JASA 22(158), 1927).

    Args:
        count: (K,) the numbers of successes.
        n: (K,) the numbers of values, each above 0.
        level: the confidence level of the intervals.

    >>> [round(float(end[0]), 4) for end in wilson_interval(np.array([0.0]), np.array([10.0]))]
    [0.0, 0.2775]
    """
    from rankgate.measurement.stats.special_functions import ndtri

    z = float(ndtri((1 + level) / 2))
    share = count / n
    middle = share + z**2 / (2 * n)
    half_width = z * np.sqrt(share * (1 - share) / n + z**2 / (4 * n**2))
    scale = 1 + z**2 / n
    return np.clip((middle - half_width) / scale, 0, 1), np.clip((middle + half_width) / scale, 0, 1)


_RARE_VALUES_SPREAD = 1e-4  # a mean with a smaller skewness gets Student's interval


def rare_values_interval(
    values: Floats, lowest: float, highest: float, level: float = 0.95
) -> tuple[float, float]:
    """The ends of an interval of a mean, from gamma distributions with its skewness.

    With the mean x, its variance m2 = sum (x_i - x)² / (n (n - 1)) and its third central moment
    m3 = sum (x_i - x)³ / n³, an end is

        x + m3/m2 (G(k) - k),   k = m2³ / m3²,

    where G(k) is the quantile of a gamma distribution of shape k (mirrored where m3 < 0; Student's
    t where the skewness 1/sqrt(k) is next to 0). The upper end is computed as if the sample had
    a further value ``highest``, the lower one as if it had ``lowest``: x, m2 and m3 gain d, d² and
    d³ with d = (highest - x) / n. For n equal rare events it is the exact interval of a Poisson
    count (Garwood 1936), whose upper end is that of a count larger by 1; of events of unequal
    weights it is like that of Fay and Feuer (Statistics in Medicine 16, 1997), whose weights are a
    scale, with the third moment instead of a gamma distribution that begins at 0.

    Args:
        values: (n,) the values of the mean.
        lowest: the lowest possible value, at most the mean.
        highest: the highest possible value, at least the mean.
        level: the confidence level of the interval.

    Returns:
        The ends of the interval; NaN for fewer than two values.

    >>> low, high = rare_values_interval(np.repeat([0.0, 1.0], [997, 3]), 0, 1)
    >>> round(1000 * low, 1), round(1000 * high, 1)  # Garwood: 0.6 to 8.8
    (0.6, 8.8)
    """
    n = len(values)
    if n < 2:
        return np.nan, np.nan
    mean = float(values.mean())
    deviations = values - mean
    second, third = float((deviations**2).sum()) / n / (n - 1), float((deviations**3).sum()) / n**3
    tail = (1 - level) / 2
    low, high = min(lowest - mean, 0.0) / n, max(highest - mean, 0.0) / n
    return (
        _gamma_end(mean + low, second + low**2, third + low**3, tail, n),
        _gamma_end(mean + high, second + high**2, third + high**3, 1 - tail, n),
    )


def _gamma_end(mean: float, second: float, third: float, share: float, n: int) -> float:
    """The quantile of a gamma distribution with these moments."""
    from rankgate.measurement.stats.special_functions import gammaincinv, stdtrit

    if second <= 0:
        return mean
    error = math.sqrt(second)
    skewness = third / error**3
    if abs(skewness) < _RARE_VALUES_SPREAD:
        return mean + float(stdtrit(n - 1, share)) * error
    shape = 1 / (skewness * skewness)
    quantile = float(gammaincinv(shape, share if skewness > 0 else 1 - share))
    return mean + skewness * error * (quantile - shape)

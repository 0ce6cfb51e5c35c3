"""Confidence intervals of a mean by Student's t."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from rankgate.core.frozen import dataclass
from rankgate.measurement.stats.paired import as_columns, standard_error

if TYPE_CHECKING:
    from rankgate.measurement.stats.paired import Floats

FEW, SKEWED = 15, 1.0
"""Below 15 queries, or below 50 with a skewness beyond 1, no interval is sure to cover."""
_MANY = 50
_STRAIGHT = 1e-6  # a skewness that changes nothing, and can be divided by
_STEEP = 0.05  # where Hall's cube root, which would leap at 0, is left for the corrected skewness


@dataclass(frozen=True)
class Intervals:
    """An interval of each column's mean.

    Attributes:
        mean: (M,) the means, weighted where weights were given.
        low, high: (M,); NaN where there are fewer than two rows.
        level: of the intervals, such as 0.95.
        method: how they were made.
        warnings: why they may not cover as they should, one sentence each.
    """

    mean: Floats
    low: Floats
    high: Floats
    level: float
    method: str
    warnings: tuple[str, ...] = ()


def t_interval(
    delta: Floats,
    level: float = 0.95,
    weights: Floats | None = None,
    degrees: float | None = None,
) -> Intervals:
    """Mean ± t(n−1) · se; with weights the ratio Σwd/Σw and its linearised standard error.

    Args:
        delta: (n, M) differences.
        level: of the intervals.
        weights: (n,) how much each query counts, such as its traffic.
        degrees: of freedom of the standard error; n − 1 where None.
    """
    from scipy.special import stdtrit

    table = as_columns(delta)
    n = len(table)
    mean, error = weighted_mean(table, weights)
    if n < 2:  # one difference has no spread
        empty = np.full(table.shape[1], np.nan)
        return Intervals(mean, empty, empty, level, "t", interval_warnings(table))
    half_width = float(stdtrit(n - 1 if degrees is None else degrees, (1 + level) / 2)) * error
    return Intervals(
        mean, mean - half_width, mean + half_width, level, "t", interval_warnings(table)
    )


def student_quantile(df: float, share: float) -> float:
    """The value below which Student's t of df lies with a chance of ``share``."""
    from scipy.special import stdtrit

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
        level: of the intervals.
        degrees: of freedom of the standard error, 2 at least; n − 1 where None.
    """
    table = as_columns(delta)
    student_interval = t_interval(table, level, degrees=degrees)
    n = len(table)
    if n < 3:  # two numbers have no skew
        return student_interval
    size = n if degrees is None else max(degrees + 1, 3.0)
    low, high = guarded_ends(
        student_interval.mean, standard_error(table), skewness(table), size, level
    )
    return Intervals(
        student_interval.mean, low, high, level, "t, guarded", student_interval.warnings
    )


def guarded_ends(
    mean: Floats, error: Floats, skew: Floats, n: Floats | float, level: float
) -> tuple[Floats, Floats]:
    """The ends of `guarded_interval`, from moments of samples of 3 differences at least.

    Args:
        mean: means, any shape.
        error: their standard errors.
        skew: third standardised moments, g₁.
        n: differences of each sample.
        level: of the intervals.
    """
    from scipy.special import stdtrit

    quantile = np.asarray(stdtrit(np.asarray(n) - 1, (1 + level) / 2), np.float64)
    low, high = mean - quantile * error, mean + quantile * error
    for gamma, floor in zip(_corrected_skewness(skew, n), (-np.inf, _STEEP), strict=True):
        low = np.minimum(low, mean - error * _inverse_hall(quantile, gamma, n, floor))
        high = np.maximum(high, mean - error * _inverse_hall(-quantile, gamma, n, floor))
    return low, high


def corrected_skewness(delta: Floats) -> tuple[Floats, Floats]:
    """(M,) the skewness G₁ of the k-statistics, and G₁ less its bias, for n of 3 at least.

    By the delta method and Fisher's (1929) variances of k-statistics, the mean of G₁ is
    γ − (21γ/4 + 3κ₅/2 − 15γκ₄/8)/n to the order 1/n. κ₄ = 3γ²/2 and κ₅ = 3γ³ of a Pearson III
    law, exponential, gamma or normal, make that γ(1 − (21/4 + 27γ²/16)/n), and so

        γ̂ = G₁(1 + (21/4 + 27G₁²/16)/n).

    Bobée and Robitaille (1975) fitted a correction of the same form to simulated samples.
    """
    return _corrected_skewness(skewness(delta), len(as_columns(delta)))


def _corrected_skewness(skew: Floats, n: Floats | float) -> tuple[Floats, Floats]:
    size = np.asarray(n, np.float64)
    adjusted = skew * np.sqrt(size * (size - 1)) / (size - 2)
    return adjusted, adjusted * (1 + (21 / 4 + 27 / 16 * adjusted**2) / n)


def _inverse_hall(target: Floats, gamma: Floats, n: Floats | float, floor: float) -> Floats:
    """The T at which Hall's transformation is `target`; roots are of `floor` at least."""
    slope = np.where(np.abs(gamma) < _STRAIGHT, _STRAIGHT, gamma) / np.sqrt(n)
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
    """(M,) the third standardised moment; 0 where nothing differs."""
    table = as_columns(delta)
    deviations = table - table.mean(axis=0)
    sd = np.sqrt((deviations**2).mean(axis=0))
    is_constant = sd <= np.finfo(float).eps * np.maximum(
        1.0, np.abs(table).max(axis=0, initial=0.0)
    )
    return np.asarray(
        np.where(
            is_constant, 0.0, (deviations**3).mean(axis=0) / np.where(is_constant, 1.0, sd) ** 3
        ),
        np.float64,
    )


def interval_warnings(table: Floats) -> tuple[str, ...]:
    """Warnings that an interval of these differences may not cover as often as it states."""
    n = len(table)
    if n < 2:
        return (f"{n} query: no interval can be computed.",)
    sentences = []
    if n < FEW:
        sentences.append(
            f"{n} queries are too few: their intervals cover the true value less often than stated."
        )
    elif n < _MANY and np.abs(skewness(table)).max() > SKEWED:
        sentences.append(
            f"differences are skewed and {n} queries are few: intervals may cover the true value "
            "less often than stated."
        )
    if (np.ptp(table, axis=0) == 0).any():
        sentences.append(
            "all differences are equal, so they show no spread: neither Student's t nor the "
            "bootstrap can make an interval of them, and rules take bounds by betting; p of the "
            "t-test is that of the sign test."
        )
    return tuple(sentences)

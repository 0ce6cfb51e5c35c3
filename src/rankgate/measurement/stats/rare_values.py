"""The interval of a mean whose rare, large values a sample may have missed."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING

import numpy as np

if TYPE_CHECKING:
    from numpy.typing import NDArray

    Floats = NDArray[np.float64]

_STRAIGHT = 1e-4  # a skewness of the mean below which the interval is Student's


def rare_values_interval(
    values: Floats, lowest: float, highest: float, level: float = 0.95
) -> tuple[float, float]:
    """Give the ends of an interval of a mean, by gamma distributions of its skewness.

    With the mean x, its variance m2 = sum (x_i - x)² / (n (n - 1)) and its third central moment
    m3 = sum (x_i - x)³ / n³, an end is

        x + m3/m2 (G(k) - k),   k = m2³ / m3²,

    where G(k) is the quantile of a gamma distribution of shape k (mirrored where m3 < 0; Student's
    t where the skewness 1/sqrt(k) is next to 0). The upper end is computed as if the sample had
    a further value ``highest``, the lower one as if it had ``lowest``: x, m2 and m3 gain d, d² and
    d³ with d = (highest - x) / n. Of n equal rare events it is the exact interval of a Poisson
    count (Garwood 1936), whose upper end is that of a count larger by 1; of events of unequal
    weights it is like that of Fay and Feuer (Statistics in Medicine 16, 1997), whose weights are a
    scale, with the third moment instead of a gamma distribution that begins at 0.

    Args:
        values: (n,) of which the mean is taken.
        lowest: the least that a value could be, at most the mean.
        highest: the most that a value could be, at least the mean.
        level: of the interval.

    Returns:
        Its ends; NaN with fewer than two values.

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
    from scipy.special import gammaincinv, stdtrit

    if second <= 0:
        return mean
    error = math.sqrt(second)
    skewness = third / error**3
    if abs(skewness) < _STRAIGHT:
        return mean + float(stdtrit(n - 1, share)) * error
    shape = 1 / (skewness * skewness)
    quantile = float(gammaincinv(shape, share if skewness > 0 else 1 - share))
    return mean + skewness * error * (quantile - shape)

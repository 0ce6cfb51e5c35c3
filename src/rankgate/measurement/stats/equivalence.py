"""Two one-sided tests of equivalence: a difference smaller than a margin, either way."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from rankgate.core.frozen import dataclass
from rankgate.measurement.stats.paired import as_columns, standard_error

if TYPE_CHECKING:
    from rankgate.measurement.stats.paired import Floats


@dataclass(frozen=True)
class Equivalence:
    """Two one-sided tests of each column; (M,) arrays, NaN for fewer than two differences.

    Attributes:
        p_value: the larger one of both sides; at most alpha shows equivalence.
        p_low: of H₀: the mean is −margin or less.
        p_high: of H₀: the mean is the margin or more.
        low, high: the interval of level 1 − 2α, which lies within ±margin where p ≤ α.
    """

    p_value: Floats
    p_low: Floats
    p_high: Floats
    low: Floats
    high: Floats


def tost(
    delta: Floats, margin: float, level: float = 0.95, degrees: float | None = None
) -> Equivalence:
    """Schuirmann's (1987) two one-sided t-tests of paired differences.

    t₁ = (mean + margin)/se, t₂ = (mean − margin)/se; p = max(P(T > t₁), P(T < t₂)) with n − 1
    degrees of freedom. Where all differences are equal there is no spread: p is 0 within the
    margin and 1 at or beyond it.

    Args:
        delta: (n, M) differences.
        margin: the largest difference that does not matter, above 0.
        level: 1 − α; the interval has 1 − 2α.
        degrees: of freedom of the standard error; n − 1 where None.
    """
    from scipy.special import stdtr, stdtrit

    table = as_columns(delta)
    n = len(table)
    mean = table.mean(axis=0) if n else np.full(table.shape[1], np.nan)
    if n < 2:  # one difference has no spread
        undefined = np.full(table.shape[1], np.nan)
        return Equivalence(undefined, undefined, undefined, undefined, undefined)
    error = standard_error(table)
    with np.errstate(divide="ignore", invalid="ignore"):
        lower_t, upper_t = (mean + margin) / error, (mean - margin) / error
    lower_t = np.where(np.isnan(lower_t), -np.inf, lower_t)  # a mean at the margin, without spread
    upper_t = np.where(np.isnan(upper_t), np.inf, upper_t)
    df = n - 1 if degrees is None else degrees
    low, high = stdtr(df, -lower_t), stdtr(df, upper_t)
    half_width = float(stdtrit(df, level)) * error
    return Equivalence(np.maximum(low, high), low, high, mean - half_width, mean + half_width)

"""Two one-sided tests: is a difference smaller than a margin, either way?"""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from rankgate.core.frozen import dataclass
from rankgate.measurement.stats.paired import columns, standard_error

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

    table = columns(delta)
    n = len(table)
    mean = table.mean(axis=0) if n else np.full(table.shape[1], np.nan)
    if n < 2:  # one difference has no spread
        nothing = np.full(table.shape[1], np.nan)
        return Equivalence(nothing, nothing, nothing, nothing, nothing)
    error = standard_error(table)
    with np.errstate(divide="ignore", invalid="ignore"):
        above, below = (mean + margin) / error, (mean - margin) / error
    above = np.where(np.isnan(above), -np.inf, above)  # a mean at the margin, without spread
    below = np.where(np.isnan(below), np.inf, below)
    df = n - 1 if degrees is None else degrees
    low, high = stdtr(df, -above), stdtr(df, below)
    reach = float(stdtrit(df, level)) * error
    return Equivalence(np.maximum(low, high), low, high, mean - reach, mean + reach)

"""Sizes of an effect in units of spread."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from rankgate.core.frozen import dataclass
from rankgate.measurement.stats.paired import columns

if TYPE_CHECKING:
    from rankgate.measurement.stats.paired import Floats


@dataclass(frozen=True)
class Effect:
    """Standardised differences of paired values (Lakens 2013).

    Attributes:
        dz: (M,) mean of the differences over their standard deviation.
        gz: (M,) dz · (1 − 3/(4(n−1) − 1)), Hedges' correction for few queries; NaN for two, of
            which nothing would be left.
        d_av: (M,) mean of the differences over the mean standard deviation of both sides.
    """

    dz: Floats
    gz: Floats
    d_av: Floats


def effect(baseline: Floats, candidate: Floats) -> Effect:
    """The sizes of candidate − baseline; NaN where nothing varies or there is one query."""
    before, after = columns(baseline), columns(candidate)
    delta = after - before
    n = len(delta)
    nothing = np.full(delta.shape[1], np.nan)
    if n < 2:  # one difference has no spread
        return Effect(nothing, nothing, nothing)
    mean = delta.mean(axis=0)
    dz = _over(mean, delta.std(axis=0, ddof=1))
    both = (before.std(axis=0, ddof=1) + after.std(axis=0, ddof=1)) / 2
    few = 4 * (n - 1) - 1
    gz = dz * (1 - 3 / few) if n > 2 else nothing  # 1 − 3/3 is 0
    return Effect(dz, gz, _over(mean, both))


def _over(mean: Floats, spread: Floats) -> Floats:
    return np.where(spread > 0, mean / np.where(spread > 0, spread, 1.0), np.nan)

"""Sizes of an effect in units of spread."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from rankgate.core.frozen import dataclass
from rankgate.measurement.stats.paired import as_columns

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
    baseline_values, candidate_values = as_columns(baseline), as_columns(candidate)
    delta = candidate_values - baseline_values
    n = len(delta)
    undefined = np.full(delta.shape[1], np.nan)
    if n < 2:  # one difference has no spread
        return Effect(undefined, undefined, undefined)
    mean = delta.mean(axis=0)
    dz = _over(mean, delta.std(axis=0, ddof=1))
    mean_sd = (baseline_values.std(axis=0, ddof=1) + candidate_values.std(axis=0, ddof=1)) / 2
    correction_divisor = 4 * (n - 1) - 1
    gz = dz * (1 - 3 / correction_divisor) if n > 2 else undefined  # 1 − 3/3 is 0
    return Effect(dz, gz, _over(mean, mean_sd))


def _over(mean: Floats, sd: Floats) -> Floats:
    return np.where(sd > 0, mean / np.where(sd > 0, sd, 1.0), np.nan)

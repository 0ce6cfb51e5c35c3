"""Bayesian comparison of paired means with a region of practical equivalence."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from rankgate.core.frozen import dataclass
from rankgate.measurement.stats.paired import as_columns, standard_error

if TYPE_CHECKING:
    from rankgate.measurement.stats.paired import Floats


@dataclass(frozen=True)
class Posterior:
    """Probabilities of the true mean difference, (M,) each; they add up to 1.

    Attributes:
        worse: that it is below −rope.
        same: that it is within ±rope, the region of practical equivalence.
        better: that it is above rope.
    """

    worse: Floats
    same: Floats
    better: Floats


def posterior(gain: Floats, rope: float, degrees: float | None = None) -> Posterior:
    """The posterior of the mean under the usual flat prior p(μ, σ²) ∝ 1/σ².

    μ has Student's t of n − 1 degrees of freedom around the mean with scale sd/√n (Kruschke
    2013; Corani and Benavoli, Machine Learning 100, 2015, with no correlation between queries).
    Where all differences are equal all probability is at their value.

    Args:
        gain: (n, M) differences, positive is better.
        rope: the largest difference that does not matter, 0 or more.
        degrees: of freedom of the standard error; n − 1 where None.
    """
    from scipy.special import stdtr

    table = as_columns(gain)
    n = len(table)
    if n < 2:  # one difference has no spread
        undefined = np.full(table.shape[1], np.nan)
        return Posterior(undefined, undefined, undefined)
    mean, error = table.mean(axis=0), standard_error(table)
    with np.errstate(divide="ignore", invalid="ignore"):
        below_t, above_t = (-rope - mean) / error, (mean - rope) / error
    # a mean exactly at an edge, without spread, is within the region
    below_t, above_t = (
        np.where(np.isnan(statistic), -np.inf, statistic) for statistic in (below_t, above_t)
    )
    df = n - 1 if degrees is None else degrees
    worse, better = stdtr(df, below_t), stdtr(df, above_t)
    return Posterior(worse, np.maximum(0.0, 1 - worse - better), better)

"""Intervals for coefficients of agreement: whole clusters of items are resampled or left out."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import TYPE_CHECKING

import numpy as np

from rankgate.core.frozen import dataclass

if TYPE_CHECKING:
    from rankgate.measurement.stats.agreement.ratings import Floats, Tallies

FEWEST_CLUSTERS = 15
"""Clusters below which no interval is given; with fewer it covers too rarely (docs/validity.md)."""

_BLOCK = 1 << 23  # numbers of one block of replicates, 64 MB


@dataclass(frozen=True)
class Agreement:
    """A coefficient and where it may lie.

    Attributes:
        value: of these items; NaN if undefined.
        low, high: interval over resampled clusters; NaN where there are too few clusters.
        level: of the interval.
        undefined: share of the replicates in which the coefficient is undefined; they are left out.
    """

    value: float
    low: float
    high: float
    level: float
    undefined: float = 0.0

    @classmethod
    def from_dict(cls, values: Mapping[str, float | None]) -> Agreement:
        """From plain values, in which an undefined number is None."""
        nan = float("nan")
        known = {name: nan if value is None else value for name, value in values.items()}
        return cls(**known)


def intervals(
    coefficients: Mapping[str, Callable[[Tallies], Floats]],
    clusters: Tallies,
    *,
    level: float = 0.95,
    samples: int = 2000,
    seed: int = 0,
) -> dict[str, Agreement]:
    """Each coefficient with its percentile interval over resampled clusters.

    Grades of one query resemble each other, so that pairs are no independent observations: whole
    clusters are drawn with replacement (Davison and Hinkley 1997, section 3.8). With N clusters
    the quantiles are widened to Φ(−√(N/(N−1)) t), as percentile intervals of few observations
    are too short (Hesterberg, The American Statistician 69(4), 2015).

    Args:
        coefficients: each takes tallies of B rows and gives (B,) values.
        clusters: the tallies of each cluster, N rows.
        level: of the intervals.
        samples: replicates, the same ones for every coefficient.
        seed: of the resampling.
    """
    whole, size = clusters.whole(), len(clusters.paired)
    values = {name: float(of(whole)[0]) for name, of in coefficients.items()}
    used = clusters.paired > 0
    if used.sum() < FEWEST_CLUSTERS:
        nan = float("nan")
        return {name: Agreement(value, nan, nan, level, 1.0) for name, value in values.items()}
    rng = np.random.default_rng(seed)
    step = max(1, _BLOCK // max(size, clusters.pairs[0].size, clusters.given[0].size))
    even = np.full(size, 1.0 / size)
    drawn: dict[str, list[Floats]] = {name: [] for name in coefficients}
    for begin in range(0, samples, step):
        times = rng.multinomial(size, even, size=min(step, samples - begin))
        replicates = clusters.drawn(times.astype(np.float64))
        for name, of in coefficients.items():
            drawn[name].append(of(replicates))
    tails = _tails(int(used.sum()), level)
    return {
        name: _interval(values[name], np.concatenate(drawn[name]), tails, level)
        for name in coefficients
    }


def jackknife(value: float, without: Floats, level: float = 0.95, fewest: int = 2) -> Agreement:
    """A coefficient with its t interval from leaving out one cluster at a time.

    s² = (N−1)/N Σ (θ_(i) − mean θ_(i))², value ± t(N−1) s (Efron 1982, chapter 3); for many
    coefficients of few ratings each, where a bootstrap would cost too much.

    Args:
        value: the coefficient of all clusters.
        without: (N,) the coefficient without each cluster.
        level: of the interval.
        fewest: clusters below which no interval is given.

    Returns:
        the interval; NaN with one cluster, or where leaving one out leaves nothing defined.
    """
    from scipy.special import stdtrit

    nan, size = float("nan"), len(without)
    undefined = 1 - np.isfinite(without).mean() if size else 1.0
    if size < max(fewest, 2) or undefined or not np.isfinite(value):
        return Agreement(value, nan, nan, level, float(undefined))
    error = np.sqrt((size - 1) / size * ((without - without.mean()) ** 2).sum())
    reach = float(stdtrit(size - 1, (1 + level) / 2) * error)
    return Agreement(value, value - reach, value + reach, level, 0.0)


def _tails(clusters: int, level: float) -> tuple[float, float]:
    """The quantiles to read of the replicates."""
    from scipy.special import ndtr, stdtrit

    widened = np.sqrt(clusters / (clusters - 1)) * stdtrit(clusters - 1, (1 + level) / 2)
    return float(ndtr(-widened)), float(ndtr(widened))


def _interval(value: float, drawn: Floats, tails: tuple[float, float], level: float) -> Agreement:
    fine = drawn[np.isfinite(drawn)]
    undefined = 1 - fine.size / drawn.size
    if not np.isfinite(value) or fine.size < drawn.size / 2:
        return Agreement(value, float("nan"), float("nan"), level, undefined)
    low, high = np.quantile(fine, tails)
    return Agreement(value, float(low), float(high), level, undefined)

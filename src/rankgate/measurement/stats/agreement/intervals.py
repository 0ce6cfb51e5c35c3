"""Intervals for coefficients of agreement: whole clusters of items are left out in turn."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import TYPE_CHECKING

import numpy as np

from rankgate.core.frozen import dataclass

if TYPE_CHECKING:
    from rankgate.measurement.stats.agreement.ratings import Floats, Tallies

FEWEST_CLUSTERS = 15
"""Clusters below which no interval is given; with fewer it covers too rarely (docs/validity.md)."""


@dataclass(frozen=True)
class Agreement:
    """A coefficient and where it may lie.

    Attributes:
        value: of these items; NaN if undefined.
        low, high: interval over clusters; NaN where there are too few of them, or where one of
            them alone makes the coefficient defined.
        level: of the interval.
        undefined: share of the clusters without which the coefficient is undefined.
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
        numbers = {name: nan if value is None else value for name, value in values.items()}
        return cls(**numbers)


def intervals(
    coefficients: Mapping[str, Callable[[Tallies], Floats]],
    clusters: Tallies,
    *,
    level: float = 0.95,
) -> dict[str, Agreement]:
    """Each coefficient with its jackknife interval, leaving out one cluster at a time.

    Grades of one query resemble each other, so that pairs are no independent observations: whole
    clusters are left out, those with an item that has two ratings; the others add to the shares of
    grades only. A coefficient is 1 − d, where d is the disagreement, as a share of that expected
    by chance. The interval is that of ln d, which is less skewed than d: 1 − d exp(± t s), s by
    `jackknife`. Where all disagreement is in one cluster, or there is none, it is that of the
    coefficient, cut at 1. How often it holds the truth is measured (docs/validity.md).

    Args:
        coefficients: each takes tallies of B rows and gives (B,) values, at most 1.
        clusters: the tallies of each cluster, N rows.
        level: of the intervals.
    """
    all_clusters, without = clusters.whole(), clusters.without_one()
    has_pairs = clusters.paired > 0
    return {
        name: _interval(float(coefficient(all_clusters)[0]), coefficient(without)[has_pairs], level)
        for name, coefficient in coefficients.items()
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
    half_width = float(stdtrit(size - 1, (1 + level) / 2) * error)
    return Agreement(value, value - half_width, value + half_width, level, 0.0)


def _interval(value: float, without: Floats, level: float) -> Agreement:
    """A coefficient with the interval of its disagreement's logarithm."""
    if value < 1 and (without < 1).all():
        interval = jackknife(
            float(np.log1p(-value)), np.log1p(-without), level, fewest=FEWEST_CLUSTERS
        )
        low, high = (float(-np.expm1(bound)) for bound in (interval.high, interval.low))
        return Agreement(value, low, high, level, interval.undefined)
    interval = jackknife(value, without, level, fewest=FEWEST_CLUSTERS)
    return Agreement(value, interval.low, min(interval.high, 1.0), level, interval.undefined)

"""The front of quality against latency: points that no other one is known to dominate."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from rankgate.core.frozen import dataclass

if TYPE_CHECKING:
    from numpy.typing import NDArray

    Floats = NDArray[np.float64]

_SAMPLES = 1000
_BLOCK = 1 << 21  # latencies drawn at once


@dataclass(frozen=True)
class LatencyQuantiles:
    """A quantile of the latencies of points that were timed in turn.

    Attributes:
        value: (P,) the quantile of each point.
        low, high: (P,) their intervals; NaN for fewer than two queries.
        samples: (B, P) the quantiles of resampled queries, the same ones for all points.
        queries: the number of queries that all points answered.
    """

    value: Floats
    low: Floats
    high: Floats
    samples: Floats
    queries: int

    @classmethod
    def from_latencies(
        cls, latencies: Floats, share: float, *, level: float, seed: int
    ) -> LatencyQuantiles:
        """The quantiles of points, with bootstrap intervals.

        Args:
            latencies: (n, P) of each query at each point, in milliseconds.
            share: of the quantile, as in 0.95.
            level: of the intervals.
            seed: of the resampling.
        """
        n, count = latencies.shape
        value = np.quantile(latencies, share, axis=0)
        if n < 2:
            empty = np.full(count, np.nan)
            return cls(value, empty, empty, np.empty((0, count)), n)
        rng = np.random.default_rng(seed)
        step = max(1, _BLOCK // (n * count))
        sampled_quantiles = []
        for begin in range(0, _SAMPLES, step):
            rows = rng.integers(0, n, size=(min(step, _SAMPLES - begin), n))
            sampled_quantiles.append(np.quantile(latencies[rows], share, axis=1))
        samples = np.concatenate(sampled_quantiles)
        low, high = np.quantile(samples, [(1 - level) / 2, (1 + level) / 2], axis=0)
        return cls(value, low, high, samples, n)


def front_of(quality: Floats, speed: LatencyQuantiles, level: float) -> list[int]:
    """The points that no other point is known to be faster than, and at least as good.

    A point j is faster than i if t_i - t_j > c s, with t the quantiles of latency, s the standard
    deviation of their difference over resampled queries, which both points share, and c the
    quantile of Student's t at 1 - (1 - level)/m, with m pairs of points that are compared
    (Bonferroni): with equal latencies all points are on the front in ``level`` of all sweeps or
    more.

    Args:
        quality: (P,) greater is better.
        speed: of the points.
        level: the probability that no point is left out wrongly.

    Returns:
        Indices of the points, the fastest first.
    """
    from scipy.special import stdtrit

    better = quality[None, :] >= quality[:, None]  # (i, j): j is at least as good as i
    np.fill_diagonal(better, val=False)
    pairs = int(better.sum())
    dominated = np.zeros(len(quality), np.bool_)
    if pairs and speed.queries > 1:
        limit = stdtrit(speed.queries - 1, 1 - (1 - level) / pairs)
        for index in range(len(quality)):
            at_least_as_good = np.flatnonzero(better[index])
            slower = speed.value[index] - speed.value[at_least_as_good]
            standard_error = (speed.samples[:, [index]] - speed.samples[:, at_least_as_good]).std(
                axis=0, ddof=1
            )
            dominated[index] = ((slower > 0) & (slower > limit * standard_error)).any()
    places = np.flatnonzero(~dominated)
    return [int(index) for index in places[np.lexsort((-quality[places], speed.value[places]))]]

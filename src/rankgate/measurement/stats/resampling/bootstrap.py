"""Bootstrap over queries: intervals of a mean, and the shift test."""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING, Literal

import numpy as np

from rankgate.core.frozen import dataclass
from rankgate.measurement.stats.interval import FEW, Intervals, cautions, weighted
from rankgate.measurement.stats.paired import columns

if TYPE_CHECKING:
    from rankgate.measurement.stats.paired import Floats

Method = Literal["bca", "percentile", "basic"]

_SMALL = 200  # queries below which bootstrap intervals cover too rarely (docs/validity.md)
_BLOCK = 1 << 23  # places drawn at once: 64 MB


@dataclass(frozen=True)
class Shifted:
    """The bootstrap-shift test of each column: `p_value` (M,), `mc_error` (M,), `samples`."""

    p_value: Floats
    mc_error: Floats
    samples: int


def bootstrap_test(delta: Floats, *, samples: int = 100_000, seed: int = 0) -> Shifted:
    """(c + 1)/(samples + 1) of resamples whose mean strays from the mean as far as it is from 0.

    It rejects too often for few queries (Urbano, Lima and Hanjalic 2019): a secondary test.
    """
    table = columns(delta)
    if not len(table):
        empty = np.full(table.shape[1], np.nan)
        return Shifted(empty, empty, 0)
    mean = table.mean(axis=0)
    near = 1e-12 * np.abs(table).mean(axis=0)
    count = np.zeros(table.shape[1])
    for means in _means(table, None, samples, seed):
        count += (np.abs(means - mean) >= np.abs(mean) - near).sum(axis=0)
    p = (count + 1) / (samples + 1)
    return Shifted(p, np.sqrt(p * (1 - p) / samples), samples)


def bootstrap_interval(
    delta: Floats,
    level: float = 0.95,
    method: Method = "bca",
    *,
    samples: int = 10_000,
    seed: int = 0,
    weights: Floats | None = None,
) -> Intervals:
    """An interval of each column's mean over queries drawn with replacement.

    ``percentile``: quantiles of the resampled means; ``basic``: those mirrored at the mean;
    ``bca``: quantiles moved by the bias and the acceleration (Efron 1987).

    Args:
        delta: (n, M) finite differences.
        level: of the intervals.
        method: of the three.
        samples: resamples.
        seed: of the resampling.
        weights: (n,) how much each query counts.
    """
    table = columns(delta)
    mean, _ = weighted(table, weights)
    result = cautions(table)
    if FEW <= len(table) < _SMALL:
        words = "bootstrap intervals of fewer than {} queries cover less often than stated"
        result += (f"{words.format(_SMALL)}; those of t do not.",)
    if len(table) < 2:  # one difference has no spread
        empty = np.full(table.shape[1], np.nan)
        return Intervals(mean, empty, empty, level, method, result)
    drawn = np.concatenate(list(_means(table, weights, samples, seed)))
    tails = np.array([(1 - level) / 2, (1 + level) / 2])
    ends = np.empty((2, table.shape[1]))
    for column in range(table.shape[1]):
        means = drawn[:, column]
        if np.ptp(table[:, column]) == 0:
            ends[:, column] = mean[column]
        elif method == "bca":
            own = _moved(means, table[:, column], float(mean[column]), tails, weights)
            ends[:, column] = np.quantile(means, own)
        elif method == "percentile":
            ends[:, column] = np.quantile(means, tails)
        else:
            ends[:, column] = 2 * mean[column] - np.quantile(means, tails[::-1])
    return Intervals(mean, ends[0], ends[1], level, method, result)


def _moved(
    means: Floats, values: Floats, mean: float, tails: Floats, weights: Floats | None
) -> Floats:
    """The quantiles to read instead of `tails`."""
    from scipy.special import ndtr, ndtri

    close = 1e-12 * (abs(mean) + np.abs(values).mean())
    below = (means < mean - close).mean() + (np.abs(means - mean) <= close).mean() / 2
    bias = ndtri(np.clip(below, 1 / len(means), 1 - 1 / len(means)))
    pull = (values - mean) * (1.0 if weights is None else weights)
    size = (pull**2).sum() ** 1.5
    speed = (pull**3).sum() / (6 * size) if size else 0.0
    z = ndtri(tails)
    return np.asarray(ndtr(bias + (bias + z) / (1 - speed * (bias + z))), np.float64)


def _means(table: Floats, weights: Floats | None, samples: int, seed: int) -> Iterator[Floats]:
    """Means of resamples, (block, M); the same regardless of the blocks."""
    rng = np.random.default_rng(seed)
    n = len(table)
    step = max(1, _BLOCK // n)
    for begin in range(0, samples, step):
        rows = min(step, samples - begin)
        places = rng.integers(0, n, size=(rows, n), dtype=np.int64)
        if weights is None:
            yield np.stack([column[places].mean(axis=1) for column in table.T], axis=1)
        else:
            own = weights[places]
            total = own.sum(axis=1)
            yield np.stack(
                [(own * column[places]).sum(axis=1) / total for column in table.T], axis=1
            )

"""Bootstrap over queries: intervals of a mean, and the shift test."""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING, Literal

import numpy as np

from rankgate.core.frozen import dataclass
from rankgate.measurement.stats.interval import FEW, Intervals, interval_warnings, weighted_mean
from rankgate.measurement.stats.paired import as_columns

if TYPE_CHECKING:
    from rankgate.measurement.stats.paired import Floats

Method = Literal["bca", "percentile", "basic"]

_SMALL = 200  # queries below which bootstrap intervals cover too rarely (docs/validity.md)
_BLOCK = 1 << 23  # places drawn at once: 64 MB


@dataclass(frozen=True)
class BootstrapTest:
    """The bootstrap-shift test of each column: `p_value` (M,), `mc_error` (M,), `samples`."""

    p_value: Floats
    mc_error: Floats
    samples: int


def bootstrap_test(delta: Floats, *, samples: int = 100_000, seed: int = 0) -> BootstrapTest:
    """(c + 1)/(samples + 1) of resamples whose mean strays from the mean as far as it is from 0.

    It rejects too often for few queries (Urbano, Lima and Hanjalic 2019): a secondary test.
    """
    table = as_columns(delta)
    if not len(table):
        empty = np.full(table.shape[1], np.nan)
        return BootstrapTest(empty, empty, 0)
    mean = table.mean(axis=0)
    tolerance = 1e-12 * np.abs(table).mean(axis=0)
    count = np.zeros(table.shape[1])
    for means in _resampled_means(table, None, samples, seed):
        count += (np.abs(means - mean) >= np.abs(mean) - tolerance).sum(axis=0)
    p = (count + 1) / (samples + 1)
    return BootstrapTest(p, np.sqrt(p * (1 - p) / samples), samples)


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
    table = as_columns(delta)
    mean, _ = weighted_mean(table, weights)
    result = interval_warnings(table)
    if FEW <= len(table) < _SMALL:
        message = "bootstrap intervals of fewer than {} queries cover less often than stated"
        result += (f"{message.format(_SMALL)}; those of t do not.",)
    if len(table) < 2:  # one difference has no spread
        empty = np.full(table.shape[1], np.nan)
        return Intervals(mean, empty, empty, level, method, result)
    resampled_means = np.concatenate(list(_resampled_means(table, weights, samples, seed)))
    tails = np.array([(1 - level) / 2, (1 + level) / 2])
    ends = np.empty((2, table.shape[1]))
    for column in range(table.shape[1]):
        means = resampled_means[:, column]
        if np.ptp(table[:, column]) == 0:
            ends[:, column] = mean[column]
        elif method == "bca":
            shifted_tails = _bca_tails(means, table[:, column], float(mean[column]), tails, weights)
            ends[:, column] = np.quantile(means, shifted_tails)
        elif method == "percentile":
            ends[:, column] = np.quantile(means, tails)
        else:
            ends[:, column] = 2 * mean[column] - np.quantile(means, tails[::-1])
    return Intervals(mean, ends[0], ends[1], level, method, result)


def _bca_tails(
    means: Floats, values: Floats, mean: float, tails: Floats, weights: Floats | None
) -> Floats:
    """The quantiles to read instead of `tails`."""
    from scipy.special import ndtr, ndtri

    tolerance = 1e-12 * (abs(mean) + np.abs(values).mean())
    below = (means < mean - tolerance).mean() + (np.abs(means - mean) <= tolerance).mean() / 2
    bias = ndtri(np.clip(below, 1 / len(means), 1 - 1 / len(means)))
    influence = (values - mean) * (1.0 if weights is None else weights)
    size = (influence**2).sum() ** 1.5
    acceleration = (influence**3).sum() / (6 * size) if size else 0.0
    z = ndtri(tails)
    return np.asarray(ndtr(bias + (bias + z) / (1 - acceleration * (bias + z))), np.float64)


def _resampled_means(
    table: Floats, weights: Floats | None, samples: int, seed: int
) -> Iterator[Floats]:
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
            drawn_weights = weights[places]
            total = drawn_weights.sum(axis=1)
            yield np.stack(
                [(drawn_weights * column[places]).sum(axis=1) / total for column in table.T], axis=1
            )

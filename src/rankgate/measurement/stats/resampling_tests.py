"""Resampling over queries: bootstrap intervals, randomization test, quantile differences.

Fisher's randomization test of paired differences puts all columns under the same flips of
signs. Under H₀ the two systems of a query are exchangeable: every difference may have had the
other sign (Fisher 1935; Smucker, Allan and Carterette, CIKM 2007).
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING, Literal

import numpy as np

from rankgate.core.frozen import dataclass
from rankgate.core.quantiles import quantiles
from rankgate.measurement.stats.mean_intervals import FEW, Intervals, interval_warnings, weighted_mean
from rankgate.measurement.stats.paired_tests import as_columns, standard_error

if TYPE_CHECKING:
    from collections.abc import Sequence

    from rankgate.core.arrays import Floats


Method = Literal["bca", "percentile", "basic"]

_SMALL = 200  # queries below which bootstrap intervals cover too rarely (docs/validity.md)
_BOOTSTRAP_CELLS = 1 << 23  # positions to draw at one time: 64 MB


@dataclass(frozen=True)
class BootstrapTest:
    """The bootstrap-shift test of each column: `p_value` (M,), `mc_error` (M,), `samples`."""

    p_value: Floats
    mc_error: Floats
    samples: int


def bootstrap_test(delta: Floats, *, samples: int = 100_000, seed: int = 0) -> BootstrapTest:
    """(c + 1)/(samples + 1) of resamples with a mean as far from the mean as that is from 0.

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
        level: the confidence level of the intervals.
        method: the method, one of the three.
        samples: the number of resamples.
        seed: the seed of the resampling.
        weights: (n,) the weight of each query.
    """
    table = as_columns(delta)
    mean, _ = weighted_mean(table, weights)
    result = interval_warnings(table)
    if FEW <= len(table) < _SMALL:
        message = "bootstrap intervals of fewer than {} queries cover less often than stated"
        result += (f"{message.format(_SMALL)}; those of t do not.",)
    if len(table) < 2:  # the spread needs two differences
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


def _bca_tails(means: Floats, values: Floats, mean: float, tails: Floats, weights: Floats | None) -> Floats:
    """The quantiles to use instead of `tails`."""
    from rankgate.measurement.stats.special_functions import ndtr, ndtri

    tolerance = 1e-12 * (abs(mean) + np.abs(values).mean())
    below = (means < mean - tolerance).mean() + (np.abs(means - mean) <= tolerance).mean() / 2
    bias = ndtri(np.clip(below, 1 / len(means), 1 - 1 / len(means)))
    influence = (values - mean) * (1.0 if weights is None else weights)
    size = (influence**2).sum() ** 1.5
    acceleration = (influence**3).sum() / (6 * size) if size else 0.0
    z = ndtri(tails)
    return np.asarray(ndtr(bias + (bias + z) / (1 - acceleration * (bias + z))), np.float64)


def _resampled_means(table: Floats, weights: Floats | None, samples: int, seed: int) -> Iterator[Floats]:
    """Means of resamples, (block, M); they do not depend on the blocks."""
    rng = np.random.default_rng(seed)
    n = len(table)
    step = max(1, _BOOTSTRAP_CELLS // n)
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


_CELLS = 1 << 22  # numbers in a block of resamples
_FLAT = 1e-12  # a smaller spread, relative to the column, is a rounding error


def studentised_interval(
    delta: Floats, level: float = 0.95, *, samples: int = 10_000, seed: int = 0
) -> Intervals:
    """Bootstrap-t: mean − t*(1 − α/2) · se to mean − t*(α/2) · se (Efron 1982, chapter 10).

    t* = (mean* − mean) / se* of resamples of the queries. The interval leans the way the skew
    does, as BCa's does, and is second-order correct too. A resample without spread counts as
    infinitely far away on its side.

    Args:
        delta: (n, M) finite differences.
        level: the confidence level of the intervals.
        samples: the number of resamples.
        seed: the seed of the resampling.
    """
    table = as_columns(delta)
    mean, error = table.mean(axis=0), standard_error(table)
    if len(table) < 2:  # the spread needs two differences
        empty = np.full(table.shape[1], np.nan)
        return Intervals(mean, empty, empty, level, "studentised", interval_warnings(table))
    statistics = np.concatenate(list(_t_statistics(table, samples, seed)))
    tails = np.array([(1 + level) / 2, (1 - level) / 2])
    # no interpolation: an infinite statistic would spoil its neighbours
    high, low = np.quantile(statistics, tails, axis=0, method="inverted_cdf")
    with np.errstate(invalid="ignore"):
        ends = [np.where(error == 0, mean, mean - quantile * error) for quantile in (high, low)]
    return Intervals(mean, ends[0], ends[1], level, "studentised", interval_warnings(table))


def simultaneous_reach(delta: Floats, level: float = 0.95, *, samples: int = 10_000, seed: int = 0) -> float:
    """The c for which all intervals mean ± c · se hold together (max-t; Romano and Wolf 2005).

    c is the quantile of max |t*| over the columns, each resample taking the same queries from
    all of them, so that it includes the correlation of metrics and systems: less than
    Bonferroni's, and the single-step max-t of Westfall and Young (1993) for intervals.

    Args:
        delta: (n, M) differences, NaN where a query has none; columns without spread are left out.
        level: the confidence level of all intervals together.
        samples: the number of resamples.
        seed: the seed of the resampling.

    Returns:
        the factor c; NaN if no column has a spread.
    """
    table = as_columns(delta)
    is_defined = ~np.isnan(table)
    has_spread = [
        bool(k.sum() > 1 and np.ptp(column[k]) > 0) for column, k in zip(table.T, is_defined.T, strict=True)
    ]
    if not any(has_spread):
        return float("nan")
    largest_statistics = [
        np.abs(block).max(axis=1) for block in _t_statistics(table[:, has_spread], samples, seed)
    ]
    return float(np.quantile(np.concatenate(largest_statistics), level, method="inverted_cdf"))


def _t_statistics(table: Floats, samples: int, seed: int) -> Iterator[Floats]:
    """(block, M) t* = (mean* − mean) / se*, by how often each query is drawn; NaN are left out."""
    rng = np.random.default_rng(seed)
    is_defined = (~np.isnan(table)).astype(np.float64)
    mean = np.nanmean(table, axis=0)
    deviations = np.where(is_defined > 0, table - mean, 0.0)
    threshold = _FLAT * np.sqrt((deviations**2).sum(axis=0) / is_defined.sum(axis=0))
    n = len(table)
    equal_chances = np.full(n, 1.0 / n)
    step = max(1, _CELLS // n)
    for begin in range(0, samples, step):
        draw_counts = rng.multinomial(n, equal_chances, size=min(step, samples - begin)).astype(np.float64)
        size = draw_counts @ is_defined
        with np.errstate(divide="ignore", invalid="ignore"):
            mean_shift = draw_counts @ deviations / size
            variance = np.maximum(draw_counts @ deviations**2 / size - mean_shift**2, 0.0) / (size - 1)
            error = np.sqrt(variance)
            t = np.where(error > threshold, mean_shift / error, np.sign(mean_shift) * np.inf)
        yield np.where(np.isnan(t), 0.0, t)  # the mean did not change, and there is no spread


_RANDOMIZATION_CELLS = 1 << 23  # sign flips in memory at one time as float64: 64 MB
_CLOSE = 1e-12  # of the sum of sizes: sums in another order may differ so much


@dataclass(frozen=True)
class RandomizationTest:
    """The test of each column.

    Attributes:
        p_value: (M,) exact share, or (c + 1)/(samples + 1), which is never 0.
        mc_error: (M,) the standard error of p from sampling the flips; 0 if exact.
        p_max: (M,) corrected over the columns by the largest standardised statistic of each
            flip (Westfall and Young 1993), which heeds how columns hang together.
        exact: True if all flips were counted.
        samples: the number of flips counted.
    """

    p_value: Floats
    mc_error: Floats
    p_max: Floats
    exact: bool
    samples: int


def randomization(delta: Floats, *, samples: int = 100_000, seed: int = 0) -> RandomizationTest:
    """The share of sign flips with a mean at least as far from 0 as the observed one.

    All 2ⁿ flips are counted if they are at most `samples`; otherwise this number is drawn. Memory
    is limited; the result does not depend on the blocks of work.

    Args:
        delta: (n, M) finite differences.
        samples: the number of flips to draw.
        seed: the seed of the random draws.
    """
    table = as_columns(delta)
    n, column_count = table.shape
    if not n:
        empty = np.full(column_count, np.nan)
        return RandomizationTest(empty, empty, empty, exact=True, samples=0)
    exact = 2**n <= samples  # as integers, because floats end at 2.0**1023
    total = table.sum(axis=0)
    tolerance = _CLOSE * np.abs(table).sum(axis=0)
    size = np.sqrt((table**2).sum(axis=0))
    size = np.where(size > 0, size, 1.0)
    observed = np.abs(total)
    bound, top = (observed - tolerance), (observed - tolerance) / size
    exceed_count, max_exceed_count, count = np.zeros(column_count), np.zeros(column_count), 0
    for flips in all_flips(n) if exact else drawn_flips(n, samples, seed):
        distance = np.abs(total - 2 * (flips @ table))
        exceed_count += (distance >= bound).sum(axis=0)
        highest = np.sort((distance / size).max(axis=1))
        max_exceed_count += len(highest) - np.searchsorted(highest, top, side="left")
        count += len(flips)
    if exact:
        return RandomizationTest(
            exceed_count / count, np.zeros(column_count), max_exceed_count / count, exact=True, samples=count
        )
    p = (exceed_count + 1) / (count + 1)
    error = np.sqrt(p * (1 - p) / count)
    return RandomizationTest(p, error, (max_exceed_count + 1) / (count + 1), exact=False, samples=count)


def all_flips(n: int) -> Iterator[Floats]:
    """All flips of n signs as rows of 0 and 1."""
    step = max(1, _RANDOMIZATION_CELLS // n)
    places = np.arange(n)
    for begin in range(0, 2**n, step):
        codes = np.arange(begin, min(begin + step, 2**n))
        yield ((codes[:, None] >> places) & 1).astype(np.float64)


def drawn_flips(n: int, samples: int, seed: int | Sequence[int]) -> Iterator[Floats]:
    """Draw flips; a row takes whole words of 32 bits, so that blocks do not change them."""
    rng = np.random.default_rng(seed)
    width = 4 * -(-n // 32)
    step = max(1, _RANDOMIZATION_CELLS // n)
    for begin in range(0, samples, step):
        rows = min(step, samples - begin)
        random_bytes = np.frombuffer(rng.bytes(rows * width), np.uint8).reshape(rows, width)
        yield np.unpackbits(random_bytes, axis=1, count=n).astype(np.float64)


_QUANTILE_CELLS = 1 << 21  # positions to draw at one time


@dataclass(frozen=True)
class QuantileDifferences:
    """Differences of means and quantiles.

    Attributes:
        one, two: (S,) the statistics of both samples: the mean, then each quantile.
        low, high: (S,) intervals of two - one; NaN for fewer than two pairs.
    """

    one: Floats
    two: Floats
    low: Floats
    high: Floats


def quantile_differences(
    first: Floats,
    second: Floats,
    shares: Sequence[float],
    *,
    level: float = 0.95,
    samples: int = 2000,
    seed: int = 0,
) -> QuantileDifferences:
    """The mean and quantiles of both samples, and percentile intervals of their differences.

    Pairs are drawn with replacement, so that what both samples share does not widen an interval
    (Efron and Tibshirani 1993, chapter 8).

    Args:
        first: (n,) a sample; infinite values in one of the samples only.
        second: (n,) the other sample, pair by pair.
        shares: the probabilities of the quantiles, as in 0.95.
        level: the confidence level of the intervals.
        samples: the number of resamples.
        seed: the seed of the resampling.

    >>> found = quantile_differences(np.array([1.0, 2, 3]), np.array([2.0, 3, 4]), [0.5])
    >>> (found.two - found.one).tolist(), found.low.round(9).tolist()
    ([1.0, 1.0], [1.0, 1.0])
    """
    n = len(first)
    if not n:
        empty = np.full(1 + len(shares), np.nan)
        return QuantileDifferences(empty, empty, empty, empty)
    statistics = (_mean_and_quantiles(first[None], shares)[0], _mean_and_quantiles(second[None], shares)[0])
    if n < 2:
        empty = np.full(1 + len(shares), np.nan)
        return QuantileDifferences(*statistics, empty, empty)
    rng = np.random.default_rng(seed)
    step = max(1, _QUANTILE_CELLS // n)
    differences = []
    for begin in range(0, samples, step):
        places = rng.integers(0, n, size=(min(step, samples - begin), n))
        differences.append(
            _mean_and_quantiles(second[places], shares) - _mean_and_quantiles(first[places], shares)
        )
    low, high = quantiles(np.concatenate(differences).T, [(1 - level) / 2, (1 + level) / 2])
    return QuantileDifferences(*statistics, low, high)


def _mean_and_quantiles(rows: Floats, shares: Sequence[float]) -> Floats:
    """The mean and the quantiles of each row, ``(B, 1 + len(shares))``."""
    return np.column_stack([rows.mean(axis=1), quantiles(rows, shares).T])

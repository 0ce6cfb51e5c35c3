"""Studentised bootstrap over queries: an interval of one mean, or of several at once."""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING

import numpy as np

from rankgate.measurement.stats.interval import Intervals, interval_warnings
from rankgate.measurement.stats.paired import as_columns, standard_error

if TYPE_CHECKING:
    from rankgate.measurement.stats.paired import Floats

_CELLS = 1 << 22  # numbers of one block of resamples
_FLAT = 1e-12  # a spread below this share of the column's own is rounding


def studentised_interval(
    delta: Floats, level: float = 0.95, *, samples: int = 10_000, seed: int = 0
) -> Intervals:
    """Bootstrap-t: mean − t*(1 − α/2) · se to mean − t*(α/2) · se (Efron 1982, chapter 10).

    t* = (mean* − mean) / se* of resamples of the queries. The interval leans the way the skew
    does, as BCa's does, and is second-order correct too. A resample without spread counts as
    infinitely far away on its side.

    Args:
        delta: (n, M) finite differences.
        level: of the intervals.
        samples: resamples.
        seed: of the resampling.
    """
    table = as_columns(delta)
    mean, error = table.mean(axis=0), standard_error(table)
    if len(table) < 2:  # one difference has no spread
        empty = np.full(table.shape[1], np.nan)
        return Intervals(mean, empty, empty, level, "studentised", interval_warnings(table))
    statistics = np.concatenate(list(_statistics(table, samples, seed)))
    tails = np.array([(1 + level) / 2, (1 - level) / 2])
    # no interpolation: an infinite statistic would spoil its neighbours
    high, low = np.quantile(statistics, tails, axis=0, method="inverted_cdf")
    with np.errstate(invalid="ignore"):
        ends = [np.where(error == 0, mean, mean - quantile * error) for quantile in (high, low)]
    return Intervals(mean, ends[0], ends[1], level, "studentised", interval_warnings(table))


def simultaneous_reach(
    delta: Floats, level: float = 0.95, *, samples: int = 10_000, seed: int = 0
) -> float:
    """The c for which all intervals mean ± c · se hold together (max-t; Romano and Wolf 2005).

    c is the quantile of max |t*| over the columns, each resample taking the same queries from
    all of them, so that it knows how differences of metrics and systems go together: less than
    Bonferroni's, and the single-step max-t of Westfall and Young (1993) for intervals.

    Args:
        delta: (n, M) differences, NaN where a query has none; columns without spread are left out.
        level: of all intervals together.
        samples: resamples.
        seed: of the resampling.

    Returns:
        c; NaN where no column has a spread.
    """
    table = as_columns(delta)
    is_defined = ~np.isnan(table)
    has_spread = [
        bool(k.sum() > 1 and np.ptp(column[k]) > 0)
        for column, k in zip(table.T, is_defined.T, strict=True)
    ]
    if not any(has_spread):
        return float("nan")
    largest_statistics = [
        np.abs(block).max(axis=1) for block in _statistics(table[:, has_spread], samples, seed)
    ]
    return float(np.quantile(np.concatenate(largest_statistics), level, method="inverted_cdf"))


def _statistics(table: Floats, samples: int, seed: int) -> Iterator[Floats]:
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
        draw_counts = rng.multinomial(n, equal_chances, size=min(step, samples - begin)).astype(
            np.float64
        )
        size = draw_counts @ is_defined
        with np.errstate(divide="ignore", invalid="ignore"):
            mean_shift = draw_counts @ deviations / size
            variance = np.maximum(draw_counts @ deviations**2 / size - mean_shift**2, 0.0) / (
                size - 1
            )
            error = np.sqrt(variance)
            t = np.where(error > threshold, mean_shift / error, np.sign(mean_shift) * np.inf)
        yield np.where(np.isnan(t), 0.0, t)  # a mean that did not move, without spread

"""The number of queries that a decision needs, by resampling."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from typing import TYPE_CHECKING

import numpy as np

from rankgate.core.frozen import dataclass
from rankgate.measurement.stats.paired import as_columns

if TYPE_CHECKING:
    from rankgate.measurement.stats.paired import Floats

    Bools = np.ndarray[tuple[int, ...], np.dtype[np.bool_]]

DRAWS = 2000
"""Samples of each size: the standard error of a share of 80 % is then 0.9 %."""

_FEWEST, _CELLS = 1000, 200_000  # samples of large sets of queries, and samples times queries
_ROWS = 400  # queries that are drawn from; of more, this many represent all
_LEAST, _MOST = 2, 1e9  # queries
_STEP = 1.05  # between the sizes that are tried


@dataclass(frozen=True)
class Samples:
    """Samples of differences by their moments; arrays (R, M), a row a sample, a column a metric.

    Attributes:
        n: differences in the sample; queries without a value do not count.
        mean: of the sample.
        sd: its standard deviation, with n − 1; NaN for fewer than two differences.
        skewness: its third standardised moment, g₁; 0 where nothing differs.
    """

    n: Floats
    mean: Floats
    sd: Floats
    skewness: Floats

    @property
    def error(self) -> Floats:
        """(R, M) standard errors of the means."""
        return np.asarray(self.sd / np.sqrt(self.n), np.float64)


def draw_samples(
    delta: Floats, n: int, mean: Floats | None = None, *, draws: int = DRAWS, seed: int = 0
) -> Samples:
    """Samples of n queries from populations that the measured differences may come from.

    Each sample has its own population: the measured differences with weights of a flat
    Dirichlet law (the Bayesian bootstrap: Rubin, Annals of Statistics 1981), moved to the mean
    asked for. So the spread and the shape are as uncertain as so many measured queries leave them,
    while the mean is given. Rows are drawn whole, so that metrics stay correlated.

    Args:
        delta: (n₀, M) measured differences, NaN where a query has no value.
        n: queries of a sample.
        mean: (M,) of the populations; as measured where None.
        draws: samples.
        seed: of the drawing.
    """
    table = as_columns(delta)
    if len(table) > _ROWS:
        table = _subset_rows(table, seed)
    rows = len(table)
    rng = np.random.default_rng([seed, n])
    weight = rng.dirichlet(np.ones(rows), draws)
    count = rng.multinomial(n, weight).astype(np.float64)
    is_defined = ~np.isnan(table)
    size = is_defined.sum(axis=0)
    column_means = np.where(is_defined, table, 0.0).sum(axis=0) / np.maximum(size, 1)
    # a flat Dirichlet law shrinks variances by size/(size + 1), the plug-in by (size − 1)/size
    scale = np.sqrt((size + 1) / np.maximum(size - 1, 1))
    scaled_values = np.where(is_defined, table - column_means, 0.0) * scale
    defined_count = np.maximum(count @ is_defined, 1.0)
    centre = (weight @ scaled_values) / np.maximum(weight @ is_defined, np.finfo(float).tiny)
    first, second, third = ((count @ scaled_values**k) / defined_count for k in (1, 2, 3))
    variance = np.maximum(second - first**2, 0.0)
    with np.errstate(divide="ignore", invalid="ignore"):
        sd = np.where(
            defined_count > 1, np.sqrt(variance * defined_count / (defined_count - 1)), np.nan
        )
        skewness = np.where(
            variance > 0, (third - 3 * first * second + 2 * first**3) / variance**1.5, 0.0
        )
    return Samples(
        defined_count, first - centre + (column_means if mean is None else mean), sd, skewness
    )


def queries_for(
    delta: Floats,
    decide: Callable[[Samples], Bools],
    power: float = 0.8,
    *,
    mean: Floats | None = None,
    start: Floats | float | None = None,
    draws: int = DRAWS,
    seed: int = 0,
) -> Floats:
    """The number of queries with which decisions come out with the wanted chance.

    Means stay as they are. Samples of growing sizes are drawn (see `draw_samples`), and the size is
    interpolated between the last at which too few decisions come out and the first at which
    enough do.

    Args:
        delta: (n₀, M) measured differences, NaN where a query has no value.
        decide: takes samples and says, (R, D), which of D decisions come out in each, such as that
            every rule passes, or that a corrected p is below the level.
        power: the wanted chance.
        mean: (M,) true means; as measured where None.
        start: (D,) or one number of queries at which the search begins; a good guess saves time.
        draws: samples of each size; fewer for many queries.
        seed: of the drawing.

    Returns:
        (D,) queries, counted as the rows of delta; infinity where a billion do not suffice.
    """
    table = as_columns(delta)
    draw_limit = max(_FEWEST, min(draws, _CELLS // max(len(table), 1)))
    share_by_step: dict[int, Floats] = {}

    def share(step_index: int) -> Floats:
        if step_index not in share_by_step:
            sample = draw_samples(
                table, _size_at(step_index), mean, draws=min(draws, draw_limit), seed=seed
            )
            share_by_step[step_index] = np.asarray(decide(sample), np.float64).mean(axis=0)
        return share_by_step[step_index]

    start_sizes = np.atleast_1d(np.asarray(len(table) if start is None else start, np.float64))
    count = np.atleast_1d(share(_step_index(float(start_sizes[0])))).size
    guesses = np.broadcast_to(start_sizes, (count,))
    sizes = []
    for j, begin in enumerate(guesses):
        decision_share = partial(_decision_share, share, j)
        sizes.append(_search_size(decision_share, power, float(begin)))
    return np.array(sizes)


def _decision_share(share: Callable[[int], Floats], decision: int, step_index: int) -> float:
    return float(np.atleast_1d(share(step_index))[decision])


def _search_size(share: Callable[[int], float], power: float, start: float) -> float:
    """The size at which a share reaches the power: steps that double, then halves."""
    last = _step_index(_MOST)
    low = high = _step_index(start)
    step = 1
    while share(high) < power:
        if high == last:
            return float("inf")
        low, high, step = high, min(high + step, last), 2 * step
    while low == high or (share(low) >= power and low > 0):
        if low == 0:
            return float(_size_at(0))
        high, low, step = low, max(low - step, 0), 2 * step
    if share(low) >= power:
        return float(_size_at(low))
    while high - low > 1:
        middle = (low + high) // 2
        low, high = (low, middle) if share(middle) >= power else (middle, high)
    low_share, high_share = share(low), share(high)
    fraction = (power - low_share) / (high_share - low_share)
    return float(_size_at(low) * (_size_at(high) / _size_at(low)) ** fraction)


def _size_at(step_index: int) -> int:
    return round(_LEAST * _STEP**step_index)


def _step_index(size: float) -> int:
    clipped_size = min(max(size, _LEAST), _MOST)
    return round(float(np.log(clipped_size / _LEAST) / np.log(_STEP)))


def _subset_rows(table: Floats, seed: int) -> Floats:
    """Some of the rows, with the means and standard deviations of all."""
    rng = np.random.default_rng([seed, len(table)])
    subset = table[np.sort(rng.permutation(len(table))[:_ROWS])]
    is_defined = ~np.isnan(subset)
    if (is_defined.sum(axis=0) < 2).any():  # one value has no spread
        return table
    mean, sd = np.nanmean(subset, axis=0), np.nanstd(subset, axis=0, ddof=1)
    full_mean, full_sd = np.nanmean(table, axis=0), np.nanstd(table, axis=0, ddof=1)
    scale = np.where(sd > 0, full_sd / np.where(sd > 0, sd, 1.0), 1.0)
    return np.asarray((subset - mean) * scale + full_mean, np.float64)

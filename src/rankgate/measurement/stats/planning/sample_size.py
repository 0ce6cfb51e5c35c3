"""The number of queries that a decision needs, by resampling."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from typing import TYPE_CHECKING

import numpy as np

from rankgate.core.frozen import dataclass
from rankgate.measurement.stats.paired import columns

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


def samples(
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
    table = columns(delta)
    if len(table) > _ROWS:
        table = _fewer(table, seed)
    rows = len(table)
    rng = np.random.default_rng([seed, n])
    weight = rng.dirichlet(np.ones(rows), draws)
    count = rng.multinomial(n, weight).astype(np.float64)
    known = ~np.isnan(table)
    size = known.sum(axis=0)
    middle = np.where(known, table, 0.0).sum(axis=0) / np.maximum(size, 1)
    # a flat Dirichlet law shrinks variances by size/(size + 1), the plug-in by (size − 1)/size
    grown = np.sqrt((size + 1) / np.maximum(size - 1, 1))
    moved = np.where(known, table - middle, 0.0) * grown
    inside = np.maximum(count @ known, 1.0)
    centre = (weight @ moved) / np.maximum(weight @ known, np.finfo(float).tiny)
    first, second, third = ((count @ moved**k) / inside for k in (1, 2, 3))
    variance = np.maximum(second - first**2, 0.0)
    with np.errstate(divide="ignore", invalid="ignore"):
        sd = np.where(inside > 1, np.sqrt(variance * inside / (inside - 1)), np.nan)
        skewness = np.where(
            variance > 0, (third - 3 * first * second + 2 * first**3) / variance**1.5, 0.0
        )
    return Samples(inside, first - centre + (middle if mean is None else mean), sd, skewness)


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
    """How many queries make decisions come out with the wanted chance, if the means stay.

    Samples of growing sizes are drawn (see `samples`) and decided upon; the size is interpolated
    between the last at which too few decisions come out and the first at which enough do.

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
    table = columns(delta)
    few = max(_FEWEST, min(draws, _CELLS // max(len(table), 1)))
    shares: dict[int, Floats] = {}

    def share(place: int) -> Floats:
        if place not in shares:
            drawn = samples(table, _size(place), mean, draws=min(draws, few), seed=seed)
            shares[place] = np.asarray(decide(drawn), np.float64).mean(axis=0)
        return shares[place]

    guess = np.atleast_1d(np.asarray(len(table) if start is None else start, np.float64))
    count = np.atleast_1d(share(_place(float(guess[0])))).size
    guesses = np.broadcast_to(guess, (count,))
    found = []
    for j, begin in enumerate(guesses):
        own = partial(_share, share, j)
        found.append(_searched(own, power, float(begin)))
    return np.array(found)


def _share(share: Callable[[int], Floats], decision: int, place: int) -> float:
    return float(np.atleast_1d(share(place))[decision])


def _searched(share: Callable[[int], float], power: float, start: float) -> float:
    """The size at which a share reaches the power: steps that double, then halves."""
    last = _place(_MOST)
    low = high = _place(start)
    step = 1
    while share(high) < power:
        if high == last:
            return float("inf")
        low, high, step = high, min(high + step, last), 2 * step
    while low == high or (share(low) >= power and low > 0):
        if low == 0:
            return float(_size(0))
        high, low, step = low, max(low - step, 0), 2 * step
    if share(low) >= power:
        return float(_size(low))
    while high - low > 1:
        middle = (low + high) // 2
        low, high = (low, middle) if share(middle) >= power else (middle, high)
    below, above = share(low), share(high)
    part = (power - below) / (above - below)
    return float(_size(low) * (_size(high) / _size(low)) ** part)


def _size(place: int) -> int:
    return round(_LEAST * _STEP**place)


def _place(size: float) -> int:
    inside = min(max(size, _LEAST), _MOST)
    return round(float(np.log(inside / _LEAST) / np.log(_STEP)))


def _fewer(table: Floats, seed: int) -> Floats:
    """Some of the rows, with the means and spreads of all."""
    rng = np.random.default_rng([seed, len(table)])
    some = table[np.sort(rng.permutation(len(table))[:_ROWS])]
    known = ~np.isnan(some)
    if (known.sum(axis=0) < 2).any():  # one value has no spread
        return table
    middle, spread = np.nanmean(some, axis=0), np.nanstd(some, axis=0, ddof=1)
    whole, wide = np.nanmean(table, axis=0), np.nanstd(table, axis=0, ddof=1)
    scale = np.where(spread > 0, wide / np.where(spread > 0, spread, 1.0), 1.0)
    return np.asarray((some - middle) * scale + whole, np.float64)

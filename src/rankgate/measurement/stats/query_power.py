"""The power of a set of queries, the difference it can detect, and the queries needed.

Power, the detectable difference, and the queries that a difference needs are exact, by the
noncentral t of the paired t-test (Cohen 1988; Sakai 2018).

Shapes: n values of one normal law; see `critical_t`.
"""

from __future__ import annotations

import os
from collections import defaultdict
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from functools import lru_cache
from threading import Lock
from typing import TYPE_CHECKING

import numpy as np

from rankgate.core.frozen import dataclass
from rankgate.measurement.stats.bisection import root_of_rising
from rankgate.measurement.stats.paired_tests import as_columns

if TYPE_CHECKING:
    from rankgate.core.arrays import Floats

    Bools = np.ndarray[tuple[int, ...], np.dtype[np.bool_]]


_MAX_POWER_QUERIES = 1e9


def power(delta: float, sd: float, n: float, alpha: float = 0.05, sides: int = 2) -> float:
    """The probability that a paired t-test of n queries rejects, if the true difference is delta.

    Args:
        delta: the true mean difference.
        sd: standard deviation of the differences.
        n: the number of queries, 2 or more.
        alpha: the level of the test.
        sides: 1 or 2.
    """
    from rankgate.measurement.stats.special_functions import nctdtr, ndtr, stdtrit

    if sd <= 0:
        return 1.0 if delta else alpha
    df = n - 1
    shift = delta * np.sqrt(n) / sd
    bound = stdtrit(df, 1 - alpha / sides)
    upper_tail = float(1 - nctdtr(df, shift, bound))
    if np.isnan(upper_tail):  # few degrees of freedom and a large shift
        upper_tail = float(ndtr(shift - bound))
    lower_tail = float(nctdtr(df, shift, -bound)) if sides == 2 else 0.0
    return upper_tail + (0.0 if np.isnan(lower_tail) else lower_tail)


def detectable_difference(
    sd: Floats | float, n: int, alpha: float = 0.05, wanted: float = 0.8, sides: int = 2
) -> Floats:
    """The smallest true difference that n queries show with the requested power (MDE).

    Args:
        sd: standard deviations of the differences, in any shape.
        n: the number of queries.
        alpha: the level of the test.
        wanted: the requested power.
        sides: 1 or 2.

    Returns:
        the difference for each sd, in the metric's units; NaN for fewer than two queries.
    """
    deviations = np.asarray(sd, dtype=np.float64)
    if n < 2:  # the spread needs two differences
        return np.full(deviations.shape, np.nan)
    return np.asarray(deviations * _detectable_effect(n, alpha, wanted, sides), np.float64)


@lru_cache(maxsize=1024)
def _detectable_effect(n: int, alpha: float, target_power: float, sides: int) -> float:
    """The result of `detectable_difference` for a standard deviation of 1."""

    def shortfall(size: float) -> float:
        return power(size, 1.0, n, alpha, sides) - target_power

    top = 1.0
    while shortfall(top) < 0:
        top *= 2
    return root_of_rising(shortfall, 0.0, top)


def queries_for_power(
    delta: float, sd: float, alpha: float = 0.05, wanted: float = 0.8, sides: int = 2
) -> float:
    """The number of queries that show a true difference of this size with the requested power.

    Returns:
        a number that is not rounded (round it up); infinity for a difference of 0.
    """
    if not delta:
        return float("inf")
    size = abs(delta)

    def shortfall(n: float) -> float:
        return power(size, sd, n, alpha, sides) - wanted

    low, high = 2.0, 4.0
    if sd <= 0 or shortfall(low) >= 0:
        return low
    while shortfall(high) < 0:
        high *= 2
        if high > _MAX_POWER_QUERIES:
            return float("inf")
    return root_of_rising(shortfall, low, high)


EFFECT = 0.4
"""Standard deviation of the standardised effects that the test is tuned to (`tau`)."""

_MAX_SEQUENTIAL_QUERIES = 1e8  # queries


def log_evidence(t: float, n: int, tau: float = EFFECT) -> float:
    """The logarithm of the evidence E against a mean of at most 0.

    E is the ratio of the density of t under effects δ = mean/sd drawn from the positive half of
    N(0, tau²) to that under δ = 0. With w = t/√(t² + n − 1) and r = n tau²/(1 + n tau²), where F
    is the distribution of Student's t with n degrees of freedom,

        E = 2 (1 + n tau²)^(−1/2) (1 − r w²)^(−n/2) F(√n w √r/√(1 − r w²)).

    The ratios at n = 2, 3, … are a test martingale for normal values, regardless of their sd; so E
    reaches 1/alpha at any of these looks with a probability of at most alpha. Two-sided without F:
    Gönen et al., The American Statistician 59 (2005); at any look: Hendriksen, de Heide and
    Grünwald, Bayesian Analysis 16 (2021); Wang and Ramdas, Sequential Analysis 44 (2025).

    Args:
        t: the statistic √n · mean/sd, where sd has n − 1.
        n: the number of values, at least 2.
        tau: the spread of the effects for which the test has most power.
    """
    from rankgate.measurement.stats.special_functions import stdtr

    w = t / np.sqrt(t**2 + n - 1)
    r = n * tau**2 / (1 + n * tau**2)
    unexplained = 1 - r * w**2
    below = stdtr(n, np.sqrt(n * r / unexplained) * w)
    return float(np.log(2 * below) - np.log1p(n * tau**2) / 2 - n / 2 * np.log(unexplained))


@lru_cache(maxsize=4096)
def critical_t(n: int, alpha: float, tau: float = EFFECT) -> float:
    """The t above which n values reject a mean of at most 0, at any look; inf if no t does.

    Args:
        n: the number of values.
        alpha: the probability of a false rejection at any look, one-sided.
        tau: see `log_evidence`.
    """
    highest_t = 1e6
    if n < 2 or log_evidence(highest_t, n, tau) < -np.log(alpha):  # one has no spread
        return float("inf")
    return root_of_rising(lambda t: log_evidence(t, n, tau) + np.log(alpha), 0.0, highest_t)


def one_look_level(n: int, alpha: float, tau: float = EFFECT) -> float:
    """The level of a single look with the same bound of Student's t: P(T(n − 1) > `critical_t`).

    A quantity for a single look, such as an interval or its power, is valid at any look if it is
    computed at this level.
    """
    from rankgate.measurement.stats.special_functions import stdtr

    return float(stdtr(n - 1, -critical_t(n, alpha, tau))) if n > 1 else 0.0


def needed_at_any_look(delta: float, sd: float, alpha: float, target_power: float) -> float:
    """The number of queries that show a difference of this size at one of any number of looks.

    Args:
        delta: the true mean difference.
        sd: standard deviation of the differences.
        alpha: the probability of a false rejection at any look, one-sided.
        target_power: the power of the test.

    Returns:
        the number of queries; infinity if more than 10⁸ are needed.
    """

    def enough(n: int) -> bool:
        level = one_look_level(n, alpha)
        return level > 0 and power(abs(delta), sd, n, level, 1) >= target_power

    if not delta:
        return float("inf")
    low, high = 2, 4
    while not enough(high):
        low, high = high, 2 * high
        if high > _MAX_SEQUENTIAL_QUERIES:
            return float("inf")
    while high - low > 1:
        middle = (low + high) // 2
        low, high = (low, middle) if enough(middle) else (middle, high)
    return float(high)


DRAWS = 2000
"""Samples of each size: the standard error of a share of 80 % is then 0.9 %."""

_FEWEST, _CELLS = 1000, 200_000  # fewest samples of large sets of queries; samples times queries
_ROWS = 400  # rows to draw from; if there are more, this number represents all
_MIN_QUERIES, _MAX_QUERIES = 2, 1e9  # queries
_STEP = 1.05  # ratio of successive sizes


@dataclass(frozen=True)
class Samples:
    """Moments of samples of differences; arrays (R, M), a row per sample, a column per metric.

    Attributes:
        n: the number of differences in the sample; queries without a value do not count.
        mean: the mean of the sample.
        sd: the standard deviation, with n − 1; NaN for fewer than two differences.
        skewness: the third standardised moment, g₁; 0 if all values are equal.
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
    """Draw samples of n queries from populations that the measured differences may come from.

    Each sample has its own population: the measured differences with weights of a flat
    Dirichlet law (the Bayesian bootstrap: Rubin, Annals of Statistics 1981), moved to the mean
    asked for. So the spread and the shape are as uncertain as so many measured queries leave them,
    while the mean is given. Rows are drawn whole, so that metrics stay correlated.

    Args:
        delta: (n₀, M) measured differences, NaN for a query without a value.
        n: the number of queries in a sample.
        mean: (M,) the means of the populations; the measured means if None.
        draws: the number of samples.
        seed: the seed of the random draws.
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
        sd = np.where(defined_count > 1, np.sqrt(variance * defined_count / (defined_count - 1)), np.nan)
        skewness = np.where(variance > 0, (third - 3 * first * second + 2 * first**3) / variance**1.5, 0.0)
    return Samples(defined_count, first - centre + (column_means if mean is None else mean), sd, skewness)


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
    """The number of queries for which decisions are reached with the requested probability.

    The means are fixed. Samples of increasing sizes are drawn (see `draw_samples`), and the size is
    interpolated between the last with too few decisions and the first with enough decisions.

    Args:
        delta: (n₀, M) measured differences, NaN for a query without a value.
        decide: a function from samples to (R, D) booleans: True if a decision is reached, such as
            that every rule passes, or that a corrected p is below the level.
        power: the requested probability.
        mean: (M,) true means; the measured means if None.
        start: (D,) or one number of queries at which the search begins; a good guess saves time.
        draws: the number of samples of each size; it is lower for many queries.
        seed: the seed of the random draws.

    Returns:
        (D,) numbers of queries, counted as rows of delta; infinity if a billion are not enough.
    """
    table = as_columns(delta)
    draw_limit = max(_FEWEST, min(draws, _CELLS // max(len(table), 1)))
    share_by_step: dict[int, Floats] = {}
    locks: defaultdict[int, Lock] = defaultdict(Lock)

    def share(step_index: int) -> Floats:
        with locks[step_index]:  # searches that need the same size wait for its samples
            if step_index not in share_by_step:
                sample = draw_samples(
                    table, _size_at(step_index), mean, draws=min(draws, draw_limit), seed=seed
                )
                share_by_step[step_index] = np.asarray(decide(sample), np.float64).mean(axis=0)
        return np.atleast_1d(share_by_step[step_index])

    def search(decision: int) -> float:
        return _search_size(lambda step: float(share(step)[decision]), power, guesses[decision])

    start_sizes = np.atleast_1d(np.asarray(len(table) if start is None else start, np.float64))
    count = share(_step_index(float(start_sizes[0]))).size
    guesses = np.broadcast_to(start_sizes, (count,)).tolist()
    with ThreadPoolExecutor(os.cpu_count()) as threads:  # random draws let other threads run
        return np.array(list(threads.map(search, range(count))))


def _search_size(share: Callable[[int], float], power: float, start: float) -> float:
    """The size at which a share reaches the power, found by doubling and bisection."""
    last = _step_index(_MAX_QUERIES)
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
    return round(_MIN_QUERIES * _STEP**step_index)


def _step_index(size: float) -> int:
    clipped_size = min(max(size, _MIN_QUERIES), _MAX_QUERIES)
    return round(float(np.log(clipped_size / _MIN_QUERIES) / np.log(_STEP)))


def _subset_rows(table: Floats, seed: int) -> Floats:
    """Select some of the rows, with the means and standard deviations of all rows."""
    rng = np.random.default_rng([seed, len(table)])
    subset = table[np.sort(rng.permutation(len(table))[:_ROWS])]
    is_defined = ~np.isnan(subset)
    if (is_defined.sum(axis=0) < 2).any():  # the spread needs two values
        return table
    mean, sd = np.nanmean(subset, axis=0), np.nanstd(subset, axis=0, ddof=1)
    full_mean, full_sd = np.nanmean(table, axis=0), np.nanstd(table, axis=0, ddof=1)
    scale = np.where(sd > 0, full_sd / np.where(sd > 0, sd, 1.0), 1.0)
    return np.asarray((subset - mean) * scale + full_mean, np.float64)

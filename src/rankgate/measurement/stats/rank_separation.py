"""Which of many systems can be told apart, the rank intervals that follow, and groups of alike systems.

Two populations have a test each. `compare_by_units`: the rows of a matrix, such as data sets, are a
sample of others like these. `compare_by_queries`: the data sets stay, and their queries are a sample.
Both correct for all pairs at once, so that the rank intervals of all systems hold together.

Shapes: n rows, S systems, P = S(S − 1)/2 pairs; larger values are better.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import TYPE_CHECKING

import numpy as np

from rankgate.core.frozen import dataclass
from rankgate.measurement.stats.resampling_tests import all_flips, drawn_flips

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from rankgate.core.arrays import Floats

    Pairs = tuple[NDArray[np.int64], NDArray[np.int64]]

_BLOCK = 1 << 18  # statistics of pairs at one time
_ROWS = 1 << 22  # squares of differences of queries and pairs at one time
_MOST = 1 << 26  # statistics of pairs in all: more pairs have fewer resamples
_FEWEST = 999
_FLOOR = 0.25  # of a pair's variance: a resample has no less, or near copies of a system hide all others
_CLOSE = 1e-9  # of a statistic: sums in another order may differ so much


@dataclass(frozen=True)
class SeparatedSystems:
    """Systems, and how surely each pair of them differs.

    Attributes:
        means: (S,) the mean of each system; larger is better.
        p_value: (S, S) of no difference in the population, corrected for all pairs; 1 on the diagonal.
        lowest_p: the smallest p-value that so few rows, or so many resamples, can give.
        resamples: the flips of signs that were counted.
    """

    means: Floats
    p_value: Floats
    lowest_p: float
    resamples: int

    def is_better(self, level: float) -> NDArray[np.bool_]:
        """(S, S): True where the system of the row is surely better than that of the column."""
        return np.asarray((self.p_value <= 1 - level) & (self.means[:, None] > self.means), np.bool_)


def compare_by_units(values: Floats, *, samples: int = 10_000, seed: int = 0) -> SeparatedSystems:
    """Test all pairs of systems, with rows such as data sets as the sample.

    p is the larger of two, each corrected for all pairs by the largest statistic (Westfall and Young
    1993, algorithm 4.1): of a pair and all pairs with a smaller one.

    - Flips of the signs of whole rows, with u = |Σ d| / √(Σ d²), d the (n,) differences of a pair. If
      differences of equal systems are symmetric around 0, any of them has p ≤ α with a probability of
      at most α, for every n, also where rows differ in spread (Romano and Wolf, JASA 100, 2005). With
      n rows no p is below 2/2ⁿ.
    - The studentised bootstrap of rows, as in `compare_by_queries`, which heeds skewness: systems that
      lose much on few rows.

    Args:
        values: (n, S), finite, n ≥ 2.
        samples: the number of resamples; all 2ⁿ flips are counted if they are at most as many. Many
            pairs have fewer, at least 999.
        seed: the seed of the resamples.

    >>> result = compare_by_units(np.array([[0.0, 1.0]] * 9) + np.eye(9)[:, :2] / 9)
    >>> bool(result.p_value[0, 1] < 0.05), result.lowest_p
    (True, 0.00390625)
    """
    n, systems = values.shape
    pairs = np.triu_indices(systems, 1)
    samples = _limit(samples, len(pairs[0]))
    is_exact = 2**n <= samples  # as integers, because floats end at 2.0**1023
    totals = values.sum(axis=0)
    squares = sum(_differences(row, pairs) ** 2 for row in values)
    scale = np.sqrt(np.where(squares > 0, squares, 1.0))
    observed = np.abs(_differences(totals, pairs)) / scale
    order = np.argsort(observed, kind="stable")
    ordered_pairs = pairs[0][order], pairs[1][order]

    def statistics() -> Iterator[Floats]:
        for flips in all_flips(n) if is_exact else drawn_flips(n, samples, seed):
            sums = totals - 2 * (flips @ values)
            for begin, end in _blocks(len(sums), len(order)):
                yield np.abs(_differences(sums[begin:end], ordered_pairs)) / scale[order]

    flip_p = _corrected(observed, order, statistics(), 0 if is_exact else 1)
    bootstrap_p = _bootstrap([values], pairs, samples, seed)
    lowest_p = max(2.0 ** (1 - n), 1 / (samples + 1))
    return _separated(totals / n, np.maximum(flip_p, bootstrap_p), pairs, lowest_p, samples)


def compare_by_queries(
    data_sets: Sequence[Floats], *, samples: int = 10_000, seed: int = 0
) -> SeparatedSystems:
    """Test all pairs of systems on these data sets, with the queries within each as the sample.

        t = |Σ d̄| / √(Σ s²/n),  d̄, s² and n the mean, variance and number of a pair's differences in
        each data set; t* the same of resamples of the queries, around the d̄ of the sample, with at
        least a quarter of the variance of the sample.

    p is the share of resamples in which the largest t* of a pair and all pairs with a smaller t is at
    least t (bootstrap-t, Efron 1982; step-down by the largest, Romano and Wolf, JASA 100, 2005).
    Queries are resampled within their data set, for all systems together. The mean of a system is that
    of its data sets, each with the same weight.

    Args:
        data_sets: (n, S) finite values of the queries of each data set, n ≥ 2.
        samples: the number of resamples; many pairs have fewer, at least 999.
        seed: the seed of the resamples.
    """
    means = np.stack([values.mean(axis=0) for values in data_sets]).mean(axis=0)
    pairs = np.triu_indices(len(means), 1)
    samples = _limit(samples, len(pairs[0]) * len(data_sets))
    p_value = _bootstrap(data_sets, pairs, samples, seed)
    return _separated(means, p_value, pairs, 1 / (samples + 1), samples)


def _bootstrap(data_sets: Sequence[Floats], pairs: Pairs, samples: int, seed: int) -> Floats:
    """(P,) corrected p-values of the studentised bootstrap of rows within data sets."""
    rng = np.random.default_rng([seed, 1])
    means = [values.mean(axis=0) for values in data_sets]
    deviations = [values - mean for values, mean in zip(data_sets, means, strict=True)]
    gaps = sum(_differences(mean, pairs) for mean in means)
    unit_weights = [np.ones((1, len(values))) for values in data_sets]
    _, variance = _moments(deviations, unit_weights, pairs)
    threshold = _CLOSE**2 * max(float(np.abs(values).max()) for values in data_sets) ** 2
    observed = _ratio(np.asarray(gaps), variance[0], threshold)
    order = np.argsort(observed, kind="stable")
    ordered_pairs = pairs[0][order], pairs[1][order]
    floor = _FLOOR * variance[0][order]

    def statistics() -> Iterator[Floats]:
        for begin, end in _blocks(samples, len(order)):
            weights = [_draw_counts(len(rows), end - begin, rng) for rows in deviations]
            total, resampled = _moments(deviations, weights, ordered_pairs)
            yield _ratio(total, np.maximum(resampled, floor), threshold)

    return _corrected(observed, order, statistics(), 1)


def _draw_counts(n: int, resamples: int, rng: np.random.Generator) -> Floats:
    """(resamples, n) how often each of n rows is drawn, n in all."""
    rows = rng.integers(n, size=(resamples, n)) + n * np.arange(resamples)[:, None]
    return np.bincount(rows.ravel(), minlength=resamples * n).reshape(resamples, n).astype(np.float64)


def _moments(deviations: Sequence[Floats], weights: Sequence[Floats], pairs: Pairs) -> tuple[Floats, Floats]:
    """(b, P) sums over data sets of the pairs' mean deviations, and the variances of these sums.

    Args:
        deviations: (n, S) of each data set.
        weights: (b, n) how often each row of a data set counts, n in all.
        pairs: the pairs.
    """
    total = np.zeros((len(weights[0]), len(pairs[0])))
    variance = np.zeros_like(total)
    for rows, counts in zip(deviations, weights, strict=True):
        n = len(rows)
        shift = _differences(counts @ rows / n, pairs)
        total += shift
        variance -= shift**2 / (n - 1)
        step = max(1, _ROWS // max(1, len(pairs[0])))
        for begin in range(0, n, step):
            squares = _differences(rows[begin : begin + step], pairs) ** 2
            variance += counts[:, begin : begin + step] @ squares / (n * (n - 1))
    return total, variance


def _ratio(difference: Floats, variance: Floats, threshold: float) -> Floats:
    """|difference| / √variance; 0 where the variance is at most the threshold, a rounding error."""
    has_spread = variance > threshold
    ratio = np.abs(difference) / np.sqrt(np.where(has_spread, variance, 1.0))
    return np.asarray(np.where(has_spread, ratio, 0.0), np.float64)


def _limit(samples: int, pairs: int) -> int:
    return min(samples, max(_FEWEST, _MOST // max(1, pairs)))


def _blocks(resamples: int, pairs: int) -> Iterator[tuple[int, int]]:
    step = max(1, _BLOCK // max(1, pairs))
    return ((begin, min(begin + step, resamples)) for begin in range(0, resamples, step))


def _differences(values: Floats, pairs: Pairs) -> Floats:
    """(…, P) differences of the systems of pairs, of (…, S) values."""
    first, second = pairs
    return np.asarray(np.take(values, first, axis=-1) - np.take(values, second, axis=-1), np.float64)


def _corrected(
    observed: Floats, order: NDArray[np.int64], statistics: Iterator[Floats], added: int
) -> Floats:
    """(P,) p-values, corrected for all pairs by the largest statistic of a resample, step by step.

    Args:
        observed: (P,) the statistics of the sample.
        order: (P,) the pairs in ascending order of these.
        statistics: blocks (b, P) of those of resamples, in this order.
        added: 1 where resamples are drawn, as the sample itself counts too; 0 where all are counted.
    """
    exceed_count, count = np.zeros(len(observed), np.int64), 0
    bound = observed[order] * (1 - _CLOSE)
    for block in statistics:
        np.maximum.accumulate(block, axis=1, out=block)
        exceed_count += (block >= bound).sum(axis=0)
        count += len(block)
    p_value = np.empty(len(observed))
    ordered_p = (exceed_count + added) / (count + added)
    p_value[order] = np.maximum.accumulate(ordered_p[::-1])[::-1]
    return p_value


def _separated(
    means: Floats, p_value: Floats, pairs: Pairs, lowest_p: float, resamples: int
) -> SeparatedSystems:
    matrix = np.ones((len(means), len(means)))
    matrix[pairs] = matrix[pairs[::-1]] = p_value
    return SeparatedSystems(means, matrix, lowest_p, resamples)


def rank_intervals(is_better: NDArray[np.bool_]) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
    """(S,) the best and the worst rank that each system may have, from 1.

    1 + the number of systems that are surely better, and S − the number that are surely worse (Mogstad,
    Romano, Shaikh and Wilhelm, Review of Economic Studies 91, 2024). If no pair is wrongly separated,
    all intervals hold the true ranks.

    Args:
        is_better: (S, S) as `SeparatedSystems.is_better` gives it.

    >>> low, high = rank_intervals(np.array([[0, 0, 1], [0, 0, 0], [0, 0, 0]], bool))
    >>> low.tolist(), high.tolist()
    ([1, 1, 2], [2, 3, 3])
    """
    return 1 + is_better.sum(axis=0), len(is_better) - is_better.sum(axis=1)


def alike_groups(order: NDArray[np.int64], is_better: NDArray[np.bool_]) -> list[tuple[int, int]]:
    """The longest runs of systems in rank order of which no two can be told apart, as [begin, end).

    Args:
        order: (S,) the systems in the order of their ranks.
        is_better: (S, S) as `SeparatedSystems.is_better` gives it.

    >>> alike_groups(np.arange(3), np.array([[0, 0, 1], [0, 0, 0], [0, 0, 0]], bool))
    [(0, 2), (1, 3)]
    """
    separated = (is_better | is_better.T)[np.ix_(order, order)]
    groups: list[tuple[int, int]] = []
    end = 0
    for begin in range(len(order)):
        longest = max(end, begin + 1)
        while longest < len(order) and not separated[begin:longest, longest].any():
            longest += 1
        if longest > end:
            groups.append((begin, longest))
        end = longest
    return groups

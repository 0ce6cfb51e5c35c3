"""Latencies of points, and the front of quality against latency.

Points are queried in turn, so that all points have the same conditions. The front holds the points
that are not known to be dominated by another point.
"""

from __future__ import annotations

import json
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np

from rankgate.core.frozen import dataclass
from rankgate.core.output_files import replace_file
from rankgate.engines.snapshots.query_sender import QuerySender

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from rankgate.core.arrays import Floats
    from rankgate.engines.configuration import Pace
    from rankgate.engines.engine import Engine, Query
    from rankgate.engines.snapshots.query_outcomes import Outcome


FILE = "latency.json"
"""The file of the latencies in the folder of a sweep."""

_CONNECTIONS = 32  # connections that are open at the same time
_ROUNDS = 8  # blocks of points, if there are too many to query all in turn


@dataclass(frozen=True)
class Timing:
    """Latencies of points.

    Attributes:
        latencies: (n, P) in milliseconds, of the queries that all points answered; None if they
            were not measured in turn.
        problem: the reason for a missing front; empty if points have no latencies.
    """

    latencies: NDArray[np.float64] | None = None
    problem: str = ""


def time_engines(engines: Sequence[Engine], queries: Sequence[Query], pace: Pace, seed: int) -> Timing:
    """Send every query to every engine, one right after the other, in random order.

    Args:
        engines: the engine of each point.
        queries: the queries.
        pace: the rate, concurrency and retries.
        seed: the seed of the order.
    """
    rng = np.random.default_rng(seed)
    table = np.full((len(queries), len(engines)), np.nan)
    rows = {query.query_id: row for row, query in enumerate(queries)}
    for query_rows, points in _draw_rounds(len(queries), len(engines), pace.concurrency, rng):
        groups = [
            [(int(number), queries[row]) for number in rng.permutation(len(points))] for row in query_rows
        ]

        def keep(number: int, outcome: Outcome, points: NDArray[np.intp] = points) -> None:
            if outcome.state != "failed":
                table[rows[outcome.query_id], points[number]] = outcome.latencies[-1]

        asking = QuerySender([engines[point] for point in points], pace, keep, [True] * len(points))
        asking.run(groups)
        if asking.problem:
            return Timing(problem=asking.problem)
    answered = table[~np.isnan(table).any(axis=1)]
    if not len(answered):
        return Timing(problem="no query was answered at all points")
    return Timing(answered)


def _draw_rounds(
    queries: int, points: int, concurrency: int, rng: np.random.Generator
) -> Iterator[tuple[NDArray[np.intp], NDArray[np.intp]]]:
    """The queries, each with the points that get the query in turn."""
    count = -(-points // max(2, _CONNECTIONS // concurrency))
    rounds = 1 if count == 1 else min(_ROUNDS, queries)
    for query_rows in np.array_split(rng.permutation(queries), rounds):
        for block in np.array_split(rng.permutation(points), count):
            yield query_rows, block


def read_timing(folder: Path, key: str) -> Timing | None:
    """The latencies of an earlier call, if the points are the same."""
    path = folder / FILE
    try:
        content = json.loads(path.read_bytes())
    except (OSError, ValueError):
        return None
    if not isinstance(content, dict) or content.get("points") != key:
        return None
    return Timing(np.array(content["latencies"], float).reshape(-1, content["count"]))


def write_timing(folder: Path, key: str, timing: Timing) -> None:
    """Store latencies for the next call."""
    assert timing.latencies is not None
    content = {"points": key, "count": timing.latencies.shape[1], "latencies": timing.latencies.tolist()}
    with replace_file(str(folder / FILE)) as stream:
        stream.write(json.dumps(content).encode())


_SAMPLES = 1000
_BLOCK = 1 << 21  # latencies that are drawn in one step


@dataclass(frozen=True)
class LatencyQuantiles:
    """A quantile of the latencies of points that were timed in turn.

    Attributes:
        value: (P,) the quantile of each point.
        low, high: (P,) the intervals of the quantiles; NaN for fewer than two queries.
        samples: (B, P) the quantiles of resampled queries, the same queries for all points.
        queries: the number of queries that all points answered.
    """

    value: Floats
    low: Floats
    high: Floats
    samples: Floats
    queries: int

    @classmethod
    def from_latencies(cls, latencies: Floats, share: float, *, level: float, seed: int) -> LatencyQuantiles:
        """The quantiles of points, with bootstrap intervals.

        Args:
            latencies: (n, P) the latency of each query at each point, in milliseconds.
            share: the quantile, as in 0.95.
            level: the confidence level of the intervals.
            seed: the seed of the resampling.
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
    """The points for which no other point is known to be faster and at least as good.

    A point j is faster than i if t_i - t_j > c s, with t the quantiles of latency, s the standard
    deviation of their difference over resampled queries, which both points share, and c the
    quantile of Student's t at 1 - (1 - level)/m, with m pairs of points that are compared
    (Bonferroni): with equal latencies all points are on the front in ``level`` of all sweeps or
    more.

    Args:
        quality: (P,) greater is better.
        speed: the speed of the points.
        level: the probability that no point is left out wrongly.

    Returns:
        Indices of the points, the fastest first.
    """
    from rankgate.measurement.stats.special_functions import stdtrit

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

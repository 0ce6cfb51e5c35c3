"""Latencies of points, and the front of quality against latency.

Points are queried in turn, so that all points have the same conditions. The front holds the points
that are not known to be dominated by another point.
"""

from __future__ import annotations

import json
from collections.abc import Iterator, Sequence
from dataclasses import field
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np

from rankgate.core.frozen import dataclass
from rankgate.core.output_files import replace_file
from rankgate.core.quantiles import quantiles
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
        low: (n, P) in milliseconds, of the queries that were sent to all points; empty if they were
            not timed in turn.
        high: (n, P) the same; infinite where the query failed, and ``low`` is a lower bound.
        problem: the reason for a missing front; empty if points have no latencies.
    """

    low: Floats = field(default_factory=lambda: np.empty((0, 0)))
    high: Floats = field(default_factory=lambda: np.empty((0, 0)))
    problem: str = ""

    @property
    def queries(self) -> int:
        """The number of queries that were sent to all points."""
        return len(self.low)


def time_engines(engines: Sequence[Engine], queries: Sequence[Query], pace: Pace, seed: int) -> Timing:
    """Send every query to every engine, one right after the other, in random order.

    Args:
        engines: the engine of each point.
        queries: the queries.
        pace: the rate, concurrency and retries.
        seed: the seed of the order.
    """
    rng = np.random.default_rng(seed)
    low = np.full((len(queries), len(engines)), np.nan)
    high = low.copy()
    rows = {query.query_id: row for row, query in enumerate(queries)}
    for query_rows, points in _draw_rounds(len(queries), len(engines), pace.concurrency, rng):
        groups = [
            [(int(number), queries[row]) for number in rng.permutation(len(points))] for row in query_rows
        ]

        def keep(number: int, outcome: Outcome, points: NDArray[np.intp] = points) -> None:
            cell = rows[outcome.query_id], points[number]
            low[cell] = outcome.elapsed
            high[cell] = np.inf if outcome.state == "failed" else outcome.elapsed

        asking = QuerySender([engines[point] for point in points], pace, keep, [True] * len(points))
        asking.run(groups)
        if asking.problem:
            return Timing(problem=asking.problem)
    sent_rows = ~np.isnan(low).any(axis=1)
    if not np.isfinite(high[sent_rows]).any():
        return Timing(problem="no query was answered")
    return Timing(low[sent_rows], high[sent_rows])


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
    if not isinstance(content, dict) or content.get("points") != key or "censored" not in content:
        return None
    low, censored = (
        np.array(content[name]).reshape(-1, content["count"]) for name in ("latencies", "censored")
    )
    return Timing(low.astype(float), np.where(censored, np.inf, low))


def write_timing(folder: Path, key: str, timing: Timing) -> None:
    """Store latencies for the next call."""
    content = {
        "points": key,
        "count": timing.low.shape[1],
        "latencies": timing.low.tolist(),
        "censored": np.isinf(timing.high).tolist(),
    }
    with replace_file(str(folder / FILE)) as stream:
        stream.write(json.dumps(content).encode())


_SAMPLES = 1000
_BLOCK = 1 << 21  # latencies that are drawn in one step


@dataclass(frozen=True)
class LatencyQuantiles:
    """A quantile of the latencies of points that were timed in turn.

    Attributes:
        value, largest: (P,) the smallest and the largest possible quantile of each point.
        low, high: (P,) the intervals of the quantiles; NaN for fewer than two queries.
        samples, largest_samples: (B, P) both ends of the quantiles of resampled queries, the same
            queries for all points.
        queries: the number of queries that were sent to all points.
    """

    value: Floats
    largest: Floats
    low: Floats
    high: Floats
    samples: Floats
    largest_samples: Floats
    queries: int

    @classmethod
    def from_timing(cls, timing: Timing, share: float, *, level: float, seed: int) -> LatencyQuantiles:
        """The quantiles of points, with bootstrap intervals.

        Args:
            timing: the latency of each query at each point.
            share: the quantile, as in 0.95.
            level: the confidence level of the intervals.
            seed: the seed of the resampling.
        """
        ends = timing.low.T, timing.high.T  # (P, n)
        count, n = timing.low.T.shape
        value, largest = (quantiles(end, [share])[0] for end in ends)
        if n < 2:
            empty, no_samples = np.full(count, np.nan), np.empty((0, count))
            return cls(value, largest, empty, empty, no_samples, no_samples, n)
        rng = np.random.default_rng(seed)
        step = max(1, _BLOCK // (n * count))
        sampled: tuple[list[Floats], list[Floats]] = ([], [])
        for begin in range(0, _SAMPLES, step):
            rows = rng.integers(0, n, size=(min(step, _SAMPLES - begin), n))
            for end, samples_of_end in zip(ends, sampled, strict=True):
                samples_of_end.append(quantiles(end[:, rows], [share])[0].T)
        samples, largest_samples = map(np.concatenate, sampled)
        low = quantiles(samples.T, [(1 - level) / 2])[0]
        high = quantiles(largest_samples.T, [(1 + level) / 2])[0]
        return cls(value, largest, low, high, samples, largest_samples, n)


def front_of(quality: Floats, speed: LatencyQuantiles, level: float) -> list[int]:
    """The points for which no other point is known to be faster and at least as good.

    A point j is faster than i if t_i - t_j > c s, with t the quantiles of latency, s the standard
    deviation of their difference over resampled queries, which both points share, and c the
    quantile of Student's t at 1 - (1 - level)/m, with m pairs of points that are compared
    (Bonferroni). Where queries failed, t_i is its smallest possible value and t_j its largest: with
    equal latencies all points are on the front in ``level`` of all sweeps or more.

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
            slower = speed.value[index] - speed.largest[at_least_as_good]
            differences = speed.samples[:, [index]] - speed.largest_samples[:, at_least_as_good]
            with np.errstate(invalid="ignore"):  # a quantile without a largest value has no error
                standard_error = differences.std(axis=0, ddof=1)
            dominated[index] = ((slower > 0) & (slower > limit * standard_error)).any()
    places = np.flatnonzero(~dominated)
    return [int(index) for index in places[np.lexsort((-quality[places], speed.value[places]))]]

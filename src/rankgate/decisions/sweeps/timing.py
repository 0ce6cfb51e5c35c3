"""Latencies of points, queried in turn, so that all points meet the same conditions."""

from __future__ import annotations

import json
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np

from rankgate.core.frozen import dataclass
from rankgate.core.target import replace_file
from rankgate.engines.snapshots.asking import QuerySender

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from rankgate.engines.engine import Engine, Query
    from rankgate.engines.pace import Pace
    from rankgate.engines.snapshots.outcome import Outcome

FILE = "latency.json"
"""The file of the latencies in the folder of a sweep."""

_CONNECTIONS = 32  # open at the same time
_ROUNDS = 8  # blocks of points, if not all can be queried in turn at once


@dataclass(frozen=True)
class Timing:
    """Latencies of points.

    Attributes:
        latencies: (n, P) in milliseconds, of the queries that all points answered; None where they
            were not measured in turn.
        problem: why not; empty if nothing has a latency.
    """

    latencies: NDArray[np.float64] | None = None
    problem: str = ""


def time_engines(
    engines: Sequence[Engine], queries: Sequence[Query], pace: Pace, seed: int
) -> Timing:
    """Send every query to every engine, one right after the other, in random order.

    Args:
        engines: the engine of each point.
        queries: the queries.
        pace: the rate, concurrency and retries.
        seed: of the order.
    """
    rng = np.random.default_rng(seed)
    table = np.full((len(queries), len(engines)), np.nan)
    rows = {query.query_id: row for row, query in enumerate(queries)}
    for query_rows, points in _draw_rounds(len(queries), len(engines), pace.concurrency, rng):
        groups = [
            [(int(number), queries[row]) for number in rng.permutation(len(points))]
            for row in query_rows
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
    """Queries, and the points that get them in turn."""
    count = -(-points // max(2, _CONNECTIONS // concurrency))
    rounds = 1 if count == 1 else min(_ROUNDS, queries)
    for query_rows in np.array_split(rng.permutation(queries), rounds):
        for block in np.array_split(rng.permutation(points), count):
            yield query_rows, block


def read_timing(folder: Path, key: str) -> Timing | None:
    """The latencies of an earlier call, if they are of the same points."""
    path = folder / FILE
    try:
        content = json.loads(path.read_bytes())
    except (OSError, ValueError):
        return None
    if not isinstance(content, dict) or content.get("points") != key:
        return None
    return Timing(np.array(content["latencies"], float).reshape(-1, content["count"]))


def write_timing(folder: Path, key: str, timing: Timing) -> None:
    """Keep latencies for the next call."""
    assert timing.latencies is not None
    content = {
        "points": key,
        "count": timing.latencies.shape[1],
        "latencies": timing.latencies.tolist(),
    }
    with replace_file(str(folder / FILE)) as stream:
        stream.write(json.dumps(content).encode())

"""A race of points: all of them on a few queries, the better half on twice as many, until few are left.

Each round doubles the queries and halves the points, so that all rounds cost about the same. The baseline
runs in every round. Points are compared on the same queries.

Source: Jamieson and Talwalkar, AISTATS 2016 (successive halving).
"""

from __future__ import annotations

from dataclasses import replace
from math import ceil
from typing import TYPE_CHECKING

import polars as pl

from rankgate.core.frozen import dataclass
from rankgate.core.present.number_formats import count_noun

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from rankgate.decisions.sweeps.point_measurer import MeasuredPoint, PointMeasurer

FINALISTS = 8
"""Points that all training queries are asked at."""
_FEWEST = 10  # queries of the first round


@dataclass(frozen=True)
class Round:
    """A round of a race.

    Attributes:
        points: the points that run in it.
        start: the first of its new queries.
        stop: the end of its new queries.
    """

    points: int
    start: int
    stop: int

    @property
    def requests(self) -> int:
        """Each new query at each point."""
        return self.points * (self.stop - self.start)


def plan_rounds(points: int, queries: int) -> Iterator[Round]:
    """The rounds of a race, whose sizes do not depend on any figure.

    >>> [(part.points, part.stop) for part in plan_rounds(67, 200)]
    [(67, 13), (34, 25), (17, 50), (9, 100), (8, 200)]
    """
    count, sizes = points, [points]
    while count > FINALISTS:
        count = max(ceil(count / 2), FINALISTS)
        sizes.append(count)
    start = 0
    for number, size in enumerate(sizes):
        share = ceil(queries / 2 ** (len(sizes) - 1 - number))
        stop = min(max(share, _FEWEST), queries)
        if stop > start:
            yield Round(size, start, stop)
        start = stop


def run_race(measuring: PointMeasurer, query_ids: Sequence[str]) -> list[MeasuredPoint]:
    """Measure the points of a grid by rounds; points that leave keep no figures.

    Args:
        measuring: measures points.
        query_ids: the training queries, in random order.
    """
    label, metric = measuring.plan.scorer.metrics[0]
    sign = 1.0 if metric.higher_is_better else -1.0
    points = measuring.plan.points
    measured: dict[int, MeasuredPoint] = {}
    running = list(range(len(points)))
    for race_round in plan_rounds(len(points), len(query_ids)):
        if len(running) > race_round.points:
            ranked = sorted(running[1:], key=lambda index: -_mean(measured[index], label, sign))
            for index in ranked[race_round.points - 1 :]:
                measured[index] = _dropped(measured[index], race_round.start)
            running = [0, *sorted(ranked[: race_round.points - 1])]
        block = query_ids[race_round.start : race_round.stop]
        batch = measuring.all([points[index] for index in running], block)
        measured |= {
            index: _joined(measured.get(index), point) for index, point in zip(running, batch, strict=True)
        }
    return [measured[index] for index in range(len(points))]


def _mean(point: MeasuredPoint, label: str, sign: float) -> float:
    """The mean with its sign; points that failed are last."""
    if point.scores is None:
        return float("-inf")
    value = point.scores.filter(pl.col("metric") == label)["value"].fill_nan(0.0).mean()
    return sign * value if isinstance(value, float) else float("-inf")


def _dropped(point: MeasuredPoint, queries: int) -> MeasuredPoint:
    if point.scores is None:
        return point
    problem = f"left the race after {count_noun(queries, 'query')}"
    return replace(point, state="dropped", problem=problem, scores=None, latency={})


def _joined(earlier: MeasuredPoint | None, later: MeasuredPoint) -> MeasuredPoint:
    """A point on the queries of all rounds so far; a failure stays one."""
    if earlier is None or later.scores is None or earlier.scores is None:
        return later if earlier is None or later.scores is None else earlier
    judged = [table for table in (earlier.judged, later.judged) if table is not None]
    return replace(
        later,
        scores=pl.concat([earlier.scores, later.scores]),
        judged=pl.concat(judged),
        cautions={**earlier.cautions, **later.cautions},
        file=None,
    )

"""The level before the last value of a series, with which the value is compared."""

from __future__ import annotations

from collections.abc import Sequence
from statistics import median
from typing import TYPE_CHECKING

from rankgate.core.frozen import dataclass
from rankgate.workspace.records.follow import find_differences

if TYPE_CHECKING:
    from datetime import datetime

    from rankgate.store.records.series import Point

MAX_EVALUATIONS = 10
"""Evaluations whose median is the level."""


@dataclass(frozen=True)
class Level:
    """An earlier level of a series.

    Attributes:
        value: the median of the evaluations.
        count: of how many.
        clear: True if it is outside the interval of the last value.
        since: the first evaluation after it.
    """

    value: float
    count: int
    clear: bool
    since: datetime

    @property
    def words(self) -> str:
        """The level in words, with its dates."""
        basis = "the evaluation" if self.count == 1 else f"the median of {self.count} evaluations"
        end = "outside" if self.clear else "not outside"
        return f"against {self.value:.4g}, {basis} before {self.since:%Y-%m-%d}; {end} the interval"


def find_level(points: Sequence[Point]) -> Level | None:
    """The level before the last value, by at most `MAX_EVALUATIONS` comparable evaluations.

    None without any.

    Evaluations inside the interval of the last value are its own level, back to the first one that
    is outside. If the median of those before is outside too, it is the level, so that a fall is
    shown for longer than one night. Else the level is the median of the latest ones.
    """
    valued_points = [point for point in points if point.value is not None]
    if not valued_points:
        return None
    last = valued_points.pop()
    earlier_values = [
        (point.evaluated_at, point.value)
        for point in valued_points
        if point.value is not None and not find_differences(point, last)
    ]
    if not earlier_values:
        return None
    if last.low is not None and last.high is not None:
        earlier_count = len(earlier_values)
        while earlier_count and last.low <= earlier_values[earlier_count - 1][1] <= last.high:
            earlier_count -= 1
        before = [value for _, value in earlier_values[:earlier_count][-MAX_EVALUATIONS:]]
        if before and not last.low <= median(before) <= last.high:
            since = (
                earlier_values[earlier_count][0]
                if earlier_count < len(earlier_values)
                else last.evaluated_at
            )
            return Level(median(before), len(before), clear=True, since=since)
    before = [value for _, value in earlier_values[-MAX_EVALUATIONS:]]
    return Level(median(before), len(before), clear=False, since=last.evaluated_at)

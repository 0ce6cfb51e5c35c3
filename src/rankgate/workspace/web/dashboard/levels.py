"""What the last value of a series is compared with: the level before it."""

from __future__ import annotations

from collections.abc import Sequence
from statistics import median
from typing import TYPE_CHECKING

from rankgate.core.frozen import dataclass
from rankgate.workspace.records.follow import reasons

if TYPE_CHECKING:
    from datetime import datetime

    from rankgate.store.records.series import Point

MOST = 10
"""Evaluations whose median is the level."""


@dataclass(frozen=True)
class Level:
    """An earlier level of a series.

    Attributes:
        value: the median of the evaluations.
        count: of how many.
        clear: whether it is outside the interval of the last value.
        since: the first evaluation after it.
    """

    value: float
    count: int
    clear: bool
    since: datetime

    @property
    def words(self) -> str:
        """What the last value is compared with."""
        many = "the evaluation" if self.count == 1 else f"the median of {self.count} evaluations"
        end = "outside" if self.clear else "not outside"
        return f"against {self.value:.4g}, {many} before {self.since:%Y-%m-%d}; {end} the interval"


def level(points: Sequence[Point]) -> Level | None:
    """The level before the last value, by up to `MOST` comparable evaluations; None without any.

    Evaluations inside the interval of the last value are its own level, back to the first one that
    is outside. If the median of those before is outside too, it is the level, so that a fall is
    shown for longer than one night. Else the level is the median of the latest ones.
    """
    known = [each for each in points if each.value is not None]
    if not known:
        return None
    last = known.pop()
    earlier = [(p.evaluated_at, p.value) for p in known
               if p.value is not None and not reasons(p, last)]  # fmt: skip
    if not earlier:
        return None
    if last.low is not None and last.high is not None:
        own = len(earlier)
        while own and last.low <= earlier[own - 1][1] <= last.high:
            own -= 1
        before = [value for _, value in earlier[:own][-MOST:]]
        if before and not last.low <= median(before) <= last.high:
            since = earlier[own][0] if own < len(earlier) else last.evaluated_at
            return Level(median(before), len(before), clear=True, since=since)
    before = [value for _, value in earlier[-MOST:]]
    return Level(median(before), len(before), clear=False, since=last.evaluated_at)

"""Small lines of values over time, drawn by a template without a style."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from datetime import datetime
from typing import TYPE_CHECKING

from rankgate.core.frozen import dataclass
from rankgate.workspace.records.follow import split_comparable
from rankgate.workspace.web.dashboard.levels import Level, find_level

if TYPE_CHECKING:
    from rankgate.store.records.series import Point

WIDE, HIGH = 160, 36
"""The size of the drawing, in its own units."""

_EDGE = 4


@dataclass(frozen=True)
class TrendLine:
    """A series as a small line.

    Attributes:
        name: of the series.
        path: of the line, in the units of the drawing; a gap where values are not comparable.
        last: the position of the last point; None without points.
        value: the last value.
        before: the one before it.
        words: a description of the line, for screen readers.
        metric, system: those of the series.
        better: True if higher values are better.
        level: compared with the last value, instead of the one before it.
        alert: True if an alert of it is open.
        n: the number of queries of the last value; 0 if it is not known.
    """

    name: str
    path: str
    last: tuple[float, float] | None
    value: float | None
    before: float | None
    words: str
    metric: str = ""
    system: str = ""
    better: bool = True
    level: Level | None = None
    alert: bool = False
    n: int = 0

    @property
    def change(self) -> float | None:
        """The change from the level before, or the value before, to the last value."""
        before = self.level.value if self.level else self.before
        return None if self.value is None or before is None else self.value - before

    @property
    def verdict(self) -> str:
        """``pass`` or ``fail`` for a gain or a loss beyond the interval, else empty."""
        if self.level is None or not self.level.clear or not self.change:
            return ""
        return "pass" if (self.change > 0) == self.better else "fail"

    @classmethod
    def of_series(cls, name: str, points: Sequence[Point], *, alert: bool = False) -> TrendLine:
        """The line of a recorded series, compared with its level; the oldest point first."""
        valued_points = [point for point in points if point.value is not None]
        segments = split_comparable(valued_points) if valued_points else []
        line = cls.of(
            name, [[(point.evaluated_at, point.value) for point in segment] for segment in segments]
        )
        if not points:
            return line
        last = points[-1]
        return replace(
            line,
            metric=last.metric,
            system=last.system,
            before=None,
            better=last.higher_is_better,
            level=find_level(points),
            alert=alert,
            n=valued_points[-1].n if valued_points else 0,
        )

    @classmethod
    def of(
        cls, name: str, segments: Sequence[Sequence[tuple[datetime, float | None]]]
    ) -> TrendLine:
        """The line of a series in segments that are not joined, the oldest point first."""
        valued_segments = [
            [(moment, value) for moment, value in segment if value is not None]
            for segment in segments
        ]
        points = [point for segment in valued_segments for point in segment]
        if not points:
            return cls(name, "", None, None, None, f"{name}: no value")
        first, last = points[0][0], points[-1][0]
        low, high = min(v for _, v in points), max(v for _, v in points)
        span = (last - first).total_seconds() or 1.0
        value_range = (high - low) or 1.0

        def position(moment: datetime, value: float) -> tuple[float, float]:
            x = _EDGE + (WIDE - 2 * _EDGE) * (moment - first).total_seconds() / span
            y = HIGH - _EDGE - (HIGH - 2 * _EDGE) * (value - low) / value_range
            return x, HIGH / 2 if high == low else y

        path = "".join(
            _segment_path([position(*point) for point in segment])
            for segment in valued_segments
            if segment
        )
        description = (
            f"{name}: {points[-1][1]:.4g} on {last:%Y-%m-%d}, from {low:.4g} to {high:.4g} "
            f"in {len(points)} evaluations since {first:%Y-%m-%d}"
        )
        if len(valued_segments) > 1:
            description += f"; {len(valued_segments)} parts that are not comparable"
        latest = valued_segments[-1]
        before = latest[-2][1] if len(latest) > 1 else None
        return cls(name, path, position(*points[-1]), points[-1][1], before, description)


def _segment_path(positions: Sequence[tuple[float, float]]) -> str:
    """The path of a segment; of a single point a short stroke, so that it is seen."""
    path = "M" + "L".join(f"{x:.1f} {y:.1f}" for x, y in positions)
    return f"{path}h0.1" if len(positions) == 1 else path

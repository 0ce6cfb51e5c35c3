"""Small lines of values over time, drawn by a template without a style."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from datetime import datetime
from typing import TYPE_CHECKING

from rankgate.core.frozen import dataclass
from rankgate.workspace.records.follow import comparable_segments
from rankgate.workspace.web.dashboard.levels import Level, level

if TYPE_CHECKING:
    from rankgate.store.records.series import Point

WIDE, HIGH = 160, 36
"""Of the drawing, in its own units."""

_EDGE = 4


@dataclass(frozen=True)
class Line:
    """A series as a small line.

    Attributes:
        name: of the series.
        path: of the line, in the units of the drawing; a gap where values are not comparable.
        last: where the last point is; None without any.
        value: the last value.
        before: the one before it.
        words: what the line shows, for those who do not see it.
        metric, system: of which series.
        better: whether higher values are better.
        level: what the last value is compared with, instead of the one before it.
        alert: whether an alert of it is open.
        n: how many queries the last value is the mean of; 0 where nobody knows.
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
        """From the level before, or the value before, to the last."""
        before = self.level.value if self.level else self.before
        return None if self.value is None or before is None else self.value - before

    @property
    def verdict(self) -> str:
        """``pass`` or ``fail`` for a gain or a loss beyond the interval, else empty."""
        if self.level is None or not self.level.clear or not self.change:
            return ""
        return "pass" if (self.change > 0) == self.better else "fail"

    @classmethod
    def of_series(cls, name: str, points: Sequence[Point], *, alert: bool = False) -> Line:
        """The line of a recorded series, compared with its level; the oldest point first."""
        valued = [point for point in points if point.value is not None]
        segments = comparable_segments(valued) if valued else []
        line = cls.of(name, [[(p.evaluated_at, p.value) for p in part] for part in segments])
        if not points:
            return line
        last = points[-1]
        return replace(line, metric=last.metric, system=last.system, before=None,
                       better=last.higher_is_better, level=level(points), alert=alert,
                       n=valued[-1].n if valued else 0)  # fmt: skip

    @classmethod
    def of(cls, name: str, segments: Sequence[Sequence[tuple[datetime, float | None]]]) -> Line:
        """The line of a series in segments that are not joined, the oldest point first."""
        valued = [[(at, value) for at, value in segment if value is not None]
                  for segment in segments]  # fmt: skip
        known = [point for segment in valued for point in segment]
        if not known:
            return cls(name, "", None, None, None, f"{name}: no value")
        first, last = known[0][0], known[-1][0]
        low, high = min(v for _, v in known), max(v for _, v in known)
        span = (last - first).total_seconds() or 1.0
        reach = (high - low) or 1.0

        def position(at: datetime, value: float) -> tuple[float, float]:
            x = _EDGE + (WIDE - 2 * _EDGE) * (at - first).total_seconds() / span
            y = HIGH - _EDGE - (HIGH - 2 * _EDGE) * (value - low) / reach
            return x, HIGH / 2 if high == low else y

        path = "".join(_part([position(*point) for point in segment])
                       for segment in valued if segment)  # fmt: skip
        words = (
            f"{name}: {known[-1][1]:.4g} on {last:%Y-%m-%d}, from {low:.4g} to {high:.4g} "
            f"in {len(known)} evaluations since {first:%Y-%m-%d}"
        )
        if len(valued) > 1:
            words += f"; {len(valued)} parts that are not comparable"
        latest = valued[-1]
        before = latest[-2][1] if len(latest) > 1 else None
        return cls(name, path, position(*known[-1]), known[-1][1], before, words)


def _part(positions: Sequence[tuple[float, float]]) -> str:
    """The path of a segment; of a single point a short stroke, so that it is seen."""
    path = "M" + "L".join(f"{x:.1f} {y:.1f}" for x, y in positions)
    return f"{path}h0.1" if len(positions) == 1 else path

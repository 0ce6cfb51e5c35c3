"""Small lines of values over time, drawn by a template without a style."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from datetime import datetime
from typing import TYPE_CHECKING

from rankgate.frozen import dataclass
from rankgate.web.dashboard.levels import Level, level

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
        path: of the line, in the units of the drawing; a gap where a value is undefined.
        last: where the last point is; None without any.
        value: the last value.
        before: the one before it.
        words: what the line shows, for those who do not see it.
        metric, system: of which series.
        better: whether higher values are better.
        level: what the last value is compared with, instead of the one before it.
        alert: whether an alert of it is open.
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
        found = cls.of(name, [(each.evaluated_at, each.value) for each in points])
        if not points:
            return found
        last = points[-1]
        return replace(found, metric=last.metric, system=last.system, before=None,
                       better=last.higher_is_better, level=level(points), alert=alert)  # fmt: skip

    @classmethod
    def of(cls, name: str, points: Sequence[tuple[datetime, float | None]]) -> Line:
        """The line of a series, the oldest point first."""
        known = [(at, value) for at, value in points if value is not None]
        if not known:
            return cls(name, "", None, None, None, f"{name}: no value")
        first, last = known[0][0], known[-1][0]
        low, high = min(v for _, v in known), max(v for _, v in known)
        span = (last - first).total_seconds() or 1.0
        reach = (high - low) or 1.0
        places = [
            (
                _EDGE + (WIDE - 2 * _EDGE) * (at - first).total_seconds() / span,
                HIGH / 2 if high == low else HIGH - _EDGE - (HIGH - 2 * _EDGE) * (v - low) / reach,
            )
            for at, v in known
        ]
        path = "M" + "L".join(f"{x:.1f} {y:.1f}" for x, y in places)
        words = (
            f"{name}: {known[-1][1]:.4g} on {last:%Y-%m-%d}, from {low:.4g} to {high:.4g} "
            f"in {len(known)} evaluations since {first:%Y-%m-%d}"
        )
        before = known[-2][1] if len(known) > 1 else None
        return cls(name, path, places[-1], known[-1][1], before, words)

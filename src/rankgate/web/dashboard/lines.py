"""Small lines of values over time, drawn by a template without a style."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime

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

    @property
    def change(self) -> float | None:
        """From the value before to the last."""
        if self.value is None or self.before is None:
            return None
        return self.value - self.before

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

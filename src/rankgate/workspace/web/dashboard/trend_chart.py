"""A series as SVG made by the server: intervals, breaks, change-points, annotations.

Every point leads to its record. Colours are attributes, which the style of pages makes dark.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from datetime import datetime, timedelta
from typing import TYPE_CHECKING

from rankgate.core.frozen import dataclass
from rankgate.core.present.charts.style import DIM, GREY, INK, LINE, RED, colour
from rankgate.core.present.pages.bars import marks
from rankgate.core.present.pages.parts import safe
from rankgate.workspace.web.dashboard.label_rows import placed

if TYPE_CHECKING:
    from rankgate.workspace.records.history import History

WIDE, HIGH = 1000, 340
"""Of the drawing; more than two rows of words make it higher."""

_LEFT, _RIGHT, _BOTTOM = 64, 16, 34
_ROW = 16
_DATES = 6
_LONGEST = 26
"""Characters of a mark's words in the drawing; the table below has all."""


@dataclass(frozen=True)
class Dot:
    """One point.

    Attributes:
        at: when.
        value, low, high: the figure and its interval.
        link: the address of its record.
        words: for those who point at it or hear it.
        run: the same for points that may be compared, and are joined by a line.
        colour: of its system.
    """

    at: datetime
    value: float
    low: float | None
    high: float | None
    link: str
    words: str
    run: str
    colour: str


@dataclass(frozen=True)
class Mark:
    """A moment that matters: ``break``, ``change``, or the kind of an annotation."""

    at: datetime
    kind: str
    words: str


def draw(history: History, place: Callable[[str], str]) -> str:
    """The drawing; empty without points.

    Args:
        history: the series of one metric.
        place: the address of a record by its hash.
    """
    dots = _dots(history, place)
    if not dots:
        return ""
    many = len(history.systems) > 1
    return "".join(_Drawing(dots, _moments(history, many=many)).parts(history.heading))


def colours(history: History) -> list[tuple[str, str]]:
    """The systems of a drawing with their colours."""
    return [(system, colour(at)) for at, system in enumerate(history.systems)]


def _dots(history: History, place: Callable[[str], str]) -> list[Dot]:
    shades = dict(colours(history))
    found = []
    for row in history.series.iter_rows(named=True):
        ends = "" if row["low"] is None else f" [{row['low']:.4g}, {row['high']:.4g}]"
        words = f"{row['system']} {row['at'][:10]}: {row['value']:.4f}{ends}".strip()
        found.append(
            Dot(datetime.fromisoformat(row["at"]), row["value"], row["low"], row["high"],
                place(row["sha256"]), words, f"{row['system']} {row['segment']}",
                shades[row["system"]])
        )  # fmt: skip
    return found


def _moments(history: History, *, many: bool) -> list[Mark]:
    found = [
        Mark(datetime.fromisoformat(row["at"]), "break", f"other {row['reasons']}")
        for row in history.breaks.iter_rows(named=True)
    ]
    for row in history.changes.iter_rows(named=True):
        who = f" {row['system']}" if many else ""
        words = f"{'▲' if row['gain'] > 0 else '▼'}{who} {row['delta']:+.3f}"
        found.append(Mark(datetime.fromisoformat(row["at"]), "change", words))
    found += [
        Mark(datetime.fromisoformat(row["at"]), row["kind"], row["text"])
        for row in history.annotations.iter_rows(named=True)
    ]
    return list(dict.fromkeys(found))


def _short(words: str) -> str:
    return words if len(words) <= _LONGEST else f"{words[:_LONGEST]}…"


class _Drawing:
    """The scales of a drawing, and its parts from back to front."""

    def __init__(self, dots: Sequence[Dot], moments: Sequence[Mark]) -> None:
        self.dots = dots
        times = [each.at for each in dots]
        ends = [end for d in dots for end in (d.value, d.low, d.high) if end is not None]
        self.first, self.last = min(times), max(times)
        if self.first == self.last:
            self.first, self.last = self.first - timedelta(days=1), self.last + timedelta(days=1)
        low, high = min(ends), max(ends)
        room = (high - low) * 0.05 or abs(high) * 0.05 or 0.5
        low = max(0.0, low - room) if low >= 0 else low - room
        high = min(1.0, high + room) if high <= 1 else high + room
        self.ticks = marks(low, high)
        self.shown = [each for each in moments if self.first <= each.at <= self.last]
        self.labels = placed([(self.x(m.at), _short(m.words)) for m in self.shown], WIDE)
        rows = max((each.row + 1 for each in self.labels), default=1)
        self.top = 12 + _ROW * rows
        self.high = HIGH + _ROW * max(0, rows - 2)

    def x(self, at: datetime) -> float:
        """Where a moment is, across."""
        share = (at - self.first) / (self.last - self.first)
        return _LEFT + (WIDE - _LEFT - _RIGHT) * share

    def y(self, value: float) -> float:
        """Where a value is, down."""
        low, high = self.ticks[0], self.ticks[-1]
        return self.high - _BOTTOM - (self.high - self.top - _BOTTOM) * (value - low) / (high - low)

    def parts(self, title: str) -> Iterator[str]:
        """The SVG in pieces."""
        yield (
            f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {WIDE} {self.high}" '
            f'width="{WIDE}" height="{self.high}" role="group" aria-label="{safe(title)}" '
            'font-family="sans-serif" font-size="12">'
        )
        yield from self._axes()
        yield from self._bands()
        yield from self._marks()
        yield from self._lines()
        yield from self._points()
        yield "</svg>"

    def _axes(self) -> Iterator[str]:
        for tick in self.ticks:
            y = self.y(tick)
            yield f'<path stroke="{LINE}" fill="none" d="M{_LEFT} {y:.1f}H{WIDE - _RIGHT}"/>'
            yield (
                f'<text x="{_LEFT - 8}" y="{y:.1f}" dy=".32em" text-anchor="end" '
                f'fill="{DIM}">{tick:.4g}</text>'
            )
        span = self.last - self.first
        form = "%Y-%m-%d" if span > timedelta(days=3) else "%m-%d %H:%M"
        for i in range(_DATES):
            at = self.first + span * i / (_DATES - 1)
            anchor = "start" if i == 0 else "end" if i == _DATES - 1 else "middle"
            yield (
                f'<text x="{self.x(at):.1f}" y="{self.high - 12}" text-anchor="{anchor}" '
                f'fill="{DIM}">{at.strftime(form)}</text>'
            )

    def _runs(self) -> list[list[Dot]]:
        found: dict[str, list[Dot]] = {}
        for dot in self.dots:
            found.setdefault(dot.run, []).append(dot)
        return list(found.values())

    def _bands(self) -> Iterator[str]:
        """The intervals of points that may be compared."""
        for run in self._runs():
            known = [(self.x(d.at), self.y(d.low), self.y(d.high))
                     for d in run if d.low is not None and d.high is not None]  # fmt: skip
            if len(known) < 2:  # a single interval is a line
                for x, low, high in known:
                    yield (
                        f'<path stroke="{run[0].colour}" opacity=".4" '
                        f'd="M{x:.1f} {low:.1f}V{high:.1f}"/>'
                    )
                continue
            there = "L".join(f"{x:.1f} {high:.1f}" for x, _, high in known)
            back = "L".join(f"{x:.1f} {low:.1f}" for x, low, _ in reversed(known))
            yield f'<path fill="{run[0].colour}" fill-opacity=".15" d="M{there}L{back}Z"/>'

    def _marks(self) -> Iterator[str]:
        """Breaks, changes and annotations, each with a line up to its words."""
        for each, label in zip(self.shown, self.labels, strict=True):
            x, y = self.x(each.at), self.top - 14 - _ROW * label.row
            shade = RED if each.kind == "change" else GREY
            dash = "" if each.kind == "change" else ' stroke-dasharray="4 3"'
            top = (y if label.free else self.top - 14) + 4
            yield (
                f'<path stroke="{shade}"{dash} fill="none" '
                f'd="M{x:.1f} {top}V{self.high - _BOTTOM}">'
                f"<title>{safe(each.words)}</title></path>"
            )
            yield (
                f'<text x="{x:.1f}" y="{y}" text-anchor="{label.anchor}" '
                f'fill="{INK}">{safe(_short(each.words))}<title>{safe(each.words)}</title></text>'
            )

    def _lines(self) -> Iterator[str]:
        for run in self._runs():
            if len(run) > 1:
                path = "L".join(f"{self.x(d.at):.1f} {self.y(d.value):.1f}" for d in run)
                yield (f'<path stroke="{run[0].colour}" stroke-width="2" fill="none" d="M{path}"/>')

    def _points(self) -> Iterator[str]:
        for dot in self.dots:
            circle = (
                f'<circle cx="{self.x(dot.at):.1f}" cy="{self.y(dot.value):.1f}" r="4" '
                f'fill="{dot.colour}"/><title>{safe(dot.words)}</title>'
            )
            yield f'<a href="{safe(dot.link)}" aria-label="{safe(dot.words)}">{circle}</a>'

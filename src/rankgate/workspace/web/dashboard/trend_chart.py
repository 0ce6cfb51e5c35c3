"""A series as SVG: intervals, breaks, change-points, annotations.

Texts above the drawing are placed in rows without overlap. Every point links to its record. Colours
are attributes, so that the style sheet of pages can change them for the dark mode.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import replace
from datetime import datetime, timedelta
from typing import TYPE_CHECKING, Any

from rankgate.core.frozen import dataclass
from rankgate.core.present.charts.chart_style import DIM, GREY, INK, LINE, RED, system_colour
from rankgate.core.present.pages.page import axis_ticks
from rankgate.core.present.pages.page_parts import escape_html

if TYPE_CHECKING:
    from rankgate.workspace.records.history import History


_LETTER_WIDTH = 7.0
"""The assumed width of a 12 px letter, above the mean of usual sans-serif fonts."""

_GAP = 8.0
"""The gap between two labels of a row."""


@dataclass(frozen=True)
class Label:
    """The position of a text.

    Attributes:
        row: the number of the row; 0 is the row next to the drawing.
        left, right: the left and right end of the text.
        anchor: ``start`` or ``end``: the end of the text at its vertical line.
        free: True if the line reaches the row without crossing texts of lower rows.
    """

    row: int
    left: float
    right: float
    anchor: str
    free: bool = True


def place_labels(marks: Sequence[tuple[float, str]], edge: float) -> list[Label]:
    """The position of each mark's text, in the lowest free row, placed from right to left.

    So a line mostly rises between the texts of lower rows. A text that would leave the drawing ends
    at its line.

    Args:
        marks: the position of each line, and its text.
        edge: the right end of the drawing.
    """
    labels: dict[int, Label] = {}
    for i in sorted(range(len(marks)), key=lambda i: -marks[i][0]):
        x, text = marks[i]
        width = len(text) * _LETTER_WIDTH
        fits = x + width <= edge
        left_end = x if fits else max(0.0, x - width)
        right_end = left_end + width
        used_rows = {
            label.row
            for label in labels.values()
            if left_end < label.right + _GAP and label.left - _GAP < right_end
        }
        row = next(candidate for candidate in range(len(marks)) if candidate not in used_rows)
        labels[i] = Label(row, left_end, right_end, "start" if fits else "end")
    return [
        replace(labels[i], free=_is_line_free(x, labels[i].row, labels.values()))
        for i, (x, _) in enumerate(marks)
    ]


def _is_line_free(x: float, row: int, labels: Iterable[Label]) -> bool:
    return not any(label.row < row and label.left - 1 < x < label.right + 1 for label in labels)


WIDE, HIGH = 1000, 340
"""The size of the drawing; more than two rows of text make it higher."""

_LEFT, _RIGHT, _BOTTOM = 64, 16, 34
_ROW_HEIGHT = 16
_DATE_COUNT, _DATE_WIDTH = 6, 150
_MAX_LABEL_LENGTH = 26
"""The largest number of characters of a mark's text in the drawing; the table has the full text."""


@dataclass(frozen=True)
class ChartPoint:
    """A point of the chart.

    Attributes:
        at: the time of the point.
        value, low, high: the value and its interval.
        link: the address of its record.
        words: the text for tooltips and screen readers.
        run: a key that is equal for comparable points, which are joined by a line.
        colour: the colour of the system.
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
class TimelineMark:
    """A mark in time: ``break``, ``change``, ``alert``, or the kind of an annotation."""

    at: datetime
    kind: str
    words: str


def draw_trend(history: History, address_of: Callable[[str], str]) -> str:
    """The drawing of a history; empty without points.

    Args:
        history: the series of one metric.
        address_of: a function that returns the address of a record by its hash.
    """
    colour_of_system = dict(list_colours(history))
    dots = []
    for row in history.series.iter_rows(named=True):
        dot = make_point(row, address_of(row["sha256"]), colour_of_system[row["system"]])
        dots.append(dot)
    marks = [
        TimelineMark(datetime.fromisoformat(row["at"]), "break", f"other {row['reasons']}")
        for row in history.breaks.iter_rows(named=True)
    ]
    for row in history.changes.iter_rows(named=True):
        system_text = f" {row['system']}" if len(history.systems) > 1 else ""
        label = f"{'▲' if row['gain'] > 0 else '▼'}{system_text} {row['delta']:+.3f}"
        marks.append(TimelineMark(datetime.fromisoformat(row["at"]), "change", label))
    marks += [
        TimelineMark(datetime.fromisoformat(row["at"]), row["kind"], row["text"])
        for row in history.annotations.iter_rows(named=True)
    ]
    return draw_points(dots, list(dict.fromkeys(marks)), history.heading)


def draw_points(
    dots: Sequence[ChartPoint],
    marks: Sequence[TimelineMark],
    title: str,
    size: tuple[int, int] = (WIDE, HIGH),
) -> str:
    """The drawing of points with marks; empty without points.

    Args:
        dots: the points in the order of time.
        marks: the marks; marks outside the time of the points are left out.
        title: the text for screen readers.
        size: the width and height; rows of texts increase the height.
    """
    return "".join(_TrendDrawing(dots, marks, size).parts(title)) if dots else ""


def list_colours(history: History) -> list[tuple[str, str]]:
    """The systems of a drawing with their colours."""
    return [(system, system_colour(index)) for index, system in enumerate(history.systems)]


def make_point(row: Mapping[str, Any], link: str, colour: str) -> ChartPoint:
    """The chart point of an evaluation.

    Args:
        row: the row of a history's series.
        link: the address of the record.
        colour: the colour of the system.
    """
    interval_text = "" if row["low"] is None else f" [{row['low']:.4g}, {row['high']:.4g}]"
    return ChartPoint(
        datetime.fromisoformat(row["at"]),
        row["value"],
        row["low"],
        row["high"],
        link,
        f"{row['system']} {row['at'][:10]}: {row['value']:.4f}{interval_text}".strip(),
        f"{row['system']} {row['segment']}",
        colour,
    )


def _shorten(text: str) -> str:
    return text if len(text) <= _MAX_LABEL_LENGTH else f"{text[:_MAX_LABEL_LENGTH]}…"


class _TrendDrawing:
    """The scales and elements of a drawing, from back to front."""

    def __init__(
        self, dots: Sequence[ChartPoint], moments: Sequence[TimelineMark], size: tuple[int, int]
    ) -> None:
        self.dots = dots
        self.wide, base_height = size
        times = [dot.at for dot in dots]
        all_values = [end for dot in dots for end in (dot.value, dot.low, dot.high) if end is not None]
        self.first, self.last = min(times), max(times)
        if self.first == self.last:
            self.first, self.last = self.first - timedelta(days=1), self.last + timedelta(days=1)
        low, high = min(all_values), max(all_values)
        margin = (high - low) * 0.05 or abs(high) * 0.05 or 0.5
        low = max(0.0, low - margin) if low >= 0 else low - margin
        high = min(1.0, high + margin) if high <= 1 else high + margin
        self.ticks = axis_ticks(low, high)
        self.shown = [mark for mark in moments if self.first <= mark.at <= self.last]
        self.labels = place_labels(
            [(self.x(mark.at), _shorten(mark.words)) for mark in self.shown], self.wide
        )
        rows = max((label.row + 1 for label in self.labels), default=1)
        self.top = 12 + _ROW_HEIGHT * rows
        self.high = base_height + _ROW_HEIGHT * max(0, rows - 2)

    def x(self, moment: datetime) -> float:
        """The horizontal position of a time."""
        share = (moment - self.first) / (self.last - self.first)
        return _LEFT + (self.wide - _LEFT - _RIGHT) * share

    def y(self, value: float) -> float:
        """The vertical position of a value."""
        low, high = self.ticks[0], self.ticks[-1]
        return self.high - _BOTTOM - (self.high - self.top - _BOTTOM) * (value - low) / (high - low)

    def parts(self, title: str) -> Iterator[str]:
        """The parts of the SVG."""
        yield (
            f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {self.wide} {self.high}" '
            f'width="{self.wide}" height="{self.high}" role="group" aria-label="{escape_html(title)}" '
            f'font-family="sans-serif" font-size="12">'
        )
        yield from self._axes()
        yield from self._bands()
        yield from self._marks()
        for run in self._runs():
            if len(run) > 1:
                path = "L".join(f"{self.x(dot.at):.1f} {self.y(dot.value):.1f}" for dot in run)
                yield (f'<path stroke="{run[0].colour}" stroke-width="2" fill="none" d="M{path}"/>')
        for dot in self.dots:
            circle = (
                f'<circle cx="{self.x(dot.at):.1f}" cy="{self.y(dot.value):.1f}" r="4" '
                f'fill="{dot.colour}"/><title>{escape_html(dot.words)}</title>'
            )
            link, label = escape_html(dot.link), escape_html(dot.words)
            yield f'<a href="{link}" aria-label="{label}">{circle}</a>'
        yield "</svg>"

    def _axes(self) -> Iterator[str]:
        for tick in self.ticks:
            y = self.y(tick)
            yield f'<path stroke="{LINE}" fill="none" d="M{_LEFT} {y:.1f}H{self.wide - _RIGHT}"/>'
            yield (
                f'<text x="{_LEFT - 8}" y="{y:.1f}" dy=".32em" text-anchor="end" '
                f'fill="{DIM}">{tick:.4g}</text>'
            )
        span = self.last - self.first
        form = "%Y-%m-%d" if span > timedelta(days=3) else "%m-%d %H:%M"
        count = min(_DATE_COUNT, self.wide // _DATE_WIDTH)
        for i in range(count):
            moment = self.first + span * i / (count - 1)
            anchor = "start" if i == 0 else "end" if i == count - 1 else "middle"
            yield (
                f'<text x="{self.x(moment):.1f}" y="{self.high - 12}" text-anchor="{anchor}" '
                f'fill="{DIM}">{moment.strftime(form)}</text>'
            )

    def _runs(self) -> list[list[ChartPoint]]:
        dots_by_run: dict[str, list[ChartPoint]] = {}
        for dot in self.dots:
            dots_by_run.setdefault(dot.run, []).append(dot)
        return list(dots_by_run.values())

    def _bands(self) -> Iterator[str]:
        """The intervals of comparable points."""
        for run in self._runs():
            intervals = [
                (self.x(dot.at), self.y(dot.low), self.y(dot.high))
                for dot in run
                if dot.low is not None and dot.high is not None
            ]
            if len(intervals) < 2:  # a single interval is drawn as a line
                for x, low, high in intervals:
                    yield (f'<path stroke="{run[0].colour}" opacity=".4" d="M{x:.1f} {low:.1f}V{high:.1f}"/>')
                continue
            upper = "L".join(f"{x:.1f} {high:.1f}" for x, _, high in intervals)
            lower = "L".join(f"{x:.1f} {low:.1f}" for x, low, _ in reversed(intervals))
            yield f'<path fill="{run[0].colour}" fill-opacity=".15" d="M{upper}L{lower}Z"/>'

    def _marks(self) -> Iterator[str]:
        """Breaks, changes and annotations, each with a line up to its text."""
        for mark, label in zip(self.shown, self.labels, strict=True):
            x, y = self.x(mark.at), self.top - 14 - _ROW_HEIGHT * label.row
            shade = RED if mark.kind in {"change", "alert"} else GREY
            dash = "" if mark.kind == "change" else ' stroke-dasharray="4 3"'
            top = (y if label.free else self.top - 14) + 4
            yield (
                f'<path stroke="{shade}"{dash} fill="none" d="M{x:.1f} '
                f'{top}V{self.high - _BOTTOM}">'
                f"<title>{escape_html(mark.words)}</title></path>"
            )
            yield (
                f'<text x="{x:.1f}" y="{y}" text-anchor="{label.anchor}" '
                f'fill="{INK}">{escape_html(_shorten(mark.words))}<title>{escape_html(mark.words)}</title></text>'
            )

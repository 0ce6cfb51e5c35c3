"""The chart of a history: a line for each system, with changes, breaks and annotations."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import polars as pl

from rankgate.core.present.charts.chart_style import GREY, INK
from rankgate.core.present.charts.chart_views import Axis, ChartView, Mark, Panel
from rankgate.core.present.layout import fill

if TYPE_CHECKING:
    from rankgate.core.present.charts.chart_views import Rows
    from rankgate.workspace.records.history import History

_HEIGHT = 260
_MAX_BANDS = 3  # largest number of systems drawn with intervals
_LINES = {"detail": {"field": "line", "type": "nominal"}}  # a line ends at a break


def _breaks(_rows: Rows, result: History) -> Rows:
    reasons = pl.format("other {}", "reasons").alias("words")
    return result.breaks.unique("at", maintain_order=True).select("at", reasons).to_dicts()


def _annotations(rows: Rows, result: History) -> Rows:
    times = [row["at"] for row in rows]
    notes = result.annotations.filter(pl.col("at").is_between(pl.lit(min(times)), pl.lit(max(times))))
    return notes.select("at", pl.col("text").alias("words")).to_dicts()


def _rises(_rows: Rows, result: History) -> Rows:
    return _changes(result.changes.filter(pl.col("gain") > 0))


def _falls(_rows: Rows, result: History) -> Rows:
    return _changes(result.changes.filter(~(pl.col("gain") > 0)))


def _changes(changes: pl.DataFrame) -> Rows:
    return changes.select("at", pl.col("after").alias("value"), "delta").to_dicts()


def _moment_marks(rows: Any, dash: int, gap: int, y: int) -> tuple[Mark, Mark]:
    """A vertical line, and its text, which ends or begins at a height."""
    below = y > 0
    shift = 4 if below else -4
    words = {"angle": 270, "align": "left" if below else "right", "dx": shift, "dy": -5}
    style = {**words, "fontSize": 9, "limit": 170}
    return (
        Mark("rule", "", "", GREY, {"strokeDash": [dash, gap]}, rows, {"y": None}),
        Mark("words", "{words}", "", INK, style, rows, {"y": {"value": y}}),
    )


def _history_panels(result: History) -> tuple[Panel, ...]:
    """Values over time: bands are intervals, gaps are breaks, triangles are changes."""
    band = Mark("band", "low", "high", "", {"opacity": 0.15}, _with_interval, _LINES)
    triangle = {"size": 110, "shape": "triangle-up"}
    columns = ("system", "at", "value", "low", "high", "revision")
    return (
        Panel(
            "series",
            Axis("at", scale="time"),
            Axis("value", "{metric}", zero=False),
            (
                *((band,) if len(result.systems) <= _MAX_BANDS else ()),
                Mark("points", "value", style={"point": {"size": 25}}, channels=_LINES),
                *_moment_marks(_breaks, 5, 3, _HEIGHT),
                *_moment_marks(_annotations, 2, 2, 0),
                Mark("point", "value", "", INK, triangle, _rises),
                Mark("point", "value", "", INK, {**triangle, "shape": "triangle-down"}, _falls),
            ),
            (*columns, pl.format("{} {}", "system", "segment").alias("line")),
            series="system",
            names="legend" if len(result.systems) > 1 else "none",
            width=560,
            height=_HEIGHT,
            tooltip=("revision", "delta"),
        ),
    )


def _with_interval(rows: Rows, _result: object) -> Rows:
    return [row for row in rows if row["low"] is not None]


HISTORY = ChartView(
    lambda result: fill("{metric}" + (" for {slice}" if result.slice else "") + " over time", result),
    "Bands are 95% intervals over queries. Triangles are changes, up is better; long dashes are breaks, "
    "short dashes annotations.",
    "{series:n evaluation}",
    _history_panels,
    "history",
)

"""Draw the chart that a `ChartView` declares: its rows, its panels, and the picture around them."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from functools import partial
from typing import TYPE_CHECKING, Any

from rankgate.core.errors import UsageError
from rankgate.core.present.charts.chart_layers import heat_map
from rankgate.core.present.charts.chart_parts import (
    SIGNED_LABELS,
    axis_title,
    concat_panels,
    inline_data,
    labelled_lines,
    load_altair,
    panel_title,
    rule_line,
)
from rankgate.core.present.charts.chart_style import BLUE, shorten_names, system_colour
from rankgate.core.present.charts.chart_views import Axis, HeatMap, Mark, Panel, Reference
from rankgate.core.present.charts.picture import Picture
from rankgate.core.present.layout import fact, fields_of, fill, sentences

if TYPE_CHECKING:
    from rankgate.core.present.charts.chart_views import ChartView, Colour, Text
    from rankgate.core.value_types import JsonObject

Row = Mapping[str, Any]
Fill = Callable[[str], str]

MARKS: Mapping[str, JsonObject] = {
    "interval": {"type": "rule", "strokeWidth": 2},
    "point": {"type": "point", "filled": True, "size": 60, "opacity": 1},
    "ring": {"type": "point", "size": 70, "strokeWidth": 2, "opacity": 1},
    "band": {"type": "area", "opacity": 0.2},
    "line": {"type": "line"},
    "points": {"type": "line", "point": True},
    "tick": {"type": "tick", "thickness": 2.5, "size": 20},
    "bar": {"type": "bar", "height": 16},
    "words": {"type": "text", "align": "left"},
}
"""The kinds of marks, as Vega-Lite has them; ``points`` are joined by lines."""

_NO_TOOLTIP = ("interval", "band", "words")
_TYPES = {"number": "quantitative", "log": "quantitative", "time": "temporal", "rank": "ordinal"}
_WORDS_DISTANCE = 10  # between the right edge of a panel and words beside it
_LOWEST_PANEL = 40  # points


class _Drawn:
    """The rows of a chart for templates: their number, and the distinct values of a column."""

    def __init__(self, rows: Sequence[Row]) -> None:
        self.rows = rows

    def __len__(self) -> int:
        return len(self.rows)

    def __getitem__(self, column: str) -> list[Any]:
        return list(dict.fromkeys(row[column] for row in self.rows if column in row))


def draw_chart(view: ChartView, kind: str, result: Any) -> Picture:
    """The picture of a result.

    Args:
        view: the declaration.
        kind: the name of the chart.
        result: the result.

    Raises:
        UsageError: there are no rows.
        MissingExtraError: Altair is not installed.
    """
    rows: list[Row] = []
    drawings: list[Callable[[], Any]] = []
    notes: list[str] = []
    panels = view.panels(result) if callable(view.panels) else view.panels
    for panel in panels:
        panel_rows, groups, note = _panel_rows(panel, result)
        rows += panel_rows
        notes += [note] if note else []
        drawings += [partial(_draw, panel, group, result) for group in groups]
    if not rows:
        raise UsageError(fill(view.empty, result), code="nothing-to-draw")
    texts = {"drawn": _Drawn(rows)}
    drawn_panels = [drawing() for drawing in drawings]
    is_single = len(panels) == 1 and not getattr(panels[0], "facet", ())
    return Picture(
        kind,
        _text(view.title, result, texts),
        " ".join([_text(view.about, result, texts, " "), *notes]),
        _text(view.n, result, texts),
        {"name": view.convention, "hash": ""} if view.convention else getattr(result, "convention", {}),
        tuple(rows),
        drawn_panels[0] if is_single else concat_panels(drawn_panels, view.across),
        view.fluid,
    )


def _text(text: Text, result: object, texts: Mapping[str, object], joint: str = "") -> str:
    if callable(text):
        return text(result)
    return joint.join(sentences((text,) if isinstance(text, str) else text, result, texts))


def _panel_rows(panel: Panel | HeatMap, result: object) -> tuple[list[Row], list[list[Row]], str]:
    """The drawn rows, those of each panel, and a sentence about what is not drawn."""
    rows = _read_rows(panel, result)
    if isinstance(panel, HeatMap):
        return rows, ([rows] if rows else []), ""
    axis_columns = (
        axis.column for axis in (panel.x, panel.y) if not callable(axis) and axis.scale == "names"
    )
    for column in {*axis_columns, panel.series, *panel.facet} - {""}:
        rows = _shorten(rows, column)
    keys = panel.facet or ((panel.series,) if panel.most else ())
    groups: dict[tuple[Any, ...], list[Row]] = {}
    for row in rows:
        groups.setdefault(tuple(row[column] for column in keys), []).append(row)
    drawn_groups = dict(list(groups.items())[: panel.most or None])
    note = ""
    if len(drawn_groups) < len(groups):
        note = f"The first {len(drawn_groups)} of {len(groups)} are drawn."
        rows = [row for row in rows if tuple(row[column] for column in keys) in drawn_groups]
    return rows, list(drawn_groups.values()) if panel.facet else [rows] if rows else [], note


def _read_rows(panel: Panel | HeatMap, result: object) -> list[Row]:
    frame = panel.source(result) if callable(panel.source) else fact(panel.source, result)
    if isinstance(frame, list | tuple):
        return list(frame)
    if isinstance(panel, Panel) and panel.row_filter is not None:
        frame = frame.filter(panel.row_filter)
    rows: list[Row] = (frame.select(panel.columns) if panel.columns else frame).to_dicts()
    return rows


def _shorten(rows: list[Row], column: str) -> list[Row]:
    names = list(dict.fromkeys(row[column] for row in rows))
    if not all(isinstance(name, str) for name in names):
        return rows
    shorter = dict(zip(names, shorten_names(names), strict=True))
    return [{**row, column: shorter[row[column]]} for row in rows]


def _draw(panel: Panel | HeatMap, rows: list[Row], result: object) -> Any:
    if isinstance(panel, HeatMap):
        return heat_map(rows, panel.domain, panel.shades, form=panel.form)
    return _PanelDrawing(panel, rows, result).chart()


class _PanelDrawing:
    """One panel with its rows; texts have the values of the first row."""

    def __init__(self, panel: Panel, rows: list[Row], result: object) -> None:
        self.panel, self.rows, self.result = panel, rows, result
        self.fill: Fill = lambda template: fill(template, result, {**rows[0], "drawn": _Drawn(rows)})
        self.x, self.y = map(self.axis, (panel.x, panel.y))
        self.names = (
            list(dict.fromkeys(row[self.y.column] for row in rows)) if self.y.scale == "names" else []
        )
        self.width = panel.width
        self.height = max(panel.height * len(self.names), _LOWEST_PANEL) if self.names else panel.height

    def axis(self, axis: Axis | Callable[[Any, Sequence[Row]], Axis]) -> Axis:
        """An axis with its texts."""
        if callable(axis):
            axis = axis(self.result, self.rows)
        return axis._replace(title=self.fill(axis.title), form=self.fill(axis.form))

    def chart(self) -> Any:
        """The layers."""
        layers = [
            layer
            for mark in self.panel.marks
            for layer in (self.reference(mark) if isinstance(mark, Reference) else self.layer(mark))
        ]
        title = panel_title(self.fill(self.panel.title))
        if self.panel.names != "legend":
            rows = [{**row, "series": row[self.panel.series]} for row in self.rows]
            lines = labelled_lines(
                rows, self.x, self.y, size=(self.width, self.height), listed=self.panel.names == "list"
            )
            self.height = lines.height
            layers.insert(0, lines)
        return load_altair().layer(*layers).properties(width=self.width, height=self.height, **title)

    def reference(self, line: Reference) -> list[Any]:
        """A line across the panel."""
        value = fact(line.value, self.result) if isinstance(line.value, str) else line.value
        along = "x" if self.names else "y"
        field = getattr(self, along).column
        return [] if value is None else [rule_line(field, value, along=along, dashed=line.dashed)]

    def layer(self, mark: Mark) -> list[Any]:
        """A mark with its rows; none without rows."""
        rows = mark.rows(self.rows, self.result) if mark.rows else self.rows
        if not rows:
            return []
        values, position = (self.x, self.y) if self.names else (self.y, self.x)
        along, across = ("x", "y") if self.names else ("y", "x")
        encoding = {across: self.channel(position, position.column)}
        if mark.kind == "words":
            rows = [{**row, "words": self.words(mark, row)} for row in rows]
            encoding["text"] = {"field": "words", "type": "nominal"}
            encoding[along] = {"value": self.width + _WORDS_DISTANCE}
        else:
            encoding[along] = self.channel(values, mark.value)
            encoding["color"] = self.colour(mark.colour or self.panel.colour)
        if mark.end:
            encoding[f"{along}2"] = {"field": mark.end}
        if mark.kind not in _NO_TOOLTIP:
            columns = dict.fromkeys(
                (
                    position.column,
                    *(column for shown in self.panel.marks for column in _columns(shown)),
                    *self.panel.tooltip,
                )
            )
            encoding["tooltip"] = [
                {"field": column, "type": _type(rows, column)} for column in columns if column in rows[0]
            ]
        style = {**MARKS[mark.kind], **mark.style}
        return [load_altair().Chart(inline_data(rows), mark=style).encode(**encoding)]

    def words(self, mark: Mark, row: Row) -> str:
        """The text beside a row."""
        if callable(mark.value):
            return mark.value(row)
        templates = (mark.value,) if isinstance(mark.value, str) else mark.value
        for template in templates:
            if all(row.get(name, "") is not None for name in fields_of(template)):
                return fill(template, self.result, row)
        return ""

    def colour(self, colour: Colour) -> JsonObject:
        """The channel of a colour."""
        if isinstance(colour, str):
            return {"value": colour or BLUE} if colour or not self.panel.series else self.series_colour()
        *tests, otherwise = colour
        return {
            "condition": [{**self.test(test), "value": shade} for test, shade in tests],
            "value": otherwise,
        }

    def test(self, test: str | tuple[str, object]) -> JsonObject:
        """A condition; values of data are compared as values, never read as an expression."""
        if isinstance(test, str):
            return {"test": test}
        column, value = test
        return {
            "test": {"field": column, "equal": fill(value, self.result) if isinstance(value, str) else value}
        }

    def series_colour(self) -> JsonObject:
        """The colours of series."""
        names = list(dict.fromkeys(row[self.panel.series] for row in self.rows))
        shades = [system_colour(i) for i in range(len(names))]
        legend = {"title": self.panel.legend or None} if self.panel.names == "legend" else None
        scale = {"domain": names, "range": shades}
        return {
            "field": self.panel.series,
            "type": "nominal",
            "sort": names,
            "scale": scale,
            "legend": legend,
        }

    def channel(self, axis: Axis, column: str) -> JsonObject:
        """The channel of positions on an axis."""
        if axis.scale == "names":
            bare = {"domain": False, "ticks": False, "grid": False}
            return {"field": column, "type": "nominal", "sort": self.names, "title": None, "axis": bare}
        scale: dict[str, Any] = {}
        if axis.scale == "log":
            scale["type"] = "log"
        if not axis.zero:
            scale["zero"] = False
        title = axis.title
        if axis.domain:
            scale |= {"domain": list(axis.domain), "nice": False}
            title = axis_title(title, axis.domain[0])
        options: dict[str, Any] = {}
        if axis.form == "signed":
            options = {"labelExpr": SIGNED_LABELS, "tickCount": 6}
        elif axis.scale == "time":
            options = {"format": axis.form or "%d %b", "tickCount": 6}
        elif axis.form:
            options["format"] = axis.form
        if axis.form == "d":
            options["tickMinStep"] = 1
        if axis.scale == "rank":
            options["labelAngle"] = 0
        if axis.ticks:
            options["values"] = list(axis.ticks)
        channel = {"field": column, "type": _TYPES[axis.scale], "title": title or None}
        return {**channel, **({"scale": scale} if scale else {}), **({"axis": options} if options else {})}


def _columns(mark: Mark | Reference) -> tuple[str, ...]:
    if isinstance(mark, Reference) or mark.kind == "words":
        return ()
    return tuple(filter(None, (str(mark.value), mark.end)))


def _type(rows: Sequence[Row], column: str) -> str:
    value = next((row[column] for row in rows if row[column] is not None), "")
    return "quantitative" if isinstance(value, int | float) and not isinstance(value, bool) else "nominal"

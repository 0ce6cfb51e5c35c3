"""Draw the chart that a `ChartView` declares: its rows, its panels, and the picture around them."""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping, Sequence
from functools import partial
from typing import TYPE_CHECKING, Any

from rankgate.core.errors import UsageError
from rankgate.core.present.charts.chart_layers import find_label_spots, heat_map, spot_layers, unplaced_layers
from rankgate.core.present.charts.chart_parts import (
    LABEL_HEIGHT,
    SIGNED_LABELS,
    axis_title,
    concat_panels,
    inline_data,
    line_ends,
    load_altair,
    padded_domain,
    panel_title,
)
from rankgate.core.present.charts.chart_style import (
    BLUE,
    GREY,
    SYSTEMS,
    grade_shades,
    shorten_names,
    system_colour,
)
from rankgate.core.present.charts.chart_views import Axis, HeatMap, Mark, Panel, PointNames, Reference
from rankgate.core.present.charts.picture import Picture
from rankgate.core.present.layout import fact, fields_of, fill, sentences

if TYPE_CHECKING:
    from rankgate.core.present.charts.chart_views import ChartView, Colour, Text
    from rankgate.core.value_types import JsonObject

Row = Mapping[str, Any]
Channel = dict[str, Any]
Fill = Callable[[str], str]

MARKS: Mapping[str, Channel] = {
    "interval": {"type": "rule", "strokeWidth": 2},
    "point": {"type": "point", "filled": True, "size": 60, "opacity": 1},
    "ring": {"type": "point", "size": 70, "strokeWidth": 2, "opacity": 1},
    "band": {"type": "area", "opacity": 0.2},
    "line": {"type": "line"},
    "points": {"type": "line", "point": True},
    "tick": {"type": "tick", "thickness": 2.5, "size": 20},
    "bar": {"type": "bar"},
    "stack": {"type": "bar"},
    "rule": {"type": "rule"},
    "rect": {"type": "rect"},
    "words": {"type": "text", "align": "left"},
}
"""The kinds of marks, as Vega-Lite has them; ``points`` are joined by lines, a ``stack`` is of series."""

_NO_TOOLTIP = ("interval", "band", "rule", "words")
_TYPES = {"number": "quantitative", "log": "quantitative", "time": "temporal", "rank": "ordinal"}
_BAR_HEIGHT = 16  # of a bar in a row
_MANY_NAMES, _SMALLER_ROW = 40, 0.6  # names with rows of a smaller height, and its share
_TICKS = 6
_NAME_WIDTH = 20  # points below which names below a panel stand upright
_WIDE_NAME = 9  # letters from which names below a panel are inclined
_COLOURED_SERIES = len(SYSTEMS) - 1  # coloured series; other series are thin
_MAX_POINTS = 20  # points that can still be told apart on a line
_LABEL_DISTANCE = 12  # distance between the names and the ends of lines
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


def draw_chart(view: ChartView, kind: str, result: Any, **options: object) -> Picture:
    """The picture of a result.

    Args:
        view: the declaration.
        kind: the name of the chart.
        result: the result.
        options: what the function ``of`` of the declaration takes.

    Raises:
        UsageError: there are no rows.
        MissingExtraError: Altair is not installed.
    """
    if view.of or options:
        result = (view.of or _without_options)(result, **options)
    rows: list[Row] = []
    drawings: list[Callable[[], Any]] = []
    notes: list[str] = []
    panels = view.panels(result) if callable(view.panels) else view.panels
    for panel in panels:
        panel_rows, groups, note = _panel_rows(panel, result)
        rows += panel_rows if panel_rows[:1] != rows[-len(panel_rows) :][:1] else []
        notes += [note] if note else []
        drawings += [partial(_draw, panel, group, panel_rows, result) for group in groups]
    if not rows:
        raise UsageError(fill(view.empty, result), code="nothing-to-draw")
    texts = {"drawn": _Drawn(rows)}
    drawn_panels = [drawing() for drawing in drawings]
    is_single = len(drawn_panels) == 1 and not getattr(panels[0], "title", "")
    chart = drawn_panels[0] if is_single else concat_panels(drawn_panels, view.across)
    if len(drawn_panels) > 1 and all(panel.has_legend for panel in panels):
        chart = chart.resolve_scale(color="shared")
    return Picture(
        kind,
        _text(view.title, result, texts),
        " ".join([_text(view.about, result, texts, " "), *notes]),
        _text(view.n, result, texts),
        _convention(view, result),
        tuple(rows),
        chart,
        view.fluid(result) if callable(view.fluid) else view.fluid,
    )


def _convention(view: ChartView, result: object) -> JsonObject:
    if view.convention:
        return {"name": view.convention, "hash": ""}
    convention: JsonObject = {} if view.convention is None else getattr(result, "convention", {})
    return convention


def _text(text: Text, result: object, texts: Mapping[str, object], joint: str = "") -> str:
    if callable(text):
        return text(result)
    return joint.join(sentences((text,) if isinstance(text, str) else text, result, texts))


def _panel_rows(panel: Panel | HeatMap, result: object) -> tuple[list[Row], list[list[Row]], str]:
    """The drawn rows, those of each panel, and a sentence about what is not drawn."""
    rows = _read_rows(panel, result)
    if isinstance(panel, HeatMap):
        for column in ("row", "column") if panel.longest else ():
            rows = _shorten(rows, column, panel.longest)
        return rows, ([rows] if rows else []), ""
    axis_columns = (
        axis.column for axis in (panel.x, panel.y) if not callable(axis) and axis.scale == "names"
    )
    for column in {*axis_columns, panel.series, *panel.facet, *panel.short} - {""}:
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


def _shorten(rows: list[Row], column: str, max_length: int = 32) -> list[Row]:
    names = list(dict.fromkeys(row[column] for row in rows))
    if not all(isinstance(name, str) for name in names):
        return rows
    shorter = dict(zip(names, shorten_names(names, max_length), strict=True))
    return [{**row, column: shorter[row[column]]} for row in rows]


def _without_options(result: object) -> object:
    return result


def _draw(panel: Panel | HeatMap, rows: list[Row], all_rows: list[Row], result: object) -> Any:
    if isinstance(panel, HeatMap):
        return heat_map(panel.drawn(rows), panel)
    return _PanelDrawing(panel, rows, all_rows, result).chart()


class _PanelDrawing:
    """One panel with its rows; texts have the values of the first row."""

    def __init__(self, panel: Panel, rows: list[Row], all_rows: list[Row], result: object) -> None:
        self.panel, self.rows, self.result = panel, rows, result
        self.shades = self.series_shades(all_rows) if panel.series else {}
        self.fill: Fill = lambda template: fill(template, result, {**rows[0], "drawn": _Drawn(rows)})
        self.x, self.y = map(self.axis, (panel.x, panel.y))
        if panel.names in {"ends", "list"}:
            positions, values = ([row[axis.column] for row in rows] for axis in (self.x, self.y))
            self.x = self.x._replace(domain=self.x.domain or (min(positions), max(positions)), grid=False)
            self.y = self.y._replace(domain=self.y.domain or padded_domain(values))
        self.is_row = self.y.scale == "names"  # names below each other
        self.values, self.position = (self.x, self.y) if self.is_row else (self.y, self.x)
        self.along, self.across = ("x", "y") if self.is_row else ("y", "x")
        self.names = list(dict.fromkeys(row[self.position.column] for row in rows))
        self.width, self.height = panel.width, panel.height
        if panel.names in {"ends", "list"}:
            self.height = max(self.height, LABEL_HEIGHT * len(self.shades))
        if self.is_row:
            size = self.height * (_SMALLER_ROW if len(self.names) > _MANY_NAMES else 1)
            self.height = max(round(size) * len(self.names), _LOWEST_PANEL)

    def axis(self, axis: Axis | Callable[[Any, Sequence[Row]], Axis]) -> Axis:
        """An axis with its texts."""
        if callable(axis):
            axis = axis(self.result, self.rows)
        return axis._replace(title=self.fill(axis.title), form=self.fill(axis.form))

    def chart(self) -> Any:
        """The layers."""
        layers = [layer for mark in self.panel.marks for layer in self.layers(mark)]
        title = self.panel.title
        heading = panel_title(title(self.result, self.rows) if callable(title) else self.fill(title))
        if self.panel.names in {"ends", "list"}:
            layers = [*self.named_lines(), *layers]
        return load_altair().layer(*layers).properties(width=self.width, height=self.height, **heading)

    def named_lines(self) -> list[Any]:
        """A line for each series, named at its right end; the first series are thick."""
        series, y = self.panel.series, self.y.column
        rows = [row for row in self.rows if row[y] is not None]
        values: dict[str, list[float]] = {}
        for row in rows:
            values.setdefault(row[series], []).append(float(row[y]))
        thin = {"test": {"field": series, "oneOf": list(values)[_COLOURED_SERIES:]}, "value": 1}
        line = Mark(
            "line", y, rows=lambda *_: rows, channels={"strokeWidth": {"condition": thin, "value": 2}}
        )
        points = Mark("point", y, style={"size": 26}, rows=lambda *_: rows)
        is_sparse = len(rows) <= _MAX_POINTS * len(values)
        assert self.y.domain
        ends = [
            {**end, series: end["series"]}
            for end in line_ends(values, self.y.domain, self.height, listed=self.panel.names == "list")
        ]
        edge = {"x": {"value": self.width}, "x2": {"value": self.width + _LABEL_DISTANCE - 3}}
        leader = Mark("rule", "own", "at", "", {"opacity": 0.6}, lambda *_: ends, edge)
        channels = {"x": {"value": self.width + _LABEL_DISTANCE}, "color": self.series_colour()}
        style = {"baseline": "middle", "fontSize": 11}
        label = Mark("words", "{label}", "at", "", style, lambda *_: ends, channels)
        marks = [line, *((points,) if is_sparse else ()), leader, label]
        return [layer for mark in marks for layer in self.layer(mark)]

    def layers(self, mark: Mark | Reference | PointNames) -> list[Any]:
        """The layers of a mark."""
        if isinstance(mark, PointNames):
            return self.point_names(mark)
        return self.reference(mark) if isinstance(mark, Reference) else self.layer(mark)

    def point_names(self, mark: PointNames) -> list[Any]:
        """Names next to the points, and around the others' points."""
        points_of_names = mark.rows(self.rows, self.result) if mark.rows else self.rows
        rows = [{**row, "shown": mark.text(row)} for row in points_of_names]
        rows.sort(key=lambda row: not row["shown"])
        named_rows = [row for row in rows if row["shown"]]
        x, y = _share_along(self.x), _share_along(self.y)
        size = self.width, self.height
        points = [
            (self.width * x(row[self.x.column]), self.height * (1 - y(row[self.y.column]))) for row in rows
        ]
        names = [row["shown"] for row in named_rows]
        spots = find_label_spots(points, names, size, mark.most, mark.outside)
        axes = {"x": self.channel(self.x, self.x.column), "y": self.channel(self.y, self.y.column)}
        colour = self.colour(mark.colour)
        layers = spot_layers(named_rows, spots, axes, color=colour)
        if mark.all_named:
            layers += unplaced_layers(named_rows, points, spots, size, axes, color=colour)
        return layers

    def reference(self, line: Reference) -> list[Any]:
        """A line across the panel."""
        value = line.value(self.result) if callable(line.value) else line.value
        value = fact(value, self.result) if isinstance(value, str) else value
        if value is None:
            return []
        style = {"type": "rule", "color": GREY, "strokeDash": [4, 3] if line.dashed else [1, 0]}
        column = self.values.column
        rule = load_altair().Chart(inline_data([{column: value}]), mark=style)
        return [rule.encode(**{self.along: self.channel(self.values, column)})]

    def layer(self, mark: Mark) -> list[Any]:
        """A mark with its rows; none without rows."""
        rows = mark.rows(self.rows, self.result) if mark.rows else self.rows
        if not rows:
            return []
        style = {**MARKS[mark.kind], **mark.style}
        encoding: dict[str, Any] = {self.across: self.channel(self.position, self.position.column)}
        if mark.kind == "words":
            rows = [{**row, "words": self.words(mark, row)} for row in rows]
            encoding["text"] = {"field": "words", "type": "nominal"}
            encoding[self.along] = (
                self.channel(self.values, mark.end) if mark.end else {"value": self.width + _WORDS_DISTANCE}
            )
            style |= {"color": mark.colour} if mark.colour else {}
        else:
            if mark.value:
                encoding[self.along] = self.channel(self.values, str(mark.value))
            encoding["color"] = self.colour(mark.colour or self.panel.colour)
            if mark.end:
                encoding[f"{self.along}2"] = {"field": mark.end}
        if mark.kind not in _NO_TOOLTIP:
            encoding["tooltip"] = self.tooltip(rows)
        if self.is_row and style["type"] == "bar":
            style = {"height": _BAR_HEIGHT, **style}
        if mark.kind == "stack":
            order = list(self.shades)
            rows = [{**row, "order": order.index(row[self.panel.series])} for row in rows]
            encoding["order"] = {"field": "order", "type": "quantitative"}
            encoding[self.along]["stack"] = "zero"
        channels = {name: value for name, value in {**encoding, **mark.channels}.items() if value is not None}
        return [load_altair().Chart(inline_data(rows), mark=style).encode(**channels)]

    def tooltip(self, rows: Sequence[Row]) -> list[Channel]:
        """The position, the columns of all marks, and further ones of the panel."""
        columns = [self.position.column]
        for mark in self.panel.marks:
            if isinstance(mark, Mark) and mark.kind != "words":
                columns += [str(mark.value), mark.end]
        columns += [self.panel.series, *self.panel.tooltip]
        return [
            {"field": column, "type": _type(rows, column)}
            for column in dict.fromkeys(columns)
            if column in rows[0]
        ]

    def words(self, mark: Mark, row: Row) -> str:
        """The text beside a row."""
        if callable(mark.value):
            return mark.value(row)
        templates = (mark.value,) if isinstance(mark.value, str) else mark.value
        for template in templates:
            if all(row.get(name, "") is not None for name in fields_of(template)):
                return fill(template, self.result, row)
        return ""

    def colour(self, colour: Colour) -> Channel:
        """The channel of a colour."""
        if isinstance(colour, str):
            return {"value": colour or BLUE} if colour or not self.panel.series else self.series_colour()
        *tests, otherwise = colour
        return {
            "condition": [{**self.test(test), "value": shade} for test, shade in tests],
            "value": otherwise,
        }

    def test(self, test: str | tuple[str, object]) -> Channel:
        """A condition; values of data are compared as values, never read as an expression."""
        if isinstance(test, str):
            return {"test": test}
        column, value = test
        return {
            "test": {"field": column, "equal": fill(value, self.result) if isinstance(value, str) else value}
        }

    def series_shades(self, rows: Sequence[Row]) -> Mapping[str, str]:
        """The colour of each series."""
        if self.panel.by_grade:
            return grade_shades(rows)
        names = dict.fromkeys(row[self.panel.series] for row in rows)
        return {name: system_colour(i) for i, name in enumerate(names)}

    def series_colour(self) -> Channel:
        """The channel of the colours of series."""
        names = list(self.shades)
        legend = {"title": self.panel.legend or None} if self.panel.has_legend else None
        scale = {"domain": names, "range": list(self.shades.values())}
        return {
            "field": self.panel.series,
            "type": "nominal",
            "sort": names,
            "scale": scale,
            "legend": legend,
        }

    def channel(self, axis: Axis, column: str) -> Channel:
        """The channel of positions on an axis."""
        if axis.scale == "names":
            options: Channel = {"domain": False, "ticks": False, "grid": False, "labelPadding": 6}
            if not self.is_row:
                is_dense = self.width / len(self.names) < _NAME_WIDTH
                is_wide = max(map(len, self.names)) >= _WIDE_NAME
                options |= {"labelAngle": -90 if is_dense else -40 if is_wide else 0}
                options |= {"labelFontSize": 9} if is_dense else {}
            return {"field": column, "type": "nominal", "sort": self.names, "title": None, "axis": options}
        if axis.bare:
            options = {"labels": False, "ticks": False, "domain": False, "grid": False, "title": None}
            return {"field": column, "type": "quantitative", "axis": options, "scale": _scale(axis)}
        scale, options = _scale(axis), _ticks(axis)
        title = axis.title
        if axis.domain and axis.scale == "number" and axis.form != "d" and axis.grid:
            title = axis_title(title, axis.domain[0])
        channel = {"field": column, "type": _TYPES[axis.scale], "title": title or None}
        return {**channel, **({"scale": scale} if scale else {}), **({"axis": options} if options else {})}


def _share_along(axis: Axis) -> Callable[[float], float]:
    """The position of a value between the ends of an axis, from 0 to 1."""
    assert axis.domain
    scaled = math.log if axis.scale == "log" else float
    low, high = map(scaled, axis.domain)
    return lambda value: (scaled(value) - low) / (high - low)


def _scale(axis: Axis) -> Channel:
    scale: Channel = {"type": "log"} if axis.scale == "log" else {}
    if not axis.zero:
        scale["zero"] = False
    if axis.domain and axis.scale == "rank":
        scale["domain"] = list(range(int(axis.domain[0]), int(axis.domain[1]) + 1))
    elif axis.domain:
        scale |= {"domain": list(axis.domain), "nice": False}
    return scale


def _ticks(axis: Axis) -> Channel:
    """The marks of an axis and their labels."""
    if axis.form == "signed":
        return {"labelExpr": SIGNED_LABELS, "tickCount": _TICKS}
    if axis.scale == "time":
        return {"format": axis.form or "%d %b", "tickCount": _TICKS}
    ticks: Channel = {"format": axis.form} if axis.form else {}
    if not axis.grid:
        ticks["grid"] = False
    if axis.form == "d":
        ticks["tickMinStep"] = 1
    elif axis.domain and axis.scale == "number" and axis.grid:
        ticks["tickCount"] = _TICKS
    if axis.scale == "rank":
        ticks |= {"labelAngle": 0, "domain": False, "ticks": False}
    overlap = {"values": list(axis.ticks), "labelOverlap": "greedy"}
    return {**ticks, **overlap} if axis.ticks else ticks


def _type(rows: Sequence[Row], column: str) -> str:
    value = next((row[column] for row in rows if row[column] is not None), "")
    return "quantitative" if isinstance(value, int | float) and not isinstance(value, bool) else "nominal"

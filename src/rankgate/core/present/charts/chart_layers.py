"""Heat maps, and names next to points without overlap.

Heat maps have cells with their numbers, or fine cells without numbers where there are many.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

from rankgate.core.present.charts.chart_parts import inline_data, load_altair, panel_title
from rankgate.core.present.charts.chart_style import ON_DEEP, ON_PALE, separate_positions

if TYPE_CHECKING:
    from rankgate.core.present.charts.chart_parts import Rows
    from rankgate.core.present.charts.chart_views import HeatMap
    from rankgate.core.value_types import JsonObject


_CELL, _ROW = 74, 26
_WIDEST, _WIDE, _HIGH, _LOW = 680, 16, 22, 4  # points: of all columns, of a column, of a row
_MIN_READABLE = 9  # points of a row or column with a readable name
_DARK_LUMINANCE = 0.179  # the luminance below which white is easier to read than black


def heat_map(rows: Rows, heat: HeatMap) -> Any:
    """Cells of ``row``, ``column`` and ``value``; without a value a cell stays empty.

    Fine columns are as narrow as possible, a whole number of points wide. Names that would be too small to
    read are left out.
    """
    alt = load_altair()
    columns, row_names = (list(dict.fromkeys(row[name] for row in rows)) for name in ("column", "row"))
    width, height = _CELL, _ROW
    axis: dict[str, Any] = {"domain": False, "ticks": False, "grid": False}
    angle = 0 if _fits_above_cells(columns) else -40
    x_axis = {**axis, "orient": "top", "labelPadding": 6, "labelLimit": 160, "labelAngle": angle}
    y_axis = {**axis, "labelPadding": 6, "labelLimit": 420}
    legend: JsonObject | None = None
    padding: JsonObject = {}
    if heat.across:
        width = max(1, min(_WIDE, _WIDEST // len(columns)))
        height = max(_LOW, min(_HIGH, _WIDEST // len(row_names)))
        x_axis = {**axis, "labels": width >= _MIN_READABLE, "labelAngle": -90, "labelFontSize": 9}
        y_axis = {**axis, "labels": height >= _MIN_READABLE, "labelFontSize": min(11, height)}
        length = min(120, 22 + height * len(row_names))
        legend, padding = {"title": None, "orient": "right", "gradientLength": length}, {"padding": 0}
    low, high = heat.domain
    stops = [low, (low + high) / 2, high] if len(heat.shades) > 2 else [low, high]
    shades = {"domain": stops, "range": list(heat.shades), "clamp": True, "interpolate": "rgb"}
    cell_rows = [
        {
            **row,
            "words": _format_cell(row["value"], heat.form),
            "deep": needs_white(row["value"], heat.domain, heat.shades),
        }
        for row in rows
        if row["value"] is not None
    ]
    base = alt.Chart(inline_data(cell_rows)).encode(
        x=_names_channel("column", columns, heat.across, x_axis, padding),
        y=_names_channel("row", row_names, "", y_axis, padding),
    )
    outline = {} if heat.across else {"stroke": "#7d8590", "strokeWidth": 0.5}
    layers = [
        base.mark_rect(**outline).encode(
            color={"field": "value", "type": "quantitative", "scale": shades, "legend": legend},
            tooltip=["row:N", "column:N", "value:Q"],
        )
    ]
    if not heat.across:
        shade = alt.condition("datum.deep", alt.value(ON_DEEP), alt.value(ON_PALE))
        layers.append(base.mark_text(fontSize=11).encode(text="words:N", color=shade))
    chart = alt.layer(*layers) if layers[1:] else layers[0]
    return chart.properties(
        width=width * len(columns), height=height * len(row_names), **panel_title(heat.title)
    )


def _names_channel(
    field: str, names: Sequence[str], title: str, axis: JsonObject, padding: JsonObject
) -> JsonObject:
    scale = {"domain": list(names), **padding}
    channel = {"field": field, "type": "nominal", "sort": list(names), "title": title or None}
    return {**channel, "scale": scale, "axis": axis}


def _format_cell(value: float, form: str) -> str:
    return f"{value:.0%}" if form == "%" else f"{value:z{form or '.2f'}}"


def needs_white(value: float, domain: tuple[float, float], shades: Sequence[str]) -> bool:
    """True if white is easier to read than black on a cell.

    >>> [needs_white(share, (0, 1), ("#e8f1fa", "#0b4a8f")) for share in (0, 1)]
    [False, True]
    """
    share = min(max((value - domain[0]) / (domain[1] - domain[0]), 0), 1) * (len(shades) - 1)
    lower_index = min(int(share), len(shades) - 2)
    neighbours = [
        [int(shade[i : i + 2], 16) / 255 for i in (1, 3, 5)]
        for shade in shades[lower_index : lower_index + 2]
    ]
    mixed_shade = [a + (b - a) * (share - lower_index) for a, b in zip(*neighbours, strict=True)]
    return luminance(mixed_shade) < _DARK_LUMINANCE


def luminance(shade: Sequence[float]) -> float:
    """The luminance of a colour, given red, green and blue from 0 to 1 (WCAG 2.2)."""
    red, green, blue = (
        channel / 12.92 if channel <= 0.04045 else ((channel + 0.055) / 1.055) ** 2.4  # sRGB
        for channel in shade
    )
    return 0.2126 * red + 0.7152 * green + 0.0722 * blue


def _fits_above_cells(names: Sequence[str]) -> bool:
    return max(map(len, names), default=0) <= 11  # letters above a cell


_LETTER, _LINE, _DOT, _GAP = 6.3, 12.0, 5.0, 8.0  # in points: of words, of points, and between
SPOTS = (("left", _GAP, 0.0), ("right", -_GAP, 0.0), ("center", 0.0, -11.0), ("center", 0.0, 11.0))
"""Positions of a name: its alignment, and its distance from its point, right and down."""


def find_label_spots(
    points: Sequence[tuple[float, float]],
    names: Sequence[str],
    size: tuple[float, float],
    max_names: int | None = None,
    outside: float = 0,
) -> list[int | None]:
    """The first free one of `SPOTS` for each name, the first names first; None without a free one.

    Args:
        points: from the left and from the top, in points.
        names: the names of the first points; the remaining points have no name, but no name covers
            them.
        size: the size of the panel.
        max_names: the largest number of names.
        outside: the largest distance that names may extend beyond the right edge.

    >>> find_label_spots([(50, 50), (60, 50), (90, 50)], ["one", "two", "three"], (100, 100))
    [1, 2, None]
    """
    boxes = [(x - _DOT, x + _DOT, y - _DOT, y + _DOT) for x, y in points]
    free_spots: list[int | None] = []
    for i, name in enumerate(names):
        free_spot = None
        if max_names is None or sum(spot is not None for spot in free_spots) < max_names:
            for candidate in range(len(SPOTS)):
                box = _label_box(points[i], name, candidate)
                other_boxes = (other_box for j, other_box in enumerate(boxes) if j != i)
                if _is_inside(box, (size[0] + outside, size[1])) and not any(
                    _overlap(box, other_box) for other_box in other_boxes
                ):
                    free_spot = candidate
                    boxes.append(box)
                    break
        free_spots.append(free_spot)
    return free_spots


def spot_layers(rows: Rows, places: Sequence[int | None], axes: JsonObject, **marks: Any) -> list[Any]:
    """A layer for each spot that is used: the names ``shown`` next to the points."""
    alt = load_altair()
    layers = []
    for spot_index, (align, right, down) in enumerate(SPOTS):
        spot_rows = [row for row, spot in zip(rows, places, strict=True) if spot == spot_index]
        if spot_rows:
            text = alt.Chart(inline_data(spot_rows)).mark_text(
                align=align, baseline="middle", dx=right, dy=down
            )
            layers.append(text.encode(**axes, text="shown:N", **marks))
    return layers


def unplaced_layers(
    rows: Rows,
    points: Sequence[tuple[float, float]],
    places: Sequence[int | None],
    size: tuple[float, float],
    axes: JsonObject,
    **marks: Any,
) -> list[Any]:
    """Layers that list names without a free spot on the right, each with a line to its point.

    Args:
        rows: with ``shown``, their names.
        points: from the left and from the top, in points.
        places: the spots of `find_label_spots`.
        size: the size of the panel.
        axes: the axes of the panel.
        marks: further encodings, such as the colour.
    """
    unplaced = [i for i, spot in enumerate(places) if spot is None]
    if not unplaced:
        return []
    right_edges = [
        _label_box(points[i], rows[i]["shown"], spot)[1] for i, spot in enumerate(places) if spot is not None
    ]
    label_x = max([size[0], *right_edges]) + 2 * _GAP
    label_positions = separate_positions([points[i][1] for i in unplaced], _LINE + 1, 0, size[1])
    alt = load_altair()
    layers = []
    for i, label_y in zip(unplaced, label_positions, strict=True):
        base = alt.Chart(inline_data([rows[i]]))
        line = base.mark_rule(strokeWidth=0.7, opacity=0.6)
        layers += [
            line.encode(**axes, x2=alt.value(label_x - 3), y2=alt.value(label_y), **marks),
            base.mark_text(align="left", baseline="middle").encode(
                x=alt.value(label_x), y=alt.value(label_y), text="shown:N", **marks
            ),
        ]
    return layers


def _label_box(point: tuple[float, float], name: str, spot_index: int) -> tuple[float, float, float, float]:
    align, right, down = SPOTS[spot_index]
    x, y, width = point[0] + right, point[1] + down, _LETTER * len(name)
    low = {"left": x, "right": x - width, "center": x - width / 2}[align]
    return low, low + width, y - _LINE / 2, y + _LINE / 2


def _is_inside(box: tuple[float, float, float, float], size: tuple[float, float]) -> bool:
    return box[0] >= 0 and box[1] <= size[0] and box[2] >= 0 and box[3] <= size[1]


def _overlap(first: tuple[float, float, float, float], second: tuple[float, float, float, float]) -> bool:
    return first[0] < second[1] and second[0] < first[1] and first[2] < second[3] and second[2] < first[3]

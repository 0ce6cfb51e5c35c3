"""Shared parts of charts, and the import of Altair that draws them."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from importlib import import_module
from typing import TYPE_CHECKING, Any

from rankgate.core.errors import require
from rankgate.core.present.charts.chart_style import (
    INK,
    SYSTEMS,
    separate_positions,
    shorten_names,
    system_colour,
)

if TYPE_CHECKING:
    from rankgate.core.present.charts.chart_views import Axis
    from rankgate.core.value_types import Json

    Rows = Sequence[Mapping[str, Any]]  # fields are named by the axes of a chart


def load_altair() -> Any:
    """Import Altair.

    Raises:
        MissingExtraError: Altair is not installed.
    """
    return _load("altair")


def load_converter() -> Any:
    """Import vl-convert, which converts specifications to images without a browser.

    Raises:
        MissingExtraError: vl-convert is not installed.
    """
    return _load("vl_convert")


def _load(name: str) -> Any:
    require("charts need Altair and vl-convert", name)
    return import_module(name)


_LABEL_HEIGHT = 13  # points that a label takes
_COLOURED_SERIES = len(SYSTEMS) - 1  # coloured series; other series are thin
_MAX_POINTS = 20  # points that can still be told apart on a line
_LABEL_DISTANCE = 12  # distance between labels and ends of lines


def inline_data(rows: Rows) -> Any:
    """The rows as inline data of a chart, complete."""
    return load_altair().Data(values=[dict(row) for row in rows])


def labelled_lines(
    rows: Rows, x: Axis, y: Axis, *, size: tuple[int, int] = (480, 300), listed: bool = False
) -> Any:
    """A line for each ``series``, named at its right end.

    Args:
        rows: ``series`` and the two columns; ordered along each line. The first series get
            colours and thick lines.
        x: the axis along the lines.
        y: the other axis; without a domain its range comes from the data.
        size: the size of the panel, in points.
        listed: True if names are a list in the order of the rows, for lines that end at one point.
    """
    alt = load_altair()
    names = list(dict.fromkeys(str(row["series"]) for row in rows))
    width, height = size[0], max(size[1], _LABEL_HEIGHT * len(names))
    colours = [system_colour(i) for i in range(len(names))]
    low, high = y.domain or _padded_domain([row[y.column] for row in rows])
    base = alt.Chart(inline_data(rows)).encode(
        x=alt.X(f"{x.column}:Q", title=x.title, axis=_line_axis(x), scale=_axis_scale(x)),
        y=alt.Y(
            f"{y.column}:Q",
            title=axis_title(y.title, low),
            scale=alt.Scale(domain=[low, high], nice=False),
            axis=_value_axis(y),
        ),
        color=alt.Color("series:N", scale=alt.Scale(domain=names, range=colours), legend=None, sort=names),
        tooltip=["series:N", f"{x.column}:Q", f"{y.column}:Q"],
    )
    line_width = alt.condition(
        {"test": {"field": "series", "oneOf": names[_COLOURED_SERIES:]}}, alt.value(1), alt.value(2)
    )
    layers = [base.mark_line().encode(strokeWidth=line_width)]
    if len(rows) <= _MAX_POINTS * len(names):
        layers.append(base.mark_point(filled=True, size=26, opacity=1))
    ends = _line_ends(rows, y.column, (low, high), height)
    if listed:
        gap = _LABEL_HEIGHT * (high - low) / height
        ends = [
            {"series": name, "label": label, "at": high - gap * (i + 0.5), "own": high - gap * (i + 0.5)}
            for i, (name, label) in enumerate(zip(names, shorten_names(names), strict=True))
        ]
    return alt.layer(*layers, *_label_layers(ends, names, colours, width)).properties(
        width=width, height=height
    )


def _line_ends(rows: Rows, field: str, domain: tuple[float, float], height: int) -> list[dict[str, Json]]:
    """The end of each line and the position of its name; of equal ends the higher comes first."""
    values: dict[str, list[float]] = {}
    for row in rows:
        values.setdefault(str(row["series"]), []).append(float(row[field]))
    last_values = {name: series_values[-1] for name, series_values in values.items()}
    names = sorted(values, key=lambda name: (last_values[name], sum(values[name]) / len(values[name])))
    low, high = domain
    gap = _LABEL_HEIGHT * (high - low) / height
    label_positions = separate_positions([last_values[name] for name in names], gap, low, high)
    return [
        {"series": name, "own": last_values[name], "label": label, "at": position}
        for name, label, position in zip(names, shorten_names(names), label_positions, strict=True)
    ]


def _label_layers(ends: Rows, names: Sequence[str], colours: Sequence[str], width: int) -> list[Any]:
    alt = load_altair()
    shades = alt.Color(
        "series:N", scale=alt.Scale(domain=list(names), range=list(colours)), legend=None, sort=list(names)
    )
    base = alt.Chart(inline_data(ends))
    leader_line = base.mark_rule(strokeWidth=1, opacity=0.6).encode(
        x=alt.value(width),
        x2=alt.value(width + _LABEL_DISTANCE - 3),
        y=alt.Y("own:Q"),
        y2="at:Q",
        color=shades,
    )
    texts = base.mark_text(align="left", baseline="middle", fontSize=11).encode(
        x=alt.value(width + _LABEL_DISTANCE), y=alt.Y("at:Q"), text="label:N", color=shades
    )
    return [leader_line, texts]


def panel_title(title: str) -> dict[str, Json]:
    """The heading of one of several panels, as a property; empty without a title."""
    if not title:
        return {}
    heading = load_altair().TitleParams(
        text=title, fontSize=13, anchor="start", frame="group", offset=6, color=INK
    )
    return {"title": heading}


def axis_title(title: str, low: float) -> str:
    """The title of an axis, with the value at which it begins if that is not 0.

    >>> axis_title("mean AP", 0.21), axis_title("mean AP", 0)
    ('mean AP (axis starts at 0.21)', 'mean AP')
    """
    return f"{title} (axis starts at {low:.2g})" if low > 0 and title else title


SIGNED_LABELS = "datum.value == 0 ? '0' : format(datum.value, '+.2~f')"
"""Labels of differences, with their signs, as an expression of Vega."""


def concat_panels(panels: Sequence[object], columns: int = 2, spacing: int = 28) -> Any:
    """Panels next to and below each other, each with its own scales.

    A single panel also gets a frame: the title of the picture replaces the panel's heading.
    """
    concatenated = load_altair().concat(*panels, columns=columns, spacing=spacing)
    return concatenated.resolve_scale(x="independent", y="independent", color="independent")


def hidden_axis() -> Any:
    """An invisible axis; layers cannot share an axis that is None."""
    return load_altair().Axis(labels=False, ticks=False, domain=False, grid=False, title=None)


def _value_axis(axis: Axis) -> Any:
    if axis.bare:
        return hidden_axis()
    return load_altair().Axis(tickCount=6, **({"format": axis.form} if axis.form else {}))


def _line_axis(axis: Axis) -> Any:
    alt = load_altair()
    if axis.bare:
        return hidden_axis()
    axis_options: dict[str, Json] = {"grid": False}
    if axis.ticks:
        axis_options |= {"values": list(axis.ticks), "labelOverlap": "greedy"}
    if axis.form:
        axis_options["format"] = axis.form
    return alt.Axis(**axis_options)


def _axis_scale(axis: Axis) -> Any:
    alt = load_altair()
    scale_options: dict[str, Json] = {"nice": False, "zero": False}
    if axis.scale == "log":
        scale_options = {"type": "log", "nice": False}
    if axis.domain:
        scale_options["domain"] = list(axis.domain)
    return alt.Scale(**scale_options)


def _padded_domain(values: Sequence[float]) -> tuple[float, float]:
    """The range of the values with a margin, within 0 and 1 for shares."""
    low, high = min(values), max(values)
    margin = (high - low) * 0.06 or 0.05
    bounds = low - margin, high + margin
    if low >= 0:
        bounds = max(bounds[0], 0.0), bounds[1]
    if high <= 1:
        bounds = bounds[0], min(bounds[1], 1.0)
    return bounds

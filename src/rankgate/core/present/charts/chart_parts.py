"""Shared parts of charts, and the import of Altair that draws them."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from importlib import import_module
from typing import TYPE_CHECKING, Any

from rankgate.core.errors import require
from rankgate.core.present.charts.chart_style import INK, separate_positions, shorten_names

if TYPE_CHECKING:
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


LABEL_HEIGHT = 13
"""The points that the name of a line takes."""


def inline_data(rows: Rows) -> Any:
    """The rows as inline data of a chart, complete."""
    return load_altair().Data(values=[dict(row) for row in rows])


def line_ends(
    values: Mapping[str, Sequence[float]], domain: tuple[float, float], height: float, *, listed: bool
) -> list[dict[str, Json]]:
    """The end of each line (``own``) and the position of its name (``at``), without overlap.

    Args:
        values: the values along each line.
        domain: both ends of the value axis.
        height: the height of the panel, in points.
        listed: True if names are a list in the order of the lines, for lines that end at one point.
    """
    low, high = domain
    gap = LABEL_HEIGHT * (high - low) / height
    last_values = {name: line_values[-1] for name, line_values in values.items()}
    # of equal ends the higher line comes first
    names = sorted(values, key=lambda name: (last_values[name], sum(values[name]) / len(values[name])))
    positions = separate_positions([last_values[name] for name in names], gap, low, high)
    if listed:
        names = list(values)
        positions = [high - gap * (i + 0.5) for i in range(len(names))]
    return [
        {"series": name, "own": position if listed else last_values[name], "label": label, "at": position}
        for name, label, position in zip(names, shorten_names(names), positions, strict=True)
    ]


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


def padded_domain(values: Sequence[float]) -> tuple[float, float]:
    """The range of the values with a margin, within 0 and 1 for shares."""
    low, high = min(values), max(values)
    margin = (high - low) * 0.06 or 0.05
    bounds = low - margin, high + margin
    if low >= 0:
        bounds = max(bounds[0], 0.0), bounds[1]
    if high <= 1:
        bounds = bounds[0], min(bounds[1], 1.0)
    return bounds

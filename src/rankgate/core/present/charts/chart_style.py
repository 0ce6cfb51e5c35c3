"""Style and text of charts: colours, type, fitted names, and labels without overlap.

Colours and type of pictures are safe for colour-blind readers, and legible on light and dark.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from rankgate.core.present.document_model import shorten_name
from rankgate.core.present.number_formats import count_queries

INK, DIM, LINE, PAPER = "#1b1f24", "#57606a", "#d0d7de", "#fffffe"
"""Colours of text, notes, grids and background in the light theme; `DARK` maps them to dark."""

GRADES = ("#b6d0ea", "#80acd9", "#4484c2", "#1b5a9a", "#083362")
"""From worthless to best, also on pages: one hue, further from the background the better."""

_DARK_GRADES = ("#35465e", "#41699a", "#5791c9", "#8fbbe6", "#d3e8fb")

DARK = {INK: "#e6edf3", DIM: "#9aa4af", LINE: "#30363d", PAPER: "#0d1117"}
DARK |= dict(zip(GRADES, _DARK_GRADES, strict=True))

BLUE, RED, GREY = "#1f77c4", "#d55e00", "#7d8590"
"""Better, worse, neither."""

SYSTEMS = (BLUE, RED, "#009955", "#7722ff", "#ee1144", "#8877ff", GREY)
"""Of systems and metrics, in order. Each has a contrast of 3 to 1 or more with both backgrounds,
and any two differ by 15 or more (CIE 1976) for readers who lack one kind of cones (Machado,
Oliveira and Fernandes, IEEE TVCG 15(6), 2009, doi:10.1109/TVCG.2009.113)."""

SHARES = ("#e8f1fa", "#0b4a8f")
"""From 0 to 1 in heat maps; cells have their own background in both themes."""

ON_PALE, ON_DEEP = "#000000", "#ffffff"
"""Words in cells of heat maps."""

SIGNED = ("#d55e00", "#f4f4f2", "#1f77c4")
"""From −1 over 0 to 1."""

THEMES = ("light", "dark")

_FONT = "Arial, Helvetica, Liberation Sans, DejaVu Sans, sans-serif"


def system_colour(index: int) -> str:
    """The colour of a system or metric by its index; large indexes get the last colour."""
    return SYSTEMS[min(index, len(SYSTEMS) - 1)]


def grade_colour(grade: float | None, top: float) -> str:
    """The colour of a grade on a scale from 0 to the top; unjudged has the colour of grid lines."""
    if grade is None:
        return LINE
    share = min(max(grade / top, 0), 1) if top > 0 else 0
    return GRADES[round((len(GRADES) - 1) * share)]


def grade_shades(rows: Sequence[Mapping[str, Any]]) -> dict[str, str]:
    """A colour for each ``label`` by its ``grade``, the best grade first, unjudged last."""
    labels = {row["label"]: row["grade"] for row in rows}
    top_grade = max((grade for grade in labels.values() if grade is not None), default=0)
    sorted_labels = sorted(labels, key=lambda name: -1e9 if labels[name] is None else labels[name])
    return {name: grade_colour(labels[name], top_grade) for name in reversed(sorted_labels)}


def chart_config() -> dict[str, Any]:
    """The Vega-Lite configuration of all pictures."""
    axis = {
        "labelColor": DIM,
        "titleColor": INK,
        "gridColor": LINE,
        "domainColor": LINE,
        "tickColor": LINE,
        "labelFontSize": 11,
        "titleFontSize": 12,
        "titleFontWeight": "normal",
        "labelLimit": 260,
        "gridOpacity": 0.6,
        "labelFlush": False,
    }
    return {
        "background": PAPER,
        "padding": 14,
        "font": _FONT,
        "axis": axis,
        "view": {"stroke": None},
        "text": {"color": INK, "fontSize": 11},
        "line": {"strokeJoin": "round"},
        "tick": {"opacity": 1},
        "title": {
            "color": INK,
            "subtitleColor": DIM,
            "fontSize": 16,
            "subtitleFontSize": 12,
            "anchor": "start",
            "frame": "bounds",
            "offset": 14,
            "subtitlePadding": 6,
            "subtitleLineHeight": 16,
        },
        "legend": {
            "labelColor": INK,
            "titleColor": INK,
            "orient": "top",
            "labelFontSize": 11,
            "titleFontSize": 11,
            "titleFontWeight": "normal",
            "symbolType": "square",
            "labelLimit": 220,
        },
    }


def dark_spec(spec: object) -> Any:
    """A specification with the colours of the dark theme; the data are unchanged."""
    if isinstance(spec, dict):
        unchanged_keys = ("data", "datasets")
        return {name: child if name in unchanged_keys else dark_spec(child) for name, child in spec.items()}
    if isinstance(spec, list):
        return [dark_spec(child) for child in spec]
    return DARK.get(spec, spec) if isinstance(spec, str) else spec


def dark_css(scope: str) -> str:
    """CSS that gives an SVG the dark colours if the reader prefers a dark theme."""
    rules = "".join(
        f'{scope}[{attribute}="{light}"]{{{attribute}:{dark}}}'
        for light, dark in DARK.items()
        for attribute in ("fill", "stroke")
    )
    return f"@media screen and (prefers-color-scheme:dark){{{rules}}}"


def no_interval_reason(n: int) -> str:
    """The reason why the differences of n queries have no interval.

    >>> no_interval_reason(1), no_interval_reason(40)
    ('no interval: 1 query', 'no interval: equal differences')
    """
    return f"no interval: {count_queries(n) if n < 2 else 'equal differences'}"


def shorten_names(names: Sequence[str], max_length: int = 32) -> list[str]:
    """The names cut to fit; equal results get a number.

    >>> shorten_names(["a-long-name-1", "a-long-name-2", "b"], 8)
    ['a-lo…e-1', 'a-lo…e-2', 'b']
    >>> shorten_names(["aaaaXaaaa", "aaaaYaaaa"], 7)
    ['aaa…aaa', 'aaa…aaa (2)']
    """
    labels: list[str] = []
    for name in names:
        base = label = shorten_name(name, max_length)
        number = 1
        while label in labels:
            number += 1
            label = f"{base} ({number})"
        labels.append(label)
    return labels


def separate_positions(positions: Sequence[float], gap: float, low: float, high: float) -> list[float]:
    """Move positions apart, as little as possible, until neighbours keep the gap.

    Args:
        positions: the positions of labels before the move.
        gap: the smallest distance between two labels.
        low: the smallest position.
        high: the largest position.

    >>> separate_positions([0.5, 0.5, 0.9], 0.1, 0, 1)
    [0.45, 0.55, 0.9]
    """
    order = sorted(range(len(positions)), key=lambda i: positions[i])
    blocks: list[tuple[float, int]] = []  # centre and count, lowest first
    for i in order:
        block = (positions[i], 1)
        while blocks and _block_top(blocks[-1], gap) + gap > block[0] - gap * (block[1] - 1) / 2 + 1e-12:
            previous = blocks.pop()
            count = previous[1] + block[1]
            block = ((previous[0] * previous[1] + block[0] * block[1]) / count, count)
        blocks.append(block)
    moved_positions = [centre + gap * (j - (count - 1) / 2) for centre, count in blocks for j in range(count)]
    moved_positions = _clip_positions(moved_positions, gap, low, high)
    spread_positions = [0.0] * len(positions)
    for position, i in zip(moved_positions, order, strict=True):
        spread_positions[i] = round(position, 12)
    return spread_positions


def _block_top(block: tuple[float, int], gap: float) -> float:
    return block[0] + gap * (block[1] - 1) / 2


def _clip_positions(positions: list[float], gap: float, low: float, high: float) -> list[float]:
    """Keep positions inside the limits, first from the top, then from the bottom."""
    limit = high
    for i in reversed(range(len(positions))):
        positions[i] = min(positions[i], limit)
        limit = positions[i] - gap
    limit = low
    for i, position in enumerate(positions):
        positions[i] = max(position, limit)
        limit = positions[i] + gap
    return positions

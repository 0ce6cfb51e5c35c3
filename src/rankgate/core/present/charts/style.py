"""Colours and type of pictures: safe for colour-blind readers, legible on light and dark."""

from __future__ import annotations

from typing import Any

INK, DIM, LINE, PAPER = "#1b1f24", "#57606a", "#d0d7de", "#fffffe"
"""Colours of text, notes, grids and background in the light theme; `DARK` maps them to dark."""

GRADES = ("#b6d0ea", "#80acd9", "#4484c2", "#1b5a9a", "#083362")
"""From worthless to best, on pages too: one hue, the better the further from the ground."""

_DARK_GRADES = ("#35465e", "#41699a", "#5791c9", "#8fbbe6", "#d3e8fb")

DARK = {INK: "#e6edf3", DIM: "#9aa4af", LINE: "#30363d", PAPER: "#0d1117"}
DARK |= dict(zip(GRADES, _DARK_GRADES, strict=True))

BLUE, RED, GREY = "#1f77c4", "#d55e00", "#7d8590"
"""Better, worse, neither."""

SYSTEMS = (BLUE, RED, "#009955", "#7722ff", "#ee1144", "#8877ff", GREY)
"""Of systems and metrics, in order. Each has a contrast of 3 to 1 or more against both grounds, and
any two differ by 15 or more (CIE 1976) as readers without one kind of cones see them (Machado,
Oliveira and Fernandes, IEEE TVCG 15(6), 2009, doi:10.1109/TVCG.2009.113)."""

SHARES = ("#e8f1fa", "#0b4a8f")
"""From 0 to 1 in heat maps; cells have their own ground in either theme."""

ON_PALE, ON_DEEP = "#000000", "#ffffff"
"""Words in cells of heat maps."""

SIGNED = ("#d55e00", "#f4f4f2", "#1f77c4")
"""From −1 over 0 to 1."""

THEMES = ("light", "dark")

_FONT = "Arial, Helvetica, Liberation Sans, DejaVu Sans, sans-serif"


def system_colour(index: int) -> str:
    """The colour of a system or metric by its index; all later ones have the last colour."""
    return SYSTEMS[min(index, len(SYSTEMS) - 1)]


def grade_colour(grade: float | None, top: float) -> str:
    """The colour of a grade on a scale from 0 to the top; unjudged has the colour of grids."""
    if grade is None:
        return LINE
    share = min(max(grade / top, 0), 1) if top > 0 else 0
    return GRADES[round((len(GRADES) - 1) * share)]


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


def dark_spec(spec: Any) -> Any:
    """A specification with the colours of the dark theme; the data do not change."""
    if isinstance(spec, dict):
        unchanged_keys = ("data", "datasets")
        return {
            name: child if name in unchanged_keys else dark_spec(child)
            for name, child in spec.items()
        }
    if isinstance(spec, list):
        return [dark_spec(child) for child in spec]
    return DARK.get(spec, spec) if isinstance(spec, str) else spec


def dark_css(scope: str) -> str:
    """CSS that gives an SVG the dark colours where its reader prefers a dark theme."""
    rules = "".join(
        f'{scope}[{attribute}="{light}"]{{{attribute}:{dark}}}'
        for light, dark in DARK.items()
        for attribute in ("fill", "stroke")
    )
    return f"@media screen and (prefers-color-scheme:dark){{{rules}}}"

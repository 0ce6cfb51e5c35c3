"""Colours and type of pictures: safe for colour-blind readers, legible on light and dark."""

from __future__ import annotations

from typing import Any

INK, DIM, LINE, PAPER = "#1b1f24", "#57606a", "#d0d7de", "#fffffe"
"""What words, notes, grids and the ground have on light; each has a twin on dark."""

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


def colour(place: int) -> str:
    """Of the system or metric at a place; the last colour is for all that come later."""
    return SYSTEMS[min(place, len(SYSTEMS) - 1)]


def of_grade(grade: float | None, top: float) -> str:
    """Of a grade on a scale from 0 to the top; unjudged is the colour of grids."""
    if grade is None:
        return LINE
    share = min(max(grade / top, 0), 1) if top > 0 else 0
    return GRADES[round((len(GRADES) - 1) * share)]


def config() -> dict[str, Any]:
    """How all pictures are set."""
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
            "color": INK, "subtitleColor": DIM, "fontSize": 16, "subtitleFontSize": 12,
            "anchor": "start", "frame": "bounds", "offset": 14, "subtitlePadding": 6,
            "subtitleLineHeight": 16,
        },
        "legend": {
            "labelColor": INK, "titleColor": INK, "orient": "top", "labelFontSize": 11,
            "titleFontSize": 11, "titleFontWeight": "normal", "symbolType": "square",
            "labelLimit": 220,
        },
    }  # fmt: skip


def on_dark(spec: Any) -> Any:
    """A specification with the colours for dark; the data stay what they are."""
    if isinstance(spec, dict):
        kept = ("data", "datasets")
        return {name: each if name in kept else on_dark(each) for name, each in spec.items()}
    if isinstance(spec, list):
        return [on_dark(each) for each in spec]
    return DARK.get(spec, spec) if isinstance(spec, str) else spec


def swaps(scope: str) -> str:
    """CSS that gives an SVG the colours for dark where its reader prefers dark."""
    rules = "".join(
        f'{scope}[{part}="{light}"]{{{part}:{dark}}}'
        for light, dark in DARK.items()
        for part in ("fill", "stroke")
    )
    return f"@media screen and (prefers-color-scheme:dark){{{rules}}}"

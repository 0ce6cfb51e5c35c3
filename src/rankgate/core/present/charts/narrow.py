"""A specification for narrow screens: panels below each other, and narrower."""

from __future__ import annotations

import re
from typing import Any

from rankgate.core.present.charts.backend import converter

PHONE = 350
"""The width of a chart on a phone, in points."""

_LEAST = 150  # of a panel
_WIDTH = re.compile(r'<svg[^>]* width="([0-9.]+)"')


def narrow(spec: dict[str, Any], *, fluid: bool) -> dict[str, Any]:
    """The same chart for a phone, with all its data.

    Args:
        spec: a Vega-Lite specification.
        fluid: whether panels can be made narrower.
    """
    stacked = {**spec, "columns": 1} if "concat" in spec else spec
    if not fluid:
        return stacked
    found = _WIDTH.search(converter().vegalite_to_svg(stacked))
    excess = float(found[1]) - PHONE if found else 0.0
    return dict(_narrowed(stacked, excess)) if excess > 0 else stacked


def _narrowed(spec: Any, excess: float) -> Any:
    """Every panel by so much narrower, but not below the least width."""
    if isinstance(spec, list):
        return [_narrowed(each, excess) for each in spec]
    if not isinstance(spec, dict):
        return spec
    width = spec.get("width")
    if isinstance(width, int | float) and width > _LEAST and "height" in spec:
        target = max(_LEAST, width - excess)
        return {**_moved(spec, width, width - target), "width": target}
    kept = ("data", "datasets", "config")
    return {key: each if key in kept else _narrowed(each, excess) for key, each in spec.items()}


def _moved(spec: Any, width: float, by: float) -> Any:
    """Marks at or beyond the right edge of a panel move with it."""
    if isinstance(spec, list):
        return [_moved(each, width, by) for each in spec]
    if not isinstance(spec, dict):
        return spec
    moved = {}
    for key, each in spec.items():
        if key in {"data", "datasets"}:
            moved[key] = each
        elif key in {"x", "x2"} and isinstance(each, dict) and _beyond(each, width):
            moved[key] = {**each, "value": each["value"] - by}
        elif key == "width" and each == width:
            moved[key] = width - by
        else:
            moved[key] = _moved(each, width, by)
    return moved


def _beyond(channel: dict[str, Any], width: float) -> bool:
    value = channel.get("value")
    return isinstance(value, int | float) and value >= width

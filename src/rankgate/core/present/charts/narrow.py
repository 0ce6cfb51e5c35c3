"""A specification for narrow screens: panels below each other, and narrower."""

from __future__ import annotations

import re
from typing import Any

from rankgate.core.present.charts.backend import load_converter

PHONE = 350
"""The width of a chart on a phone, in points."""

_MIN_PANEL_WIDTH = 150  # of a panel
_WIDTH = re.compile(r'<svg[^>]* width="([0-9.]+)"')


def narrow_spec(spec: dict[str, Any], *, fluid: bool) -> dict[str, Any]:
    """The same chart for a phone, with all its data.

    Args:
        spec: a Vega-Lite specification.
        fluid: whether panels can be made narrower.
    """
    stacked_spec = {**spec, "columns": 1} if "concat" in spec else spec
    if not fluid:
        return stacked_spec
    match = _WIDTH.search(load_converter().vegalite_to_svg(stacked_spec))
    excess = float(match[1]) - PHONE if match else 0.0
    return dict(_narrow_panels(stacked_spec, excess)) if excess > 0 else stacked_spec


def _narrow_panels(spec: Any, excess: float) -> Any:
    """Every panel by so much narrower, but not below the least width."""
    if isinstance(spec, list):
        return [_narrow_panels(child, excess) for child in spec]
    if not isinstance(spec, dict):
        return spec
    width = spec.get("width")
    if isinstance(width, int | float) and width > _MIN_PANEL_WIDTH and "height" in spec:
        target = max(_MIN_PANEL_WIDTH, width - excess)
        return {**_move_marks(spec, width, width - target), "width": target}
    unchanged_keys = ("data", "datasets", "config")
    return {
        key: child if key in unchanged_keys else _narrow_panels(child, excess)
        for key, child in spec.items()
    }


def _move_marks(spec: Any, width: float, shift: float) -> Any:
    """Marks at or beyond the right edge of a panel move with it."""
    if isinstance(spec, list):
        return [_move_marks(child, width, shift) for child in spec]
    if not isinstance(spec, dict):
        return spec
    moved_spec = {}
    for key, child in spec.items():
        if key in {"data", "datasets"}:
            moved_spec[key] = child
        elif key in {"x", "x2"} and isinstance(child, dict) and _is_beyond(child, width):
            moved_spec[key] = {**child, "value": child["value"] - shift}
        elif key == "width" and child == width:
            moved_spec[key] = width - shift
        else:
            moved_spec[key] = _move_marks(child, width, shift)
    return moved_spec


def _is_beyond(channel: dict[str, Any], width: float) -> bool:
    value = channel.get("value")
    return isinstance(value, int | float) and value >= width

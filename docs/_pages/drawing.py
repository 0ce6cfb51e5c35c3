"""Curves as SVG that takes its colours from the page around it, light or dark."""

from __future__ import annotations

import math
from html import escape
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Sequence

    from _pages.behaviour import Curve, Panel

_WIDTH, _HEIGHT = 340, 200
_LEFT, _RIGHT, _TOP, _BOTTOM = 44, 12, 14, 34
_FEW = 3
_STEPS = (1, 1.2, 1.5, 2, 2.5, 3, 4, 5, 6, 8, 10)


def figure(panels: Sequence[Panel], caption: str) -> str:
    """The panels side by side with a caption, as a block of raw HTML for MyST."""
    panels_html = "\n".join(map(_panel, panels))
    return (
        "```{raw} html\n"
        f'<figure class="curves"><div>\n{panels_html}\n</div>'
        f"<figcaption>{escape(caption)}</figcaption></figure>\n```\n"
    )


def _panel(panel: Panel) -> str:
    xs = [x for curve in panel.curves for x in curve.x]
    ys = [y for curve in panel.curves for y in curve.y]
    low, high = -_round(-min(0.0, *ys)), _round(max(0.0, *ys))
    if low == high:
        high = 1.0
    x_scale = _scale(min(xs), max(xs), _LEFT, _WIDTH - _RIGHT)
    y_scale = _scale(low, high, _HEIGHT - _BOTTOM, _TOP)
    parts = [*_frame(x_scale, y_scale, sorted(set(xs)), (low, high), panel.axis)]
    parts += [_line(curve, index, x_scale, y_scale) for index, curve in enumerate(panel.curves)]
    legend = "".join(
        f'<span class="k{index}">{escape(curve.name)}</span>' for index, curve in enumerate(panel.curves)
    )
    result = "; ".join(
        f"{curve.name}: from {_number(curve.y[0])} to {_number(curve.y[-1])}" for curve in panel.curves
    )
    label = escape(f"{panel.title}. {result}.", quote=True)
    return (
        f'<div class="panel"><p>{escape(panel.title)}</p><p class="legend">{legend}</p>'
        f'<svg viewBox="0 0 {_WIDTH} {_HEIGHT}" role="img" aria-label="{label}">'
        f"{''.join(parts)}</svg></div>"
    )


def _round(y: float) -> float:
    """The next number that reads well, at or above a number that is not negative."""
    if y <= 0:
        return 0.0
    ten = 10 ** math.floor(math.log10(y))
    return next(step * ten for step in _STEPS if y <= step * ten * (1 + 1e-9))


def _scale(low: float, high: float, begin: float, end: float):  # noqa: ANN202 - a function of x
    """The place on the paper of each number."""
    return lambda x: begin + (end - begin) * (x - low) / (high - low)


def _frame(across, up, xs, ends, axis):  # noqa: ANN001, ANN202 - parts of one drawing
    low, high = ends
    for y in (low, (low + high) / 2, high):
        yield (
            f'<line class="grid" x1="{_LEFT}" x2="{_WIDTH - _RIGHT}" y1="{up(y):.1f}" y2="{up(y):.1f}"/>'
            f'<text x="{_LEFT - 6}" y="{up(y) + 4:.1f}" text-anchor="end">{_number(y)}</text>'
        )
    for x in (xs[0], xs[len(xs) // 2], xs[-1]):
        yield (f'<text x="{across(x):.1f}" y="{_HEIGHT - _BOTTOM + 15}" text-anchor="middle">{x:g}</text>')
    yield (
        f'<text x="{(_LEFT + _WIDTH - _RIGHT) / 2}" y="{_HEIGHT - 4}" '
        f'text-anchor="middle">{escape(axis)}</text>'
    )


def _line(curve: Curve, at: int, across, up) -> str:  # noqa: ANN001 - functions of _scale
    points = [f"{across(x):.1f},{up(y):.1f}" for x, y in zip(curve.x, curve.y, strict=True)]
    dots = "".join(
        '<circle class="c{}" cx="{}" cy="{}" r="2.2"/>'.format(at, *point.split(",")) for point in points
    )
    return f'<polyline class="c{at}" points="{" ".join(points)}"/>{dots}'


def _number(y: float) -> str:
    """Few digits; no minus before a nought."""
    return f"{round(y, _FEW) + 0.0:g}"

"""Bars of queries with an axis; a bar opens its query."""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import TYPE_CHECKING

from rankgate.core.present.pages.parts import escape_html

if TYPE_CHECKING:
    from rankgate.core.present.document import Bar, Bars

_HIGH = 100.0  # of the drawing, in its own units
_WIDE = 1000.0
_STEPS = (1, 2, 5, 10)
_TICKS = 5


def bars_html(block: Bars, query: Callable[[str], str]) -> str:
    """Draw a bar for each query; the labels keep their size on every screen.

    Args:
        block: the bars.
        query: the address of a query's own page; empty where it has none.
    """
    values = [bar.value for bar in block.bars]
    ticks = axis_ticks(min(0.0, *values), max(0.0, *values))
    low, high = ticks[0], ticks[-1]

    def down(value: float) -> float:
        return _HIGH * (high - value) / (high - low)

    bar_width = _WIDE / len(values)
    shapes: dict[str, list[str]] = {"up": [], "down": []}
    svg_parts = []
    for i, bar in enumerate(block.bars):
        top, end = sorted((down(bar.value), down(0.0)))
        bar_left, size = f"{i * bar_width:.1f}", f"{bar_width * 0.88:.2f}"
        kind = "up" if bar.value > 0 else "down"
        shape = f"M{bar_left} {top:.1f}h{size}v{end - top:.1f}h-{size}z"
        if address := f"#{bar.link}" if bar.link else query(bar.name):
            svg_parts.append(
                _bar_link(bar, address, f'<path class="{kind}" d="{shape}"/>', bar_left, bar_width)
            )
        else:  # in one path, as a page may have thousands
            shapes[kind].append(shape)
    svg_parts += [f'<path class="{kind}" d="{"".join(d)}"/>' for kind, d in shapes.items() if d]
    lines = "".join(
        f'<path class="{"axis" if tick == 0 else "grid"}" d="M0 {down(tick):.2f}H1000"/>'
        for tick in ticks
    )
    labels = "".join(
        f'<text x="100%" dx="-6" y="{down(tick):.2f}%" dy=".32em">{_tick_label(tick)}</text>'
        for tick in ticks
    )
    hint = (
        " Select a bar to open its query."
        if any(bar.link or query(bar.name) for bar in block.bars)
        else ""
    )
    axis = f'<p class="dim">{escape_html(block.axis)}</p>' if block.axis else ""
    along = f'<p class="dim along">{escape_html(block.along)}</p>' if block.along else ""
    return (
        f'<figure class="chart">{axis}<div class="bars"><svg class="ticks" aria-hidden="true">'
        f"{labels}</svg>"
        f'<svg class="plot" viewBox="0 0 1000 100" preserveAspectRatio="none" role="group" '
        f'aria-label="{escape_html(block.words)}">{lines}{"".join(svg_parts)}</svg></div>{along}'
        f"<figcaption>{escape_html(block.words)}.{hint}</figcaption></figure>"
    )


def _bar_link(bar: Bar, address: str, shape: str, bar_left: str, bar_width: float) -> str:
    """A bar that opens its query, and answers over its whole height."""
    label = f"{escape_html(bar.name)}: {bar.value:+z.4f}"
    hit_area = f'<rect class="whole" x="{bar_left}" y="0" width="{bar_width:.2f}" height="100"/>'
    return (
        f'<a href="{escape_html(address)}" aria-label="{label}">'
        f"{hit_area}{shape}<title>{label}</title></a>"
    )


def axis_ticks(low: float, high: float) -> list[float]:
    """Round ticks from the first at or below the lowest value to the last above the highest.

    >>> axis_ticks(-0.31, 0.58)
    [-0.4, -0.2, 0.0, 0.2, 0.4, 0.6]
    >>> axis_ticks(0, 0)
    [-1.0, 0.0, 1.0]
    """
    if not high > low:
        return [-1.0, 0.0, 1.0]
    rough_step = (high - low) / _TICKS
    power = 10.0 ** math.floor(math.log10(rough_step))
    step = next(step * power for step in _STEPS if step * power >= rough_step)
    first, last = math.floor(low / step + 1e-9), math.ceil(high / step - 1e-9)
    return [round(i * step, 12) for i in range(first, last + 1)]


def _tick_label(tick: float) -> str:
    return "0" if tick == 0 else f"{tick:+.4g}"

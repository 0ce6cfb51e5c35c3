"""A matrix of cells with their numbers in them."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from rankgate.core.present.charts.backend import altair
from rankgate.core.present.charts.parts import table
from rankgate.core.present.charts.style import ON_DEEP, ON_PALE

_CELL, _ROW = 74, 26
_DEEP = 0.179  # the luminance below which white is easier to read than black


def heat(
    rows: Sequence[Mapping[str, Any]],
    domain: tuple[float, float],
    shades: Sequence[str],
    *,
    form: str = "",
) -> Any:
    """Cells of ``row``, ``column`` and ``value``; without a value a cell stays empty.

    Args:
        rows: the cells.
        domain: the values of the first colour and the last.
        shades: the colours; with three the middle one is of the domain's middle.
        form: ``%`` for shares, or a format such as ``.4f``; else two decimals.
    """
    alt = altair()
    across = list(dict.fromkeys(row["column"] for row in rows))
    down = list(dict.fromkeys(row["row"] for row in rows))
    known = [
        {
            **row,
            "words": _words(row["value"], form),
            "deep": needs_white(row["value"], domain, shades),
        }
        for row in rows
        if row["value"] is not None
    ]
    axis = {"title": None, "domain": False, "ticks": False, "grid": False, "labelPadding": 6}
    base = alt.Chart(table(known)).encode(
        x=alt.X(
            "column:N",
            sort=across,
            scale=alt.Scale(domain=across),
            axis=alt.Axis(
                **axis, orient="top", labelAngle=0 if _fits(across) else -40, labelLimit=160
            ),
        ),
        y=alt.Y(
            "row:N", sort=down, scale=alt.Scale(domain=down), axis=alt.Axis(**axis, labelLimit=420)
        ),
    )
    ends = [domain[0], sum(domain) / 2, domain[1]] if len(shades) > 2 else list(domain)
    scale = alt.Scale(domain=ends, range=list(shades), clamp=True, interpolate="rgb")
    cells = base.mark_rect(stroke="#7d8590", strokeWidth=0.5).encode(
        color=alt.Color("value:Q", scale=scale, legend=None),
        tooltip=["row:N", "column:N", "value:Q"],
    )
    words = base.mark_text(fontSize=11).encode(
        text="words:N", color=alt.condition("datum.deep", alt.value(ON_DEEP), alt.value(ON_PALE))
    )
    return alt.layer(cells, words).properties(width=_CELL * len(across), height=_ROW * len(down))


def _words(value: float, form: str) -> str:
    return f"{value:.0%}" if form == "%" else f"{value:z{form or '.2f'}}"


def needs_white(value: float, domain: tuple[float, float], shades: Sequence[str]) -> bool:
    """Whether white is easier to read than black on a cell.

    >>> [needs_white(share, (0, 1), ("#e8f1fa", "#0b4a8f")) for share in (0, 1)]
    [False, True]
    """
    share = min(max((value - domain[0]) / (domain[1] - domain[0]), 0), 1) * (len(shades) - 1)
    left = min(int(share), len(shades) - 2)
    parts = [
        [int(shade[i : i + 2], 16) / 255 for i in (1, 3, 5)] for shade in shades[left : left + 2]
    ]
    mixed = [a + (b - a) * (share - left) for a, b in zip(*parts, strict=True)]
    return luminance(mixed) < _DEEP


def luminance(shade: Sequence[float]) -> float:
    """How light a colour is, of red, green and blue from 0 to 1 (WCAG 2.2)."""
    red, green, blue = (
        part / 12.92 if part <= 0.04045 else ((part + 0.055) / 1.055) ** 2.4  # sRGB
        for part in shade
    )
    return 0.2126 * red + 0.7152 * green + 0.0722 * blue


def _fits(names: Sequence[str]) -> bool:
    return max(map(len, names), default=0) <= 11  # letters above a cell

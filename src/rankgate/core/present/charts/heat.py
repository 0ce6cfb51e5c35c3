"""Heat maps: cells with their numbers, or coloured cells without numbers where there are many."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from rankgate.core.present.charts.backend import load_altair
from rankgate.core.present.charts.parts import inline_data
from rankgate.core.present.charts.style import ON_DEEP, ON_PALE

_CELL, _ROW = 74, 26
_WIDEST, _WIDE, _HIGH, _LOW = 680, 16, 22, 4  # points: of all columns, of a column, of a row
_MIN_READABLE = 9  # points of a row or column whose name can be read
_DARK_LUMINANCE = 0.179  # the luminance below which white is easier to read than black


def heat_map(
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
    alt = load_altair()
    column_names = list(dict.fromkeys(row["column"] for row in rows))
    row_names = list(dict.fromkeys(row["row"] for row in rows))
    cell_rows = [
        {
            **row,
            "words": _format_cell(row["value"], form),
            "deep": needs_white(row["value"], domain, shades),
        }
        for row in rows
        if row["value"] is not None
    ]
    axis = {"title": None, "domain": False, "ticks": False, "grid": False, "labelPadding": 6}
    base = alt.Chart(inline_data(cell_rows)).encode(
        x=alt.X(
            "column:N",
            sort=column_names,
            scale=alt.Scale(domain=column_names),
            axis=alt.Axis(
                **axis,
                orient="top",
                labelAngle=0 if _fits_above_cells(column_names) else -40,
                labelLimit=160,
            ),
        ),
        y=alt.Y(
            "row:N",
            sort=row_names,
            scale=alt.Scale(domain=row_names),
            axis=alt.Axis(**axis, labelLimit=420),
        ),
    )
    stops = [domain[0], sum(domain) / 2, domain[1]] if len(shades) > 2 else list(domain)
    scale = alt.Scale(domain=stops, range=list(shades), clamp=True, interpolate="rgb")
    cells = base.mark_rect(stroke="#7d8590", strokeWidth=0.5).encode(
        color=alt.Color("value:Q", scale=scale, legend=None),
        tooltip=["row:N", "column:N", "value:Q"],
    )
    labels = base.mark_text(fontSize=11).encode(
        text="words:N", color=alt.condition("datum.deep", alt.value(ON_DEEP), alt.value(ON_PALE))
    )
    return alt.layer(cells, labels).properties(
        width=_CELL * len(column_names), height=_ROW * len(row_names)
    )


def fine_heat_map(
    rows: Sequence[Mapping[str, Any]],
    domain: tuple[float, float],
    shades: Sequence[str],
    *,
    across: str,
) -> Any:
    """Coloured cells of ``row``, ``column`` and ``value`` without numbers; empty without a value.

    Columns are as narrow as they must be, a whole number of points; names are left out where they
    could not be read.

    Args:
        rows: the cells.
        domain: the values of the first colour and the last.
        shades: the colours.
        across: what the columns are.
    """
    alt = load_altair()
    columns = list(dict.fromkeys(row["column"] for row in rows))
    row_names = list(dict.fromkeys(row["row"] for row in rows))
    cell_width = max(1, min(_WIDE, _WIDEST // len(columns)))
    cell_height = max(_LOW, min(_HIGH, _WIDEST // len(row_names)))
    axis = {"domain": False, "ticks": False, "grid": False}
    scale = alt.Scale(domain=list(domain), range=list(shades), clamp=True, interpolate="rgb")
    return (
        alt.Chart(inline_data([dict(row) for row in rows if row["value"] is not None]))
        .mark_rect()
        .encode(
            x=alt.X(
                "column:N",
                sort=columns,
                title=across,
                scale=alt.Scale(domain=columns, padding=0),
                axis=alt.Axis(
                    **axis, labels=cell_width >= _MIN_READABLE, labelAngle=-90, labelFontSize=9
                ),
            ),
            y=alt.Y(
                "row:N",
                sort=row_names,
                title=None,
                scale=alt.Scale(domain=row_names, padding=0),
                axis=alt.Axis(
                    **axis, labels=cell_height >= _MIN_READABLE, labelFontSize=min(11, cell_height)
                ),
            ),
            color=alt.Color(
                "value:Q",
                scale=scale,
                legend=alt.Legend(
                    title=None,
                    orient="right",
                    gradientLength=min(120, 22 + cell_height * len(row_names)),
                ),
            ),
            tooltip=["row:N", "column:N", "value:Q"],
        )
        .properties(width=cell_width * len(columns), height=cell_height * len(row_names))
    )


def _format_cell(value: float, form: str) -> str:
    return f"{value:.0%}" if form == "%" else f"{value:z{form or '.2f'}}"


def needs_white(value: float, domain: tuple[float, float], shades: Sequence[str]) -> bool:
    """True if white is easier to read than black on a cell.

    >>> [needs_white(share, (0, 1), ("#e8f1fa", "#0b4a8f")) for share in (0, 1)]
    [False, True]
    """
    share = min(max((value - domain[0]) / (domain[1] - domain[0]), 0), 1) * (len(shades) - 1)
    lower_index = min(int(share), len(shades) - 2)
    neighbours = [
        [int(shade[i : i + 2], 16) / 255 for i in (1, 3, 5)]
        for shade in shades[lower_index : lower_index + 2]
    ]
    mixed_shade = [a + (b - a) * (share - lower_index) for a, b in zip(*neighbours, strict=True)]
    return luminance(mixed_shade) < _DARK_LUMINANCE


def luminance(shade: Sequence[float]) -> float:
    """The luminance of a colour, given red, green and blue from 0 to 1 (WCAG 2.2)."""
    red, green, blue = (
        channel / 12.92 if channel <= 0.04045 else ((channel + 0.055) / 1.055) ** 2.4  # sRGB
        for channel in shade
    )
    return 0.2126 * red + 0.7152 * green + 0.0722 * blue


def _fits_above_cells(names: Sequence[str]) -> bool:
    return max(map(len, names), default=0) <= 11  # letters above a cell

"""Grids as HTML tables, for notebooks; every text is escaped."""

from __future__ import annotations

from html import escape
from typing import TYPE_CHECKING

from rankgate.core.present.grid import make_printable

if TYPE_CHECKING:
    from rankgate.core.present.grid import Grid


def html_table(grid: Grid) -> str:
    """The grid as a table without its own style, so that the notebook's applies.

    >>> from rankgate.core.present.grid import Grid
    >>> print(html_table(Grid(("run",), (("<b>",),))))
    <table><thead><tr><th style="text-align:left">run</th></tr></thead>
    <tbody>
    <tr><td style="text-align:left">&lt;b&gt;</td></tr>
    </tbody></table>
    """
    grid = grid.flat
    rows = "\n".join(_html_row("td", row, grid) for row in grid.rows)
    head = _html_row("th", grid.head, grid)
    return f"<table><thead>{head}</thead>\n<tbody>\n{rows}\n</tbody></table>"


def html_paragraph(text: str) -> str:
    """A paragraph of small text."""
    return f"<p><small>{escape_html(text)}</small></p>"


def escape_html(text: str) -> str:
    """Escaped text."""
    return escape(make_printable(text))


def _html_row(tag: str, texts: tuple[str, ...], grid: Grid) -> str:
    sides = ["left" if i in grid.left else "right" for i in range(len(texts))]
    cells = [
        f'<{tag} style="text-align:{side}">{escape(make_printable(text))}</{tag}>'
        for side, text in zip(sides, texts, strict=True)
    ]
    return f"<tr>{''.join(cells)}</tr>"

"""Grids as HTML tables, for notebooks; every word is escaped."""

from __future__ import annotations

from html import escape
from typing import TYPE_CHECKING

from rankgate.core.present.grid import printable

if TYPE_CHECKING:
    from rankgate.core.present.grid import Grid


def table(grid: Grid) -> str:
    """The grid as a table without its own style, so that the notebook's applies.

    >>> from rankgate.core.present.grid import Grid
    >>> print(table(Grid(("run",), (("<b>",),))))
    <table><thead><tr><th style="text-align:left">run</th></tr></thead>
    <tbody>
    <tr><td style="text-align:left">&lt;b&gt;</td></tr>
    </tbody></table>
    """
    grid = grid.flat
    rows = "\n".join(_row("td", row, grid) for row in grid.rows)
    return f"<table><thead>{_row('th', grid.head, grid)}</thead>\n<tbody>\n{rows}\n</tbody></table>"


def paragraph(text: str) -> str:
    """A small line of words."""
    return f"<p><small>{safe(text)}</small></p>"


def safe(text: str) -> str:
    """Escaped text."""
    return escape(printable(text))


def _row(tag: str, words: tuple[str, ...], grid: Grid) -> str:
    sides = ["left" if i in grid.left else "right" for i in range(len(words))]
    cells = [
        f'<{tag} style="text-align:{side}">{escape(printable(word))}</{tag}>'
        for side, word in zip(sides, words, strict=True)
    ]
    return f"<tr>{''.join(cells)}</tr>"

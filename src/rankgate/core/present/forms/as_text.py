"""Grids as plain text, for a terminal of 80 columns."""

from __future__ import annotations

import unicodedata
from collections.abc import Sequence

from rankgate.core.present.grid import SOFT, Grid, make_printable

WIDTH = 80
_GAP = "  "


def text_table(grid: Grid) -> str:
    r"""The grid as text, of any width.

    >>> print(text_table(Grid(("run", "two\nlines"), (("a", "0.5"),))))
           two
    run  lines
    a      0.5
    """
    header_lines = [name.replace(SOFT, "-").split("\n") for name in grid.head]
    height = max(map(len, header_lines))
    header_rows = zip(*([""] * (height - len(name)) + name for name in header_lines), strict=True)
    lines = [tuple(map(make_printable, line)) for line in (*header_rows, *grid.rows)]
    widths = [max(map(text_width, column)) for column in zip(*lines, strict=True)]
    return "\n".join(_table_line(row, widths, grid.left) for row in lines)


def fit_table(grid: Grid, width: int = WIDTH) -> str:
    """The grid within a width: unchanged, transposed, or in blocks of columns below each other.

    A column that is wider than all there is stays whole.
    """
    full_text = text_table(grid)
    if _block_width(full_text) <= width:
        return full_text
    turned_text = text_table(grid.turned) if grid.rows else full_text
    if _block_width(turned_text) <= width:
        return turned_text
    blocks, begin = [], grid.keys
    while begin < len(grid.head):
        end = begin + 1
        while (
            end < len(grid.head) and _block_width(text_table(grid.columns(begin, end + 1))) <= width
        ):
            end += 1
        blocks.append(text_table(grid.columns(begin, end)))
        begin = end
    return "\n\n".join(blocks)


def table_width(grid: Grid) -> int:
    """The width of a grid in columns of a terminal."""
    return _block_width(text_table(grid))


def text_width(text: str) -> int:
    """The width of a text in a terminal; wide characters take two columns."""
    return sum(
        0 if unicodedata.combining(c) else 1 + (unicodedata.east_asian_width(c) in "WF")
        for c in text
    )


def shorten_middle(text: str, width: int) -> str:
    """A text within a width; the middle of a longer one is left out.

    >>> shorten_middle("MARCO_00_12345", 9)
    'MARC…2345'
    """
    if text_width(text) <= width:
        return text
    half = (width - 1) // 2
    return f"{text[: width - 1 - half]}…{text[len(text) - half :]}"


def _block_width(text: str) -> int:
    return max(map(text_width, text.split("\n")))


def _table_line(row: Sequence[str], widths: Sequence[int], left_columns: frozenset[int]) -> str:
    cells = []
    for i, (word, width) in enumerate(zip(row, widths, strict=True)):
        padding = " " * (width - text_width(word))
        cells.append(word + padding if i in left_columns else padding + word)
    return _GAP.join(cells).rstrip()

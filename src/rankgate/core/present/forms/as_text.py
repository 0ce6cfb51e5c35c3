"""Grids as plain text, for a terminal of 80 columns."""

from __future__ import annotations

import unicodedata
from collections.abc import Sequence

from rankgate.core.present.grid import SOFT, Grid, printable

WIDTH = 80
_GAP = "  "


def table(grid: Grid) -> str:
    r"""The grid as it is, however wide.

    >>> print(table(Grid(("run", "two\nlines"), (("a", "0.5"),))))
           two
    run  lines
    a      0.5
    """
    heads = [name.replace(SOFT, "-").split("\n") for name in grid.head]
    height = max(map(len, heads))
    top = zip(*([""] * (height - len(name)) + name for name in heads), strict=True)
    lines = [tuple(map(printable, line)) for line in (*top, *grid.rows)]
    widths = [max(map(wide, words)) for words in zip(*lines, strict=True)]
    return "\n".join(_line(words, widths, grid.left) for words in lines)


def fitted(grid: Grid, width: int = WIDTH) -> str:
    """The grid within a width: as it is, turned, or in several pieces one below the other.

    A column that is wider than all there is stays whole.
    """
    whole = table(grid)
    if _width(whole) <= width:
        return whole
    turned = table(grid.turned) if grid.rows else whole
    if _width(turned) <= width:
        return turned
    pieces, begin = [], grid.keys
    while begin < len(grid.head):
        end = begin + 1
        while end < len(grid.head) and _width(table(grid.columns(begin, end + 1))) <= width:
            end += 1
        pieces.append(table(grid.columns(begin, end)))
        begin = end
    return "\n\n".join(pieces)


def width_of(grid: Grid) -> int:
    """The columns that a grid takes as it is."""
    return _width(table(grid))


def wide(text: str) -> int:
    """The cells of a terminal that a word takes; wide characters take two."""
    return sum(
        0 if unicodedata.combining(c) else 1 + (unicodedata.east_asian_width(c) in "WF")
        for c in text
    )


def shortened(text: str, width: int) -> str:
    """A word within a width, with dots in its middle if it is longer.

    >>> shortened("MARCO_00_12345", 9)
    'MARC…2345'
    """
    if wide(text) <= width:
        return text
    half = (width - 1) // 2
    return f"{text[: width - 1 - half]}…{text[len(text) - half :]}"


def _width(text: str) -> int:
    return max(map(wide, text.split("\n")))


def _line(words: Sequence[str], widths: Sequence[int], left: frozenset[int]) -> str:
    cells = []
    for i, (word, width) in enumerate(zip(words, widths, strict=True)):
        space = " " * (width - wide(word))
        cells.append(word + space if i in left else space + word)
    return _GAP.join(cells).rstrip()

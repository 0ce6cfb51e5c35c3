"""Grids and labelled paragraphs as plain text, for a terminal of 80 columns."""

from __future__ import annotations

import textwrap
import unicodedata
from collections.abc import Iterable, Sequence

from rankgate.core.present.document_model import SOFT, Grid, make_printable

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

    A single column that is wider than the available width is not cut.
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
        while end < len(grid.head) and _block_width(text_table(grid.columns(begin, end + 1))) <= width:
            end += 1
        blocks.append(text_table(grid.columns(begin, end)))
        begin = end
    return "\n\n".join(blocks)


def table_width(grid: Grid) -> int:
    """The width of a grid in columns of a terminal."""
    return _block_width(text_table(grid))


def text_width(text: str) -> int:
    """The width of a text in a terminal; wide characters take two columns."""
    return sum(0 if unicodedata.combining(c) else 1 + (unicodedata.east_asian_width(c) in "WF") for c in text)


def shorten_middle(text: str, width: int) -> str:
    """A text cut to a width; a longer text loses its middle.

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


_LABEL = 28  # columns of 80 that a label takes
_MIN_WIDTH = 24  # columns of a paragraph; a table with less room for it becomes a list
_MAX_WIDTH = 100  # width of a paragraph: longer lines are hard to read


def labelled_paragraphs(
    labels: Sequence[str], lines: Iterable[str], widths: Sequence[int], width: int = WIDTH
) -> str:
    r"""One or more labels, each in its column, and paragraphs to their right.

    >>> labelled_paragraphs(["ties", "asc"], ["equal scores"], [5, 4])
    'ties   asc   equal scores\n'
    """
    label_text = _GAP.join(
        word + " " * (label_width - text_width(word))
        for word, label_width in zip(labels, widths, strict=True)
    )
    paragraph_width = max(min(width - text_width(label_text) - len(_GAP), _MAX_WIDTH), _MIN_WIDTH)
    wrapped_lines = [wrapped_line for line in lines for wrapped_line in wrap_line(line, paragraph_width)]
    prefixes = [label_text, *[" " * text_width(label_text)] * (len(wrapped_lines) - 1)]
    pairs = zip(prefixes, wrapped_lines, strict=True)
    return "".join(f"{prefix}{_GAP}{wrapped_line}".rstrip() + "\n" for prefix, wrapped_line in pairs)


def paragraph_table(grid: Grid, width: int = WIDTH) -> str:
    r"""A grid with paragraphs in its last column, which are wrapped within a width.

    Labels that are too long get their own line. If paragraphs have less than 24 columns, each row
    becomes an entry of a list. Without a header there is no first line.

    >>> from rankgate.core.present.document_model import Grid
    >>> paragraph_table(Grid(("", ""), (("ties", "equal scores of documents"),)), 30)
    'ties  equal scores of\n        documents\n'
    """
    flat_grid = grid.flat
    rows = [flat_grid.head, *grid.rows] if any(flat_grid.head) else grid.rows
    max_label_width = _LABEL * width // WIDTH
    columns = list(zip(*rows, strict=True))[:-1]
    widths = [
        max((text_width(w) for w in column if text_width(w) <= max_label_width), default=0)
        for column in columns
    ]
    if len(widths) > 1 and width - sum(widths) - len(_GAP) * len(widths) < _MIN_WIDTH:
        return _paragraph_list(grid.rows, flat_grid.head[1:-1], width)
    parts = []
    for first, *middle_cells, last in ([*map(make_printable, row)] for row in rows):
        labels = [first, *middle_cells]
        if any(
            text_width(word) > label_width for word, label_width in zip(middle_cells, widths[1:], strict=True)
        ):
            parts.append(f"{_GAP.join(labels)}\n")
            labels = [""] * len(labels)
        elif text_width(first) > widths[0]:
            parts.append(f"{first}\n")
            labels[0] = ""
        parts.append(labelled_paragraphs(labels, [last], widths, width))
    return "".join(parts)


def _paragraph_list(rows: Iterable[Sequence[str]], names: Sequence[str], width: int) -> str:
    """Rows as list entries: the first cell, middle cells in brackets with names, the paragraph."""
    output_lines = []
    for first, *middle_cells, last in ([*map(make_printable, row)] for row in rows):
        details = "; ".join(f"{name} {cell}" for name, cell in zip(names, middle_cells, strict=True) if cell)
        heading = f"{first} ({details})" if details else first
        lines = [line for line in wrap_line(last, min(width, _MAX_WIDTH) - 2 * len(_GAP)) if line]
        output_lines += [*wrap_line(heading, width), *(f"{_GAP * 2}{line}" for line in lines)]
    return "".join(f"{output_line}\n" for output_line in output_lines)


def wrap_line(line: str, width: int) -> list[str]:
    """A paragraph in lines; all lines but the first are indented."""
    return textwrap.wrap(line, width, subsequent_indent=_GAP, break_on_hyphens=False) or [""]


def indent_block(text: str) -> str:
    """An indented block."""
    return textwrap.indent(text, _GAP)

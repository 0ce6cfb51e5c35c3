"""Labels with paragraphs to their right, within a width."""

from __future__ import annotations

import textwrap
from collections.abc import Iterable, Sequence
from typing import TYPE_CHECKING

from rankgate.core.present.forms.as_text import WIDTH, text_width
from rankgate.core.present.grid import make_printable

if TYPE_CHECKING:
    from rankgate.core.present.grid import Grid

_GAP = "  "
_LABEL = 28  # columns of 80 that a label takes
_MIN_WIDTH = 24  # columns of a paragraph; a table with less room for it becomes a list
_MAX_WIDTH = 100  # columns of a paragraph: longer lines are hard to follow with the eye


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
    wrapped_lines = [
        wrapped_line for line in lines for wrapped_line in wrap_line(line, paragraph_width)
    ]
    prefixes = [label_text, *[" " * text_width(label_text)] * (len(wrapped_lines) - 1)]
    pairs = zip(prefixes, wrapped_lines, strict=True)
    return "".join(
        f"{prefix}{_GAP}{wrapped_line}".rstrip() + "\n" for prefix, wrapped_line in pairs
    )


def paragraph_table(grid: Grid, width: int = WIDTH) -> str:
    r"""A grid with paragraphs in its last column, which are wrapped within a width.

    Labels that would take too much room have their own line; where less than 24 columns are left
    for paragraphs, each row is an entry of a list. Without a head there is no first line.

    >>> from rankgate.core.present.grid import Grid
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
            text_width(word) > label_width
            for word, label_width in zip(middle_cells, widths[1:], strict=True)
        ):
            parts.append(f"{_GAP.join(labels)}\n")
            labels = [""] * len(labels)
        elif text_width(first) > widths[0]:
            parts.append(f"{first}\n")
            labels[0] = ""
        parts.append(labelled_paragraphs(labels, [last], widths, width))
    return "".join(parts)


def _paragraph_list(rows: Iterable[Sequence[str]], names: Sequence[str], width: int) -> str:
    """Rows as entries: the first cell, the others in brackets by name, the paragraph below."""
    output_lines = []
    for first, *middle_cells, last in ([*map(make_printable, row)] for row in rows):
        details = "; ".join(
            f"{name} {cell}" for name, cell in zip(names, middle_cells, strict=True) if cell
        )
        heading = f"{first} ({details})" if details else first
        lines = [line for line in wrap_line(last, min(width, _MAX_WIDTH) - 2 * len(_GAP)) if line]
        output_lines += [*wrap_line(heading, width), *(f"{_GAP * 2}{line}" for line in lines)]
    return "".join(f"{output_line}\n" for output_line in output_lines)


def wrap_line(line: str, width: int) -> list[str]:
    """A paragraph in lines, those after the first indented."""
    return textwrap.wrap(line, width, subsequent_indent=_GAP, break_on_hyphens=False) or [""]


def indent_block(text: str) -> str:
    """An indented block."""
    return textwrap.indent(text, _GAP)

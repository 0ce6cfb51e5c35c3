"""Labels with paragraphs to their right, within a width."""

from __future__ import annotations

import textwrap
from collections.abc import Iterable, Sequence
from typing import TYPE_CHECKING

from rankgate.core.present.forms.as_text import WIDTH, wide
from rankgate.core.present.grid import printable

if TYPE_CHECKING:
    from rankgate.core.present.grid import Grid

_GAP = "  "
_LABEL = 28  # columns of 80 that a label takes
_LEAST = 16  # columns of a paragraph, however wide the labels and narrow the terminal
_MOST = 100  # columns of a paragraph: longer lines are hard to follow with the eye


def labelled(
    labels: Sequence[str], lines: Iterable[str], widths: Sequence[int], width: int = WIDTH
) -> str:
    r"""One or more labels, each in its column, and paragraphs to their right.

    >>> labelled(["ties", "asc"], ["equal scores"], [5, 4])
    'ties   asc   equal scores\n'
    """
    left = _GAP.join(
        word + " " * (room - wide(word)) for word, room in zip(labels, widths, strict=True)
    )
    room = max(min(width - wide(left) - len(_GAP), _MOST), _LEAST)
    parts = [part for line in lines for part in wrapped(line, room)]
    heads = [left, *[" " * wide(left)] * (len(parts) - 1)]
    pairs = zip(heads, parts, strict=True)
    return "".join(f"{head}{_GAP}{part}".rstrip() + "\n" for head, part in pairs)


def table(grid: Grid, width: int = WIDTH) -> str:
    r"""A grid with paragraphs in its last column, which are wrapped within a width.

    Labels that would take too much room have their own line. Without a head there is no first line.

    >>> from rankgate.core.present.grid import Grid
    >>> table(Grid(("", ""), (("ties", "equal scores of documents"),)), 30)
    'ties  equal scores of\n        documents\n'
    """
    flat = grid.flat
    rows = [flat.head, *grid.rows] if any(flat.head) else grid.rows
    most = _LABEL * width // WIDTH
    columns = list(zip(*rows, strict=True))[:-1]
    widths = [max((wide(w) for w in words if wide(w) <= most), default=0) for words in columns]
    parts = []
    for first, *others, last in ([*map(printable, row)] for row in rows):
        shown = [first, *others]
        if any(wide(word) > room for word, room in zip(others, widths[1:], strict=True)):
            parts.append(f"{_GAP.join(shown)}\n")
            shown = [""] * len(shown)
        elif wide(first) > widths[0]:
            parts.append(f"{first}\n")
            shown[0] = ""
        parts.append(labelled(shown, [last], widths, width))
    return "".join(parts)


def wrapped(line: str, width: int) -> list[str]:
    """A paragraph in lines, those after the first indented."""
    return textwrap.wrap(line, width, subsequent_indent=_GAP, break_on_hyphens=False) or [""]


def indented(text: str) -> str:
    """A block moved in."""
    return textwrap.indent(text, _GAP)

"""Words beside words: labels with what is said of them, within a width."""

from __future__ import annotations

import textwrap
from typing import TYPE_CHECKING

from rankgate.present.forms.as_text import WIDTH, wide

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

_GAP = "  "
_MOST = 100  # columns of a paragraph: longer lines are hard to follow with the eye


def beside(
    labels: Sequence[str], lines: Iterable[str], widths: Sequence[int], width: int = WIDTH
) -> str:
    r"""One or more labels, each in a column of its own, and paragraphs beside them.

    >>> beside(["ties", "asc"], ["equal scores"], [5, 4])
    'ties   asc   equal scores\n'
    """
    left = _GAP.join(
        word + " " * (room - wide(word)) for word, room in zip(labels, widths, strict=True)
    )
    room = min(width - wide(left) - len(_GAP), _MOST)
    parts = [part for line in lines for part in wrapped(line, room)]
    heads = [left, *[" " * wide(left)] * (len(parts) - 1)]
    pairs = zip(heads, parts, strict=True)
    return "".join(f"{head}{_GAP}{part}".rstrip() + "\n" for head, part in pairs)


def wrapped(line: str, width: int) -> list[str]:
    """A paragraph in lines, those after the first indented."""
    return textwrap.wrap(line, width, subsequent_indent=_GAP, break_on_hyphens=False) or [""]


def indented(text: str) -> str:
    """A block moved in."""
    return textwrap.indent(text, _GAP)

"""Terminal screen of one pair to rate."""

from __future__ import annotations

import textwrap
from typing import TYPE_CHECKING

from rankgate.core.present.forms.as_text import WIDTH
from rankgate.core.present.grid import printable

if TYPE_CHECKING:
    from rankgate.judging.rating.terminal import Screen

_LONGEST = 1500
"""Characters of a field that are shown at once."""


def parts_of(screen: Screen) -> int:
    """How many parts it takes to show the longest field of the document."""
    longest = max((len(" ".join(text.split())) for text in screen.document.values()), default=0)
    return max(1, -(-longest // _LONGEST))


def render(result: Screen, width: int = WIDTH, part: int = 0) -> str:
    """The query, one part of the document, and the keys.

    Args:
        result: what the rater sees.
        width: columns.
        part: of the document's long fields, from 0; after the last one comes the first.
    """
    parts = parts_of(result)
    part %= parts
    lines = ["", f"rated {result.done} of {result.total} {'─' * 20}"]
    asked = dict(result.query)
    lines += _field("query", asked.pop("text", result.query_id), width)
    for name, text in asked.items():
        lines += _field(name, text, width)
    lines += ["", *_field("document", result.doc_id, width)]
    for name, text in result.document.items():
        lines += _field(name, text, width, part)
    more = f"  space more (part {part + 1} of {parts})" if parts > 1 else ""
    keys = "  ".join(
        f"{key} {label}" if label != key else key for key, (_, label) in result.grades.items()
    )
    lines += ["", *textwrap.wrap(f"{keys}  |  c can't tell  s skip  u undo  q quit{more}", width)]
    return "\n".join(lines) + "\n"


def _field(name: str, text: str, width: int, part: int = 0) -> list[str]:
    """One part of a field; a field with fewer parts stays at its last one."""
    whole = " ".join(text.split())
    begin = min(part, max(0, (len(whole) - 1) // _LONGEST)) * _LONGEST
    shown = whole[begin : begin + _LONGEST]
    shown = f"[…] {shown}" if begin else shown
    shown = f"{shown} […]" if begin + _LONGEST < len(whole) else shown
    label = f"{printable(name)}: "
    return textwrap.wrap(
        printable(shown),
        width,
        initial_indent=label,
        subsequent_indent="  ",
        break_on_hyphens=False,
    ) or [label.rstrip()]

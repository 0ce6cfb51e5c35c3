"""Terminal screen of one pair to rate."""

from __future__ import annotations

import textwrap
from typing import TYPE_CHECKING

from rankgate.core.present.forms.as_text import WIDTH
from rankgate.core.present.grid import make_printable

if TYPE_CHECKING:
    from rankgate.judging.rating.terminal import Screen

_PAGE_CHARACTERS = 1500
"""Characters of a field that are shown at once."""


def count_pages(screen: Screen) -> int:
    """Count the parts that the longest field of the document takes."""
    longest = max((len(" ".join(text.split())) for text in screen.document.values()), default=0)
    return max(1, -(-longest // _PAGE_CHARACTERS))


def render(result: Screen, width: int = WIDTH, page: int = 0) -> str:
    """The query, one part of the document, and the keys.

    Args:
        result: what the rater sees.
        width: columns.
        page: the part of the document's long fields, from 0; after the last one comes the first.
    """
    parts = count_pages(result)
    page %= parts
    lines = ["", f"rated {result.done} of {result.total} {'─' * 20}"]
    query_fields = dict(result.query)
    lines += _field("query", query_fields.pop("text", result.query_id), width)
    for name, text in query_fields.items():
        lines += _field(name, text, width)
    lines += ["", *_field("document", result.doc_id, width)]
    for name, text in result.document.items():
        lines += _field(name, text, width, page)
    more = f"  space more (part {page + 1} of {parts})" if parts > 1 else ""
    keys = "  ".join(
        f"{key} {label}" if label != key else key for key, (_, label) in result.grades.items()
    )
    lines += ["", *textwrap.wrap(f"{keys}  |  c can't tell  s skip  u undo  q quit{more}", width)]
    return "\n".join(lines) + "\n"


def _field(name: str, text: str, width: int, page: int = 0) -> list[str]:
    """One part of a field; a field with fewer parts stays at its last one."""
    full_text = " ".join(text.split())
    begin = min(page, max(0, (len(full_text) - 1) // _PAGE_CHARACTERS)) * _PAGE_CHARACTERS
    excerpt = full_text[begin : begin + _PAGE_CHARACTERS]
    excerpt = f"[…] {excerpt}" if begin else excerpt
    excerpt = f"{excerpt} […]" if begin + _PAGE_CHARACTERS < len(full_text) else excerpt
    label = f"{make_printable(name)}: "
    return textwrap.wrap(
        make_printable(excerpt),
        width,
        initial_indent=label,
        subsequent_indent="  ",
        break_on_hyphens=False,
    ) or [label.rstrip()]

"""One pair to be rated, as it stands on a terminal."""

from __future__ import annotations

import textwrap
from typing import TYPE_CHECKING

from rankgate.present.as_text import WIDTH
from rankgate.present.grid import printable

if TYPE_CHECKING:
    from rankgate.judging.rating.terminal import Screen

_LONGEST = 1500
"""Letters of a field that are shown."""


def render(told: Screen, width: int = WIDTH) -> str:
    """The query, the document, and the keys."""
    lines = ["", f"rated {told.done} of {told.total} {'─' * 20}"]
    asked = dict(told.query)
    lines += _field("query", asked.pop("text", told.query_id), width)
    for name, text in asked.items():
        lines += _field(name, text, width)
    lines += ["", *_field("document", told.doc_id, width)]
    for name, text in told.document.items():
        lines += _field(name, text, width)
    keys = "  ".join(
        f"{key} {label}" if label != key else key for key, (_, label) in told.grades.items()
    )
    lines += ["", *textwrap.wrap(f"{keys}  |  c can't tell  s skip  u undo  q quit", width)]
    return "\n".join(lines) + "\n"


def _field(name: str, text: str, width: int) -> list[str]:
    shown = " ".join(text.split())
    cut = f"{shown[:_LONGEST]} […]" if len(shown) > _LONGEST else shown
    label = f"{printable(name)}: "
    return textwrap.wrap(
        printable(cut), width, initial_indent=label, subsequent_indent="  ",
        break_on_hyphens=False,
    ) or [label.rstrip()]  # fmt: skip

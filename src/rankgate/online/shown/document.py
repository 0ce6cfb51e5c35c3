"""Lists that users were shown, as a document."""

from __future__ import annotations

from typing import TYPE_CHECKING

from rankgate.core.present.document import Document, Warnings
from rankgate.core.present.document import document as made

if TYPE_CHECKING:
    from rankgate.online.shown.shown_lists import ShownLists


def document(result: ShownLists) -> Document:
    """How many lists there are, and what to know of them."""
    of = f" of variant {result.variant}" if result.variant else ""
    return made(
        f"{result.queries:,} lists with {result.documents:,} documents, from "
        f"{result.searches:,} searches{of}",
        Warnings(tuple(each.text for each in result.notices)),
        f"Written to {result.output}." if result.output else "",
    )

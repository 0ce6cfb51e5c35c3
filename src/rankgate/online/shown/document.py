"""Lists that users were shown, as a document."""

from __future__ import annotations

from typing import TYPE_CHECKING

from rankgate.core.present.document import Document, Warnings
from rankgate.core.present.document import make_document as made

if TYPE_CHECKING:
    from rankgate.online.shown.shown_lists import ShownLists


def document(result: ShownLists) -> Document:
    """The number of lists, and warnings about them."""
    variant_text = f" of variant {result.variant}" if result.variant else ""
    return made(
        f"{result.queries:,} lists with {result.documents:,} documents, from "
        f"{result.searches:,} searches{variant_text}",
        Warnings(tuple(notice.text for notice in result.notices)),
        f"Written to {result.output}." if result.output else "",
    )

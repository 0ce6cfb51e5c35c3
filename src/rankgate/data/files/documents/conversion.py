"""Document of a conversion: rows written, losses and notes."""

from __future__ import annotations

from typing import TYPE_CHECKING

from rankgate.core.present.document import Document, Entries, Entry, PlainRows
from rankgate.core.present.document import make_document as made

if TYPE_CHECKING:
    from rankgate.data.files.conversion import Conversion

_PARTS = {"qrels": "judgments", "runs": "lines of runs", "values": "metric values"}


def document(result: Conversion) -> Document:
    """The files read and written, then a line for each note and each loss."""
    row_counts = ", ".join(
        f"{count:,} {_PARTS.get(name, name)}" for name, count in result.rows.items()
    )
    entries = [
        Entry("read", (f"{result.source} as {result.from_format}: {result.reason}",)),
        Entry("written", (f"{result.target} as {result.to_format}: {row_counts or 'nothing'}",)),
        *([Entry("seen", tuple(note.words for note in result.notes))] if result.notes else []),
        Entry("lost", tuple(loss.words for loss in result.losses) or ("nothing",)),
    ]
    table = result.to_polars().rows()
    rows = [
        (kind, count, note_text, ", ".join(examples)) for kind, count, note_text, examples in table
    ]
    title = f"{result.source} to {result.target}"
    return made(
        title, Entries(tuple(entries)), rows=PlainRows(("kind", "count", "what", "examples"), rows)
    )

"""Document of a conversion: what was written, lost and noted."""

from __future__ import annotations

from typing import TYPE_CHECKING

from rankgate.core.present.document import Document, Entries, Entry, PlainRows
from rankgate.core.present.document import document as made

if TYPE_CHECKING:
    from rankgate.data.files.conversion import Conversion

_PARTS = {"qrels": "judgments", "runs": "lines of runs", "values": "metric values"}


def document(result: Conversion) -> Document:
    """What was read and written, then a line for everything seen and lost."""
    carried = ", ".join(
        f"{count:,} {_PARTS.get(part, part)}" for part, count in result.rows.items()
    )
    entries = [
        Entry("read", (f"{result.source} as {result.from_format}: {result.reason}",)),
        Entry("written", (f"{result.target} as {result.to_format}: {carried or 'nothing'}",)),
        *([Entry("seen", tuple(each.words for each in result.notes))] if result.notes else []),
        Entry("lost", tuple(each.words for each in result.losses) or ("nothing",)),
    ]
    table = result.to_polars().rows()
    rows = [(kind, count, what, ", ".join(examples)) for kind, count, what, examples in table]
    title = f"{result.source} to {result.target}"
    return made(
        title, Entries(tuple(entries)), rows=PlainRows(("kind", "count", "what", "examples"), rows)
    )

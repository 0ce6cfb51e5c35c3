"""Documents of collected ratings: JSONL, CSV and a summary."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING

from rankgate.core.present.document import Document, PlainRows, Points
from rankgate.core.present.document import make_document as made
from rankgate.core.present.grid import make_printable
from rankgate.data.files.checks.declare import count_noun

if TYPE_CHECKING:
    from rankgate.judging.sheets.collected import CollectedRatings


def lines_of_json(result: CollectedRatings) -> str:
    """The ratings as a file of ratings: an object a line."""
    return "".join(json.dumps(row, ensure_ascii=False) + "\n" for row in result.rows)


def document(result: CollectedRatings) -> Document:
    """The number of ratings, and empty rows; CSV has the ratings."""
    first, *more = summary(result)
    table = result.table.drop("at", "seconds")
    return made(
        first, Points(tuple(more)), rows=PlainRows(tuple(table.columns), table.rows(), data=True)
    )


def summary(result: CollectedRatings, added: int | None = None) -> list[str]:
    """Summarize the ratings, those added to a file, and empty rows."""
    table = result.table
    graded = len(table) - table["grade"].null_count()
    unsure = len(table) - graded
    raters = table["rater"].n_unique()
    lines = [
        (
            f"{count_noun(graded, 'grade')} by {count_noun(raters, 'rater')}; {unsure} "
            "could not be graded"
        )
    ]
    if added is not None and added < len(table):
        lines.append(f"added: {added}; the others are in the file already")
    for note in result.notes:
        examples = ", ".join(map(make_printable, note.examples))
        more = ", …" if note.count > len(note.examples) else ""
        lines.append(f"{note.what}: {note.count} ({examples}{more})")
    return lines

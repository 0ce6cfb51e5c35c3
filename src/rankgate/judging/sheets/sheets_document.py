"""Document of rating sheets: the number of documents of each rater."""

from __future__ import annotations

from typing import TYPE_CHECKING

from rankgate.core.present.document import Document, PlainRows, Table
from rankgate.core.present.document import make_document as made
from rankgate.core.present.grid import Grid

if TYPE_CHECKING:
    from rankgate.judging.sheets.sheets import Sheets


def document(result: Sheets) -> Document:
    """A row for each rater; CSV has every row of every sheet."""
    rows = tuple((name, f"{len(rows):,}") for name, (_, rows) in result.tables.items())
    title = f"{len(result)} rating sheets, scale {result.scale}, seed {result.seed}"
    sheet_rows = [
        (name, query, document)
        for name, (header, table_rows) in result.tables.items()
        for row in table_rows
        for query, document in [(row[header.index("query")], row[header.index("document")])]
    ]
    return made(
        title,
        Table("", Grid(("rater", "documents"), rows)),
        f"documents that two raters or more have: {result.doubled}",
        rows=PlainRows(("rater", "query_id", "doc_id"), sheet_rows),
    )

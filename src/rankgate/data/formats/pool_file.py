"""Pool files: documents to judge."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import polars as pl

from rankgate.core.errors import DuplicateError, InputError
from rankgate.core.formulas import unguarded
from rankgate.data.dataframes import is_frame, polars_frame
from rankgate.data.text import cells

if TYPE_CHECKING:
    from rankgate.data.text.cells import CsvRow

SCHEMA = {
    "query_id": pl.String,
    "doc_id": pl.String,
    "batch": pl.Int64,
    "stratum": pl.String,
    "inclusion": pl.Float64,
}
"""The columns of a pool that is read; a file without batches is one batch, a document without
an inclusion was taken for sure."""

_NAMES = {
    "query_id": ("query_id", "query", "qid", "topic"),
    "doc_id": ("doc_id", "document", "docid", "docno"),
}


def read_pool(pool: Any) -> pl.DataFrame:
    """The documents to judge, in the order of the file.

    Args:
        pool: a CSV or XLSX file with columns query and document, as ``rankgate pool`` and
            ``rankgate holes --format pool`` write; or a frame with ``query_id`` and ``doc_id``.

    Raises:
        InputError: no such columns, an empty id; with the line.
        DuplicateError: a document that appears twice for one query.
    """
    if is_frame(pool):
        frame = polars_frame(pool, "pool")
        usual = {"batch": pl.lit(1), "stratum": pl.lit(None), "inclusion": pl.lit(1.0)}
        return frame.select(
            (pl.col(name) if name in frame.columns else usual[name]).cast(dtype).alias(name)
            for name, dtype in SCHEMA.items()
        )
    sheet = cells.read(pool)
    found = {
        ours: next((n for n in names if n in sheet.names), None) for ours, names in _NAMES.items()
    }
    for ours, theirs in found.items():
        if theirs is None:
            problem = f"no column {_NAMES[ours][1]} among {', '.join(sheet.names)[:200]}."
            raise InputError(problem, source=sheet.label, line=1, code="missing-column")
    result, seen = [], dict[tuple[str, str], int]()
    for row in sheet.rows:
        pair = tuple(_text(row, str(theirs), sheet.label) for theirs in found.values())
        query, document = pair
        if (line := seen.setdefault((query, document), row.line)) != row.line:
            problem = f"{document} appears twice for query {query} (line {line}); keep one row."
            raise DuplicateError(problem, source=sheet.label, line=row.line)
        stratum = str(row.cells.get("stratum") or "") or None
        result.append(
            (query, document, _batch(row, sheet.label), stratum, _chance(row, sheet.label))
        )
    return pl.DataFrame(result, schema=SCHEMA, orient="row")


def _text(row: CsvRow, name: str, label: str) -> str:
    cell = row.cells.get(name)
    if cell is None or cell == "":
        raise InputError(f"{name} is empty.", source=label, line=row.line, code="empty-value")
    if not isinstance(cell, str):
        problem = (
            f"{name} holds {cell}, which a spreadsheet program made of an id; format the column "
            "as text and enter the id again."
        )
        raise InputError(problem, source=label, line=row.line, code="invalid-id")
    return unguarded(cell)


def _batch(row: CsvRow, label: str) -> int:
    cell = row.cells.get("batch")
    if cell in (None, ""):
        return 1
    try:
        return int(str(cell))
    except ValueError:
        problem = f"batch '{cell}' is not a whole number."
        raise InputError(problem, source=label, line=row.line, code="not-a-whole-number") from None


def _chance(row: CsvRow, label: str) -> float:
    cell = row.cells.get("inclusion")
    if cell in (None, ""):
        return 1.0
    try:
        chance = float(str(cell))
    except ValueError:
        chance = 0.0
    if not 0 < chance <= 1:
        problem = f"inclusion '{cell}' is no probability above 0 and at most 1."
        raise InputError(problem, source=label, line=row.line, code="not-a-number")
    return chance

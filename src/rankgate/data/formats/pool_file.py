"""Pool files: documents to judge."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import polars as pl
import polars.selectors as cs

from rankgate.core.errors import DuplicateError, InputError
from rankgate.core.present.columns import Column, Columns
from rankgate.core.present.common_columns import DOC_ID, QUERY_ID
from rankgate.core.present.csv_form import unguard_cell
from rankgate.data.foreign_frames import is_frame, polars_frame
from rankgate.data.formats import registry
from rankgate.data.streams.source import open_source
from rankgate.data.text import spreadsheet_cells

if TYPE_CHECKING:
    from pathlib import Path

    from rankgate.data.text.spreadsheet_cells import Cells, CsvRow

SCHEMA = Columns(
    "One row per document of a pool that is read.",
    QUERY_ID,
    DOC_ID,
    Column("batch", pl.Int64, "the number of the batch; a file without batches is one batch"),
    Column("stratum", pl.String, "the stratum that it was drawn from"),
    Column("inclusion", pl.Float64, "the probability that it was drawn; 1 for a document without one"),
)

_NAMES = {
    "query_id": ("query_id", "query", "qid", "topic"),
    "doc_id": ("doc_id", "document", "docid", "docno"),
}


def read_pool(pool: Any) -> pl.DataFrame:
    """Read the documents to judge, in the order of the file.

    Args:
        pool: a CSV or XLSX file, or another table, with columns query and document, as
            ``rankgate pool`` and ``rankgate holes --format pool`` write; or a frame with
            ``query_id`` and ``doc_id``.

    Raises:
        InputError: the columns are missing, or an id is empty; the message has the line.
        DuplicateError: a document appears twice for one query.
    """
    if is_frame(pool):
        frame = polars_frame(pool, "pool")
        defaults = {"batch": pl.lit(1), "stratum": pl.lit(None), "inclusion": pl.lit(1.0)}
        return frame.select(
            (pl.col(name) if name in frame.columns else defaults[name]).cast(dtype).alias(name)
            for name, dtype in SCHEMA.items()
        )
    sheet = read_sheet(pool)
    columns: list[str] = []
    for names in _NAMES.values():
        column = next((name for name in names if name in sheet.names), None)
        if column is None:
            problem = f"no column {names[1]} among {', '.join(sheet.names)[:200]}."
            raise InputError(problem, source=sheet.label, line=1, code="missing-column")
        columns.append(column)
    rows, line_of_pair = [], dict[tuple[str, str], int]()
    for row in sheet.rows:
        query, document = (_read_text(row, column, sheet.label) for column in columns)
        if (line := line_of_pair.setdefault((query, document), row.line)) != row.line:
            problem = f"{document} appears twice for query {query} (line {line}); keep one row."
            raise DuplicateError(problem, source=sheet.label, line=row.line)
        stratum = str(row.cells.get("stratum") or "") or None
        rows.append(
            (query, document, _read_batch(row, sheet.label), stratum, _read_inclusion(row, sheet.label))
        )
    return pl.DataFrame(rows, schema=SCHEMA, orient="row")


_SPREADSHEETS = frozenset({"csv", "tsv", "excel"})


def read_sheet(path: str | Path) -> Cells:
    """The cells of a pool or a sheet of ratings: CSV, XLSX, or a table of any other format.

    A row without a line number has its row number, from 1.

    Raises:
        InputError: the file cannot be read, or is not a table.
    """
    name, plain_path = registry.split_prefix(path)
    if name is None and open_source(plain_path).head(len(spreadsheet_cells.ZIP)) == spreadsheet_cells.ZIP:
        return spreadsheet_cells.read(plain_path)
    input_file, format_ = registry.open_table(path)
    if format_ is None and input_file.head(1) == b"{":
        format_ = registry.find_format("jsonl")
    if format_ is None or format_.name in _SPREADSHEETS:
        return spreadsheet_cells.read(input_file)
    assert format_.table
    frame = format_.table(input_file).frame().collect().with_columns(cs.integer().cast(pl.String))
    names = tuple(name.strip().lower() for name in frame.columns)
    rows = (dict(zip(names, row, strict=True)) for row in frame.iter_rows())
    return spreadsheet_cells.Cells(
        input_file.label,
        names,
        tuple(spreadsheet_cells.CsvRow(line, row) for line, row in enumerate(rows, 1)),
    )


def _read_text(row: CsvRow, name: str, label: str) -> str:
    cell = row.cells.get(name)
    if cell is None or cell == "":
        raise InputError(f"{name} is empty.", source=label, line=row.line, code="empty-value")
    if not isinstance(cell, str):
        problem = (
            f"{name} holds {cell}, which a spreadsheet program made of an id; format the column as text and "
            "enter the id again."
        )
        raise InputError(problem, source=label, line=row.line, code="invalid-id")
    return unguard_cell(cell)


def _read_batch(row: CsvRow, label: str) -> int:
    cell = row.cells.get("batch")
    if cell in (None, ""):
        return 1
    try:
        return int(str(cell))
    except ValueError:
        problem = f"batch '{cell}' is not a whole number."
        raise InputError(problem, source=label, line=row.line, code="not-a-whole-number") from None


def _read_inclusion(row: CsvRow, label: str) -> float:
    cell = row.cells.get("inclusion")
    if cell in (None, ""):
        return 1.0
    try:
        inclusion = float(str(cell))
    except ValueError:
        inclusion = 0.0
    if not 0 < inclusion <= 1:
        problem = f"inclusion '{cell}' is not a probability above 0 and at most 1."
        raise InputError(problem, source=label, line=row.line, code="not-a-number")
    return inclusion

"""Workbooks of Excel: ``FILE:SHEET``, or the only sheet of the file."""

from __future__ import annotations

import io
from contextlib import closing
from typing import TYPE_CHECKING, Any

from rankgate.core.errors import InputError, RankgateError
from rankgate.data.formats.tables.other_tables import choose_table, table_format, typed_frame

if TYPE_CHECKING:
    import polars as pl

    from rankgate.data.streams.source import InputFile


ZIP = b"PK\x03\x04"
WORKBOOK = b"xl/"
"""The beginning of names in an Excel workbook, which is a zip archive."""

_MAX_CELLS = 20_000_000  # of a sheet, as Python keeps each of them


def sniff(first_bytes: bytes, name: str) -> str | None:
    """A zip archive that holds xl/workbook.xml."""
    return (
        "a zip archive with xl/"
        if first_bytes.startswith(ZIP) and WORKBOOK in first_bytes
        else None
    )


def read_sheet(source: InputFile) -> pl.DataFrame:
    """The rows of a sheet under the names in its first row.

    Raises:
        InputError: no such sheet, several that are filled and none is named, no names in the first
            row, a damaged file.
    """
    import openpyxl  # here only: a slow import

    try:
        book = openpyxl.load_workbook(
            io.BytesIO(source.everything()), read_only=True, data_only=True
        )
        with closing(book):
            rows = _filled_rows(book, source)
    except RankgateError:
        raise
    except Exception as error:  # noqa: BLE001 - openpyxl raises anything over a damaged file
        problem = f"cannot be read as a workbook: {error}."
        raise InputError(problem, source=source.label, code="damaged-file") from None
    if not rows:
        raise InputError("the sheet is empty.", source=source.label, code="empty-file")
    names = ["" if cell is None else str(cell).strip() for cell in rows[0]]
    while names and not names[-1]:
        names.pop()
    if "" in names or len({*names}) < len(names):
        problem = "the first row lacks the name of a column, or has one twice; name each column."
        raise InputError(problem, source=source.label, line=1, code="duplicate-column")
    width = len(names)
    cells = [(*row[:width], *(None,) * (width - len(row))) for row in rows[1:]]
    return typed_frame(names, cells)


def _filled_rows(book: Any, source: InputFile) -> list[tuple[Any, ...]]:
    """The filled rows of the sheet named in the path, or of the only filled sheet."""
    sheets = {worksheet.title: worksheet for worksheet in book.worksheets}
    filled_names = [
        name
        for name, worksheet in sheets.items()
        if source.table or any(map(_is_filled, worksheet.iter_rows(values_only=True)))
    ]
    rows: list[tuple[Any, ...]] = []
    cells = 0
    for row in sheets[choose_table(filled_names, source, "sheet")].iter_rows(values_only=True):
        if _is_filled(row):
            rows.append(row)
        cells += len(row)
        if cells > _MAX_CELLS:
            problem = f"more than {_MAX_CELLS:,} cells; save the sheet as CSV."
            raise InputError(problem, source=source.label, code="too-large")
    return rows


def _is_filled(row: tuple[Any, ...]) -> bool:
    return any(cell is not None for cell in row)


FORMAT = table_format(
    "excel",
    "Workbooks of Excel",
    (".xlsx", ".xlsm"),
    sniff,
    read_sheet,
    "FILE:SHEET is a sheet, FILE the only one that is filled; its first row names the columns, "
    "which are as of csv. Of formulas the values that Excel saved are read.",
)

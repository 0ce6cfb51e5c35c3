"""Spreadsheets as rows of cells, each with its line: CSV as text, XLSX as the program left it."""

from __future__ import annotations

import csv
import io
from collections.abc import Mapping, Sequence
from datetime import date, datetime, time
from pathlib import Path
from typing import TYPE_CHECKING, BinaryIO

from rankgate.core.errors import InputError
from rankgate.core.frozen import dataclass
from rankgate.data.streams.source import source

if TYPE_CHECKING:
    from rankgate.data.streams.source import InputFile

Cell = str | float | bool | datetime | date | time | None
"""What a cell holds; of a CSV file always text."""

_ZIP = b"PK\x03\x04"
_SEPARATORS = ",;\t"
_LONGEST = 32_000  # letters of a cell of XLSX; beyond 32,767 it would be left out
_LIST = 255  # letters of a list to choose from


@dataclass(frozen=True)
class CsvRow:
    """One row: its line (1 is the header's) and its cells by the names of their columns."""

    line: int
    cells: Mapping[str, Cell]


@dataclass(frozen=True)
class Cells:
    """A sheet: what to call it, the names of its columns in lower case, and its rows."""

    label: str
    names: tuple[str, ...]
    rows: tuple[CsvRow, ...]


def read(path: str | Path) -> Cells:
    """The cells of a CSV or XLSX file; which it is, is seen in its first bytes.

    Empty rows are passed over. XLSX is read from its first sheet.

    Raises:
        InputError: a file that cannot be read as either, two columns of one name, a row with
            more cells than the header.
    """
    place = source(path)
    data = place.everything()
    lines = _of_xlsx(data, place) if data.startswith(_ZIP) else csv_rows(data, place)
    head = next(iter(lines), None)
    if head is None:
        raise InputError(
            "the sheet is empty; see whether it was saved.", source=place.label, code="empty-file"
        )
    names = tuple("" if cell is None else str(cell).strip().lower() for cell in head[1])
    twins = [name for i, name in enumerate(names) if name and name in names[:i]]
    if twins:
        problem = f"two columns are called '{twins[0]}'; rename one of them."
        raise InputError(problem, source=place.label, line=head[0], code="duplicate-column")
    rows = [
        CsvRow(line, _named(names, cells, place, line))
        for line, cells in lines[1:]
        if any(cell not in (None, "") for cell in cells)
    ]
    return Cells(place.label, names, tuple(rows))


def _named(
    names: tuple[str, ...], cells: Sequence[Cell], place: InputFile, line: int
) -> dict[str, Cell]:
    if any(cell not in (None, "") for cell in cells[len(names) :]):
        problem = f"{len(cells)} cells under {len(names)} columns; was a comma typed unquoted?"
        raise InputError(problem, source=place.label, line=line, code="wrong-field-count")
    return {name: cell for name, cell in zip(names, cells, strict=False) if name}


def csv_rows(data: bytes, place: InputFile) -> list[tuple[int, Sequence[str]]]:
    """All rows of CSV, the header too, with the line that each begins on.

    Raises:
        InputError: bytes that are not UTF-8, a stray quote, a field that is too long.
    """
    try:
        text = data.decode("utf-8-sig")
    except UnicodeDecodeError as error:
        problem = "it is not UTF-8; save it as 'CSV UTF-8'."
        line = data[: error.start].count(b"\n") + 1
        raise InputError(problem, source=place.label, line=line, code="not-utf8") from None
    first = text.split("\n", 1)[0]
    separator = max(_SEPARATORS, key=first.count)
    reader = csv.reader(io.StringIO(text, newline=""), delimiter=separator, strict=True)
    result, begin = list[tuple[int, "Sequence[str]"]](), 1
    try:
        for cells in reader:
            result.append((begin, cells))
            begin = reader.line_num + 1
    except csv.Error as error:
        problem = f"it cannot be read as CSV ({error}); look for a stray quote."
        raise InputError(problem, source=place.label, line=begin, code="invalid-syntax") from None
    return result


def _of_xlsx(data: bytes, place: InputFile) -> list[tuple[int, Sequence[Cell]]]:
    from openpyxl import load_workbook

    try:
        book = load_workbook(io.BytesIO(data), read_only=True, data_only=True)
        rows = list(book.worksheets[0].iter_rows(values_only=True))
    except Exception as error:  # noqa: BLE001 - a damaged file fails in many ways
        problem = f"it cannot be read as XLSX ({type(error).__name__}); save it again."
        raise InputError(problem, source=place.label, code="invalid-syntax") from None
    return [(line, cells) for line, cells in enumerate(rows, 1)]


def write_csv(head: Sequence[str], rows: Sequence[Sequence[str]], out: BinaryIO) -> None:
    """CSV in UTF-8 with a byte order mark, by which spreadsheet programs know UTF-8."""
    text = io.StringIO()
    writer = csv.writer(text, lineterminator="\r\n")
    writer.writerow(head)
    writer.writerows(rows)
    out.write(text.getvalue().encode("utf-8-sig"))


def write_xlsx(
    head: Sequence[str],
    rows: Sequence[Sequence[str]],
    out: BinaryIO,
    *,
    choices: Mapping[str, Sequence[str]],
) -> None:
    """XLSX in which every cell is text, so that no program makes a date or a number of an id.

    Args:
        head: the names of the columns.
        rows: their cells.
        out: where to.
        choices: columns whose cells are chosen from a list.

    Texts that are longer than a cell may be are cut, with a sign at their end.
    """
    from xlsxwriter import Workbook

    book = Workbook(
        out,
        {
            "in_memory": True,
            "strings_to_formulas": False,
            "strings_to_numbers": False,
            "strings_to_urls": False,
        },
    )
    book.set_properties({"created": datetime(2000, 1, 1)})  # noqa: DTZ001 - the same bytes always
    page = book.add_worksheet("ratings")
    text, bold = book.add_format({"num_format": "@"}), book.add_format({"bold": True})
    for column, name in enumerate(head):
        longest = max([len(name), *(len(row[column]) for row in rows)])
        page.set_column(column, column, min(max(longest, 8), 60) + 1, text)
        page.write_string(0, column, name, bold)
        if name in choices and rows and len(",".join(choices[name])) <= _LIST:
            page.data_validation(
                1,
                column,
                len(rows),
                column,
                {
                    "validate": "list",
                    "source": list(choices[name]),
                    "error_type": "stop",
                    "error_message": f"one of {', '.join(choices[name])}, or leave it empty"[:255],
                },
            )
    for i, row in enumerate(rows, 1):
        for column, cell in enumerate(row):
            shown = f"{cell[:_LONGEST]} […]" if len(cell) > _LONGEST else cell
            page.write_string(i, column, shown, text)
    page.freeze_panes(1, 0)
    book.close()

"""Spreadsheets as rows of cells with line numbers: CSV as text, XLSX as the program saved it."""

from __future__ import annotations

import csv
import io
import re
import zipfile
from collections.abc import Iterable, Iterator, Mapping, Sequence
from datetime import date, datetime, time
from pathlib import Path
from typing import TYPE_CHECKING, Any, BinaryIO

from rankgate.core.errors import InputError, require
from rankgate.core.frozen import dataclass
from rankgate.core.present.number_formats import count_noun
from rankgate.data.streams.source import open_source

if TYPE_CHECKING:
    from rankgate.data.streams.source import InputFile


Cell = str | float | bool | datetime | date | time | None
"""The types of a spreadsheet cell; a CSV cell is always text."""

ZIP = b"PK\x03\x04"
_SEPARATORS = ",;\t"
_MAX_CELL_LENGTH = 32_000  # letters in a cell; XLSX drops cells of more than 32,767
_MAX_LIST_LENGTH = 255  # letters in a list of choices


@dataclass(frozen=True)
class CsvRow:
    """One row: its line (1 is the header's) and its cells by the names of their columns."""

    line: int
    cells: Mapping[str, Cell]


@dataclass(frozen=True)
class Cells:
    """A sheet: its label, the names of its columns in lower case, and its rows."""

    label: str
    names: tuple[str, ...]
    rows: tuple[CsvRow, ...]


def read(path: str | Path | InputFile) -> Cells:
    """The cells of a CSV or XLSX file; its first bytes distinguish the two.

    Empty rows are skipped. XLSX is read from its first sheet, or the one in ``FILE:SHEET``.

    Raises:
        InputError: a file that cannot be read as either, no such sheet, two columns of one name, a
            row with more cells than the header.
    """
    input_file = open_source(path) if isinstance(path, str | Path) else path
    data = input_file.everything()
    lines = read_xlsx_rows(data, input_file) if data.startswith(ZIP) else read_csv_rows(data, input_file)
    header = next(iter(lines), None)
    if header is None:
        raise InputError(
            "the sheet is empty; check whether it was saved.", source=input_file.label, code="empty-file"
        )
    names = tuple("" if cell is None else str(cell).strip().lower() for cell in header[1])
    repeated_names = [name for i, name in enumerate(names) if name and name in names[:i]]
    if repeated_names:
        problem = f"two columns are called '{repeated_names[0]}'; rename one of them."
        raise InputError(problem, source=input_file.label, line=header[0], code="duplicate-column")
    rows = [
        CsvRow(line, cells_by_name(names, cells, input_file, line))
        for line, cells in lines[1:]
        if any(cell is not None and str(cell).strip() for cell in cells)
    ]
    return Cells(input_file.label, names, tuple(rows))


def cells_by_name(
    names: tuple[str, ...], cells: Sequence[Cell], input_file: InputFile, line: int
) -> dict[str, Cell]:
    """The cells of a row by column name."""
    if any(cell not in (None, "") for cell in cells[len(names) :]):
        problem = (
            f"{count_noun(len(cells), 'cell')} under {count_noun(len(names), 'column')}; was a comma typed "
            "unquoted?"
        )
        raise InputError(problem, source=input_file.label, line=line, code="wrong-field-count")
    return {name: cell for name, cell in zip(names, cells, strict=False) if name}


def read_csv_rows(data: bytes, input_file: InputFile) -> list[tuple[int, Sequence[str]]]:
    """All rows of CSV, including the header, with the line where each row begins.

    Raises:
        InputError: bytes are not UTF-8, a quote is misplaced, or a field is too long.
    """
    try:
        text = data.decode("utf-8-sig")
    except UnicodeDecodeError as error:
        problem = "it is not UTF-8; save it as 'CSV UTF-8'."
        line = data[: error.start].count(b"\n") + 1
        raise InputError(problem, source=input_file.label, line=line, code="not-utf8") from None
    separator = max(_SEPARATORS, key=text.partition("\n")[0].count)
    return list(number_rows(text, separator, input_file.label, strict=True))


def number_rows(
    text: str, separator: str, label: str, *, strict: bool = False
) -> Iterator[tuple[int, Sequence[str]]]:
    """The rows of separated fields, including the header, with the line where each row begins.

    Rows may have different numbers of cells.

    Args:
        text: the text of a file or of a form.
        separator: the text between fields.
        label: its name in errors.
        strict: True to refuse quotes in the middle of a field.

    Raises:
        InputError: a quote is misplaced, or a field is too long.
    """
    reader = csv.reader(io.StringIO(text, newline=""), delimiter=separator, strict=strict)
    line = 1
    try:
        for cells in reader:
            yield line, cells
            line = reader.line_num + 1
    except csv.Error as error:
        problem = f"it cannot be read as CSV ({error}); look for a stray quote."
        raise InputError(problem, source=label, line=line, code="invalid-syntax") from None


def require_width(
    numbered_rows: Iterable[tuple[int, Sequence[str]]], width: int, label: str
) -> Iterator[tuple[int, Sequence[str]]]:
    """The rows that are not empty.

    Raises:
        InputError: a row is longer or shorter than the header.
    """
    for line, cells in numbered_rows:
        if not any(map(str.strip, cells)):
            continue
        if len(cells) != width:
            problem = f"{count_noun(len(cells), 'field')}, expected {width} as in the first line."
            raise InputError(problem, source=label, line=line, code="wrong-field-count")
        yield line, cells


def read_xlsx_rows(data: bytes, input_file: InputFile) -> list[tuple[int, Sequence[Cell]]]:
    """Rows of an Excel sheet, with their numbers."""
    from openpyxl import load_workbook

    try:
        book = load_workbook(io.BytesIO(data), read_only=True, data_only=True)
        sheet = find_sheet(book, input_file)
        rows = list(sheet.iter_rows(values_only=True))
        refuse_unsaved_formulas(data, sheet, input_file)
    except InputError:
        raise
    except Exception as error:  # noqa: BLE001 - a damaged file fails in many ways
        problem = f"it cannot be read as XLSX ({type(error).__name__}); save it again."
        raise InputError(problem, source=input_file.label, code="invalid-syntax") from None
    return [(line, cells) for line, cells in enumerate(rows, 1)]


# a stored text may be empty, as of ="", and then the cell has the type str
_UNSAVED_FORMULA = re.compile(
    rb'<c r="(?P<cell>[A-Z]+[0-9]+)"(?![^>]* t="str")[^>]*>'
    rb"<f(?:[^>]*/>|[^>]*>[^<]*</f>)(?:<v ?/>|<v></v>)?</c>"
)


def refuse_unsaved_formulas(contents: bytes, sheet: Any, input_file: InputFile) -> None:
    """Refuse a sheet with formulas whose values were not saved: their cells would look empty.

    Args:
        contents: the bytes of the workbook.
        sheet: the sheet that openpyxl opened to be read only.
        input_file: the file.

    Raises:
        InputError: a cell has a formula and no value; the message has the cell.
    """
    with zipfile.ZipFile(io.BytesIO(contents)) as archive:
        match = _UNSAVED_FORMULA.search(archive.read(sheet._worksheet_path))  # noqa: SLF001 - nothing else has it
    if match:
        problem = (
            f"cell {match['cell'].decode()} has a formula without a saved value; open the workbook in a "
            "spreadsheet program, and save it."
        )
        raise InputError(problem, source=input_file.label, code="unsaved-formula")


def find_sheet(book: Any, input_file: InputFile) -> Any:
    """The sheet named in a path, or the first sheet.

    Raises:
        InputError: the sheet does not exist.
    """
    if not input_file.table:
        return book.worksheets[0]
    if input_file.table not in book.sheetnames:
        problem = f"no sheet '{input_file.table}' among {', '.join(book.sheetnames)}."
        raise InputError(problem, source=str(input_file.path), code="no-such-table")
    return book[input_file.table]


def write_csv(header: Sequence[str], rows: Sequence[Sequence[str]], out: BinaryIO) -> None:
    """Write CSV in UTF-8 with a byte order mark, which spreadsheet programs need for UTF-8."""
    text = io.StringIO()
    writer = csv.writer(text, lineterminator="\r\n")
    writer.writerow(header)
    writer.writerows(rows)
    out.write(text.getvalue().encode("utf-8-sig"))


def write_xlsx(
    header: Sequence[str],
    rows: Sequence[Sequence[str]],
    out: BinaryIO,
    *,
    choices: Mapping[str, Sequence[str]],
) -> None:
    """Write XLSX with every cell as text, so that no program converts ids to dates or numbers.

    Args:
        header: the names of the columns.
        rows: their cells.
        out: the output stream.
        choices: columns whose cells are chosen from a list.

    Texts longer than the limit of a cell are cut, with a mark at the end.
    """
    require("Excel files are written by XlsxWriter", "xlsxwriter")
    from xlsxwriter import Workbook

    content = io.BytesIO()  # a book that cannot be saved seeks in its output when it is deleted
    book = Workbook(
        content,
        {
            "in_memory": True,
            "strings_to_formulas": False,
            "strings_to_numbers": False,
            "strings_to_urls": False,
        },
    )
    book.set_properties({"created": datetime(2000, 1, 1)})  # noqa: DTZ001 - the same bytes always
    page = book.add_worksheet("ratings")
    text_format, bold_format = book.add_format({"num_format": "@"}), book.add_format({"bold": True})
    for column, name in enumerate(header):
        width = max([len(name), *(len(row[column]) for row in rows)])
        page.set_column(column, column, min(max(width, 8), 60) + 1, text_format)
        page.write_string(0, column, name, bold_format)
        if name in choices and rows and len(",".join(choices[name])) <= _MAX_LIST_LENGTH:
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
    for row_number, row in enumerate(rows, 1):
        for column, cell in enumerate(row):
            cell_text = f"{cell[:_MAX_CELL_LENGTH]} […]" if len(cell) > _MAX_CELL_LENGTH else cell
            page.write_string(row_number, column, cell_text, text_format)
    page.freeze_panes(1, 0)
    book.close()
    out.write(content.getvalue())

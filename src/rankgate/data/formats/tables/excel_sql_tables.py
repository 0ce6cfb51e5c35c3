"""Tables in files of other programs: Excel, SQLite and DuckDB.

Rows are read completely, then treated as rows of Arrow. Excel workbooks are ``FILE:SHEET``, or the
only sheet of the file; databases of SQLite and DuckDB are ``FILE:TABLE``, or the only table of the
file.
"""

from __future__ import annotations

import io
import sqlite3
import tempfile
from collections.abc import Callable, Iterator, Sequence
from contextlib import closing, contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Any

import polars as pl

from rankgate.core.errors import InputError, RankgateError, require
from rankgate.data.formats.tables.parquet_arrow import FrameTable
from rankgate.data.formats.tables.table_contents import table_format
from rankgate.data.text.json_text import find_key_paths, read_document
from rankgate.data.text.spreadsheet_cells import refuse_unsaved_formulas

if TYPE_CHECKING:
    from rankgate.core.value_types import JsonObject
    from rankgate.data.formats.format import Format
    from rankgate.data.streams.source import InputFile


Sniff = Callable[[bytes, str], str | None]


def _converted_format(
    name: str,
    title: str,
    suffixes: tuple[str, ...],
    sniff: Sniff,
    read_frame: Callable[[InputFile], pl.DataFrame],
    detail: str,
) -> Format:
    """The format of files that a function converts to a frame."""
    return table_format(
        lambda source: FrameTable(source, read_frame(source).lazy()),
        name=name,
        title=title,
        suffixes=suffixes,
        sniff=sniff,
        detail=detail,
    )


def typed_frame(names: Sequence[str], rows: Sequence[Sequence[object]]) -> pl.DataFrame:
    """A table from rows of Python values: columns of numbers, of lists or objects, others are text.

    Empty text is null, like an empty cell of CSV.
    """
    columns = zip(*rows, strict=True) if rows else ([] for _ in names)
    return pl.DataFrame(
        [_make_series(name, list(values)) for name, values in zip(names, columns, strict=True)]
    )


def _make_series(name: str, values: list[Any]) -> pl.Series:
    filled_values = [cell for cell in values if cell is not None and cell != ""]
    if filled_values and all(isinstance(cell, list | dict) for cell in filled_values):
        return pl.Series(name, values, strict=False)
    if filled_values and all(
        isinstance(number, int | float) and type(number) is not bool for number in filled_values
    ):
        is_whole = all(isinstance(number, int) or number.is_integer() for number in filled_values)
        number_cells = [None if cell == "" else cell for cell in values]
        if is_whole and all(abs(number) < 1 << 53 for number in filled_values):
            return pl.Series(
                name, [None if number is None else int(number) for number in number_cells], pl.Int64
            )
        return pl.Series(name, number_cells, pl.Float64, strict=False)
    return pl.Series(name, [_format_text(cell) for cell in values], pl.String)


def _format_text(value: object) -> str | None:
    """A value of a table as text; whole numbers have no decimal point."""
    if value is None or value == "":
        return None
    if isinstance(value, float) and value.is_integer():
        return str(int(value))
    return value.decode(errors="replace") if isinstance(value, bytes) else str(value)


def choose_table(names: Sequence[str], source: InputFile, noun: str) -> str:
    """The table named in a path, or the only table.

    Args:
        names: all tables.
        source: the file.
        noun: the word for a table in errors.

    Raises:
        InputError: there is no sheet, none with this name, or several; the message has paths to
            copy.
    """
    if source.table in names:
        return source.table
    paths = tuple(f"{source.path}:{name}" for name in names)
    if source.table:
        name_list = ", ".join(names[:10]) or "nothing"
        problem = f"no {noun} '{source.table}' among {name_list}."
        raise InputError(problem, source=str(source.path), code="no-such-table")
    if len(names) != 1:
        problem = f"{len(names)} {noun}s, where one is read" + ("; name one:" if names else ".")
        raise InputError(problem, source=source.label, code="several-candidates", suggestions=paths[:20])
    return names[0]


def _sniff_json(first_bytes: bytes, name: str) -> str | None:
    """An array of objects, or an object with columns and rows of data."""
    if first_bytes.lstrip().startswith(b"["):
        keys = {path.removeprefix("[].") for path in find_key_paths(first_bytes) if path.startswith("[].")}
        is_table = len(keys) > 1 and not any("." in key or "[" in key for key in keys)
        return "an array of objects with plain values" if is_table else None
    if {"columns", "data"} <= find_key_paths(first_bytes):
        return "an object with columns and data"
    return None


def json_table(source: InputFile) -> pl.DataFrame:
    """The rows of an array of objects, or of an object with columns and data.

    Raises:
        InputError: the value is neither of these, or a row has another length.
    """
    value = read_document(source)
    if isinstance(value, dict) and isinstance(value.get("columns"), list):
        names, data = [str(name) for name in value["columns"]], value.get("data")
        if isinstance(data, list) and all(isinstance(row, list) and len(row) == len(names) for row in data):
            return _make_frame([dict(zip(names, row, strict=True)) for row in data], source)
    elif isinstance(value, list) and all(isinstance(row, dict) for row in value):
        return _make_frame(value, source)
    problem = "JSON that is not a table: an array of objects, or columns and data of equal lengths."
    raise InputError(problem, source=source.label, code="wrong-type")


def _make_frame(rows: Sequence[JsonObject], source: InputFile) -> pl.DataFrame:
    try:
        return pl.DataFrame(rows, infer_schema_length=None)
    except (TypeError, OverflowError, pl.exceptions.PolarsError) as error:
        problem = f"a column mixes types: {str(error).splitlines()[0]}; use one type."
        raise InputError(problem, source=source.label, code="wrong-type") from None


JSON_TABLE_FORMAT = _converted_format(
    "json-table",
    "Rows in one JSON array, or columns and data (pandas, Weights & Biases)",
    (".json", ".table.json"),
    _sniff_json,
    json_table,
    "An array of objects with plain values, as pandas writes with orient='records', or an object with "
    "columns and data, as tables of Weights & Biases and orient='split' have. Columns as of csv.",
)


ZIP = b"PK\x03\x04"
WORKBOOK = b"xl/"
"""The beginning of names in an Excel workbook, which is a zip archive."""

_MAX_CELLS = 20_000_000  # cells of a sheet, because Python keeps each cell as an object


def sniff_excel(first_bytes: bytes, name: str) -> str | None:
    """A zip archive that holds xl/workbook.xml."""
    return "a zip archive with xl/" if first_bytes.startswith(ZIP) and WORKBOOK in first_bytes else None


def read_sheet(source: InputFile) -> pl.DataFrame:
    """The rows of a sheet under the names in its first row.

    Raises:
        InputError: the sheet does not exist, several sheets are filled and none is named, the first
            row has no names, or the file is damaged.
    """
    import openpyxl  # imported here, because it is slow

    try:
        contents = source.everything()
        book = openpyxl.load_workbook(io.BytesIO(contents), read_only=True, data_only=True)
        with closing(book):
            rows, sheet = _filled_rows(book, source)
        refuse_unsaved_formulas(contents, sheet, source)
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


def _filled_rows(book: Any, source: InputFile) -> tuple[list[tuple[Any, ...]], Any]:
    """The filled rows of the sheet named in the path, or of the only filled sheet; and the sheet."""
    sheets = {worksheet.title: worksheet for worksheet in book.worksheets}
    filled_names = [
        name
        for name, worksheet in sheets.items()
        if source.table or any(map(_is_filled, worksheet.iter_rows(values_only=True)))
    ]
    rows: list[tuple[Any, ...]] = []
    cells = 0
    sheet = sheets[choose_table(filled_names, source, "sheet")]
    for row in sheet.iter_rows(values_only=True):
        if _is_filled(row):
            rows.append(row)
        cells += len(row)
        if cells > _MAX_CELLS:
            problem = f"more than {_MAX_CELLS:,} cells; save the sheet as CSV."
            raise InputError(problem, source=source.label, code="too-large")
    return rows, sheet


def _is_filled(row: tuple[object, ...]) -> bool:
    return any(cell is not None and str(cell).strip() for cell in row)


EXCEL_FORMAT = _converted_format(
    "excel",
    "Workbooks of Excel",
    (".xlsx", ".xlsm"),
    sniff_excel,
    read_sheet,
    "FILE:SHEET is a sheet, FILE the only one that is filled; its first row names the columns, which are as "
    "of csv. For formulas, the values saved by Excel are read.",
)


_SQLITE = b"SQLite format 3\x00"
_DUCKDB, _AT = b"DUCK", 8
_SQLITE_NAMES_QUERY = (
    "SELECT name FROM sqlite_master WHERE type IN ('table', 'view') AND name NOT LIKE 'sqlite_%'"
)
_DUCKDB_NAMES_QUERY = (
    "SELECT table_name FROM information_schema.tables WHERE table_schema = 'main' ORDER BY 1"
)


def sniff_sqlite(first_bytes: bytes, name: str) -> str | None:
    """The file begins with SQLite format 3."""
    return "it begins with SQLite format 3" if first_bytes.startswith(_SQLITE) else None


def sniff_duckdb(first_bytes: bytes, name: str) -> str | None:
    """DUCK is at byte 8 of the file."""
    return "DUCK is at its byte 8" if first_bytes[_AT : _AT + len(_DUCKDB)] == _DUCKDB else None


def sqlite_table(source: InputFile) -> pl.DataFrame:
    """The rows of a table or view of SQLite.

    Raises:
        InputError: the table does not exist, there are several and none is named, or the file is
            damaged.
    """
    with (
        _translate_errors(source, sqlite3.Error, UnicodeDecodeError),
        closing(_open_sqlite(source)) as connection,
    ):
        names = [name for (name,) in connection.execute(_SQLITE_NAMES_QUERY)]
        cursor = connection.execute(_select_all(choose_table(names, source, "table")))
        return typed_frame([column[0] for column in cursor.description], cursor.fetchall())


def _open_sqlite(source: InputFile) -> sqlite3.Connection:
    """Open the database read-only; a compressed database is opened in memory."""
    is_plain_file = source.content is None and source.path is not None
    if is_plain_file and source.path:
        with source.path.open("rb") as stream:
            is_plain_file = stream.read(len(_SQLITE)) == _SQLITE
    if is_plain_file and source.path:
        return sqlite3.connect(f"{source.path.absolute().as_uri()}?mode=ro", uri=True)
    connection = sqlite3.connect(":memory:")
    if data := source.everything():
        connection.deserialize(data)
    return connection


def duckdb_table(source: InputFile) -> pl.DataFrame:
    """The rows of a table or view of DuckDB.

    Raises:
        InputError: the table does not exist, there are several and none is named, or the file is
            damaged.
        MissingExtraError: DuckDB is not installed.
    """
    require("files of DuckDB need DuckDB", "duckdb")
    import duckdb

    with _path_on_disk(source) as path, _translate_errors(source, duckdb.Error):
        connection: Any = duckdb.connect(path, read_only=True)
        with closing(connection):
            names = [name for (name,) in connection.execute(_DUCKDB_NAMES_QUERY).fetchall()]
            statement = _select_all(choose_table(names, source, "table"))
            columns = connection.execute(f"DESCRIBE {statement}").fetchall()
            # Python values of times with a zone would need pytz
            texts = ", ".join(
                f"strftime(timezone('UTC', {quoted}), '%Y-%m-%dT%H:%M:%S.%fZ') AS {quoted}"
                for name, kind, *_ in columns
                if kind == "TIMESTAMP WITH TIME ZONE" and (quoted := _quote(name))
            )
            rows = connection.execute(
                statement.replace("*", f"* REPLACE ({texts})", 1) if texts else statement
            )
            return typed_frame([column[0] for column in rows.description], rows.fetchall())


@contextmanager
def _path_on_disk(source: InputFile) -> Iterator[str]:
    """The path of a file; standard input and compressed files are copied to a temporary file."""
    if source.content is None and source.path is not None:
        with source.raw() as stream:
            if sniff_duckdb(stream.read(1 << 6), ""):
                yield str(source.path)
                return
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "unpacked.duckdb"
        path.write_bytes(source.everything())
        yield str(path)


@contextmanager
def _translate_errors(source: InputFile, *kinds: type[Exception]) -> Iterator[None]:
    """Convert an error of the database to an error of rankgate."""
    try:
        yield
    except kinds as error:
        message = str(error).splitlines()[0] if str(error) else type(error).__name__
        problem = f"cannot be read as a database: {message}."
        raise InputError(problem, source=source.label, code="damaged-file") from None


def _select_all(table: str) -> str:
    """The statement that selects all rows of an existing table, with quotes in its name doubled."""
    return f"SELECT * FROM {_quote(table)}"  # noqa: S608 - the name is one of the file's own


def _quote(name: str) -> str:
    doubled = name.replace('"', '""')
    return f'"{doubled}"'


_DETAIL = (
    "FILE:TABLE is a table or view of the file, FILE the only one. Columns as of csv. Rows are read whole; "
    "nothing is written."
)
SQLITE = _converted_format(
    "sqlite", "Tables of SQLite", (".db", ".sqlite", ".sqlite3"), sniff_sqlite, sqlite_table, _DETAIL
)
DUCKDB = _converted_format(
    "duckdb", "Tables of DuckDB", (".duckdb", ".db"), sniff_duckdb, duckdb_table, _DETAIL
)

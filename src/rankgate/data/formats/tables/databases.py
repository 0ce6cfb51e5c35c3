"""Tables in files of SQLite and DuckDB: ``FILE:TABLE``, or the only table of the file."""

from __future__ import annotations

import sqlite3
import tempfile
from collections.abc import Iterator
from contextlib import closing, contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Any

from rankgate.core.errors import InputError
from rankgate.core.extras import require
from rankgate.data.formats.tables.other_tables import choose_table, table_format, typed_frame

if TYPE_CHECKING:
    import polars as pl

    from rankgate.data.streams.source import InputFile

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
        InputError: no such table, several and none is named, a damaged file.
    """
    with (
        _translate_errors(source, sqlite3.Error, UnicodeDecodeError),
        closing(_open_sqlite(source)) as connection,
    ):
        names = [name for (name,) in connection.execute(_SQLITE_NAMES_QUERY)]
        cursor = connection.execute(_select_all(choose_table(names, source, "table")))
        return typed_frame([column[0] for column in cursor.description], cursor.fetchall())


def _open_sqlite(source: InputFile) -> sqlite3.Connection:
    """Open the database read-only; a compressed one is opened in memory."""
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
        InputError: no such table, several and none is named, a damaged file.
        MissingExtraError: DuckDB is not installed.
    """
    require("files of DuckDB need DuckDB", "duckdb")
    import duckdb

    with _path_on_disk(source) as path, _translate_errors(source, duckdb.Error):
        connection: Any = duckdb.connect(path, read_only=True)
        with closing(connection):
            names = [name for (name,) in connection.execute(_DUCKDB_NAMES_QUERY).fetchall()]
            rows = connection.execute(_select_all(choose_table(names, source, "table")))
            return typed_frame([column[0] for column in rows.description], rows.fetchall())


@contextmanager
def _path_on_disk(source: InputFile) -> Iterator[str]:
    """The path of a file; standard input and packed files are written to a temporary one."""
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
    """Turn an error of the database into ours."""
    try:
        yield
    except kinds as error:
        message = str(error).splitlines()[0] if str(error) else type(error).__name__
        problem = f"cannot be read as a database: {message}."
        raise InputError(problem, source=source.label, code="damaged-file") from None


def _select_all(table: str) -> str:
    """The statement for all rows of an existing table; quotes of its name are doubled."""
    quoted = table.replace('"', '""')
    return f'SELECT * FROM "{quoted}"'  # noqa: S608 - the name is one of the file's own


_DETAIL = (
    "FILE:TABLE is a table or view of the file, FILE the only one. Columns as of csv. Rows are "
    "read whole; nothing is written."
)
SQLITE = table_format(
    "sqlite",
    "Tables of SQLite",
    (".db", ".sqlite", ".sqlite3"),
    sniff_sqlite,
    sqlite_table,
    _DETAIL,
)
DUCKDB = table_format(
    "duckdb", "Tables of DuckDB", (".duckdb", ".db"), sniff_duckdb, duckdb_table, _DETAIL
)

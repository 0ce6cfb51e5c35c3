"""Tables in files of other programs: rows are read whole, and then as those of Arrow."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING, Any

import polars as pl

from rankgate.core.errors import InputError
from rankgate.data.formats.format import Format
from rankgate.data.formats.tables import arrow, schemas
from rankgate.data.text.json_keys import find_key_paths
from rankgate.data.text.json_text import read_document

if TYPE_CHECKING:
    from rankgate.data.contents import FileContents
    from rankgate.data.qrels import Qrels
    from rankgate.data.rows import FileRows
    from rankgate.data.run import Run
    from rankgate.data.streams.source import InputFile

Sniff = Callable[[bytes, str], str | None]


def table_format(
    name: str,
    title: str,
    suffixes: tuple[str, ...],
    sniff: Sniff,
    table: Callable[[InputFile], pl.DataFrame],
    detail: str,
) -> Format:
    """Make a format of files that a function turns into a table."""

    def as_arrow(source: InputFile) -> InputFile:
        return arrow.file_of(table(source), source)

    def read(source: InputFile) -> FileContents:
        return arrow.read(as_arrow(source))

    def read_qrels(source: InputFile) -> Qrels:
        return arrow.read_qrels(as_arrow(source))

    def read_run(source: InputFile) -> Run:
        return arrow.read_run(as_arrow(source))

    def rows(source: InputFile) -> FileRows | None:
        return arrow.rows(as_arrow(source))

    return Format(
        name=name,
        title=title,
        suffixes=suffixes,
        sniff=sniff,
        read=read,
        read_qrels=read_qrels,
        read_run=read_run,
        rows=rows,
        table=lambda source: table(source).lazy(),
        holds=schemas.HOLDS,
        columns=schemas.COLUMNS,
        detail=detail,
    )


def typed_frame(names: Sequence[str], rows: Sequence[Sequence[Any]]) -> pl.DataFrame:
    """A table of rows of Python's values: columns of numbers alone are numbers, others are text.

    Empty text is null, like an empty cell of CSV.
    """
    columns = zip(*rows, strict=True) if rows else ([] for _ in names)
    return pl.DataFrame(
        [_make_series(name, list(values)) for name, values in zip(names, columns, strict=True)]
    )


def _make_series(name: str, values: list[Any]) -> pl.Series:
    filled_values = [cell for cell in values if cell is not None and cell != ""]
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


def _format_text(value: Any) -> str | None:
    """A value of a table as text; a whole number without a point."""
    if value is None or value == "":
        return None
    if isinstance(value, float) and value.is_integer():
        return str(int(value))
    return value.decode(errors="replace") if isinstance(value, bytes) else str(value)


def choose_table(names: Sequence[str], source: InputFile, noun: str) -> str:
    """The table that a path names, or the only one.

    Args:
        names: all tables.
        source: the file.
        noun: the word for a table in errors.

    Raises:
        InputError: there is none, no such one, or several; with the paths to copy.
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
        raise InputError(
            problem, source=source.label, code="several-candidates", suggestions=paths[:20]
        )
    return names[0]


def _sniff_json(first_bytes: bytes, name: str) -> str | None:
    """An array of objects, or an object with columns and rows of data."""
    if first_bytes.lstrip().startswith(b"["):
        return "an array of objects with plain values" if _rows_begin(first_bytes) else None
    if {"columns", "data"} <= find_key_paths(first_bytes):
        return "an object with columns and data"
    return None


def _rows_begin(first_bytes: bytes) -> bool:
    """True if the first object of an array has only plain values."""
    paths = {path for path in find_key_paths(first_bytes) if path.startswith("[].")}
    return len(paths) > 1 and not any("." in path[3:] or "[" in path[3:] for path in paths)


def json_table(source: InputFile) -> pl.DataFrame:
    """The rows of an array of objects, or of an object with columns and data.

    Raises:
        InputError: neither of these, rows of another length.
    """
    value = read_document(source)
    if isinstance(value, dict) and isinstance(value.get("columns"), list):
        names, data = [str(name) for name in value["columns"]], value.get("data")
        if isinstance(data, list) and all(
            isinstance(row, list) and len(row) == len(names) for row in data
        ):
            return _make_frame([dict(zip(names, row, strict=True)) for row in data], source)
    elif isinstance(value, list) and all(isinstance(row, dict) for row in value):
        return _make_frame(value, source)
    problem = "JSON that is no table: an array of objects, or columns and data of equal lengths."
    raise InputError(problem, source=source.label, code="wrong-type")


def _make_frame(rows: list[dict[str, Any]], source: InputFile) -> pl.DataFrame:
    try:
        return pl.DataFrame(rows, infer_schema_length=None)
    except (TypeError, OverflowError, pl.exceptions.PolarsError) as error:
        problem = f"a column mixes types: {str(error).splitlines()[0]}; write them alike."
        raise InputError(problem, source=source.label, code="wrong-type") from None


FORMAT = table_format(
    "json-table",
    "Rows in one JSON array, or columns and data (pandas, Weights & Biases)",
    (".json", ".table.json"),
    _sniff_json,
    json_table,
    "An array of objects with plain values, as pandas writes with orient='records', or an object "
    "with columns and data, as tables of Weights & Biases and orient='split' have. Columns as of "
    "csv.",
)

"""Read logs of interactions: tables, lists of items by user, and detection of the format.

Tables are read in pieces: separated fields with and without a header, Parquet, JSONL. Lists are
lines of ``user: item item …`` in time order. The last part detects the format of a file and reads
it.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator, Mapping
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np
import polars as pl

from rankgate.core.errors import InputError, UsageError
from rankgate.core.frozen import dataclass
from rankgate.data.foreign_frames import is_frame, polars_frame
from rankgate.data.formats.table import Table, TableSchema
from rankgate.data.formats.tables import parquet_arrow
from rankgate.data.formats.tables.csv_tables import CsvTable
from rankgate.data.formats.tables.jsonl import JsonlTable
from rankgate.data.logs.interactions import UNITS, Interactions, make_interactions, map_columns
from rankgate.data.memory.matrices import is_source, make_source, nonzero_pairs
from rankgate.data.streams.input_parts import PartRows, is_folder, list_part_files, refuse_other_columns
from rankgate.data.streams.source import InputFile, open_source
from rankgate.data.table_rows import RowLocation
from rankgate.data.text import delimited_records
from rankgate.data.text.text_values import BOM, decode_utf8

if TYPE_CHECKING:
    from rankgate.data.logs.interactions import LogLike, Unit

    Rows = tuple[Iterator[pl.DataFrame], RowLocation]


_MOVIELENS = ("query_id", "doc_id", "value", "at")
_NUMBERS = frozenset({"value"})
_NULLABLE = frozenset({"kind", "at"})


def read_delimited(source: InputFile, columns: Mapping[str, str]) -> Rows:
    """Read CSV or TSV with column names in the first line.

    Raises:
        InputError: a column is missing, or a value is not a number; the message has the line.
    """
    return _rows_of_table(CsvTable(source), columns, _NULLABLE)


def read_jsonl(source: InputFile, columns: Mapping[str, str]) -> Rows:
    """Read one object per line.

    Raises:
        InputError: a line is not an object, a column is missing, or a value is not a number.
    """
    return _rows_of_table(JsonlTable(source), columns, _NULLABLE | _NUMBERS)


def _rows_of_table(table: Table, columns: Mapping[str, str], empty: frozenset[str]) -> Rows:
    column_map = map_columns(table.names, columns, table.source.label, table.header_line)
    schema = TableSchema("log", column_map, _NUMBERS & {*column_map}, empty & {*column_map})
    return table.frames(schema), table.location


def read_recbole(source: InputFile, columns: Mapping[str, str]) -> Rows:
    """Read RecBole's atomic file: ``user_id:token``, ``item_id:token`` … separated by tabs.

    Raises:
        InputError: see `read_delimited`.
    """
    header = delimited_records.read_header(source, "\t")
    name_in_file = {name.rpartition(":")[0] or name: name for name in header.names}
    column_map = map_columns(list(name_in_file), columns, source.label, 1)
    return _read_rows(
        source, header, {column: name_in_file[log_column] for column, log_column in column_map.items()}
    )


def read_u_data(source: InputFile, columns: Mapping[str, str]) -> Rows:
    """Read MovieLens 100K: user, item, rating and time separated by tabs, without a header.

    Raises:
        InputError: see `read_delimited`.
    """
    fixed_columns = {name: name for name in _MOVIELENS}
    return _read_rows(source, delimited_records.Header("\t", _MOVIELENS, 0), fixed_columns)


def read_ratings_dat(source: InputFile, columns: Mapping[str, str]) -> Rows:
    """Read MovieLens 1M and 10M: user, item, rating and time separated by double colons.

    Raises:
        InputError: see `read_delimited`.
    """
    user_column, item_column, value_column, time_column = _MOVIELENS
    names = (
        user_column,
        "gap 1",
        item_column,
        "gap 2",
        value_column,
        "gap 3",
        time_column,
    )  # the field between two colons is empty
    return _read_rows(
        source, delimited_records.Header(":", names, 0, doubled=True), {name: name for name in _MOVIELENS}
    )


def read_columnar(source: InputFile, columns: Mapping[str, str]) -> Rows:
    """Read Parquet or Arrow.

    Raises:
        InputError: the file is damaged, or a column is missing.
    """
    frame = parquet_arrow.scan_file(source)
    column_map = map_columns(frame.collect_schema().names(), columns, source.label)
    selected = frame.select(pl.col(log_column).alias(column) for column, log_column in column_map.items())
    return parquet_arrow.collect_batches(selected, source), RowLocation(source.label)


def _read_rows(source: InputFile, header: delimited_records.Header, source_columns: dict[str, str]) -> Rows:
    layout = delimited_records.ColumnChoice(
        header, source_columns, _NUMBERS & {*source_columns}, _NULLABLE & {*source_columns}
    )
    return delimited_records.read_record_frames(source, layout), RowLocation(
        source.label, partial(_line_of_row, source, header)
    )


def _line_of_row(source: InputFile, header: delimited_records.Header, row: int) -> int | None:
    """The line of a row; it is one line earlier in a file without a header."""
    return delimited_records.line_of(source, header, row if header.size else row - 1)


_NOT_BLANK = re.compile(r"\S.*")


def read_user_lists(source: InputFile, columns: Mapping[str, str]) -> Rows:
    """One row per item, in one piece; ``at`` is the item's position in the line, from 1.

    A user may be on several lines; later lines are later in time.

    Raises:
        InputError: a line has no colon, or is not UTF-8 text; the message has the line.
    """
    users: list[str] = []
    items: list[list[str]] = []
    line_numbers: list[int] = []
    line = 0
    for chunk in source.chunks():
        text = decode_utf8(chunk if line else chunk.removeprefix(BOM), source.label, line + 1)
        begin = 0
        for match in _NOT_BLANK.finditer(text):  # there may be millions of blank lines
            line += 1 + text.count("\n", begin, match.start())
            begin = match.end() + 1
            user, colon, item_text = match.group().partition(":")
            if not colon or not user:
                problem = "no user and colon in the line; write it as user: item item."
                raise InputError(problem, source=source.label, line=line, code="invalid-syntax")
            users.append(user.strip())
            items.append(item_text.split())
            line_numbers.append(line)
        line += text.count("\n", begin)
    lengths = np.fromiter(map(len, items), np.int64, len(items))
    owner = np.repeat(np.arange(len(items)), lengths)
    frame = pl.DataFrame(
        {
            "query_id": pl.Series(users, dtype=pl.String).gather(owner),
            "doc_id": pl.Series(items, dtype=pl.List(pl.String)).explode().drop_nulls(),
        }
    )
    position = pl.int_range(1, pl.len() + 1).over("query_id").alias("at")
    lines = np.repeat(np.asarray(line_numbers, np.int64), lengths)
    return iter((frame.with_columns(position),)), RowLocation(source.label, lambda row: int(lines[row]))


_RECBOLE = re.compile(rb"^\S+:(token|float|token_seq|float_seq)(\t|\r?\n)")
_LIST_LINE = re.compile(rb"^[^\s:,\t]+:[ \t]*[^\s:,]+([ \t]+[^\s:,]+)*[ \t]*\r?$")
_U_DATA = re.compile(rb"^\d+\t\d+\t\d+(\.\d+)?\t\d+\r?$")
_RATINGS_DAT = re.compile(rb"^\d+::\d+::\d+(\.\d+)?::\d+\r?$")

Read = Callable[[InputFile, Mapping[str, str]], tuple[Iterator[pl.DataFrame], RowLocation]]


@dataclass(frozen=True)
class LogFormat:
    """One format of logs.

    Attributes:
        name: the name in ``--from``.
        title: its description.
        fits: a function of a file's first bytes and first line; True if the format fits.
        read: a function that returns rows under our column names, in pieces, and their location.
        unit: the unit of its times, if the format defines it.
    """

    name: str
    title: str
    fits: Callable[[bytes, bytes], bool]
    read: Read
    unit: Unit | None = None


LOG_FORMATS = (
    LogFormat(
        "parquet",
        "Parquet or Arrow with named columns",
        lambda first_bytes, _: first_bytes.startswith((b"PAR1", b"ARROW1")),
        read_columnar,
    ),
    LogFormat(
        "jsonl",
        "JSONL, one interaction a line",
        lambda first_bytes, _: first_bytes.lstrip().startswith(b"{"),
        read_jsonl,
    ),
    LogFormat(
        "recbole",
        "RecBole's atomic file (.inter): user_id:token, item_id:token …",
        lambda _, line: bool(_RECBOLE.match(line + b"\n")),
        read_recbole,
    ),
    LogFormat(
        "movielens-100k",
        "MovieLens u.data: user, item, rating, time between tabs",
        lambda _, line: bool(_U_DATA.match(line)),
        read_u_data,
    ),
    LogFormat(
        "movielens-1m",
        "MovieLens ratings.dat: user::item::rating::time",
        lambda _, line: bool(_RATINGS_DAT.match(line)),
        read_ratings_dat,
    ),
    LogFormat(
        "lists",
        "lines of user: item item …, in the order of time",
        lambda _, line: bool(_LIST_LINE.match(line)),
        read_user_lists,
        "place",
    ),
    LogFormat(
        "csv",
        "CSV or TSV with column names in the first line (MovieLens' ratings.csv too)",
        lambda _, line: bool(re.search(rb"[,;|\t]", line)),
        read_delimited,
    ),
)
"""Every format of logs, the most particular first."""


def read_interactions(
    log: LogLike | InputFile,
    columns: Mapping[str, str] | None = None,
    *,
    from_: str | None = None,
    unit: Unit | None = None,
    same: str = "once",
    timed: bool = True,
) -> Interactions:
    """Read a log from a path (``-`` is standard input) or a frame; a log is returned unchanged.

    Args:
        log: the location of the log.
        columns: our column (``query_id``, ``doc_id``, ``at``, ``kind``, ``value``) -> the log's;
            columns that are not named are found by their usual names.
        from_: the name of the format; by default it is detected from the file.
        unit: the unit of times that are numbers; inferred from their size if not given.
        same: how to count rows that are equal in every column: ``once``, or ``each``.
        timed: True if times are needed; otherwise they are not read.

    Raises:
        InputError: a file cannot be read (the message has file and line), or times have mixed
            units.
        UsageError: the format or column does not exist.
    """
    if isinstance(log, Interactions):
        return log
    raw = open_log(log, columns, from_=from_, unit=unit)
    rows = [piece if timed else piece.drop("at", strict=False) for piece in raw.pieces]
    frame = pl.concat(rows) if rows else pl.DataFrame()
    return make_interactions(frame, raw.name, raw.place, raw.unit, same=same)


@dataclass(frozen=True)
class RawLog:
    """An open log that is not yet read or checked.

    Attributes:
        name: the name of the log.
        place: the location of its rows.
        pieces: an iterator of the rows under our column names.
        unit: the unit of times that are numbers, if it is known.
    """

    name: str
    place: RowLocation
    pieces: Iterator[pl.DataFrame]
    unit: Unit | None


def open_log(
    log: LogLike | InputFile,
    columns: Mapping[str, str] | None = None,
    *,
    from_: str | None = None,
    unit: Unit | None = None,
) -> RawLog:
    """Open a log that is read piece by piece; arguments as in `read_interactions`.

    Raises:
        InputError, UsageError: see `read_interactions`; errors in rows appear when rows are read.
    """
    refuse_unknown_unit(unit)
    if not isinstance(log, str | Path | InputFile):
        rows, name, location = _frame_of_table(log, columns or {})
        return RawLog(name, location, iter((rows,)), unit)
    input_file = log if isinstance(log, InputFile) else open_source(log)
    if is_folder(input_file):
        return _open_parts(input_file, columns or {}, from_, unit)
    log_format = _find_format(from_) if from_ else detect_format(input_file)
    frames, location = log_format.read(input_file, columns or {})
    return RawLog(input_file.stem, location, frames, log_format.unit or unit)


def _open_parts(
    folder: InputFile, columns: Mapping[str, str], format_name: str | None, unit: Unit | None
) -> RawLog:
    """A log in a folder of part files, which are read one after another.

    Raises:
        InputError: files have several formats, or a format that orders rows by their lines.
    """
    parts = list_part_files(folder)
    log_format = _find_format(format_name) if format_name else detect_format(parts[0])
    if log_format.unit == "place":
        problem = "lines of user: item item have no order between files; name one file."
        raise InputError(problem, source=folder.label, code="is-a-folder")
    for input_file in parts[1:] if format_name is None else ():
        if (part_format := detect_format(input_file)) != log_format:
            problem = (
                f"{part_format.name}, and {log_format.name} in {parts[0].label}: files of one folder are one "
                "log and have one format; name one file."
            )
            raise InputError(problem, source=input_file.label, code="mixed-formats")
    part_rows = PartRows(folder.label)
    first_schema: dict[str, pl.DataType] = {}

    def read() -> Iterator[tuple[RowLocation, Iterator[pl.DataFrame]]]:
        for input_file in parts:
            frames, location = log_format.read(input_file, columns)
            yield (location, (_match_first_schema(frame, first_schema, input_file) for frame in frames))

    return RawLog(folder.stem, part_rows.location, part_rows.together(read()), log_format.unit or unit)


def _match_first_schema(
    frame: pl.DataFrame, first_schema: dict[str, pl.DataType], input_file: InputFile
) -> pl.DataFrame:
    """Rows with the columns and types of the first file.

    Raises:
        InputError: columns are different, or a type cannot be converted to that of the first file.
    """
    if not first_schema:
        first_schema |= {
            name: pl.String() if dtype == pl.Null else dtype for name, dtype in frame.schema.items()
        }
    refuse_other_columns(frame.columns, first_schema, input_file)
    try:
        return frame.select(pl.col(name).cast(dtype) for name, dtype in first_schema.items())
    except pl.exceptions.PolarsError as error:
        problem = f"not the types of the first file of the folder: {str(error).splitlines()[0]}."
        raise InputError(problem, source=input_file.label, code="columns-differ") from None


def refuse_unknown_unit(unit: str | None) -> None:
    """Check that numbers can be in a unit.

    Raises:
        UsageError: the unit is unknown.
    """
    if unit not in (None, *UNITS):
        raise UsageError(f"unknown unit '{unit}'; choose {', '.join(UNITS)}.", code="unknown-choice")


def detect_format(input_file: InputFile) -> LogFormat:
    """The first log format that fits the beginning of a file.

    Raises:
        InputError: no format fits.
    """
    first_bytes = input_file.head().removeprefix(BOM)
    first_line = first_bytes.lstrip().split(b"\n", 1)[0]
    if not first_line:
        raise InputError("no interactions found.", source=input_file.label, code="no-interactions")
    for log_format in LOG_FORMATS:
        if log_format.fits(first_bytes, first_line):
            return log_format
    problem = "the first line is not that of a known log; give its format, or name its columns."
    raise InputError(problem, source=input_file.label, line=1, code="unknown-format")


def _find_format(name: str) -> LogFormat:
    full_name = {"tsv": "csv", "arrow": "parquet"}.get(name, name)
    for log_format in LOG_FORMATS:
        if log_format.name == full_name:
            return log_format
    raise UsageError(
        f"unknown log '{name}'; choose {', '.join(log_format.name for log_format in LOG_FORMATS)}.",
        code="unknown-choice",
    )


def _frame_of_table(table: object, columns: Mapping[str, str]) -> tuple[pl.DataFrame, str, RowLocation]:
    """A frame under our column names; for a matrix, the entries that are not 0."""
    if is_source(table):
        matrix = make_source(table, "log")
        rows, items = nonzero_pairs(matrix)
        ids = matrix.users.names.gather(rows), matrix.items.names.gather(items)
        table = pl.DataFrame(
            [column.alias(name) for column, name in zip(ids, ("query_id", "doc_id"), strict=True)]
        )
    if not is_frame(table):
        kind = type(table).__name__
        raise InputError(f"a {kind} is not a log; give a path or a frame.", source="log", code="wrong-type")
    table = polars_frame(table, "log")
    column_map = map_columns(table.columns, columns, "log")
    return (
        table.select(pl.col(log_column).alias(column) for column, log_column in column_map.items()),
        "log",
        RowLocation("log"),
    )

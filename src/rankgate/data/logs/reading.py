"""Logs of interactions: detect the format of a file, and read it."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator, Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Any

import polars as pl

from rankgate.core.errors import InputError, UsageError
from rankgate.core.frozen import dataclass
from rankgate.data.dataframes import is_frame, polars_frame
from rankgate.data.logs import lists as log_lists
from rankgate.data.logs import tables as log_tables
from rankgate.data.logs.clock import UNITS
from rankgate.data.logs.columns import map_columns
from rankgate.data.logs.interactions import Interactions, make_interactions
from rankgate.data.memory.matrices import is_source, make_source, nonzero_pairs
from rankgate.data.place import RowLocation
from rankgate.data.streams.part_files import (
    PartRows,
    is_folder,
    list_part_files,
    refuse_other_columns,
)
from rankgate.data.streams.source import InputFile, open_source
from rankgate.data.text.utf8 import BOM

if TYPE_CHECKING:
    from rankgate.data.logs.clock import Unit
    from rankgate.data.logs.interactions import LogLike

_RECBOLE = re.compile(rb"^\S+:(token|float|token_seq|float_seq)(\t|\r?\n)")
_LIST_LINE = re.compile(rb"^[^\s:,\t]+:[ \t]*[^\s:,]+([ \t]+[^\s:,]+)*[ \t]*\r?$")
_U_DATA = re.compile(rb"^\d+\t\d+\t\d+(\.\d+)?\t\d+\r?$")
_RATINGS_DAT = re.compile(rb"^\d+::\d+::\d+(\.\d+)?::\d+\r?$")

Read = Callable[[InputFile, Mapping[str, str]], tuple[Iterator[pl.DataFrame], RowLocation]]


@dataclass(frozen=True)
class LogFormat:
    """One format of logs.

    Attributes:
        name: what ``--from`` calls it.
        title: its description.
        fits: True if a file begins like one: takes its first bytes and its first line.
        read: its rows under our column names, in pieces, and their location.
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
        log_tables.read_columnar,
    ),
    LogFormat(
        "jsonl",
        "JSONL, one interaction a line",
        lambda first_bytes, _: first_bytes.lstrip().startswith(b"{"),
        log_tables.read_jsonl,
    ),
    LogFormat(
        "recbole",
        "RecBole's atomic file (.inter): user_id:token, item_id:token …",
        lambda _, line: bool(_RECBOLE.match(line + b"\n")),
        log_tables.read_recbole,
    ),
    LogFormat(
        "movielens-100k",
        "MovieLens u.data: user, item, rating, time between tabs",
        lambda _, line: bool(_U_DATA.match(line)),
        log_tables.read_u_data,
    ),
    LogFormat(
        "movielens-1m",
        "MovieLens ratings.dat: user::item::rating::time",
        lambda _, line: bool(_RATINGS_DAT.match(line)),
        log_tables.read_ratings_dat,
    ),
    LogFormat(
        "lists",
        "lines of user: item item …, in the order of time",
        lambda _, line: bool(_LIST_LINE.match(line)),
        log_lists.read_user_lists,
        "place",
    ),
    LogFormat(
        "csv",
        "CSV or TSV whose first line names the columns (MovieLens' ratings.csv too)",
        lambda _, line: bool(re.search(rb"[,;|\t]", line)),
        log_tables.read_delimited,
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
    """A log from a path (``-`` is standard input), a frame, or as it is.

    Args:
        log: where it is.
        columns: our column (``query_id``, ``doc_id``, ``at``, ``kind``, ``value``) -> the log's;
            those that are not named are found by their usual names.
        from_: the name of the format; found by looking into the file if not given.
        unit: the unit of times that are numbers; inferred from their size if not given.
        same: what rows are that are equal in every column: counted ``once``, or ``each``.
        timed: whether times matter; if not, they are not looked at.

    Raises:
        InputError: what is wrong, with file and line; times in mixed units.
        UsageError: no such format or column.
    """
    if isinstance(log, Interactions):
        return log
    raw = open_log(log, columns, from_=from_, unit=unit)
    rows = [piece if timed else piece.drop("at", strict=False) for piece in raw.pieces]
    frame = pl.concat(rows) if rows else pl.DataFrame()
    return make_interactions(frame, raw.name, raw.place, raw.unit, same=same)


@dataclass(frozen=True)
class RawLog:
    """An open log; nothing of it is read or checked yet.

    Attributes:
        name: what to call the log.
        place: the location of its rows.
        pieces: the rows under our column names, once.
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
    """Open a log whose rows come piece by piece; arguments as in `read_interactions`.

    Raises:
        InputError, UsageError: as `read_interactions`; an error in rows, when they are read.
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
        InputError: files of several formats, or of a format that orders rows by their lines.
    """
    parts = list_part_files(folder)
    log_format = _find_format(format_name) if format_name else detect_format(parts[0])
    if log_format.unit == "place":
        problem = "lines of user: item item have no order between files; name one file."
        raise InputError(problem, source=folder.label, code="is-a-folder")
    for input_file in parts[1:] if format_name is None else ():
        if (part_format := detect_format(input_file)) != log_format:
            problem = (
                f"{part_format.name}, and {log_format.name} in {parts[0].label}: files of one "
                "folder are one log "
                "and have one format; name one file."
            )
            raise InputError(problem, source=input_file.label, code="mixed-formats")
    part_rows = PartRows(folder.label)
    first_schema: dict[str, pl.DataType] = {}

    def read() -> Iterator[tuple[RowLocation, Iterator[pl.DataFrame]]]:
        for input_file in parts:
            frames, location = log_format.read(input_file, columns)
            yield (
                location,
                (_match_first_schema(frame, first_schema, input_file) for frame in frames),
            )

    return RawLog(folder.stem, part_rows.place, part_rows.together(read()), log_format.unit or unit)


def _match_first_schema(
    frame: pl.DataFrame, first_schema: dict[str, pl.DataType], input_file: InputFile
) -> pl.DataFrame:
    """Rows with the columns and types of the first file's.

    Raises:
        InputError: other columns, or a type that cannot be that of the first file.
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
    """Check that a unit is one that numbers can have.

    Raises:
        UsageError: no format has this name.
    """
    if unit not in (None, *UNITS):
        raise UsageError(
            f"no unit is called '{unit}'; choose {', '.join(UNITS)}.", code="unknown-choice"
        )


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
    problem = "the first line is that of no known log; say its format, or name columns in it."
    raise InputError(problem, source=input_file.label, line=1, code="unknown-format")


def _find_format(name: str) -> LogFormat:
    full_name = {"tsv": "csv", "arrow": "parquet"}.get(name, name)
    for log_format in LOG_FORMATS:
        if log_format.name == full_name:
            return log_format
    raise UsageError(
        f"no log is called '{name}'; choose "
        f"{', '.join(log_format.name for log_format in LOG_FORMATS)}.",
        code="unknown-choice",
    )


def _frame_of_table(
    table: Any, columns: Mapping[str, str]
) -> tuple[pl.DataFrame, str, RowLocation]:
    """A frame under our column names; of a matrix, the entries that are not 0."""
    if is_source(table):
        matrix = make_source(table, "log")
        rows, items = nonzero_pairs(matrix)
        ids = matrix.users.names.gather(rows), matrix.items.names.gather(items)
        table = pl.DataFrame(
            [column.alias(name) for column, name in zip(ids, ("query_id", "doc_id"), strict=True)]
        )
    if not is_frame(table):
        kind = type(table).__name__
        raise InputError(
            f"a {kind} is not a log; give a path or a frame.", source="log", code="wrong-type"
        )
    table = polars_frame(table, "log")
    column_map = map_columns(table.columns, columns, "log")
    return (
        table.select(pl.col(log_column).alias(column) for column, log_column in column_map.items()),
        "log",
        RowLocation("log"),
    )

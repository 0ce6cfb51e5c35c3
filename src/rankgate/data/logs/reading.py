"""Logs of interactions: what a file is, found by looking into it, and how it is read."""

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
from rankgate.data.logs.columns import mapped
from rankgate.data.logs.interactions import Interactions, interactions_of
from rankgate.data.memory.matrices import is_source, pairs_of, source_of
from rankgate.data.place import Place
from rankgate.data.streams.part_files import PartRows, is_folder, part_files, refuse_other_columns
from rankgate.data.streams.source import InputFile, source
from rankgate.data.text.utf8 import BOM

if TYPE_CHECKING:
    from rankgate.data.logs.clock import Unit
    from rankgate.data.logs.interactions import LogLike

_RECBOLE = re.compile(rb"^\S+:(token|float|token_seq|float_seq)(\t|\r?\n)")
_LIST = re.compile(rb"^[^\s:,\t]+:[ \t]*[^\s:,]+([ \t]+[^\s:,]+)*[ \t]*\r?$")
_U_DATA = re.compile(rb"^\d+\t\d+\t\d+(\.\d+)?\t\d+\r?$")
_RATINGS_DAT = re.compile(rb"^\d+::\d+::\d+(\.\d+)?::\d+\r?$")

Read = Callable[[InputFile, Mapping[str, str]], tuple[Iterator[pl.DataFrame], Place]]


@dataclass(frozen=True)
class LogFormat:
    """One format of logs.

    Attributes:
        name: what ``--from`` calls it.
        title: what it is.
        fits: whether a file begins like one: its first bytes and its first line.
        read: its rows under our column names, in pieces, and where they are.
        unit: the unit of its times, where the format says it.
    """

    name: str
    title: str
    fits: Callable[[bytes, bytes], bool]
    read: Read
    unit: Unit | None = None


LOGS = (
    LogFormat("parquet", "Parquet or Arrow with named columns",
              lambda head, _: head.startswith((b"PAR1", b"ARROW1")), log_tables.columnar),
    LogFormat("jsonl", "JSONL, one interaction a line",
              lambda head, _: head.lstrip().startswith(b"{"), log_tables.jsonl),
    LogFormat("recbole", "RecBole's atomic file (.inter): user_id:token, item_id:token …",
              lambda _, line: bool(_RECBOLE.match(line + b"\n")), log_tables.recbole),
    LogFormat("movielens-100k", "MovieLens u.data: user, item, rating, time between tabs",
              lambda _, line: bool(_U_DATA.match(line)), log_tables.u_data),
    LogFormat("movielens-1m", "MovieLens ratings.dat: user::item::rating::time",
              lambda _, line: bool(_RATINGS_DAT.match(line)), log_tables.ratings_dat),
    LogFormat("lists", "lines of user: item item …, in the order of time",
              lambda _, line: bool(_LIST.match(line)), log_lists.read,
              "place"),
    LogFormat("csv", "CSV or TSV whose first line names the columns (MovieLens' ratings.csv too)",
              lambda _, line: bool(re.search(rb"[,;|\t]", line)), log_tables.delimited),
)  # fmt: skip
"""Every format of logs, the most particular first."""


def read_interactions(
    log: LogLike,
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
    raw = opened(log, columns, from_=from_, unit=unit)
    rows = [piece if timed else piece.drop("at", strict=False) for piece in raw.pieces]
    frame = pl.concat(rows) if rows else pl.DataFrame()
    return interactions_of(frame, raw.name, raw.place, raw.unit, same=same)


@dataclass(frozen=True)
class Raw:
    """A log that is open, nothing of it read or checked.

    Attributes:
        name: what to call the log.
        place: where its rows are.
        pieces: the rows under our column names, once.
        unit: the unit of times that are numbers, if it is known.
    """

    name: str
    place: Place
    pieces: Iterator[pl.DataFrame]
    unit: Unit | None


def opened(
    log: LogLike,
    columns: Mapping[str, str] | None = None,
    *,
    from_: str | None = None,
    unit: Unit | None = None,
) -> Raw:
    """A log whose rows come piece by piece; arguments as of `read_interactions`.

    Raises:
        InputError, UsageError: as `read_interactions`; what is wrong in rows, when they are read.
    """
    refuse_unknown_unit(unit)
    if not isinstance(log, str | Path | InputFile):
        rows, name, where = _in_memory(log, columns or {})
        return Raw(name, where, iter((rows,)), unit)
    place = log if isinstance(log, InputFile) else source(log)
    if is_folder(place):
        return _in_parts(place, columns or {}, from_, unit)
    found = _named(from_) if from_ else detected(place)
    pieces, where = found.read(place, columns or {})
    return Raw(place.stem, where, pieces, found.unit or unit)


def _in_parts(
    folder: InputFile, columns: Mapping[str, str], from_: str | None, unit: Unit | None
) -> Raw:
    """A log in a folder of part files, which are read one after another.

    Raises:
        InputError: files of several formats, or of a format that orders rows by their lines.
    """
    parts = part_files(folder)
    form = _named(from_) if from_ else detected(parts[0])
    if form.unit == "place":
        problem = "lines of user: item item have no order between files; name one file."
        raise InputError(problem, source=folder.label, code="is-a-folder")
    for part in parts[1:] if from_ is None else ():
        if (own := detected(part)) != form:
            problem = (
                f"{own.name}, and {form.name} in {parts[0].label}: files of one folder are one log "
                "and have one format; name one file."
            )
            raise InputError(problem, source=part.label, code="mixed-formats")
    where = PartRows(folder.label)
    first: dict[str, pl.DataType] = {}

    def read() -> Iterator[tuple[Place, Iterator[pl.DataFrame]]]:
        for part in parts:
            pieces, place = form.read(part, columns)
            yield place, (_alike(piece, first, part) for piece in pieces)

    return Raw(folder.stem, where.place, where.together(read()), form.unit or unit)


def _alike(piece: pl.DataFrame, first: dict[str, pl.DataType], part: InputFile) -> pl.DataFrame:
    """Rows with the columns and types of the first file's.

    Raises:
        InputError: other columns, or a type that cannot be that of the first file.
    """
    if not first:
        first |= {
            name: pl.String() if dtype == pl.Null else dtype for name, dtype in piece.schema.items()
        }
    refuse_other_columns(piece.columns, first, part)
    try:
        return piece.select(pl.col(name).cast(dtype) for name, dtype in first.items())
    except pl.exceptions.PolarsError as error:
        problem = f"not the types of the first file of the folder: {str(error).splitlines()[0]}."
        raise InputError(problem, source=part.label, code="columns-differ") from None


def refuse_unknown_unit(unit: str | None) -> None:
    """Check that numbers can have a unit.

    Raises:
        UsageError: no format has this name.
    """
    if unit not in (None, *UNITS):
        raise UsageError(
            f"no unit is called '{unit}'; choose {', '.join(UNITS)}.", code="unknown-choice"
        )


def detected(place: InputFile) -> LogFormat:
    """The first format that a file's beginning fits.

    Raises:
        InputError: none does.
    """
    head = place.head().removeprefix(BOM)
    line = head.lstrip().split(b"\n", 1)[0]
    if not line:
        raise InputError("no interactions found.", source=place.label, code="no-interactions")
    for each in LOGS:
        if each.fits(head, line):
            return each
    problem = "the first line is that of no known log; say its format, or name columns in it."
    raise InputError(problem, source=place.label, line=1, code="unknown-format")


def _named(name: str) -> LogFormat:
    wanted = {"tsv": "csv", "arrow": "parquet"}.get(name, name)
    for each in LOGS:
        if each.name == wanted:
            return each
    raise UsageError(
        f"no log is called '{name}'; choose {', '.join(each.name for each in LOGS)}.",
        code="unknown-choice",
    )


def _in_memory(table: Any, columns: Mapping[str, str]) -> tuple[pl.DataFrame, str, Place]:
    """A frame under our column names; of a matrix what is not 0."""
    if is_source(table):
        met = source_of(table, "log")
        rows, items = pairs_of(met)
        ids = met.users.names.gather(rows), met.items.names.gather(items)
        table = pl.DataFrame(
            [each.alias(name) for each, name in zip(ids, ("query_id", "doc_id"), strict=True)]
        )
    if not is_frame(table):
        kind = type(table).__name__
        raise InputError(
            f"a {kind} is not a log; give a path or a frame.", source="log", code="wrong-type"
        )
    table = polars_frame(table, "log")
    found = mapped(table.columns, columns, "log")
    return (
        table.select(pl.col(theirs).alias(ours) for ours, theirs in found.items()),
        "log",
        Place("log"),
    )

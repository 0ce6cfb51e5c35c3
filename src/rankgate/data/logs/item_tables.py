"""Tables of items and of users: ids and descriptive columns; sets of candidates."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Literal

import polars as pl

from rankgate.core.errors import InputError, UsageError
from rankgate.core.frozen import dataclass
from rankgate.data.foreign_frames import polars_frame
from rankgate.data.formats.registry import find_format, open_table
from rankgate.data.formats.table import numbers_in
from rankgate.data.logs.interactions import ALIASES, map_columns
from rankgate.data.streams.input_parts import PartRows, is_folder, list_part_files, refuse_other_columns
from rankgate.data.table_rows import RowLocation, refuse_repeated

if TYPE_CHECKING:
    from rankgate.data.formats.format import Format
    from rankgate.data.input_types import TableLike
    from rankgate.data.streams.source import InputFile


TableKind = Literal["items", "users"]

_ID_COLUMNS = {"items": "doc_id", "users": "query_id"}
_SINGULAR = {"items": "item", "users": "user"}


@dataclass(frozen=True)
class DescribedTable:
    """A table of items or of users.

    Attributes:
        of: items or users.
        ids: the ids, each once.
        columns: the descriptive columns.
        place: the location of the rows.
    """

    of: TableKind
    ids: pl.Series
    columns: pl.DataFrame
    place: RowLocation

    def description(self, column: str) -> pl.Series:
        """Return one column.

        Raises:
            UsageError: the column does not exist.
        """
        if column not in self.columns.columns:
            column_names = ", ".join(self.columns.columns) or "none"
            raise UsageError(
                f"{self.of} have no column '{column}'; there are {column_names}.", code="missing-column"
            )
        return self.columns[column]

    def numbers(self, column: str) -> pl.Series:
        """Return one column of numbers; empty cells are null.

        Raises:
            UsageError: the column does not exist.
            InputError: a value is not a finite number; the message has its line.
        """
        texts, parsed_numbers, is_wrong = numbers_in(self.description(column))
        if is_wrong.any():
            row = int(is_wrong.arg_max() or 0)
            owner_label = f"{_SINGULAR[self.of]} '{self.ids[row]}'"
            problem = f"{column} '{texts[row]}' of {owner_label} is not a finite number."
            raise self.place.error(problem, row, "not-a-number")
        return parsed_numbers


def read_described_table(table: TableLike | DescribedTable, kind: TableKind = "items") -> DescribedTable:
    """A table of items or users from CSV, TSV, RecBole's atomic files, JSONL, Parquet, a frame.

    A table that is already read is returned unchanged.

    Raises:
        InputError: there is no column of ids, an id is missing or repeated, or a record has the
            wrong number of fields; the message has the line.
        UsageError: the table is on Spark.
    """
    if isinstance(table, DescribedTable):
        return table
    frame, location = read_frame(table, kind)
    id_column = find_id_column(frame.columns, kind, location.label)
    ids = frame[id_column].cast(pl.String).alias(_ID_COLUMNS[kind])
    if ids.null_count():
        row = int(ids.is_null().arg_max() or 0)
        problem = f"{_SINGULAR[kind]} without an id; give it one, or remove the row."
        raise location.error(problem, row, "empty-value")
    remedy = "remove one of its rows"
    refuse_repeated(ids, location, _SINGULAR[kind], code="duplicate-id", fix=remedy)
    return DescribedTable(kind, ids, frame.drop(id_column), location)


def read_candidates(table: TableLike) -> tuple[pl.DataFrame, str]:
    """The pairs that lists may contain, as `split` writes them, and the mark of a sample.

    Raises:
        InputError: a column is missing, or a file has several marks.
    """
    frame, location = read_frame(table, "candidates")
    column_map = map_columns(frame.columns, {}, location.label, 1)
    marks = (
        frame["candidates"].unique(maintain_order=True).to_list() if "candidates" in frame.columns else [""]
    )
    if len(marks) > 1:
        is_other_mark = frame["candidates"].ne_missing(frame["candidates"].first())
        problem = f"candidates of several kinds: {', '.join(map(str, marks[:5]))}."
        line = location.line(int(is_other_mark.arg_max() or 0))
        raise InputError(problem, source=location.label, line=line, code="mixed-kinds")
    pairs = frame.select(
        pl.col(column_map[column]).cast(pl.String).alias(column) for column in ("query_id", "doc_id")
    )
    return pairs, str(marks[0] or "") if marks else ""


def read_frame(table: TableLike, label: str) -> tuple[pl.DataFrame, RowLocation]:
    """All columns of a table unchanged, and the location of the rows.

    Raises:
        InputError: the file cannot be read.
    """
    if not isinstance(table, str | Path):
        return polars_frame(table, label), RowLocation(label)
    origin, format_ = open_table(table)
    if not is_folder(origin):
        return _read_file(origin, format_)
    # part files have the same columns; only objects may omit null values
    part_rows = PartRows(origin.label)
    input_files = list_part_files(origin)
    tables = [_read_file(input_file, format_) for input_file in input_files]
    for input_file, (rows, _) in zip(input_files, tables, strict=True):
        first_columns = tables[0][0].columns
        if rows.columns != first_columns and input_file.head(1) != b"{":
            refuse_other_columns(rows.columns, first_columns, input_file)
    frames = part_rows.together((location, [rows]) for rows, location in tables)
    return pl.concat([tables[0][0].clear(), *frames], how="diagonal_relaxed"), part_rows.location


def _read_file(origin: InputFile, form: Format | None) -> tuple[pl.DataFrame, RowLocation]:
    """The rows of a file, and their location; lists are joined by bars, as in a field of CSV."""
    if form is None:
        first_bytes = origin.head().lstrip()
        is_columnar = first_bytes.startswith((b"PAR1", b"ARROW1"))
        form = find_format("parquet" if is_columnar else "jsonl" if first_bytes[:1] == b"{" else "csv")
    assert form.table
    table = form.table(origin)
    frame = table.frame().collect()
    if form.name == "jsonl":
        frame = frame.select(
            pl.col(column.name).cast(pl.List(pl.String)).list.join("|")
            if column.dtype == pl.List
            else pl.col(column.name).cast(pl.String)
            for column in frame
        )
    recbole_names = {name: name.partition(":")[0] for name in frame.columns if ":" in name}
    return frame.rename(recbole_names), table.location


def find_id_column(names: Sequence[str], kind: TableKind, label: str) -> str:
    """The column with the ids of items or users.

    Raises:
        InputError: there is none.
    """
    name_by_lower_case = {name.strip().lower(): name for name in reversed(names)}
    for alias in (*ALIASES[_ID_COLUMNS[kind]], "id"):
        if alias in name_by_lower_case:
            return name_by_lower_case[alias]
    problem = f"no column of ids among {', '.join(names[:10])}; call one {_SINGULAR[kind]}_id."
    raise InputError(problem, source=label, line=1, code="missing-column")

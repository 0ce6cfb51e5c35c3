"""Tables of items and of users: an id, and columns that describe it; sets of candidates."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any, Literal

import polars as pl

from rankgate.core.errors import InputError, UsageError
from rankgate.core.frozen import dataclass
from rankgate.data.dataframes import polars_frame
from rankgate.data.duplicates import refuse_repeated
from rankgate.data.formats.tables import arrow
from rankgate.data.logs.columns import ALIASES, mapped
from rankgate.data.place import Place
from rankgate.data.streams.part_files import PartRows, is_folder, part_files, refuse_other_columns
from rankgate.data.streams.source import InputFile, source
from rankgate.data.text import json_text, records

if TYPE_CHECKING:
    from rankgate.data.inputs import TableLike

Whose = Literal["items", "users"]

_IDS = {"items": "doc_id", "users": "query_id"}
_ONE = {"items": "item", "users": "user"}


@dataclass(frozen=True)
class Described:
    """A table of items or of users.

    Attributes:
        of: whose it is.
        ids: each once.
        columns: what describes them.
        place: where the rows come from.
    """

    of: Whose
    ids: pl.Series
    columns: pl.DataFrame
    place: Place

    def words(self, column: str) -> pl.Series:
        """One column.

        Raises:
            UsageError: it is not there.
        """
        if column not in self.columns.columns:
            known = ", ".join(self.columns.columns) or "none"
            raise UsageError(
                f"{self.of} have no column '{column}'; there are {known}.", code="missing-column"
            )
        return self.columns[column]

    def numbers(self, column: str) -> pl.Series:
        """One column of numbers; null where nothing is.

        Raises:
            UsageError: it is not there.
            InputError: a value in it is not a finite number, with its line.
        """
        words = self.words(column)
        if words.dtype == pl.String:
            words = words.str.strip_chars().replace("", None)
        found = words.cast(pl.Float64, strict=False)
        wrong = words.is_not_null() & ~found.is_finite().fill_null(value=False)
        if wrong.any():
            row = int(wrong.arg_max() or 0)
            who = f"{_ONE[self.of]} '{self.ids[row]}'"
            problem = f"{column} '{words[row]}' of {who} is not a finite number."
            raise InputError(
                problem, source=self.place.file(row), line=self.place.line(row), code="not-a-number"
            )
        return found


def read_described(table: TableLike | Described, of: Whose = "items") -> Described:
    """A table of items or users from CSV, TSV, RecBole's atomic files, JSONL, Parquet, a frame.

    A table that was read already is returned as it is.

    Raises:
        InputError: no column of ids, an id that is missing or appears twice, a record with the
            wrong number of fields; with the line.
    """
    if isinstance(table, Described):
        return table
    frame, place = read_frame(table, of)
    theirs = _id_of(frame.columns, of, place.label)
    ids = frame[theirs].cast(pl.String).alias(_IDS[of])
    if ids.null_count():
        row = int(ids.is_null().arg_max() or 0)
        problem = f"{_ONE[of]} without an id; give it one, or remove the row."
        raise InputError(problem, source=place.file(row), line=place.line(row), code="empty-value")
    mend = "remove one of its rows"
    refuse_repeated(ids, place, _ONE[of], code="duplicate-id", mend=mend)
    return Described(of, ids, frame.drop(theirs), place)


def read_candidates(table: TableLike) -> tuple[pl.DataFrame, str]:
    """The pairs that lists may hold, as `split` writes them, and the mark of a sample.

    Raises:
        InputError: a column that is missing, or several marks in one file.
    """
    frame, place = read_frame(table, "candidates")
    found = mapped(frame.columns, {}, place.label, 1)
    marks = (
        frame["candidates"].unique(maintain_order=True).to_list()
        if "candidates" in frame.columns
        else [""]
    )
    if len(marks) > 1:
        other = frame["candidates"].ne_missing(frame["candidates"].first())
        problem = f"candidates of several kinds: {', '.join(map(str, marks[:5]))}."
        line = place.line(int(other.arg_max() or 0))
        raise InputError(problem, source=place.label, line=line, code="mixed-kinds")
    pairs = frame.select(
        pl.col(found[ours]).cast(pl.String).alias(ours) for ours in ("query_id", "doc_id")
    )
    return pairs, str(marks[0] or "") if marks else ""


def read_frame(table: TableLike, label: str) -> tuple[pl.DataFrame, Place]:
    """All columns of a table as they are, and where the rows are.

    Raises:
        InputError: a file that cannot be read.
    """
    if not isinstance(table, str | Path):
        return polars_frame(table, label), Place(label)
    origin = source(table)
    if not is_folder(origin):
        return _read(origin)
    return _in_parts(origin)


def _in_parts(folder: InputFile) -> tuple[pl.DataFrame, Place]:
    """The same of a folder of part files, which have one set of columns.

    Raises:
        InputError: a file with other columns; objects may lack what is null.
    """
    where = PartRows(folder.label)
    parts = part_files(folder)
    tables = [_read(part) for part in parts]
    for part, (rows, _) in zip(parts, tables, strict=True):
        first = tables[0][0].columns
        if rows.columns != first and part.head(1) != b"{":
            refuse_other_columns(rows.columns, first, part)
    frames = where.together((place, [rows]) for rows, place in tables)
    return pl.concat([tables[0][0].clear(), *frames], how="diagonal_relaxed"), where.place


def _read(origin: InputFile) -> tuple[pl.DataFrame, Place]:
    head = origin.head()
    if head.startswith((b"PAR1", b"ARROW1")):
        return arrow.collected(arrow.scanned(origin), origin), Place(origin.label)
    return _objects(origin) if head.lstrip().startswith(b"{") else _separated(origin)


def _objects(origin: InputFile) -> tuple[pl.DataFrame, Place]:
    rows, lines = [], []
    for line, value in json_text.objects(origin):
        rows.append({name: _word(each) for name, each in value.items()})
        lines.append(line)
    frame = pl.DataFrame(rows, infer_schema_length=None, strict=False)
    return frame, Place(origin.label, lambda row: lines[row])


def _word(value: Any) -> str | None:
    """A value as a field of CSV would have it; several are between bars."""
    if isinstance(value, list):
        return "|".join(map(str, value))
    return None if value is None else str(value)


def _separated(origin: InputFile) -> tuple[pl.DataFrame, Place]:
    first = next(origin.chunks(), b"")
    counts = {sep: len(records.first_fields(first, sep)) for sep in records.SEPARATORS}
    header = records.header_in(first, max(counts, key=lambda sep: counts[sep]))
    plain = {name.partition(":")[0] if ":" in name else name: name for name in header.names}
    layout = records.ColumnChoice(header, plain, frozenset(), frozenset(plain))
    frame = pl.concat(
        [pl.DataFrame(schema=dict.fromkeys(plain, pl.String)), *records.frames(origin, layout)]
    )
    return frame, Place(origin.label, lambda row: records.line_of(origin, header, row))


def _id_of(names: Sequence[str], of: Whose, label: str) -> str:
    lower = {name.strip().lower(): name for name in reversed(names)}
    for alias in (*ALIASES[_IDS[of]], "id"):
        if alias in lower:
            return lower[alias]
    problem = f"no column of ids among {', '.join(names[:10])}; call one {_ONE[of]}_id."
    raise InputError(problem, source=label, line=1, code="missing-column")

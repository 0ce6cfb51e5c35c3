"""Judgments and runs as they stand in a file, before anything in them is refused.

Readers stop at the first thing that is wrong. Whoever looks for everything that is wrong needs
the rows all the same: with duplicates, with numbers that are none, with the rank column.
"""

from __future__ import annotations

from contextlib import suppress
from dataclasses import dataclass, replace
from functools import partial
from typing import TYPE_CHECKING

import polars as pl

from rankgate.data.columns import named, shaped
from rankgate.data.formats.tables import arrow, jsonl, jsonl_rows, schemas
from rankgate.data.formats.tables import csv as delimited
from rankgate.data.formats.trec import trec
from rankgate.data.place import Place
from rankgate.data.text import lines, records
from rankgate.errors import InputError

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator

    from rankgate.data.formats.format import Format
    from rankgate.data.read import Part
    from rankgate.data.source import Source

NUMBERS = {"qrels": "grade", "run": "score"}
"""The column of numbers that judgments and runs have."""

_RUNS = {
    6: ("query_id", "Q0", "doc_id", "rank", "score", "tag"),
    3: ("query_id", "doc_id", "score"),
    2: ("query_id", "doc_id"),
}
_QRELS = {4: ("query_id", "iteration", "doc_id", "grade"), 3: ("query_id", "doc_id", "grade")}
_PASSED_OVER = frozenset({"Q0", "tag"})


@dataclass(frozen=True)
class Unchecked:
    """The rows of one file.

    Attributes:
        part: what they are.
        table: ``query_id``, ``doc_id`` and ``grade`` or ``score`` (Float64; null where the field
            is empty or no number); ``rank`` (Float64) or ``iteration`` where the file has that
            column; ``written``, the field as it stands, where a number is not finite anywhere.
        place: where rows stand.
    """

    part: Part
    table: pl.DataFrame
    place: Place


def unchecked(source: Source, found: Format) -> Unchecked | None:
    """The rows of a file of one table; None where it is neither judgments nor a run.

    Raises:
        InputError: a line with the wrong number of fields, bytes that are no text, a damaged file;
            of JSONL also a number that is none.
    """
    if found.name == "trec":
        return _between_blanks(source)
    if found.name == "jsonl":
        return _objects(source)
    if found.name in {"parquet", "arrow"}:
        return _columns(source)
    separator = delimited.separator_of(source.head())
    return _separated(source, separator) if separator else None


def _between_blanks(source: Source) -> Unchecked | None:
    part: Part = "qrels" if trec.holds_judgments(source) else "run"
    width = len(lines.first_fields(source))
    fields = (_QRELS if part == "qrels" else _RUNS).get(width)
    if fields is None:
        return None
    kept = tuple(name for name in fields if name not in _PASSED_OVER)
    number = NUMBERS[part] if NUMBERS[part] in fields else ""

    def read(parsed: str) -> Iterator[pl.DataFrame]:
        return lines.frames(source, lines.Layout(fields, parsed, kept))

    table = _numbered(partial(read, number), partial(read, ""), NUMBERS[part])
    return Unchecked(part, table, Place(source.label, partial(lines.line_of, source)))


def _separated(source: Source, separator: str) -> Unchecked | None:
    header = records.header_in(next(source.chunks(), b""), separator)
    known = schemas.table_of(header.names)
    part = _part(known)
    if known is None or part is None:
        return None
    delimited.refuse_twins(header, known, source)
    kept = known.kept
    if part == "run" and "score" in kept:
        kept = kept | named(header.names, ("rank",))
    number = frozenset({NUMBERS[part]} & set(kept))
    quick = records.Layout(header, kept, number, known.empty | ({"rank"} & set(kept)))
    careful = records.Layout(header, kept, frozenset(), frozenset(kept))
    table = _numbered(
        partial(records.frames, source, quick),
        partial(records.frames, source, careful),
        NUMBERS[part],
    )
    return Unchecked(part, table, Place(source.label, partial(records.line_of, source, header)))


def _objects(source: Source) -> Unchecked | None:
    names = jsonl.names_of(source)
    known = schemas.table_of(names)
    part = _part(known)
    if known is None or part is None:
        return None
    rows = None
    if "score" in known.kept and (rank := named(names, ("rank",))):
        numbers, empty = known.numbers | {"rank"}, known.empty | {"rank"}
        ranked = replace(known, kept=known.kept | rank, numbers=numbers, empty=empty)
        with suppress(InputError):  # a rank that is no number: nobody reads it otherwise
            rows = jsonl_rows.whole(source, ranked)
    rows = jsonl_rows.whole(source, known) if rows is None else rows
    table = _whole([rows], NUMBERS[part])
    return Unchecked(part, table, Place(source.label, partial(jsonl_rows.line_of, source)))


def _columns(source: Source) -> Unchecked | None:
    scan = arrow.scanned(source)
    part = _part(arrow.table_in(scan))
    if part is None:
        return None
    rows = shaped(scan, NUMBERS[part], source.label)
    rank = named(scan.collect_schema().names(), ("score", "rank"))
    if part == "run" and {*rank} == {"score", "rank"}:
        numbers = scan.select(pl.col(rank["rank"]).cast(pl.Float64, strict=False).alias("rank"))
        rows = pl.concat([rows, numbers], how="horizontal")
    return Unchecked(part, arrow.collected(rows, source), Place(source.label))


def _part(known: schemas.Table | None) -> Part | None:
    return {"qrels": "qrels", "runs": "run"}.get(known.part) if known else None  # type: ignore[return-value]


def _numbered(quick: partial, careful: partial, number: str) -> pl.DataFrame:  # type: ignore[type-arg]
    """All rows, with the number parsed on the way; or as text first where one is none."""
    try:
        return _whole(quick(), number)
    except InputError:
        return _whole(careful(), number)


def _whole(frames: Iterable[pl.DataFrame], number: str) -> pl.DataFrame:
    pieces = [_cast(frame, number) for frame in frames]
    if not pieces:
        schema = {"query_id": pl.String, "doc_id": pl.String, number: pl.Float64}
        return pl.DataFrame(schema=schema)
    table = pl.concat(pieces, how="diagonal")
    if number in table.columns:
        return table
    best_first = -pl.int_range(pl.len()).cast(pl.Float64)
    score = -pl.col("rank") if "rank" in table.columns else best_first
    return table.select("query_id", "doc_id", score.alias(number))


def _cast(frame: pl.DataFrame, number: str) -> pl.DataFrame:
    """Numbers as numbers, and those fields that are none as they stand."""
    told = []
    if frame.schema.get(number) == pl.String:
        text = pl.col(number).str.strip_chars()
        value = text.cast(pl.Float64, strict=False)
        wrong = ~value.is_finite().fill_null(value=False)
        told = [value, pl.when(wrong).then(text).alias("written")]
    if "rank" in frame.columns:
        told.append(pl.col("rank").cast(pl.Float64, strict=False))
    return frame.with_columns(told)

"""Logs that are tables, in pieces: separated fields with and without a header, Parquet, JSONL."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from functools import partial
from typing import TYPE_CHECKING

import polars as pl

from rankgate.data.formats.tables import arrow
from rankgate.data.logs.columns import mapped
from rankgate.data.place import Place
from rankgate.data.text import json_text, records

if TYPE_CHECKING:
    from rankgate.data.streams.source import InputFile

    Rows = tuple[Iterator[pl.DataFrame], Place]

_MOVIELENS = ("query_id", "doc_id", "value", "at")
_NUMBERS = frozenset({"value"})
_EMPTY = frozenset({"kind", "at"})


def delimited(source: InputFile, columns: Mapping[str, str]) -> Rows:
    """CSV or TSV whose first line names the columns.

    Raises:
        InputError: a missing column, a value that is not a number; with its line.
    """
    first = next(source.chunks(), b"")
    counts = {sep: len(records.first_fields(first, sep)) for sep in records.SEPARATORS}
    header = records.header_in(first, max(counts, key=lambda sep: counts[sep]))
    return _rows(source, header, mapped(header.names, columns, source.label, 1))


def recbole(source: InputFile, columns: Mapping[str, str]) -> Rows:
    """RecBole's atomic file: ``user_id:token``, ``item_id:token`` … between tabs.

    Raises:
        InputError: as `delimited`.
    """
    header = records.header_of(source, "\t")
    plain = {name.rpartition(":")[0] or name: name for name in header.names}
    found = mapped(list(plain), columns, source.label, 1)
    return _rows(source, header, {ours: plain[theirs] for ours, theirs in found.items()})


def u_data(source: InputFile, columns: Mapping[str, str]) -> Rows:
    """MovieLens 100K: user, item, rating and time between tabs, without a header.

    Raises:
        InputError: as `delimited`.
    """
    return _rows(source, records.Header("\t", _MOVIELENS, 0), dict(zip(_MOVIELENS, _MOVIELENS)))  # noqa: B905


def ratings_dat(source: InputFile, columns: Mapping[str, str]) -> Rows:
    """MovieLens 1M and 10M: user, item, rating and time between double colons.

    Raises:
        InputError: as `delimited`.
    """
    user, item, value, at = _MOVIELENS
    names = (user, "gap 1", item, "gap 2", value, "gap 3", at)  # between colons is nothing
    return _rows(
        source, records.Header(":", names, 0, doubled=True), {name: name for name in _MOVIELENS}
    )


def columnar(source: InputFile, columns: Mapping[str, str]) -> Rows:
    """Parquet or Arrow.

    Raises:
        InputError: a damaged file, a missing column.
    """
    frame = arrow.scanned(source)
    found = mapped(frame.collect_schema().names(), columns, source.label)
    chosen = frame.select(pl.col(theirs).alias(ours) for ours, theirs in found.items())
    return arrow.pieces(chosen, source), Place(source.label)


def jsonl(source: InputFile, columns: Mapping[str, str]) -> Rows:
    """One object a line.

    Raises:
        InputError: a line that is not an object, a missing column, a value that is not a number.
    """
    rows, lines = [], []
    found: dict[str, str] = {}
    for line, value in json_text.objects(source):
        found = found or mapped(list(value), columns, source.label, line)
        rows.append(
            _typed({ours: value.get(theirs) for ours, theirs in found.items()}, source.label, line)
        )
        lines.append(line)
    place = Place(source.label, lambda row: lines[row])
    return iter((pl.DataFrame(rows, infer_schema_length=None, strict=False),)), place


def _typed(row: dict[str, object], label: str, line: int) -> dict[str, object]:
    """Ids as strings, values as numbers, times as they are (numbers or dates)."""
    for ours in ("query_id", "doc_id"):
        row[ours] = json_text.identifier(row[ours], ours, label, line)
    if row.get("value") is not None:
        row["value"] = json_text.number(row["value"], "value", label, line)
    if "at" in row and row["at"] is not None:
        row["at"] = str(row["at"])
    return row


def _rows(source: InputFile, header: records.Header, kept: dict[str, str]) -> Rows:
    layout = records.ColumnChoice(header, kept, _NUMBERS & {*kept}, _EMPTY & {*kept})
    return records.frames(source, layout), Place(source.label, partial(_line, source, header))


def _line(source: InputFile, header: records.Header, row: int) -> int | None:
    """The line of a row; without a header there is one line less above it."""
    return records.line_of(source, header, row if header.size else row - 1)

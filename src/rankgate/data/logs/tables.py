"""Logs as tables, in pieces: separated fields with and without a header, Parquet, JSONL."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from functools import partial
from typing import TYPE_CHECKING

import polars as pl

from rankgate.data.formats.tables import arrow
from rankgate.data.logs.columns import map_columns
from rankgate.data.place import RowLocation
from rankgate.data.text import json_text, records

if TYPE_CHECKING:
    from rankgate.data.streams.source import InputFile

    Rows = tuple[Iterator[pl.DataFrame], RowLocation]

_MOVIELENS = ("query_id", "doc_id", "value", "at")
_NUMBERS = frozenset({"value"})
_NULLABLE = frozenset({"kind", "at"})


def read_delimited(source: InputFile, columns: Mapping[str, str]) -> Rows:
    """CSV or TSV whose first line names the columns.

    Raises:
        InputError: a missing column, a value that is not a number; with its line.
    """
    first_chunk = next(source.chunks(), b"")
    counts = {
        separator: len(records.first_fields(first_chunk, separator))
        for separator in records.SEPARATORS
    }
    header = records.parse_header(first_chunk, max(counts, key=lambda sep: counts[sep]))
    return _read_rows(source, header, map_columns(header.names, columns, source.label, 1))


def read_recbole(source: InputFile, columns: Mapping[str, str]) -> Rows:
    """RecBole's atomic file: ``user_id:token``, ``item_id:token`` … between tabs.

    Raises:
        InputError: as `read_delimited`.
    """
    header = records.read_header(source, "\t")
    name_in_file = {name.rpartition(":")[0] or name: name for name in header.names}
    column_map = map_columns(list(name_in_file), columns, source.label, 1)
    return _read_rows(
        source,
        header,
        {column: name_in_file[log_column] for column, log_column in column_map.items()},
    )


def read_u_data(source: InputFile, columns: Mapping[str, str]) -> Rows:
    """MovieLens 100K: user, item, rating and time between tabs, without a header.

    Raises:
        InputError: as `read_delimited`.
    """
    fixed_columns = {name: name for name in _MOVIELENS}
    return _read_rows(source, records.Header("\t", _MOVIELENS, 0), fixed_columns)


def read_ratings_dat(source: InputFile, columns: Mapping[str, str]) -> Rows:
    """MovieLens 1M and 10M: user, item, rating and time between double colons.

    Raises:
        InputError: as `read_delimited`.
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
    )  # between colons is nothing
    return _read_rows(
        source, records.Header(":", names, 0, doubled=True), {name: name for name in _MOVIELENS}
    )


def read_columnar(source: InputFile, columns: Mapping[str, str]) -> Rows:
    """Parquet or Arrow.

    Raises:
        InputError: a damaged file, a missing column.
    """
    frame = arrow.scan_file(source)
    column_map = map_columns(frame.collect_schema().names(), columns, source.label)
    selected = frame.select(
        pl.col(log_column).alias(column) for column, log_column in column_map.items()
    )
    return arrow.collect_batches(selected, source), RowLocation(source.label)


def read_jsonl(source: InputFile, columns: Mapping[str, str]) -> Rows:
    """One object a line.

    Raises:
        InputError: a line that is not an object, a missing column, a value that is not a number.
    """
    rows, lines = [], []
    column_map: dict[str, str] = {}
    for line, value in json_text.read_json_objects(source):
        column_map = column_map or map_columns(list(value), columns, source.label, line)
        rows.append(
            _parse_types(
                {column: value.get(log_column) for column, log_column in column_map.items()},
                source.label,
                line,
            )
        )
        lines.append(line)
    location = RowLocation(source.label, lambda row: lines[row])
    return iter((pl.DataFrame(rows, infer_schema_length=None, strict=False),)), location


def _parse_types(row: dict[str, object], label: str, line: int) -> dict[str, object]:
    """Ids as strings, values as numbers, times unchanged (numbers or dates)."""
    for id_column in ("query_id", "doc_id"):
        row[id_column] = json_text.identifier(row[id_column], id_column, label, line)
    if row.get("value") is not None:
        row["value"] = json_text.number(row["value"], "value", label, line)
    if "at" in row and row["at"] is not None:
        row["at"] = str(row["at"])
    return row


def _read_rows(source: InputFile, header: records.Header, source_columns: dict[str, str]) -> Rows:
    layout = records.ColumnChoice(
        header, source_columns, _NUMBERS & {*source_columns}, _NULLABLE & {*source_columns}
    )
    return records.read_record_frames(source, layout), RowLocation(
        source.label, partial(_line_of_row, source, header)
    )


def _line_of_row(source: InputFile, header: records.Header, row: int) -> int | None:
    """The line of a row; in a file without a header it is one line earlier."""
    return records.line_of(source, header, row if header.size else row - 1)

"""Rows of JSONL: the values of some keys, object by object, or parsed by Polars.

The fast way hands a piece to Polars. Polars takes the last of two equal keys and makes text
of any kind of id; a piece with such a key or id is read again line by line.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from functools import partial
from io import BytesIO
from typing import TYPE_CHECKING, Any

import numpy as np
import polars as pl

from rankgate.core.errors import InputError
from rankgate.core.frozen import dataclass
from rankgate.data.streams.prefetch import run_in_order
from rankgate.data.text import json_text
from rankgate.data.text.utf8 import BOM

if TYPE_CHECKING:
    from rankgate.data.formats.tables.schemas import TableSchema
    from rankgate.data.streams.source import InputFile

# half a character, which Polars reads as NUL; or a letter of a key, which a search would miss
_ESCAPE = re.compile(rb"\\u(?:[dD][89a-fA-F]|00[2-7])")
_NO_ID = rb'\s*:\s*+(?!"|(?:0|-?[1-9]\d*+)\s*+[,}])'
_COLON, _QUOTE = 58, 34
_BLOCK = 1 << 18  # bytes of one block: small enough for the cache
_IDS = ("query_id", "doc_id")


def read_whole(source: InputFile, table: TableSchema) -> pl.DataFrame:
    """The rows of a file with the keys that a table keeps; errors as of `read`."""
    return pl.concat([pl.DataFrame(schema=_schema(table)), *read_frames(source, table)])


def _schema(table: TableSchema) -> dict[str, type[pl.DataType]]:
    return {name: pl.Float64 if name in table.numbers else pl.String for name in table.kept}


@dataclass(frozen=True)
class _JsonPiece:
    data: bytes
    line: int


def read_frames(source: InputFile, table: TableSchema) -> Iterator[pl.DataFrame]:
    """Read the same rows piece by piece; errors as of `read`."""
    tasks = (partial(_parse_piece, piece, table, source) for piece in _read_pieces(source))
    for frame in run_in_order(tasks):
        if len(frame):
            yield frame


def _read_pieces(source: InputFile) -> Iterator[_JsonPiece]:
    line = 1
    for data in source.chunks():
        yield _JsonPiece(data.removeprefix(BOM) if line == 1 else data, line)
        line += data.count(b"\n")


def _parse_piece(piece: _JsonPiece, table: TableSchema, source: InputFile) -> pl.DataFrame:
    frame = _parse_with_polars(piece.data, table)
    return _parse_by_object(piece, table, source) if frame is None else frame


def _parse_with_polars(data: bytes, table: TableSchema) -> pl.DataFrame | None:
    """The rows as Polars reads them; None if the piece needs a closer look."""
    schema = {key: _schema(table)[column] for column, key in table.kept.items()}
    try:
        frame = pl.read_ndjson(data, schema=schema)
    except (pl.exceptions.PolarsError, OSError):  # as in records
        return None
    if not _has_only_kept_keys(data, table, len(frame)) and (
        _ESCAPE.search(data)
        or any(
            _needs_closer_look(data, key, len(frame), number=column in table.numbers)
            for column, key in table.kept.items()
        )
    ):
        return None
    for column in frame:
        is_valid = column.is_finite() if column.dtype == pl.Float64 else column != ""
        if column.null_count() or not is_valid.all():
            return None
    return frame.rename({key: column for column, key in table.kept.items()})


def _has_only_kept_keys(data: bytes, table: TableSchema, rows: int) -> bool:
    """True if every row surely has only the kept keys, each once, and ids are strings.

    Every row has at least a colon for each key, and at most two quotes for each key and each
    string where nothing is escaped; so equal sums mean that every row has just these.
    """
    if b"\\" in data or b"[" in data:
        return False
    codes = np.frombuffer(data, np.uint8)
    keys = len(table.kept)
    strings = len(set(table.kept) - table.numbers)
    colons = quotes = 0
    for begin in range(0, len(codes), _BLOCK):
        block = codes[begin : begin + _BLOCK]
        colons += int(np.count_nonzero(block == _COLON))
        quotes += int(np.count_nonzero(block == _QUOTE))
    return colons == rows * keys and quotes == rows * 2 * (keys + strings)


def _needs_closer_look(data: bytes, key: str, rows: int, *, number: bool) -> bool:
    """True if a key is not exactly once in every row, or an id is neither text nor a whole number.

    Counting takes a tenth of the time of a regular expression, which lets no other thread run.
    Polars itself refuses numbers that are not valid.
    """
    quoted_key = b'"' + key.encode() + b'"'
    if data.count(quoted_key) != rows:
        return True
    if number or data.count(quoted_key + b':"') == rows or data.count(quoted_key + b': "') == rows:
        return False
    return bool(re.search(re.escape(quoted_key) + _NO_ID, data))


def _parse_by_object(piece: _JsonPiece, table: TableSchema, source: InputFile) -> pl.DataFrame:
    """Read the same rows object by object."""
    columns: dict[str, list[str | float | None]] = {column: [] for column in table.kept}
    for line, text in enumerate(piece.data.split(b"\n"), piece.line):
        if not text.strip():
            continue
        value = json_text.parse_json(text.strip(), source.label, line)
        if not isinstance(value, dict):
            problem = f"{json_text.describe_type(value)}, where an object is needed."
            raise InputError(problem, source=source.label, line=line, code="wrong-type")
        for column, key in table.kept.items():
            columns[column].append(_parse_value(value.get(key), column, table, source, line))
    return pl.DataFrame(columns, schema=_schema(table))


def _parse_value(
    value: Any,
    column: str,
    table: TableSchema,
    source: InputFile,
    line: int,
) -> str | float | None:
    if value in (None, "") and column in table.empty:
        return None
    if column in table.numbers:
        return json_text.number(value, column, source.label, line)
    if column not in _IDS and column in table.empty and not isinstance(value, str):
        try:
            return json_text.format_json(value)
        except ValueError:
            problem = f"a number in '{column}' is too large, such as 1e999; write it as a string."
            raise InputError(problem, source=source.label, line=line, code="not-a-number") from None
    return json_text.identifier(value, column, source.label, line)


def line_of(source: InputFile, row: int) -> int | None:
    """The line of a row: blank lines are skipped."""
    line = 0
    for chunk in source.chunks():
        for text in BytesIO(chunk):
            line += 1
            row -= bool(text.strip())
            if row < 0:
                return line
    return None

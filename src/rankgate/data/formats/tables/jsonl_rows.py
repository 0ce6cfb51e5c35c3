"""Rows of JSONL: the values of some keys, object by object, or as Polars reads them.

The fast way hands a piece to Polars. Polars takes the last of two equal keys and makes text
of any kind of id; a piece in which that could happen is read again line by line.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from functools import partial
from typing import TYPE_CHECKING, Any

import numpy as np
import polars as pl

from rankgate.core.errors import InputError
from rankgate.core.frozen import dataclass
from rankgate.data.streams.prefetch import in_order
from rankgate.data.text import json_text
from rankgate.data.text.utf8 import BOM

if TYPE_CHECKING:
    from rankgate.data.formats.tables.schemas import TableSchema
    from rankgate.data.streams.source import InputFile

# half a character, which Polars takes for NUL; or a letter of a key, which could not be found
_ESCAPE = re.compile(rb"\\u(?:[dD][89a-fA-F]|00[2-7])")
_NO_ID = rb'\s*:\s*+(?!"|(?:0|-?[1-9]\d*+)\s*+[,}])'
_COLON, _QUOTE = 58, 34
_BLOCK = 1 << 18  # bytes looked at together: small enough for the cache
_IDS = ("query_id", "doc_id")


def whole(source: InputFile, table: TableSchema) -> pl.DataFrame:
    """The rows of a file with the keys that a table keeps; errors as of `read`."""
    return pl.concat([pl.DataFrame(schema=_schema(table)), *frames(source, table)])


def _schema(table: TableSchema) -> dict[str, type[pl.DataType]]:
    return {name: pl.Float64 if name in table.numbers else pl.String for name in table.kept}


@dataclass(frozen=True)
class _JsonPiece:
    data: bytes
    line: int


def frames(source: InputFile, table: TableSchema) -> Iterator[pl.DataFrame]:
    """The same piece by piece; errors as of `read`."""
    tasks = (partial(_frame, piece, table, source) for piece in _pieces(source))
    for frame in in_order(tasks):
        if len(frame):
            yield frame


def _pieces(source: InputFile) -> Iterator[_JsonPiece]:
    line = 1
    for data in source.chunks():
        yield _JsonPiece(data.removeprefix(BOM) if line == 1 else data, line)
        line += data.count(b"\n")


def _frame(piece: _JsonPiece, table: TableSchema, source: InputFile) -> pl.DataFrame:
    frame = _quick(piece.data, table)
    return _careful(piece, table, source) if frame is None else frame


def _quick(data: bytes, table: TableSchema) -> pl.DataFrame | None:
    """The rows as Polars reads them; None where anything needs a closer look."""
    schema = {theirs: _schema(table)[ours] for ours, theirs in table.kept.items()}
    try:
        frame = pl.read_ndjson(data, schema=schema)
    except (pl.exceptions.PolarsError, OSError):  # as in records
        return None
    if not _bare(data, table, len(frame)) and (
        _ESCAPE.search(data)
        or any(
            _doubtful(data, theirs, len(frame), number=ours in table.numbers)
            for ours, theirs in table.kept.items()
        )
    ):
        return None
    for column in frame:
        fine = column.is_finite() if column.dtype == pl.Float64 else column != ""
        if column.null_count() or not fine.all():
            return None
    return frame.rename({theirs: ours for ours, theirs in table.kept.items()})


def _bare(data: bytes, table: TableSchema, rows: int) -> bool:
    """Whether surely no row has anything but the kept keys, once, and ids are strings.

    Every row has at least a colon for each key, and at most two quotes for each key and each
    string where nothing is escaped; so equal sums mean that every row has just these.
    """
    if b"\\" in data or b"[" in data:
        return False
    values = np.frombuffer(data, np.uint8)
    keys = len(table.kept)
    strings = len(set(table.kept) - table.numbers)
    colons = quotes = 0
    for begin in range(0, len(values), _BLOCK):
        block = values[begin : begin + _BLOCK]
        colons += int(np.count_nonzero(block == _COLON))
        quotes += int(np.count_nonzero(block == _QUOTE))
    return colons == rows * keys and quotes == rows * 2 * (keys + strings)


def _doubtful(data: bytes, key: str, rows: int, *, number: bool) -> bool:
    """Whether a key is not once in every row, or an id is neither text nor a whole number.

    Counting takes a tenth of the time of a regular expression, which lets no other thread run.
    A number that is none is left to Polars.
    """
    written = b'"' + key.encode() + b'"'
    if data.count(written) != rows:
        return True
    if number or data.count(written + b':"') == rows or data.count(written + b': "') == rows:
        return False
    return bool(re.search(re.escape(written) + _NO_ID, data))


def _careful(piece: _JsonPiece, table: TableSchema, source: InputFile) -> pl.DataFrame:
    """The same, object by object."""
    columns: dict[str, list[str | float | None]] = {ours: [] for ours in table.kept}
    for at, text in enumerate(piece.data.split(b"\n"), piece.line):
        if not text.strip():
            continue
        value = json_text.parsed(text.strip(), source.label, at)
        if not isinstance(value, dict):
            problem = f"{json_text.kind(value)}, where an object is needed."
            raise InputError(problem, source=source.label, line=at, code="wrong-type")
        for ours, theirs in table.kept.items():
            columns[ours].append(_value(value.get(theirs), ours, table, source, at))
    return pl.DataFrame(columns, schema=_schema(table))


def _value(
    value: Any,
    ours: str,
    table: TableSchema,
    source: InputFile,
    at: int,
) -> str | float | None:
    if value in (None, "") and ours in table.empty:
        return None
    if ours in table.numbers:
        return json_text.number(value, ours, source.label, at)
    if ours not in _IDS and ours in table.empty and not isinstance(value, str):
        try:
            return json_text.dumped(value)
        except ValueError:
            problem = f"a number in '{ours}' is too large, such as 1e999; write it as a string."
            raise InputError(problem, source=source.label, line=at, code="not-a-number") from None
    return json_text.identifier(value, ours, source.label, at)


def line_of(source: InputFile, row: int) -> int | None:
    """The line of a row: blank lines are skipped."""
    line = 0
    for piece in source.chunks():
        for text in piece.split(b"\n"):
            line += 1
            row -= bool(text.strip())
            if row < 0:
                return line
        line -= piece.endswith(b"\n")
    return None

"""JSONL: one object per line with a query, a document and a grade or a score.

Rows hold the values of some keys. They are parsed by Polars piece by piece, or object by object.
Polars keeps the last of two equal keys and converts any kind of id to text; a piece with such a key
or id is read again line by line.
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterator
from functools import partial
from io import BytesIO
from typing import TYPE_CHECKING, BinaryIO

import numpy as np
import polars as pl

from rankgate.core.errors import InputError
from rankgate.core.frozen import dataclass
from rankgate.data.formats.table import Table, find_schema
from rankgate.data.formats.tables import schemas
from rankgate.data.formats.tables.nested_json import is_record
from rankgate.data.formats.tables.table_contents import table_format
from rankgate.data.streams.source import run_in_order
from rankgate.data.table_rows import blank_ids
from rankgate.data.text import json_text
from rankgate.data.text.text_values import BOM

if TYPE_CHECKING:
    from rankgate.core.value_types import Json
    from rankgate.data.file_contents import FileContents
    from rankgate.data.formats.format import Loss
    from rankgate.data.formats.table import TableSchema
    from rankgate.data.streams.source import InputFile


# half a character, which Polars reads as NUL; or an escaped letter of a key, which a search misses
_ESCAPE = re.compile(rb"\\u(?:[dD][89a-fA-F]|00[2-7])")
_NO_ID = rb'\s*:\s*+(?!"|(?:0|-?[1-9]\d*+)\s*+[,}])'
_COLON, _QUOTE = 58, 34
_BLOCK = 1 << 18  # bytes of one block: small enough for the cache
_IDS = ("query_id", "doc_id")


class JsonlTable(Table):
    """A file with an object a line; the keys of the first object are the columns.

    Raises:
        InputError: the file is empty, or its first line is not an object.
    """

    noun = "key"
    is_ragged = True
    log_format = "jsonl"
    header_line = 1

    def __init__(self, source: InputFile) -> None:
        self.source = source
        _, first_object = next(json_text.read_json_objects(source), (1, None))
        if first_object is None:
            problem = "the file is empty; check whether it was written completely."
            raise InputError(problem, source=source.label, code="empty-file")
        self.names = list(first_object)

    def frames(self, schema: TableSchema) -> Iterator[pl.DataFrame]:
        """The rows of some keys; see `Table.frames`."""
        tasks = (partial(_parse_piece, piece, schema, self.source) for piece in _read_pieces(self.source))
        for frame in run_in_order(tasks):
            if len(frame):
                yield frame

    def frame(self) -> pl.LazyFrame:
        """All keys.

        Raises:
            InputError: a line that is not an object, with its number; columns of different types.
        """
        data = self.source.everything().removeprefix(BOM)
        try:
            rows = pl.read_ndjson(data, infer_schema_length=None).lazy()
            return rows.filter(pl.any_horizontal(pl.all().is_not_null()))  # as lines are counted
        except pl.exceptions.PolarsError:
            for _ in json_text.read_json_objects(self.source):  # this raises the error with the line
                pass
            problem = "one column has values of different types; write each column in one type."
            raise InputError(problem, source=self.source.label, code="wrong-type") from None

    def nested_values(self) -> list[dict[str, Json]]:
        """The lists and objects of each row, also under keys that the first object lacks."""
        return [
            {key: value for key, value in row.items() if isinstance(value, dict | list)}
            for _, row in json_text.read_json_objects(self.source)
            if any(map(_is_filled, row.values()))
        ]

    def line(self, row: int) -> int | None:
        """The line of a row: blank lines and objects without any value are skipped."""
        line = 0
        for chunk in self.source.chunks():
            for text in BytesIO(chunk):
                line += 1
                row -= bool(text.strip()) and _has_values(text)
                if row < 0:
                    return line
        return None


@dataclass(frozen=True)
class _JsonPiece:
    data: bytes
    line: int


def _read_pieces(source: InputFile) -> Iterator[_JsonPiece]:
    line = 1
    for data in source.chunks():
        yield _JsonPiece(data.removeprefix(BOM) if line == 1 else data, line)
        line += data.count(b"\n")


def _parse_piece(piece: _JsonPiece, table: TableSchema, source: InputFile) -> pl.DataFrame:
    frame = _parse_with_polars(piece.data, table)
    return _parse_by_object(piece, table, source) if frame is None else frame


def _parse_with_polars(data: bytes, table: TableSchema) -> pl.DataFrame | None:
    """The rows from Polars; None if the piece must be read object by object."""
    schema = {key: table.types[column] for column, key in table.kept.items()}
    try:
        frame = pl.read_ndjson(data, schema=schema)
    except (pl.exceptions.PolarsError, OSError):  # see the same clause for records
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
        is_valid = column.is_finite() if column.dtype == pl.Float64 else ~blank_ids(column)
        if column.null_count() or not is_valid.all():
            return None
    return frame.rename({key: column for column, key in table.kept.items()})


def _has_only_kept_keys(data: bytes, table: TableSchema, rows: int) -> bool:
    """True if every row certainly has only the kept keys, each once, and ids are strings.

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
    """True if a key is missing or repeated in a row, or an id is neither text nor whole number.

    Counting takes a tenth of the time of a regular expression, which also blocks other threads.
    Polars itself rejects invalid numbers.
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
        if not any(map(_is_filled, value.values())):
            continue
        for column, key in table.kept.items():
            columns[column].append(_parse_value(value.get(key), column, table, source, line))
    return pl.DataFrame(columns, schema=table.types)


def _is_filled(value: Json) -> bool:
    return bool(value.strip()) if isinstance(value, str) else value is not None


def _parse_value(
    value: Json, column: str, table: TableSchema, source: InputFile, line: int
) -> str | float | None:
    if not _is_filled(value) and column in table.empty:
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


def _has_values(text: bytes) -> bool:
    try:
        value = json.loads(text)
    except ValueError:
        return True
    return not isinstance(value, dict) or any(map(_is_filled, value.values()))


def sniff(first_bytes: bytes, name: str) -> str | None:
    """The first line is an object with known keys and plain values."""
    first_object = _first_object(first_bytes)
    table = find_schema(list(first_object)) if first_object else None
    if not first_object or table is None or not _has_plain_values(first_object, table):
        return None
    keys = ", ".join(f"'{key}'" for key in list(table.kept.values())[:3])
    return f"the first line is an object with {keys}"


def write(contents: FileContents, out: BinaryIO) -> tuple[Loss, ...]:
    """Write one part with an object per row; a run keeps its own order."""
    part_name, lost = schemas.choose_part(contents)
    for frame in schemas.part_frames(contents, part_name):
        frame.write_ndjson(out)
    return lost


def _first_object(first_bytes: bytes) -> dict[str, Json] | None:
    line = first_bytes.removeprefix(BOM).lstrip().split(b"\n", 1)[0].strip()
    try:
        value = json_text.parse_json(line, "")
    except InputError:
        return None
    return value if isinstance(value, dict) else None


def has_plain_rows(first_bytes: bytes) -> bool:
    """True if the first line is an object with at least three plain values."""
    first_object = _first_object(first_bytes) or {}
    return len(first_object) > 2 and not any(
        isinstance(value, dict | list) for value in first_object.values()
    )


def has_objects(first_bytes: bytes) -> bool:
    """True if the first line is an object with a query or an id, and another line follows."""
    first_object = _first_object(first_bytes) or {}
    lines = first_bytes.strip().split(b"\n", 1)
    return is_record(first_object) and len(lines) > 1 and lines[1].lstrip().startswith(b"{")


def _has_plain_values(first_object: dict[str, Json], table: TableSchema) -> bool:
    """True if all needed values are plain, as in a row; a query may have a vector."""
    nested = [value for key in table.kept.values() if isinstance(value := first_object[key], dict | list)]
    return not nested or (table.part == "queries" and any(map(_is_vector, nested)))


def _is_vector(value: Json) -> bool:
    return isinstance(value, list) and bool(value) and isinstance(value[0], float | int)


FORMAT = table_format(
    JsonlTable,
    name="jsonl",
    title="JSONL, an object a line with named keys",
    suffixes=(".jsonl", ".ndjson"),
    sniff=sniff,
    write=write,
    loses=schemas.LOSES,
    streams=True,
    detail=(
        "Keys as the columns of csv; all other keys are ignored. An id is a string or a whole number; a "
        "grade or a score is a number or a string that writes one; null is unrated. A key twice in one "
        "object is an error."
    ),
)

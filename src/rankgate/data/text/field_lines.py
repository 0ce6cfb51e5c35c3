"""Parse lines of fields separated by blanks, the form of all TREC files, piece by piece.

The fast method passes a piece to Polars, which needs a *regular* piece: every line has the same
number of fields, separated by exactly one blank, and nothing else. An irregular piece is cleaned
once (tabs, runs of blanks, CRLF, blank lines, comments) and checked again. If it is still
irregular, it has a wrong line, which is found and reported.
"""

from __future__ import annotations

import math
import re
import sys
from collections.abc import Iterator, Sequence
from dataclasses import replace
from functools import cache, partial
from inspect import signature
from io import BytesIO
from itertools import chain, islice
from typing import TYPE_CHECKING, Any

import numpy as np
import polars as pl

from rankgate.core.errors import InputError
from rankgate.core.frozen import dataclass
from rankgate.core.present.number_formats import count_noun
from rankgate.data.streams.source import run_in_order
from rankgate.data.table_rows import with_defects
from rankgate.data.text.text_values import BOM, NOT_UTF8

if TYPE_CHECKING:
    from rankgate.data.streams.source import InputFile


_BLOCK = 1 << 18  # bytes of one block: small enough for the cache
_HEADER_BYTES = 1 << 16  # bytes to search for the first line
_BLANK = 32
_MAX_FIELDS = 6  # most fields in a line of a TREC file
_EXTRA_FIELD = "beyond"  # the field after the last
_CONTROL = rb"[\x00-\x08\x0e-\x1f]"
_NUL_MESSAGE = "NUL bytes, where lines of text are needed; check whether this is the right file."
JOINED_FILES_MESSAGE = (
    "a byte order mark in the middle of the file, as where two files were put together; remove it."
)
CARRIAGE_RETURNS_MESSAGE = "carriage returns where newlines are needed; convert them, as tr '\\r' '\\n' does."
_BINARY_MESSAGE = "control characters, where lines of text are needed; check whether this is the right file."
_INFINITE = r"(?i)^[+-]?inf"
_PREFIX = r"^([+-]?(?:[0-9]+\.?[0-9]*|\.[0-9]+)(?:[eE][+-]?[0-9]+)?)"


@dataclass(frozen=True)
class Layout:
    """The fields of a kind of line.

    Attributes:
        fields: the name of each field, in file order.
        number: the field that holds a number; empty if there is none.
        kept: the fields to return.
        loose: True to read numbers as trec_eval does: the number at the beginning of the field, or
            0.
        longer: True to ignore extra fields at the end of a line.
        defects: True to return numbers that are not finite as null or infinity, with their text in
            a column ``written``; otherwise they are errors.
    """

    fields: Sequence[str]
    number: str
    kept: Sequence[str]
    loose: bool = False
    longer: bool = False
    defects: bool = False

    @property
    def width(self) -> int:
        """The number of fields in a line."""
        return len(self.fields)


def read_line_frames(source: InputFile, layout: Layout) -> Iterator[pl.DataFrame]:
    """The kept fields of every line, piece by piece; the number is Float64.

    Raises:
        InputError: a line has the wrong number of fields, a number is not finite, or bytes are not
            UTF-8 text; the message has file and line.
    """
    chunks = enumerate(source.chunks())
    tasks = (partial(_parse_chunk, number, chunk, layout, source) for number, chunk in chunks)
    for frame in run_in_order(tasks):
        if frame is not None:
            yield frame


def _parse_chunk(number: int, chunk: bytes, layout: Layout, source: InputFile) -> pl.DataFrame | None:
    """One piece as a frame; None if it has only blank lines and comments."""
    data = chunk if number else chunk.removeprefix(BOM)
    if not layout.loose and find_inner_mark(data) is not None:
        raise _find_fault(number, layout, source)
    lines = _count_regular_lines(data, layout.width)
    frame = _parse(data, layout, lines) if lines else None
    if frame is not None and _is_all_finite(frame, layout.number):
        return frame
    data = _normalize_blanks(data, layout)
    if not data:
        return None
    lines = _count_regular_lines(data, layout.width)
    frame = _parse(data, layout, lines) if lines else None
    if lines and (frame is None or not _is_all_finite(frame, layout.number)):
        frame = _parse_nonfinite(data, layout, lines)
    if frame is None:
        raise _find_fault(number, layout, source)
    return frame


def _parse_nonfinite(data: bytes, layout: Layout, lines: int) -> pl.DataFrame | None:
    """Lines with numbers that are not finite, if the layout accepts them; else None."""
    if not layout.loose and not layout.defects:
        return None
    frame = _parse(data, replace(layout, number=""), lines)
    if frame is None or not layout.number:
        return frame
    return _parse_as_atof(frame, layout.number) if layout.loose else with_defects(frame, layout.number)


def find_inner_mark(data: bytes) -> int | None:
    """The offset of a line with a byte order mark, which is allowed only at the start of a file."""
    if b"\xef" not in data:  # quicker than a search for the complete mark
        return None
    offset = 0 if data.startswith(BOM) else data.find(b"\n" + BOM) + 1
    return offset if data.startswith(BOM, offset) else None


def line_of(source: InputFile, row: int) -> int:
    """The number of the line that holds the given 0-based row of the table."""
    line = 0
    for chunk in source.chunks():
        lines = chunk.count(b"\n") + (not chunk.endswith(b"\n"))
        if row >= lines and _is_all_rows(chunk):  # one row per line, and the row is not among them
            line, row = line + lines, row - lines
            continue
        for text in BytesIO(chunk):  # a list of blank lines would need 8 times the memory
            line += 1
            content = text.removeprefix(BOM).strip()
            if content and not content.startswith(b"#"):
                if not row:
                    return line
                row -= 1
    return line


def _is_all_rows(chunk: bytes) -> bool:
    """True if every line certainly holds a row: no line is blank or a comment."""
    codes = np.frombuffer(chunk, np.uint8)
    is_white = codes <= _BLANK
    if is_white[0] or (is_white[1:] & is_white[:-1]).any():
        return False
    return not chunk.startswith(b"#") and b"\n#" not in chunk


def first_fields(source: InputFile) -> list[str]:
    """The fields of the first line that is neither blank nor a comment.

    Raises:
        InputError: the file is empty, or is not text.
    """
    first_bytes = source.head(_HEADER_BYTES)
    if not first_bytes.removeprefix(BOM).strip():
        problem = "the file is empty; check whether it was written completely."
        raise InputError(problem, source=source.label, code="empty-file")
    if b"\x00" in first_bytes:
        raise InputError(_NUL_MESSAGE, source=source.label, code="binary-file")
    last_line = b"" if len(first_bytes) == _HEADER_BYTES else first_bytes  # the last line may be incomplete
    complete_lines = first_bytes[: first_bytes.rfind(b"\n") + 1] or last_line
    for data in chain([complete_lines], source.chunks()):
        for text in BytesIO(data.removeprefix(BOM)):
            content = text.strip()
            if content and not content.startswith(b"#"):
                if re.search(_CONTROL, content):
                    raise InputError(
                        _BINARY_MESSAGE, source=source.label, line=line_of(source, 0), code="binary-file"
                    )
                fields = content.split()
                if b"\r" in content and (len(fields) > _MAX_FIELDS or b"\n" not in first_bytes):
                    raise InputError(
                        CARRIAGE_RETURNS_MESSAGE,
                        source=source.label,
                        line=line_of(source, 0),
                        code="carriage-returns",
                    )
                return [field.decode(errors="replace") for field in fields]
    problem = "the file holds comments only; check whether it was written completely."
    raise InputError(problem, source=source.label, code="empty-file")


def _count_regular_lines(data: bytes, width: int) -> int:
    """The number of lines, if blanks and newlines allow the fast method; else 0.

    The counts cannot distinguish a line with a missing field from a line with an extra field if
    both occur, nor a newline from a tab; the parser detects a missing field, and a smaller number
    of lines.
    """
    codes = np.frombuffer(data, np.uint8)
    blank_count = white_count = 0
    buffers = np.empty((2, _BLOCK + 1), bool)  # new memory for every block would take longer
    for begin in range(0, len(codes), _BLOCK):
        block = codes[begin : begin + _BLOCK + 1]
        is_white, scratch = buffers[:, : len(block)]
        np.less_equal(block, _BLANK, out=is_white)
        if np.logical_and(is_white[1:], is_white[:-1], out=scratch[1:]).any():
            return 0
        white_count += int(np.count_nonzero(is_white[:_BLOCK]))
        np.equal(block, _BLANK, out=scratch)
        blank_count += int(np.count_nonzero(scratch[:_BLOCK]))
        hash_at = data.find(b"#", begin, begin + _BLOCK)
        if hash_at >= 0 and data.find(b"\n#", max(hash_at - 1, 0), begin + _BLOCK) >= 0:
            return 0
    if data[:1] in (b" ", b"\n", b"#"):
        return 0
    lines = white_count - blank_count + (not data.endswith(b"\n"))
    is_regular = blank_count == (width - 1) * lines and data[-1:] != b" "
    return lines if is_regular else 0


def _normalize_blanks(data: bytes, layout: Layout) -> bytes:
    """The same lines with single blanks and without comments, blank lines and extra fields."""
    data = data.translate(bytes.maketrans(b"\t\r\x0b\x0c", b"    "))
    data = re.sub(rb" {2,}", b" ", data)
    data = data.replace(b" \n", b"\n").replace(b"\n ", b"\n").strip()
    data = re.sub(rb"(?m)^#.*$", b"", data)
    data = re.sub(rb"\n{2,}", b"\n", data).strip()
    if layout.longer:
        data = re.sub(rb"(?m)^((?:\S+ ){%d}\S+) .*$" % (layout.width - 1), rb"\1", data)
    return data


def _parse(data: bytes, layout: Layout, lines: int) -> pl.DataFrame | None:
    """The kept fields of some lines; None if a line or a number is wrong.

    The number of fields equals that of regular lines, so if one line has too few, another has too
    many. It is quicker to request a field after the last, which must be empty, than to request the
    last, which must exist: no strings are made for an empty field.
    """
    asks_beyond = layout.fields[-1] not in layout.kept and _inserts_fields()
    last_field = _EXTRA_FIELD if asks_beyond else layout.fields[-1]
    schema = {name: pl.Float64 if name == layout.number else pl.String for name in layout.fields}
    options: dict[str, Any] = {"missing_columns": "insert"} if asks_beyond else {}
    table = pl.scan_csv(
        data,
        has_header=False,
        separator=" ",
        quote_char=None,
        schema={**schema, _EXTRA_FIELD: pl.Boolean} if asks_beyond else schema,
        **options,
    )
    try:
        frame = table.select(*layout.kept, *{last_field}.difference(layout.kept)).collect()
    except (pl.exceptions.PolarsError, OSError):  # see the same clause for records
        return None
    if len(frame) != lines or frame[last_field].null_count() != (lines if asks_beyond else 0):
        return None
    return frame.select(layout.kept)


@cache
def _inserts_fields() -> bool:
    """True if this version of Polars adds fields that no line has."""
    return "missing_columns" in signature(pl.scan_csv).parameters


def _parse_as_atof(frame: pl.DataFrame, name: str) -> pl.DataFrame:
    """Read numbers as C's ``atof`` does; 0 if there is no number.

    Infinity becomes the greatest finite number, which sorts the same way.
    """
    number_text = pl.col(name)
    sign = pl.when(number_text.str.starts_with("-")).then(-1.0).otherwise(1.0)
    number = (
        pl.when(number_text.str.contains(_INFINITE))
        .then(sign * math.inf)
        .otherwise(number_text.str.extract(_PREFIX, 1).cast(pl.Float64).fill_null(0.0))
        .clip(-sys.float_info.max, sys.float_info.max)
        .alias(name)
    )
    return frame.with_columns(number)


def _is_all_finite(frame: pl.DataFrame, number: str) -> bool:
    if not number:
        return True
    values = frame[number]
    is_finite = math.isfinite(values.sum()) or values.is_finite().all()  # a sum may overflow
    return is_finite and not values.null_count()


def _find_fault(number: int, layout: Layout, source: InputFile) -> InputError:
    """The error of the first wrong line of a piece."""
    chunks = source.chunks()
    lines_before = sum(chunk.count(b"\n") for chunk in islice(chunks, number))
    chunk = next(chunks, b"")
    # read line by line: a list of all lines of a piece would need many times its memory
    for line, text in enumerate(BytesIO(chunk), lines_before + 1):
        code, problem = _line_fault(text.removeprefix(BOM) if line == 1 else text, layout)
        if problem:
            if code == "wrong-field-count" and b"\r" in text.strip():
                code, problem = "carriage-returns", CARRIAGE_RETURNS_MESSAGE
            return InputError(problem, source=source.label, line=line, code=code)
    return InputError(
        "cannot be read as fields between blanks.", source=source.label, code="wrong-field-count"
    )


def _line_fault(text: bytes, layout: Layout) -> tuple[str, str]:
    """The code and the message for an error in one line; both empty if there is no error."""
    content = text.strip()
    if not content or content.startswith(b"#"):
        return "", ""
    if re.search(_CONTROL, content):
        return "binary-file", _BINARY_MESSAGE
    if content.startswith(BOM):
        return "joined-lines", JOINED_FILES_MESSAGE
    try:
        fields = [field.decode() for field in content.split()]
    except UnicodeDecodeError:
        return "not-utf8", NOT_UTF8
    return _field_fault(fields, layout)


def _field_fault(fields: list[str], layout: Layout) -> tuple[str, str]:
    if len(fields) < layout.width or (len(fields) > layout.width and not layout.longer):
        field_count = count_noun(len(fields), "field")
        problem = f"{field_count}, expected {layout.width} ({' '.join(layout.fields)})."
        return "wrong-field-count", problem
    if not layout.number or layout.loose or layout.defects:
        return "", ""
    from rankgate.data.text.text_values import number_fault

    return "not-a-number", number_fault(fields[list(layout.fields).index(layout.number)], layout.number)

"""Lines of fields between blanks, the shape of all TREC files, parsed a piece at a time.

The fast way hands a piece to Polars and needs it *regular*: every line has the same
number of fields with exactly one blank between them and nothing else. A piece that is not
is tidied once (tabs, runs of blanks, CRLF, blank lines, comments) and looked at again; a
piece that is still irregular has a wrong line, which is found and named.
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
from rankgate.data.rows import with_defects
from rankgate.data.streams.prefetch import in_order
from rankgate.data.text.utf8 import BOM, NOT_UTF8

if TYPE_CHECKING:
    from rankgate.data.streams.source import InputFile

_BLOCK = 1 << 18  # bytes looked at together: small enough for the cache
_HEAD = 1 << 16  # bytes in which the first line is looked for
_BLANK = 32
_MOST = 6  # fields that a line of a TREC file has
_BEYOND = "beyond"  # the field after the last
_CONTROL = rb"[\x00-\x08\x0e-\x1f]"
_NUL = "NUL bytes, where lines of text are needed; check whether this is the right file."
JOINED = (
    "a byte order mark in the middle of the file, as where two files were put together; remove it."
)
RETURNS = "carriage returns where newlines are needed; convert them, as tr '\\r' '\\n' does."
_BINARY = (
    "control characters, where lines of text are needed; check whether this is the right file."
)
_INFINITE = r"(?i)^[+-]?inf"
_PREFIX = r"^([+-]?(?:[0-9]+\.?[0-9]*|\.[0-9]+)(?:[eE][+-]?[0-9]+)?)"


@dataclass(frozen=True)
class Layout:
    """The fields of one kind of line.

    Attributes:
        fields: the name of each field, in file order.
        number: the one field that holds a number; empty if none does.
        kept: the fields to return.
        loose: read numbers as trec_eval does: what the field begins with, or 0.
        longer: pass over extra fields at the end of a line.
        defects: return numbers that are not finite as null or infinity, with their text in a
            column ``written``, where a strict reader raises an error.
    """

    fields: Sequence[str]
    number: str
    kept: Sequence[str]
    loose: bool = False
    longer: bool = False
    defects: bool = False

    @property
    def width(self) -> int:
        """Fields in a line."""
        return len(self.fields)


def frames(source: InputFile, layout: Layout) -> Iterator[pl.DataFrame]:
    """The kept fields of every line, piece by piece; the number as Float64.

    Raises:
        InputError: a line with the wrong number of fields, a number that is not a finite
            number, bytes that are not UTF-8 text; with file and line.
    """
    pieces = enumerate(source.chunks())
    tasks = (partial(_frame, number, piece, layout, source) for number, piece in pieces)
    for frame in in_order(tasks):
        if frame is not None:
            yield frame


def _frame(number: int, piece: bytes, layout: Layout, source: InputFile) -> pl.DataFrame | None:
    """One piece as a frame; None where there is nothing but blank lines and comments."""
    data = piece if number else piece.removeprefix(BOM)
    if not layout.loose and joined(data) is not None:
        raise _fault(number, layout, source)
    lines = _regular(data, layout.width)
    frame = _parse(data, layout, lines) if lines else None
    if frame is not None and _finite(frame, layout.number):
        return frame
    data = _tidy(data, layout)
    if not data:
        return None
    lines = _regular(data, layout.width)
    frame = _parse(data, layout, lines) if lines else None
    if lines and (frame is None or not _finite(frame, layout.number)):
        frame = _reread(data, layout, lines)
    if frame is None:
        raise _fault(number, layout, source)
    return frame


def _reread(data: bytes, layout: Layout, lines: int) -> pl.DataFrame | None:
    """Lines with a number that is not finite: nothing, unless the layout takes such."""
    if not layout.loose and not layout.defects:
        return None
    frame = _parse(data, replace(layout, number=""), lines)
    if frame is None or not layout.number:
        return frame
    return _loose(frame, layout.number) if layout.loose else with_defects(frame, layout.number)


def joined(data: bytes) -> int | None:
    """Where a line begins with a byte order mark, which only a file may."""
    if b"\xef" not in data:  # quicker than to look for all of it
        return None
    at = 0 if data.startswith(BOM) else data.find(b"\n" + BOM) + 1
    return at if data.startswith(BOM, at) else None


def line_of(source: InputFile, row: int) -> int:
    """The number of the line that holds the given 0-based row of the table."""
    line = 0
    for piece in source.chunks():
        lines = piece.count(b"\n") + (not piece.endswith(b"\n"))
        if row >= lines and _full(piece):  # a row a line, and the row is not among them
            line, row = line + lines, row - lines
            continue
        for text in piece.split(b"\n"):
            line += 1
            content = text.removeprefix(BOM).strip()
            if content and not content.startswith(b"#"):
                if not row:
                    return line
                row -= 1
        line -= piece.endswith(b"\n")
    return line


def _full(piece: bytes) -> bool:
    """Whether surely every line holds a row: none is blank or a comment."""
    values = np.frombuffer(piece, np.uint8)
    white = values <= _BLANK
    if white[0] or (white[1:] & white[:-1]).any():
        return False
    return not piece.startswith(b"#") and b"\n#" not in piece


def first_fields(source: InputFile) -> list[str]:
    """The fields of the first line that is neither blank nor a comment.

    Raises:
        InputError: the file is empty, or is not text.
    """
    head = source.head(_HEAD)
    if not head.removeprefix(BOM).strip():
        problem = "the file is empty; check whether it was written completely."
        raise InputError(problem, source=source.label, code="empty-file")
    if b"\x00" in head:
        raise InputError(_NUL, source=source.label, code="binary-file")
    short = b"" if len(head) == _HEAD else head  # the last line may be cut
    whole = head[: head.rfind(b"\n") + 1] or short
    for data in chain([whole], source.chunks()):
        for text in data.removeprefix(BOM).split(b"\n"):
            content = text.strip()
            if content and not content.startswith(b"#"):
                if re.search(_CONTROL, content):
                    raise InputError(
                        _BINARY, source=source.label, line=line_of(source, 0), code="binary-file"
                    )
                fields = content.split()
                if b"\r" in content and (len(fields) > _MOST or b"\n" not in head):
                    raise InputError(
                        RETURNS,
                        source=source.label,
                        line=line_of(source, 0),
                        code="carriage-returns",
                    )
                return [field.decode(errors="replace") for field in fields]
    problem = "the file holds comments only; check whether it was written completely."
    raise InputError(problem, source=source.label, code="empty-file")


def _regular(data: bytes, width: int) -> int:
    """How many lines, if blanks and newlines are as the fast way needs them; else 0.

    The counts cannot tell a line with a field too few from one with a field too many when
    both occur, nor a newline from a tab; the parser sees the first of the two, and fewer lines.
    """
    values = np.frombuffer(data, np.uint8)
    blanks = whites = 0
    room = np.empty((2, _BLOCK + 1), bool)  # fresh memory for every block would take longer
    for begin in range(0, len(values), _BLOCK):
        block = values[begin : begin + _BLOCK + 1]
        white, other = room[:, : len(block)]
        np.less_equal(block, _BLANK, out=white)
        if np.logical_and(white[1:], white[:-1], out=other[1:]).any():
            return 0
        whites += int(np.count_nonzero(white[:_BLOCK]))
        np.equal(block, _BLANK, out=other)
        blanks += int(np.count_nonzero(other[:_BLOCK]))
        hash_at = data.find(b"#", begin, begin + _BLOCK)
        if hash_at >= 0 and data.find(b"\n#", max(hash_at - 1, 0), begin + _BLOCK) >= 0:
            return 0
    if data[:1] in (b" ", b"\n", b"#"):
        return 0
    lines = whites - blanks + (not data.endswith(b"\n"))
    fits = blanks == (width - 1) * lines and data[-1:] != b" "
    return lines if fits else 0


def _tidy(data: bytes, layout: Layout) -> bytes:
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
    """The kept fields of some lines, or nothing where a line or a number is wrong.

    There are as many fields as in regular lines, so that where a line has too few, another one has
    too many. It is quicker to ask for a field after the last, which must be empty, than for the
    last one, which must be there: no strings are made of it.
    """
    beyond = layout.fields[-1] not in layout.kept and _inserts_fields()
    asked = _BEYOND if beyond else layout.fields[-1]
    schema = {name: pl.Float64 if name == layout.number else pl.String for name in layout.fields}
    options: dict[str, Any] = {"missing_columns": "insert"} if beyond else {}
    table = pl.scan_csv(
        data,
        has_header=False,
        separator=" ",
        quote_char=None,
        schema={**schema, _BEYOND: pl.Boolean} if beyond else schema,
        **options,
    )
    try:
        frame = table.select(*layout.kept, *{asked}.difference(layout.kept)).collect()
    except (pl.exceptions.PolarsError, OSError):  # as in records
        return None
    if len(frame) != lines or frame[asked].null_count() != (lines if beyond else 0):
        return None
    return frame.select(layout.kept)


@cache
def _inserts_fields() -> bool:
    """Whether this version of Polars may be asked for fields that no line has."""
    return "missing_columns" in signature(pl.scan_csv).parameters


def _loose(frame: pl.DataFrame, name: str) -> pl.DataFrame:
    """The number as C's ``atof`` reads it; 0 if there is none.

    What is infinite becomes the greatest finite number, which sorts alike.
    """
    written = pl.col(name)
    sign = pl.when(written.str.starts_with("-")).then(-1.0).otherwise(1.0)
    number = (
        pl.when(written.str.contains(_INFINITE))
        .then(sign * math.inf)
        .otherwise(written.str.extract(_PREFIX, 1).cast(pl.Float64).fill_null(0.0))
        .clip(-sys.float_info.max, sys.float_info.max)
        .alias(name)
    )
    return frame.with_columns(number)


def _finite(frame: pl.DataFrame, number: str) -> bool:
    if not number:
        return True
    values = frame[number]
    finite = math.isfinite(values.sum()) or values.is_finite().all()  # a sum may overflow
    return finite and not values.null_count()


def _fault(number: int, layout: Layout, source: InputFile) -> InputError:
    """What is wrong in the first wrong line of a piece."""
    pieces = source.chunks()
    start = sum(piece.count(b"\n") for piece in islice(pieces, number))
    piece = next(pieces, b"")
    # line by line: a list of all lines of a piece would take many times its memory
    for line, text in enumerate(BytesIO(piece), start + 1):
        code, problem = _wrong(text.removeprefix(BOM) if line == 1 else text, layout)
        if problem:
            if code == "wrong-field-count" and b"\r" in text.strip():
                code, problem = "carriage-returns", RETURNS
            return InputError(problem, source=source.label, line=line, code=code)
    return InputError(
        "cannot be read as fields between blanks.", source=source.label, code="wrong-field-count"
    )


def _wrong(text: bytes, layout: Layout) -> tuple[str, str]:
    """The code and the message of what is wrong with one line; both empty where nothing is."""
    content = text.strip()
    if not content or content.startswith(b"#"):
        return "", ""
    if re.search(_CONTROL, content):
        return "binary-file", _BINARY
    if content.startswith(BOM):
        return "joined-lines", JOINED
    try:
        fields = [field.decode() for field in content.split()]
    except UnicodeDecodeError:
        return "not-utf8", NOT_UTF8
    return _wrong_fields(fields, layout)


def _wrong_fields(fields: list[str], layout: Layout) -> tuple[str, str]:
    if len(fields) < layout.width or (len(fields) > layout.width and not layout.longer):
        found = f"{len(fields)} field{'s' * (len(fields) != 1)}"
        problem = f"{found}, expected {layout.width} ({' '.join(layout.fields)})."
        return "wrong-field-count", problem
    if not layout.number or layout.loose or layout.defects:
        return "", ""
    from rankgate.data.text.numbers import number_fault

    return "not-a-number", number_fault(
        fields[list(layout.fields).index(layout.number)], layout.number
    )

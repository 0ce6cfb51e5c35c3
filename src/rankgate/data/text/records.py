"""Records of separated fields under a header, parsed a piece at a time.

The fast way hands a piece to Polars. A piece that it cannot take, or in which a needed field
is empty, is read again record by record, which reads what is right (quotes in the middle of
a field, blanks around numbers) and names what is wrong.
"""

from __future__ import annotations

import csv
import io
from collections.abc import Iterator, Mapping
from dataclasses import replace
from functools import partial
from typing import TYPE_CHECKING

import numpy as np
import polars as pl

from rankgate.core.errors import InputError
from rankgate.core.frozen import dataclass
from rankgate.data.rows import with_defects
from rankgate.data.streams.prefetch import in_order
from rankgate.data.streams.source import CHUNK
from rankgate.data.text.lines import JOINED, joined
from rankgate.data.text.numbers import number_fault
from rankgate.data.text.utf8 import BOM, decoded

if TYPE_CHECKING:
    from rankgate.data.streams.source import InputFile

SEPARATORS = (",", "\t", ";", "|")

_NEWLINE, _QUOTE = 10, 34
_IRREGULAR = 256 << 20  # bytes that are read record by record, and kept in memory


@dataclass(frozen=True)
class Header:
    """The first line of a file.

    Attributes:
        separator: between the fields.
        names: the name of each column, without blanks around it.
        size: its bytes, with the line's end and a byte order mark.
        doubled: whether two separators in a row are between fields, so that every other field
            holds nothing.
    """

    separator: str
    names: tuple[str, ...]
    size: int
    doubled: bool = False


@dataclass(frozen=True)
class ColumnChoice:
    """Which columns to keep.

    Attributes:
        header: the header.
        kept: our name of each column to keep, and theirs.
        numbers: those of ours that hold numbers; the others hold strings.
        empty: those of ours that may be empty, which is null.
        defects: return empty ids as null, and numbers that are not finite as null or infinity
            with their text in a column ``written``, where a strict reader raises an error.
    """

    header: Header
    kept: Mapping[str, str]
    numbers: frozenset[str] = frozenset()
    empty: frozenset[str] = frozenset()
    defects: bool = False

    @property
    def places(self) -> dict[str, int]:
        """Where each kept column is; the first of that name."""
        return {ours: self.header.names.index(theirs) for ours, theirs in self.kept.items()}


def first_fields(head: bytes, separator: str) -> tuple[str, ...]:
    """The fields of the first line, without blanks around them."""
    first = head.removeprefix(BOM).split(b"\n", 1)[0].decode(errors="replace")
    try:
        fields = next(csv.reader([first.rstrip("\r")], delimiter=separator), [])
    except csv.Error:  # a field that is longer than any name
        return ()
    return tuple(field.strip() for field in fields)


def header_of(source: InputFile, separator: str) -> Header:
    """The header of a file.

    Raises:
        InputError: a line of more than 16 MB, a file that cannot be read.
    """
    return header_in(next(source.chunks(), b""), separator)


def header_in(first: bytes, separator: str) -> Header:
    """The header in the first bytes of a file."""
    size = first.find(b"\n") + 1 or len(first)
    return Header(separator, first_fields(first[:size], separator), size)


def frames(source: InputFile, layout: ColumnChoice) -> Iterator[pl.DataFrame]:
    """The kept columns of all records, piece by piece, numbers as Float64.

    Raises:
        InputError: a record with the wrong number of fields, a number that is not a finite
            number, an empty id, bytes that are not UTF-8 text; with file and line.
    """
    tasks = (partial(_frame, piece, layout, source) for piece in _pieces(source, layout))
    for frame in in_order(tasks):
        if len(frame):
            yield frame


def line_of(source: InputFile, header: Header, row: int) -> int | None:
    """The line that a 0-based row begins on; a quoted field may hold line ends."""
    with source.open() as stream:
        text = io.TextIOWrapper(stream, encoding="utf-8", errors="replace", newline="")
        reader = csv.reader(text, delimiter=header.separator)
        line = 1
        try:
            for fields in reader:
                row -= any(map(str.strip, fields))
                if row < -1:
                    return line
                line = reader.line_num + 1
        except csv.Error:
            return None
    return None


@dataclass(frozen=True)
class _RecordPiece:
    """Some whole records, the line of the first, and whether all quotes are where they belong."""

    data: bytes
    line: int
    regular: bool = True


def _pieces(source: InputFile, layout: ColumnChoice) -> Iterator[_RecordPiece]:
    """Pieces that end where a record ends, without the header.

    Behind a quote in the middle of a field nobody knows without reading which newlines are
    inside of quotes, so that all that follows is one piece.
    """
    line, rest, skipped, regular = 1, b"", layout.header.size, True
    for chunk in source.chunks():
        data = rest + chunk
        if skipped:
            data, line, skipped = data[skipped:], line + data.count(b"\n", 0, skipped), 0
        end = _record_end(data) if regular else 0
        regular = regular and _regular(data[:end], layout.header.separator)
        end = end if regular else 0
        rest = data[end:]
        if len(rest) > (CHUNK if regular else _IRREGULAR):
            raise _unclosed(source, line + data.count(b"\n", 0, end), regular=regular)
        if end:
            yield _RecordPiece(data[:end], line)
            line += data.count(b"\n", 0, end)
    if rest:
        yield _RecordPiece(rest, line, regular=False)


def _unclosed(source: InputFile, line: int, *, regular: bool) -> InputError:
    problem = (
        "a quoted field of more than 16 MB; check whether its quote is closed."
        if regular
        else 'a quote in the middle of a field, in a long file; write such a field as "5"" screen".'
    )
    return InputError(problem, source=source.label, line=line, code="unclosed-quote")


def _record_end(data: bytes) -> int:
    """Where the last record ends that is whole: behind a newline that no quotes are around."""
    if data.count(b'"') % 2 == 0:
        return len(data)
    values = np.frombuffer(data, np.uint8)
    newlines = np.flatnonzero(values == _NEWLINE)
    before = np.searchsorted(np.flatnonzero(values == _QUOTE), newlines)
    outside = newlines[before % 2 == 0]
    return int(outside[-1]) + 1 if len(outside) else 0


def _regular(data: bytes, separator: str) -> bool:
    """Whether each quote begins or ends a field, or is one of two that stand for one.

    Polars loses rows without a word where one does not.
    """
    if b'"' not in data:
        return True
    values = np.frombuffer(b"\n" + data.replace(b'""', b"") + b"\n", np.uint8)
    quotes = np.flatnonzero(values == _QUOTE)
    around = np.frombuffer(f"{separator}\n\r".encode(), np.uint8)
    opening, closing = values[quotes[::2] - 1], values[quotes[1::2] + 1]
    fine = np.isin(opening, around[:2]).all() and np.isin(closing, around).all()
    return bool(fine) and len(quotes) % 2 == 0


def _frame(piece: _RecordPiece, layout: ColumnChoice, source: InputFile) -> pl.DataFrame:
    at = joined(piece.data)
    if at is not None and piece.data.count(b'"', 0, at) % 2 == 0:  # else it is in a field
        line = piece.line + piece.data.count(b"\n", 0, at)
        raise InputError(JOINED, source=source.label, line=line, code="joined-lines")
    frame = _quick(piece.data, layout) if piece.regular else None
    return _careful(piece.data, piece.line, layout, source) if frame is None else frame


def _quick(data: bytes, layout: ColumnChoice) -> pl.DataFrame | None:
    """The kept columns as Polars reads them; None where anything needs a closer look."""
    number = {str(place) for ours, place in layout.places.items() if ours in layout.numbers}
    names = map(str, range(len(layout.header.names)))
    schema = {name: pl.Float64 if name in number else pl.String for name in names}
    kept = [pl.col(str(place)).alias(ours) for ours, place in layout.places.items()]
    separator, last = layout.header.separator, len(schema) - 1
    quoted = b'"' in data
    if quoted:  # then separators cannot be counted, and a record may be cut off before the last
        kept.append(pl.col(str(last)).alias("last field"))
    data = data if data.endswith(b"\n") else data + b"\n"  # or an extra field at the end is lost
    try:
        scan = pl.scan_csv(data, has_header=False, separator=separator, schema=schema)
        frame = scan.select(kept).collect()
    except (pl.exceptions.PolarsError, OSError):  # text that begins as packed files do, too
        return None
    if not quoted and data.count(separator.encode()) != last * len(frame):
        return None
    for column in frame:
        fine = column.is_finite() if column.dtype == pl.Float64 else column != ""
        if column.null_count() or not fine.all():
            return None
    return frame.select(*layout.places)


def _careful(data: bytes, line: int, layout: ColumnChoice, source: InputFile) -> pl.DataFrame:
    """The same, record by record."""
    if layout.defects:
        text = replace(layout, numbers=frozenset(), empty=frozenset(layout.kept), defects=False)
        frame = _careful(data, line, text, source)
        for number in layout.numbers:
            frame = with_defects(frame, number)
        return frame
    places = list(layout.places.items())
    columns: dict[str, list[str | float | None]] = {ours: [] for ours, _ in places}
    for at, fields in _records(data, line, layout.header, source):
        for ours, place in places:
            value = _value(fields[place], ours, layout)
            if isinstance(value, Exception):
                code = "not-a-number" if ours in layout.numbers else "empty-value"
                raise InputError(str(value), source=source.label, line=at, code=code)
            columns[ours].append(value)
    schema = {ours: pl.Float64 if ours in layout.numbers else pl.String for ours in columns}
    return pl.DataFrame(columns, schema=schema)


def _value(text: str, ours: str, layout: ColumnChoice) -> str | float | ValueError | None:
    """A field's value, or what is wrong with it."""
    if not text.strip() and ours in layout.empty:
        return None
    if ours not in layout.numbers:
        return text or ValueError(f"{ours} is empty.")
    problem = number_fault(text.strip(" "), ours)
    return ValueError(problem) if problem else float(text)


def _records(
    data: bytes, line: int, header: Header, source: InputFile
) -> Iterator[tuple[int, list[str]]]:
    """Each record that is not blank, with its line."""
    text = decoded(data, source.label, line)
    reader = csv.reader(io.StringIO(text, newline=""), delimiter=header.separator)
    width, at = len(header.names), line
    while True:
        try:
            fields = next(reader, None)
        except csv.Error as error:
            problem = f"cannot be read as separated fields: {error}."
            raise InputError(problem, source=source.label, line=at, code="invalid-syntax") from None
        if fields is None:
            return
        blank = not fields or (len(fields) == 1 and not fields[0].strip())
        if len(fields) != width and not blank:
            many, wanted = len(fields), width
            if header.doubled:
                many, wanted = (many + 1) // 2, (wanted + 1) // 2
            problem = f"{many} field{'s' * (many != 1)}, expected {wanted} as in the first line."
            raise InputError(problem, source=source.label, line=at, code="wrong-field-count")
        if not blank:
            yield at, fields
        at = line + reader.line_num

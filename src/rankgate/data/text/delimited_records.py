"""Parse records of separated fields with a header piece by piece, and CSV sheets of products.

The fast method passes a piece to Polars. If Polars cannot parse a piece, or a needed field is
empty, the piece is read again record by record. That accepts valid special cases (quotes in the
middle of a field, blanks around numbers) and names the errors.

The columns of product sheets are found by name, with the guard against formulas.
"""

from __future__ import annotations

import csv
import io
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import replace
from functools import partial
from itertools import islice
from typing import TYPE_CHECKING, BinaryIO

import numpy as np
import polars as pl

from rankgate.core.errors import InputError
from rankgate.core.frozen import dataclass
from rankgate.core.present.csv_form import FORMULA_PATTERN, NUMBER_PATTERN
from rankgate.core.present.number_formats import count_noun
from rankgate.data.streams.source import CHUNK, run_in_order
from rankgate.data.table_rows import RowLocation, blank_ids, with_defects
from rankgate.data.text.field_lines import JOINED_FILES_MESSAGE, find_inner_mark
from rankgate.data.text.text_values import BOM, decode_utf8, number_fault

if TYPE_CHECKING:
    from rankgate.data.streams.source import InputFile


SEPARATORS = (",", "\t", ";", "|")

_NEWLINE, _QUOTE = 10, 34
_MAX_IRREGULAR_BYTES = 256 << 20  # bytes that are read record by record and kept in memory


@dataclass(frozen=True)
class Header:
    """The first line of a file.

    Attributes:
        separator: the text between fields.
        names: the name of each column, without blanks around it.
        size: the number of bytes to its end, including the line's end and a byte order mark.
        doubled: True if fields are separated by two separators in a row, so that every second field
            is empty.
        lines_before: the number of lines before it, such as titles.
    """

    separator: str
    names: tuple[str, ...]
    size: int
    doubled: bool = False
    lines_before: int = 0


@dataclass(frozen=True)
class ColumnChoice:
    """The columns to read.

    Attributes:
        header: the header.
        kept: our name of each column to keep, and the file's name.
        numbers: our columns that hold numbers; all others hold strings.
        empty: our columns that may be empty, which is read as null.
        defects: True to return empty ids as null, and numbers that are not finite as null or
            infinity, with their text in a column ``written``; otherwise they are errors.
        decimal_commas: those of the number columns that have a comma where others have a point.
    """

    header: Header
    kept: Mapping[str, str]
    numbers: frozenset[str] = frozenset()
    empty: frozenset[str] = frozenset()
    defects: bool = False
    decimal_commas: frozenset[str] = frozenset()

    @property
    def places(self) -> dict[str, int]:
        """The index of each kept column; of two columns with one name, the first."""
        return {name: self.header.names.index(file_name) for name, file_name in self.kept.items()}


def first_fields(first_bytes: bytes, separator: str) -> tuple[str, ...]:
    """The fields of the first line, without blanks around them."""
    first_line = first_bytes.removeprefix(BOM).split(b"\n", 1)[0].decode(errors="replace")
    try:
        fields = next(csv.reader([first_line.rstrip("\r")], delimiter=separator), [])
    except csv.Error:  # a field is longer than any name
        return ()
    return tuple(field.strip() for field in fields)


def read_header(source: InputFile, separator: str) -> Header:
    """The header of a file.

    Raises:
        InputError: a line has more than 16 MB, or the file cannot be read.
    """
    return parse_header(next(source.chunks(), b""), separator)


def parse_header(first_bytes: bytes, separator: str, lines_before: int = 0) -> Header:
    """The header in the first bytes of a file, after a number of other lines."""
    begin = sum(len(line) + 1 for line in first_bytes.split(b"\n", lines_before)[:lines_before])
    size = first_bytes.find(b"\n", begin) + 1 or len(first_bytes)
    names = first_fields(first_bytes[begin:size], separator)
    return Header(separator, names, size, lines_before=lines_before)


def read_record_frames(source: InputFile, layout: ColumnChoice) -> Iterator[pl.DataFrame]:
    """The kept columns of all records, piece by piece, numbers as Float64.

    Raises:
        InputError: a record has the wrong number of fields, a number is not finite, an id is empty,
            or bytes are not UTF-8 text; the message has file and line.
    """
    tasks = (partial(_parse_piece, piece, layout, source) for piece in _read_record_pieces(source, layout))
    for frame in run_in_order(tasks):
        if len(frame):
            yield frame


_COMMA_NUMBER = r"^\s*[-+]?\d*(,\d+)?([eE][-+]?\d+)?\s*$"
_THOUSANDS = r"^\s*[-+]?[1-9]\d{0,2},\d{3}\s*$"  # 1,234 may be a number of thousands


def find_decimal_commas(source: InputFile, layout: ColumnChoice) -> frozenset[str]:
    """The number columns in which all values have a comma for a point, or are whole.

    One of them must not be readable otherwise: 1,234 alone could be 1234.
    """
    if layout.header.separator == "," or not layout.numbers or b"," not in source.head():
        return frozenset()
    number_columns = {name: column for name, column in layout.kept.items() if name in layout.numbers}
    text_layout = ColumnChoice(layout.header, number_columns, empty=frozenset(number_columns))
    commas, plain_names = set[str](), set[str]()
    for frame in read_record_frames(source, text_layout):
        for texts in frame:
            is_comma = texts.str.contains(r",")
            if (is_comma & ~texts.str.contains(_THOUSANDS)).any():
                commas.add(texts.name)
            if not texts.drop_nulls().str.contains(_COMMA_NUMBER).all():
                plain_names.add(texts.name)
    return frozenset(commas - plain_names)


def line_of(source: InputFile, header: Header, row: int) -> int | None:
    """The line where a row begins (rows count from 0); a quoted field may contain line ends."""
    with source.open() as stream:
        text = io.TextIOWrapper(stream, encoding="utf-8", errors="replace", newline="")
        reader = csv.reader(islice(text, header.lines_before, None), delimiter=header.separator)
        line = header.lines_before + 1
        try:
            for fields in reader:
                row -= any(map(str.strip, fields))
                if row < -1:
                    return line
                line = header.lines_before + reader.line_num + 1
        except csv.Error:
            return None
    return None


@dataclass(frozen=True)
class _RecordPiece:
    """Some whole records, the line of the first record, and True if all quotes are regular."""

    data: bytes
    line: int
    regular: bool = True


def _read_record_pieces(source: InputFile, layout: ColumnChoice) -> Iterator[_RecordPiece]:
    """Pieces that end at the end of a record, without the header.

    After a quote in the middle of a field, the newlines inside quotes are only found by parsing, so
    the remaining data is one piece.
    """
    line, pending, header_size, is_regular = 1, b"", layout.header.size, True
    for chunk in source.chunks():
        data = pending + chunk
        if header_size:
            data, line, header_size = (data[header_size:], line + data.count(b"\n", 0, header_size), 0)
        end = _find_record_end(data) if is_regular else 0
        is_regular = is_regular and _has_regular_quotes(data[:end], layout.header.separator)
        end = end if is_regular else 0
        pending = data[end:]
        if len(pending) > (CHUNK if is_regular else _MAX_IRREGULAR_BYTES):
            problem = (
                "a quoted field of more than 16 MB; check whether its quote is closed."
                if is_regular
                else 'a quote in the middle of a field, in a long file; write such a field as "5"" screen".'
            )
            raise InputError(
                problem, source=source.label, line=(line + data.count(b"\n", 0, end)), code="unclosed-quote"
            )
        if end:
            yield _RecordPiece(data[:end], line)
            line += data.count(b"\n", 0, end)
    if pending:
        yield _RecordPiece(pending, line, regular=False)


def _find_record_end(data: bytes) -> int:
    """The end of the last complete record: after a newline outside quotes."""
    if data.count(b'"') % 2 == 0:
        return len(data)
    values = np.frombuffer(data, np.uint8)
    newlines = np.flatnonzero(values == _NEWLINE)
    quotes_before = np.searchsorted(np.flatnonzero(values == _QUOTE), newlines)
    record_ends = newlines[quotes_before % 2 == 0]
    return int(record_ends[-1]) + 1 if len(record_ends) else 0


def _has_regular_quotes(data: bytes, separator: str) -> bool:
    """True if each quote begins or ends a field, or is part of a doubled quote.

    Otherwise Polars silently loses rows.
    """
    if b'"' not in data:
        return True
    codes = np.frombuffer(b"\n" + data.replace(b'""', b"") + b"\n", np.uint8)
    quote_offsets = np.flatnonzero(codes == _QUOTE)
    delimiters = np.frombuffer(f"{separator}\n\r".encode(), np.uint8)
    before_opening, after_closing = codes[quote_offsets[::2] - 1], codes[quote_offsets[1::2] + 1]
    are_valid = np.isin(before_opening, delimiters[:2]).all() and np.isin(after_closing, delimiters).all()
    return bool(are_valid) and len(quote_offsets) % 2 == 0


def _parse_piece(piece: _RecordPiece, layout: ColumnChoice, source: InputFile) -> pl.DataFrame:
    if not piece.data.strip(b"\r\n"):  # Polars would return blank lines first as rows
        return pl.DataFrame()
    mark_offset = find_inner_mark(piece.data)
    if (
        mark_offset is not None and piece.data.count(b'"', 0, mark_offset) % 2 == 0
    ):  # otherwise the separator is inside a field
        line = piece.line + piece.data.count(b"\n", 0, mark_offset)
        raise InputError(JOINED_FILES_MESSAGE, source=source.label, line=line, code="joined-lines")
    frame = _parse_with_polars(piece.data, layout) if piece.regular else None
    return _parse_by_record(piece.data, piece.line, layout, source) if frame is None else frame


def _parse_with_polars(data: bytes, layout: ColumnChoice) -> pl.DataFrame | None:
    """The kept columns from Polars; None if the piece must be read record by record."""
    points = layout.numbers - layout.decimal_commas
    number = {str(index) for name, index in layout.places.items() if name in points}
    names = map(str, range(len(layout.header.names)))
    schema = {name: pl.Float64 if name in number else pl.String for name in names}
    expressions = [
        pl.col(str(index)).str.replace(",", ".", literal=True).cast(pl.Float64).alias(name)
        if name in layout.decimal_commas
        else pl.col(str(index)).alias(name)
        for name, index in layout.places.items()
    ]
    separator, last = layout.header.separator, len(schema) - 1
    has_quotes = b'"' in data
    if has_quotes:  # with quotes, separators cannot be counted, and a record may end early
        expressions.append(pl.col(str(last)).alias("last field"))
    data = data if data.endswith(b"\n") else data + b"\n"  # keeps an extra field at the end
    try:
        scan = pl.scan_csv(data, has_header=False, separator=separator, schema=schema)
        frame = scan.select(expressions).collect()
    except (pl.exceptions.PolarsError, OSError):  # also for text that begins like a compressed file
        return None
    if not has_quotes and data.count(separator.encode()) != last * len(frame):
        return None
    for column in frame:
        is_valid = column.is_finite() if column.dtype == pl.Float64 else ~blank_ids(column)
        if column.null_count() or not is_valid.all():
            return None
    return frame.select(*layout.places)


def _parse_by_record(data: bytes, line: int, layout: ColumnChoice, source: InputFile) -> pl.DataFrame:
    """The kept columns, read record by record."""
    if layout.defects:
        text_layout = replace(layout, numbers=frozenset(), empty=frozenset(layout.kept), defects=False)
        frame = _parse_by_record(data, line, text_layout, source)
        for number in layout.numbers:
            if number in layout.decimal_commas:
                frame = frame.with_columns(pl.col(number).str.replace(",", ".", literal=True))
            frame = with_defects(frame, number)
        return frame
    indexes = list(layout.places.items())
    columns: dict[str, list[str | float | None]] = {name: [] for name, _ in indexes}
    for record_line, fields in _records(data, line, layout.header, source):
        for name, index in indexes:
            value = _parse_field(fields[index], name, layout)
            if isinstance(value, Exception):
                code = "not-a-number" if name in layout.numbers else "empty-value"
                raise InputError(str(value), source=source.label, line=record_line, code=code)
            columns[name].append(value)
    schema = {name: pl.Float64 if name in layout.numbers else pl.String for name in columns}
    return pl.DataFrame(columns, schema=schema)


def _parse_field(text: str, name: str, layout: ColumnChoice) -> str | float | ValueError | None:
    """The value of a field, or an error with the reason."""
    if not text.strip() and name in layout.empty:
        return None
    if name not in layout.numbers:
        return text if text.strip() else ValueError(f"{name} is empty.")
    number_text = text.replace(",", ".", 1) if name in layout.decimal_commas else text
    problem = number_fault(number_text.strip(" "), name)
    return ValueError(problem) if problem else float(number_text)


def _records(data: bytes, line: int, header: Header, source: InputFile) -> Iterator[tuple[int, list[str]]]:
    """Each record that is not blank, with its line."""
    text = decode_utf8(data, source.label, line)
    reader = csv.reader(io.StringIO(text, newline=""), delimiter=header.separator)
    width, record_line = len(header.names), line
    while True:
        try:
            fields = next(reader, None)
        except csv.Error as error:
            problem = f"cannot be read as separated fields: {error}."
            raise InputError(problem, source=source.label, line=record_line, code="invalid-syntax") from None
        if fields is None:
            return
        is_blank = not any(map(str.strip, fields))
        if len(fields) != width and not is_blank:
            field_count, expected_count = len(fields), width
            if header.doubled:
                field_count, expected_count = (field_count + 1) // 2, (expected_count + 1) // 2
            problem = f"{count_noun(field_count, 'field')}, expected {expected_count} as in the first line."
            raise InputError(problem, source=source.label, line=record_line, code="wrong-field-count")
        if not is_blank:
            yield record_line, fields
        record_line = line + reader.line_num


_GUARDED_FORMULA = r"^ [-=+@]"
_FORMULA = r"^[-=+@]"
_MAX_COLUMNS = 1000


@dataclass(frozen=True)
class CsvSheet:
    """The rows of a CSV file.

    Attributes:
        rows: the requested columns under our names, then all others under the file's names.
        others: the names of all other columns.
        absent: our names without a column in the file; these columns are null.
        place: the location of the rows.
    """

    rows: pl.DataFrame
    others: tuple[str, ...]
    absent: tuple[str, ...]
    place: RowLocation


def most_frequent(separators: str, first_bytes: bytes) -> str:
    """The separator that the first line has most."""
    return max(separators, key=first_bytes.split(b"\n", 1)[0].decode(errors="replace").count)


def read_column_names(first_bytes: bytes, separator: str = ",") -> tuple[str, ...]:
    """The lower-case column names of a file.

    A file with more columns than any product uses belongs to no product.
    """
    names = first_fields(first_bytes, separator)
    return tuple(name.lower() for name in names) if len(names) <= _MAX_COLUMNS else ()


def read_sheet(
    source: InputFile,
    column_names: Mapping[str, tuple[str, ...]],
    *,
    numbers: Sequence[str] = (),
    filled: Iterable[str] = (),
    guard: bool = True,
    separators: str = ",",
) -> CsvSheet:
    r"""Read a file.

    Args:
        source: the file; a byte order mark, ``\\r\\n`` and a missing last newline are fine.
        column_names: for each of our columns the names it may have, in lower case; a column that
            the file lacks is null.
        numbers: the columns that hold numbers, under our names or the file's.
        filled: our columns that may not be empty; an empty field of another column is null.
        guard: True to remove the blank before ``-``, ``=``, ``+`` or ``@``.
        separators: the possible separators; the one that the first line has most is used.

    Raises:
        InputError: there are more than 1,000 columns or two with one name, a record has too many or
            too few fields, a number is invalid, a required field is empty, or text is not UTF-8;
            the message has the line.
    """
    header = read_header(source, most_frequent(separators, source.head()))
    if len(header.names) > _MAX_COLUMNS:
        problem = (
            f"{len(header.names):,} columns, where a product has at most {_MAX_COLUMNS:,}; read it as csv, "
            f"which ignores unknown columns."
        )
        raise InputError(problem, source=source.label, line=1, code="too-large")
    _refuse_twins(header.names, source)
    name_in_file = {name.lower(): name for name in header.names}
    our_columns = {
        column: name_in_file[file_name]
        for column, aliases in column_names.items()
        if (file_name := next((alias for alias in aliases if alias in name_in_file), None)) is not None
    }
    used_names = {*our_columns.values()}
    other_columns = {
        name if name not in column_names else f"{name} (column)": name
        for name in header.names
        if name and name not in used_names
    }
    all_columns = our_columns | other_columns
    for column in filled:
        if column not in our_columns:
            alias_text = " or ".join(column_names[column])
            problem = f"no column {alias_text} among {', '.join(header.names)[:200]}."
            raise InputError(problem, source=source.label, line=1, code="missing-column")
    nullable_columns = frozenset(all_columns) - frozenset(filled)
    layout = ColumnChoice(header, all_columns, frozenset(numbers) & frozenset(all_columns), nullable_columns)
    schema = {name: pl.Float64 if name in layout.numbers else pl.String for name in all_columns}
    rows = pl.concat([pl.DataFrame(schema=schema), *read_record_frames(source, layout)])
    absent = tuple(column for column in column_names if column not in our_columns)
    types = {column: pl.Float64 if column in {*numbers} else pl.String for column in absent}
    rows = rows.with_columns(pl.lit(None, types[column]).alias(column) for column in absent)
    if guard:
        text = pl.col(pl.String)
        unguarded_text = text.str.slice(1)
        rows = rows.with_columns(
            pl.when(text.str.contains(_GUARDED_FORMULA)).then(unguarded_text).otherwise(text)
        )
    location = RowLocation(source.label, partial(line_of, source, header))
    return CsvSheet(rows, tuple(other_columns), absent, location)


def _refuse_twins(names: tuple[str, ...], source: InputFile) -> None:
    names_so_far: set[str] = set()
    for name in filter(None, names):
        if name.lower() in names_so_far:
            problem = f"two columns are called '{name}'; rename one of them."
            raise InputError(problem, source=source.label, line=1, code="duplicate-column")
        names_so_far.add(name.lower())


def write_sheet(table: pl.DataFrame, out: BinaryIO, *, crlf: bool = False, last: bool = True) -> None:
    r"""Write a table with its header; texts that a spreadsheet would run as formulas get a blank.

    Args:
        table: the columns under the names to write; null is an empty field.
        out: the output stream.
        crlf: True to end lines with ``\\r\\n``.
        last: True to end the last line too.
    """
    guarded_table = table.with_columns(_guarded(_FORMULA))
    end = "\r\n" if crlf else "\n"
    text_of_table = guarded_table.write_csv(line_terminator=end, quote_style="necessary")
    out.write((text_of_table if last else text_of_table.removesuffix(end)).encode())


def guard_sheet(content: bytes, separator: str) -> bytes:
    r"""A table as CSV or TSV, with cells escaped so that no spreadsheet program runs a formula.

    >>> guard_sheet(b'query_id,text\n=1+1,"a, b"\n-2,@x\n', ",")
    b'query_id,text\n =1+1,"a, b"\n-2, @x\n'
    """
    if not content.strip():
        return content
    table = pl.read_csv(content, has_header=False, separator=separator, infer_schema=False)
    target = io.BytesIO()
    guarded_table = table.select(_guarded(FORMULA_PATTERN))
    guarded_table.write_csv(target, include_header=False, separator=separator)
    return target.getvalue()


def _guarded(formulas: str) -> pl.Expr:
    """All texts, with a blank before those that begin like a formula and are not numbers."""
    text = pl.col(pl.String)
    is_harmless = ~text.str.contains(formulas) | text.str.contains(NUMBER_PATTERN)
    return pl.when(is_harmless).then(text).otherwise(" " + text)


def format_grade(column: str = "grade") -> pl.Expr:
    """A column of grades as texts, whole grades without a decimal point."""
    number = pl.col(column)
    is_whole = (number == number.round()) & (number.abs() < float(1 << 53))
    whole_text = number.cast(pl.Int64, strict=False).cast(pl.String)
    return pl.when(is_whole).then(whole_text).otherwise(number.cast(pl.String)).alias(column)

"""Spreadsheets of products: columns by their names, with the guard against formulas."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from functools import partial
from typing import TYPE_CHECKING, BinaryIO

import polars as pl

from rankgate.core.errors import InputError
from rankgate.core.formulas import NUMBER_PATTERN
from rankgate.core.frozen import dataclass
from rankgate.data.place import RowLocation
from rankgate.data.text import records

if TYPE_CHECKING:
    from rankgate.data.streams.source import InputFile

_GUARDED_FORMULA = r"^ [-=+@]"
_FORMULA = r"^[-=+@]"
_MAX_COLUMNS = 1000


@dataclass(frozen=True)
class CsvSheet:
    """The rows of a CSV file.

    Attributes:
        rows: the wanted columns under our names, then all others under theirs.
        others: the names of all other columns.
        absent: those of our names without a column in the file; they are null.
        place: where the rows are.
    """

    rows: pl.DataFrame
    others: tuple[str, ...]
    absent: tuple[str, ...]
    place: RowLocation


def read_column_names(first_bytes: bytes) -> tuple[str, ...]:
    """The names of the columns, in lower case, of a file with commas between its fields.

    A file of more columns than any product has belongs to no product.
    """
    names = records.first_fields(first_bytes, ",")
    return tuple(name.lower() for name in names) if len(names) <= _MAX_COLUMNS else ()


def read_sheet(
    source: InputFile,
    column_names: Mapping[str, tuple[str, ...]],
    *,
    numbers: Sequence[str] = (),
    filled: Iterable[str] = (),
    guard: bool = True,
) -> CsvSheet:
    r"""Read a file.

    Args:
        source: the file; a byte order mark, ``\\r\\n`` and a missing last newline are fine.
        column_names: for each of our columns the names it may have, in lower case; a column that
            the file lacks is null.
        numbers: those that hold numbers, of ours or of others.
        filled: those of ours that may not be empty; another column's empty field is null.
        guard: take away the blank that is before ``-``, ``=``, ``+`` or ``@``.

    Raises:
        InputError: more than 1,000 columns, two of one name, a record of too many or too few
            fields, an invalid number, an empty field that may not be empty, text that
            is not UTF-8; with the line.
    """
    header = records.read_header(source, ",")
    if len(header.names) > _MAX_COLUMNS:
        problem = (
            f"{len(header.names):,} columns, where a product has at most {_MAX_COLUMNS:,}; read "
            "it as "
            "csv, which passes over those that it does not know."
        )
        raise InputError(problem, source=source.label, line=1, code="too-large")
    _refuse_twins(header.names, source)
    name_in_file = {name.lower(): name for name in header.names}
    our_columns = {
        column: name_in_file[file_name]
        for column, aliases in column_names.items()
        if (file_name := next((alias for alias in aliases if alias in name_in_file), None))
        is not None
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
    layout = records.ColumnChoice(
        header, all_columns, frozenset(numbers) & frozenset(all_columns), nullable_columns
    )
    schema = {name: pl.Float64 if name in layout.numbers else pl.String for name in all_columns}
    rows = pl.concat([pl.DataFrame(schema=schema), *records.read_record_frames(source, layout)])
    absent = tuple(column for column in column_names if column not in our_columns)
    types = {column: pl.Float64 if column in {*numbers} else pl.String for column in absent}
    rows = rows.with_columns(pl.lit(None, types[column]).alias(column) for column in absent)
    if guard:
        text = pl.col(pl.String)
        unguarded_text = text.str.slice(1)
        rows = rows.with_columns(
            pl.when(text.str.contains(_GUARDED_FORMULA)).then(unguarded_text).otherwise(text)
        )
    location = RowLocation(source.label, partial(records.line_of, source, header))
    return CsvSheet(rows, tuple(other_columns), absent, location)


def _refuse_twins(names: tuple[str, ...], source: InputFile) -> None:
    names_so_far: set[str] = set()
    for name in filter(None, names):
        if name.lower() in names_so_far:
            problem = f"two columns are called '{name}'; rename one of them."
            raise InputError(problem, source=source.label, line=1, code="duplicate-column")
        names_so_far.add(name.lower())


def write_sheet(
    table: pl.DataFrame, out: BinaryIO, *, crlf: bool = False, last: bool = True
) -> None:
    r"""Write a table with its header; texts that a spreadsheet takes for formulas get a blank.

    Args:
        table: the columns, under the names they are to have; null is an empty field.
        out: where to.
        crlf: end lines with ``\\r\\n``.
        last: end the last line too.
    """
    text = pl.col(pl.String)
    is_harmless = ~text.str.contains(_FORMULA) | text.str.contains(NUMBER_PATTERN)
    guarded_text = pl.when(is_harmless).then(text).otherwise(" " + text)
    guarded_table = table.with_columns(guarded_text)
    end = "\r\n" if crlf else "\n"
    text_of_table = guarded_table.write_csv(line_terminator=end, quote_style="necessary")
    out.write((text_of_table if last else text_of_table.removesuffix(end)).encode())


def format_grade(column: str = "grade") -> pl.Expr:
    """A column of grades as texts, whole ones without a point."""
    number = pl.col(column)
    is_whole = (number == number.round()) & (number.abs() < float(1 << 53))
    whole_text = number.cast(pl.Int64, strict=False).cast(pl.String)
    return pl.when(is_whole).then(whole_text).otherwise(number.cast(pl.String)).alias(column)

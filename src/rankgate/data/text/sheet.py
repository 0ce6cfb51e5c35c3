"""Spreadsheets of products: columns by their names, with the guard against formulas."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from functools import partial
from typing import TYPE_CHECKING, BinaryIO

import polars as pl

from rankgate.core.errors import InputError
from rankgate.core.formulas import NUMBER
from rankgate.core.frozen import dataclass
from rankgate.data.place import Place
from rankgate.data.text import records

if TYPE_CHECKING:
    from rankgate.data.streams.source import InputFile

_GUARDED = r"^ [-=+@]"
_DANGEROUS = r"^[-=+@]"
_MOST = 1000


@dataclass(frozen=True)
class CsvSheet:
    """The rows of a CSV file.

    Attributes:
        rows: the wanted columns under our names, then all others under theirs.
        others: the names of the columns that nobody wanted.
        absent: those of our names that no column was found of; they are null.
        place: where the rows are.
    """

    rows: pl.DataFrame
    others: tuple[str, ...]
    absent: tuple[str, ...]
    place: Place


def names_of(head: bytes) -> tuple[str, ...]:
    """The names of the columns, in lower case, of a file with commas between its fields.

    A file of more columns than any product has is of none of them.
    """
    names = records.first_fields(head, ",")
    return tuple(name.lower() for name in names) if len(names) <= _MOST else ()


def sheet(
    source: InputFile,
    wanted: Mapping[str, tuple[str, ...]],
    *,
    numbers: Sequence[str] = (),
    filled: Iterable[str] = (),
    guard: bool = True,
) -> CsvSheet:
    r"""Read a file.

    Args:
        source: the file; a byte order mark, ``\\r\\n`` and a missing last newline are fine.
        wanted: for each of our columns the names it may have, in lower case; a column that no
            name is found of is null.
        numbers: those that hold numbers, of ours or of others.
        filled: those of ours that may not be empty; another column's empty field is null.
        guard: take away the blank that is before ``-``, ``=``, ``+`` or ``@``.

    Raises:
        InputError: more than 1,000 columns, two of one name, a record of too many or too few
            fields, an invalid number, an empty field that may not be empty, text that
            is not UTF-8; with the line.
    """
    header = records.header_of(source, ",")
    if len(header.names) > _MOST:
        problem = (
            f"{len(header.names):,} columns, where a product has at most {_MOST:,}; read it as "
            "csv, which passes over those that it does not know."
        )
        raise InputError(problem, source=source.label, line=1, code="too-large")
    _refuse_twins(header.names, source)
    theirs = {name.lower(): name for name in header.names}
    kept = {
        ours: theirs[found]
        for ours, aliases in wanted.items()
        if (found := next((alias for alias in aliases if alias in theirs), None)) is not None
    }
    used = {*kept.values()}
    others = {
        name if name not in wanted else f"{name} (column)": name
        for name in header.names
        if name and name not in used
    }
    every = kept | others
    for ours in filled:
        if ours not in kept:
            shown = " or ".join(wanted[ours])
            problem = f"no column {shown} among {', '.join(header.names)[:200]}."
            raise InputError(problem, source=source.label, line=1, code="missing-column")
    empty = frozenset(every) - frozenset(filled)
    layout = records.ColumnChoice(header, every, frozenset(numbers) & frozenset(every), empty)
    schema = {name: pl.Float64 if name in layout.numbers else pl.String for name in every}
    rows = pl.concat([pl.DataFrame(schema=schema), *records.frames(source, layout)])
    absent = tuple(ours for ours in wanted if ours not in kept)
    types = {ours: pl.Float64 if ours in {*numbers} else pl.String for ours in absent}
    rows = rows.with_columns(pl.lit(None, types[ours]).alias(ours) for ours in absent)
    if guard:
        text = pl.col(pl.String)
        unguarded = text.str.slice(1)
        rows = rows.with_columns(
            pl.when(text.str.contains(_GUARDED)).then(unguarded).otherwise(text)
        )
    place = Place(source.label, partial(records.line_of, source, header))
    return CsvSheet(rows, tuple(others), absent, place)


def _refuse_twins(names: tuple[str, ...], source: InputFile) -> None:
    seen: set[str] = set()
    for name in filter(None, names):
        if name.lower() in seen:
            problem = f"two columns are called '{name}'; rename one of them."
            raise InputError(problem, source=source.label, line=1, code="duplicate-column")
        seen.add(name.lower())


def write(table: pl.DataFrame, out: BinaryIO, *, crlf: bool = False, last: bool = True) -> None:
    r"""Write a table with its header; texts that a spreadsheet takes for formulas get a blank.

    Args:
        table: the columns, under the names they are to have; null is an empty field.
        out: where to.
        crlf: end lines with ``\\r\\n``.
        last: end the last line too.
    """
    text = pl.col(pl.String)
    harmless = ~text.str.contains(_DANGEROUS) | text.str.contains(NUMBER)
    guarded = pl.when(harmless).then(text).otherwise(" " + text)
    ready = table.with_columns(guarded)
    end = "\r\n" if crlf else "\n"
    written = ready.write_csv(line_terminator=end, quote_style="necessary")
    out.write((written if last else written.removesuffix(end)).encode())


def grade(column: str = "grade") -> pl.Expr:
    """A column of grades as texts, whole ones without a point."""
    number = pl.col(column)
    exact = (number == number.round()) & (number.abs() < float(1 << 53))
    short = number.cast(pl.Int64, strict=False).cast(pl.String)
    return pl.when(exact).then(short).otherwise(number.cast(pl.String)).alias(column)

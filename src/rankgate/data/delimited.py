"""CSV and TSV with a header line: any column order, any of the known names, quotes allowed."""

from __future__ import annotations

import csv
import io
import re
from typing import TYPE_CHECKING

import polars as pl

from rankgate.data.columns import graded, is_header, shaped
from rankgate.data.contents import Contents
from rankgate.data.format import Format
from rankgate.data.lines import number_fault
from rankgate.data.place import Place
from rankgate.data.qrels import Qrels, refuse_holes
from rankgate.data.run import Run
from rankgate.errors import InputError

if TYPE_CHECKING:
    from collections.abc import Iterator

    from rankgate.data.source import Source

SEPARATORS = (",", "\t", ";", "|")


def separator_of(head: bytes) -> str | None:
    """The separator under which the first line names columns; none if it does not."""
    first = head.removeprefix(b"\xef\xbb\xbf").split(b"\n", 1)[0].decode(errors="replace")
    for separator in SEPARATORS:
        if is_header(next(csv.reader([first.rstrip("\r")], delimiter=separator), [])):
            return separator
    return None


def read_qrels(source: Source) -> Qrels:
    """Judgments from columns for query, document and grade.

    Raises:
        InputError: a missing column, a grade that is no number, with its line.
        DuplicateError: a document judged twice for one query.
    """
    return Qrels(_table(source, "grade"), name=source.stem, place=_place(source))


def read_run(source: Source) -> Run:
    """A run from columns for query, document and score, or rank.

    Raises:
        InputError: a missing column.
    """

    def pieces() -> Iterator[pl.DataFrame]:
        table = _table(source, "score")
        refuse_holes(table, "score", place)
        yield table

    place = _place(source)
    return Run(source.stem, pieces, place=place)


def read(source: Source) -> Contents:
    """Judgments or a run, by the names of the columns.

    Raises:
        InputError: as of the two readers.
    """
    head = source.head().removeprefix(b"\xef\xbb\xbf")
    first = head.split(b"\n", 1)[0].decode(errors="replace").rstrip("\r")
    names = next(csv.reader([first], delimiter=separator_of(head) or ","), [])
    if graded(names):
        return Contents(qrels=read_qrels(source))
    return Contents(runs=(read_run(source),))


def sniff(head: bytes, name: str) -> str | None:  # noqa: ARG001 - what every format is asked
    """The separator, if the first line names columns."""
    separator = separator_of(head)
    shown = {"\t": "tabs", ",": "commas", ";": "semicolons", "|": "bars"}
    return f"the first line names columns between {shown[separator]}" if separator else None


def _table(source: Source, number: str) -> pl.DataFrame:
    data = source.everything().removeprefix(b"\xef\xbb\xbf")
    separator = separator_of(data[: 1 << 16]) or ","
    try:
        frame = pl.scan_csv(data, separator=separator, infer_schema=False)
        names = frame.collect_schema().names()
        frame = frame.rename({name: name.strip() for name in names if name != name.strip()})
        text = shaped(frame, number, source.label).collect()
    except pl.exceptions.InvalidOperationError:
        raise _not_a_number(data, separator, number, source) from None
    except pl.exceptions.PolarsError as error:
        raise InputError(_first_line(error), source=source.label) from None
    return text


def _not_a_number(data: bytes, separator: str, number: str, source: Source) -> InputError:
    frame = pl.read_csv(data, separator=separator, infer_schema=False)
    from rankgate.data.columns import named  # noqa: PLC0415 - the way of an error only

    wanted = (number, "rank") if number == "score" else (number,)
    column = frame[next(iter(named(frame.columns, wanted).values()))]
    for row, text in enumerate(column.to_list()):
        problem = number_fault(text or "", number)
        if problem:
            return InputError(problem, source=source.label, line=_line(source, row))
    return InputError(f"a {number} is not a number.", source=source.label)


def _first_line(error: Exception) -> str:
    text = re.sub(r"\s+", " ", str(error).split("\n", 1)[0])
    return f"cannot be read as separated columns: {text}."


def _place(source: Source) -> Place:
    return Place(source.label, lambda row: _line(source, row))


def _line(source: Source, row: int) -> int:
    """The line of a row; a quoted field may hold line ends, so the reader counts them."""
    data = source.everything()
    separator = separator_of(data[: 1 << 16]) or ","
    reader = csv.reader(io.StringIO(data.decode(errors="replace")), delimiter=separator)
    line = 1
    for number, fields in enumerate(reader, -1):
        if number == row and fields:
            return line
        line = reader.line_num + 1
    return line


FORMAT = Format(
    name="csv",
    title="CSV or TSV whose first line names the columns",
    suffixes=(".csv", ".tsv"),
    sniff=sniff,
    read=read,
    read_qrels=read_qrels,
    read_run=read_run,
    holds=("qrels", "runs"),
    detail="",
)

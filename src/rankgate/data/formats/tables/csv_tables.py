"""CSV and TSV with a header line: any column order, any of the known names, quotes allowed."""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import replace
from functools import partial
from itertools import islice
from typing import TYPE_CHECKING, BinaryIO, Literal

import polars as pl

from rankgate.core.errors import InputError
from rankgate.data.column_names import match_columns
from rankgate.data.foreign_frames import is_header
from rankgate.data.formats.table import Table, find_schema
from rankgate.data.formats.tables import schemas
from rankgate.data.formats.tables.table_contents import table_format
from rankgate.data.text import delimited_records
from rankgate.data.text.field_lines import CARRIAGE_RETURNS_MESSAGE
from rankgate.data.text.text_values import BOM

if TYPE_CHECKING:
    from rankgate.data.file_contents import FileContents
    from rankgate.data.formats.format import Loss
    from rankgate.data.formats.table import TableSchema
    from rankgate.data.streams.source import InputFile


_SEPARATOR_NAMES = {",": "commas", "\t": "tabs", ";": "semicolons", "|": "bars"}
_MARK = "\ufeff"
_RECORDS, _BEGINNING = 6, 1 << 16  # records and bytes to find the separator in


def separator_of(first_bytes: bytes) -> str | None:
    """The separator that splits the first line into column names; None if there is none."""
    for separator in delimited_records.SEPARATORS:
        names = delimited_records.first_fields(first_bytes, separator)
        if is_header(names) or (len(names) > 1 and find_schema(names)):
            return separator
    return None


def likely_separator(first_bytes: bytes) -> str:
    """The separator that gives most fields in the first records, if no column name is a usual one."""
    from rankgate.data.text.spreadsheet_cells import number_rows

    text = first_bytes[:_BEGINNING].removeprefix(BOM).decode(errors="replace")

    def fields(separator: str) -> tuple[bool, bool, int]:
        records = islice(number_rows(text, separator, "its first lines"), _RECORDS)
        counts = [len(cells) for _, cells in records if any(map(str.strip, cells))]
        return max(counts[:1], default=0) > 1, len(set(counts)) == 1, min(counts, default=0)

    return max(delimited_records.SEPARATORS, key=fields)


def find_header(first_bytes: bytes) -> tuple[int, str | None]:
    r"""The number of lines before the names of columns, and the separator of the names, if known.

    Lines before them are ``sep=;``, as Excel writes it, blank, or titles with at most one field.

    >>> find_header(b"Survey of May,,\nquery,doc,grade\n"), find_header(b"sep=;\na;b\n")
    ((1, ','), (1, ';'))
    """
    lines = first_bytes[:_BEGINNING].removeprefix(BOM).split(b"\n")[: _MAX_TITLES + 1]
    if stated := _STATED_SEPARATOR.fullmatch(lines[0]):
        return 1, stated[1].decode()
    for number, line in enumerate(lines):
        if separator := separator_of(line):
            fields = (delimited_records.first_fields(title, separator) for title in lines[:number])
            return (number, separator) if all(sum(map(bool, cells)) <= 1 for cells in fields) else (0, None)
    return 0, None


_STATED_SEPARATOR = re.compile(rb"sep=([,;|\t])\r?")
_MAX_TITLES = 10


class CsvTable(Table):
    """A file of separated fields with the names of the columns in a line near its beginning.

    Args:
        source: the file.
        separator: the text between fields; by default the one that gives known names of columns.

    Raises:
        InputError: lines end with carriage returns only, or the file cannot be read.
    """

    log_format = "csv"

    def __init__(self, source: InputFile, separator: str | None = None) -> None:
        self.source = source
        first_chunk = next(source.chunks(), b"")
        lines_before, usual_separator = (0, None) if separator else find_header(first_chunk)
        self.header_line = lines_before + 1
        separator = separator or usual_separator
        if separator is None and b"\r" in first_chunk.split(b"\n", 1)[0].rstrip(b"\r"):
            raise InputError(CARRIAGE_RETURNS_MESSAGE, source=source.label, line=1, code="carriage-returns")
        self.header = delimited_records.parse_header(
            first_chunk, separator or likely_separator(first_chunk), lines_before
        )
        self.names = self.header.names
        self._decimal_commas: dict[frozenset[tuple[str, str]], frozenset[str]] = {}  # by number columns

    def frames(self, schema: TableSchema) -> Iterator[pl.DataFrame]:
        """The rows of some columns; see `Table.frames`. Numbers may have a decimal comma."""
        return delimited_records.read_record_frames(self.source, self._layout(schema))

    def frame(self) -> pl.LazyFrame:
        """All columns as text; a repeated name gets its position as a suffix."""
        names = tuple(
            name if name not in self.names[:index] else f"{name} {index + 1}"
            for index, name in enumerate(self.names)
        )
        columns = dict(zip(names, names, strict=True))
        layout = delimited_records.ColumnChoice(
            replace(self.header, names=names), columns, empty=frozenset(names)
        )
        empty_table = pl.DataFrame(schema=dict.fromkeys(names, pl.String))
        return pl.concat([empty_table, *delimited_records.read_record_frames(self.source, layout)]).lazy()

    def line(self, row: int) -> int | None:
        """The line of a row; records may have several lines."""
        return delimited_records.line_of(self.source, self.header, row)

    def cautions(self, schema: TableSchema) -> dict[str, str]:
        """The caution about numbers with a decimal comma."""
        names = ", ".join(sorted(self._layout(schema).decimal_commas))
        text = f"{self.source.label}: numbers in {names} have a decimal comma"
        return {"decimal-commas": text} if names else {}

    def _layout(self, schema: TableSchema) -> delimited_records.ColumnChoice:
        layout = delimited_records.ColumnChoice(
            self.header, schema.kept, schema.numbers, schema.empty, schema.defects
        )
        number_columns = frozenset(pair for pair in schema.kept.items() if pair[0] in schema.numbers)
        if number_columns not in self._decimal_commas:  # it may read the file
            commas = delimited_records.find_decimal_commas(self.source, layout)
            self._decimal_commas[number_columns] = commas
        return replace(layout, decimal_commas=self._decimal_commas[number_columns])


def sniff(first_bytes: bytes, name: str) -> str | None:
    """A line near the beginning names columns that are known."""
    lines_before, separator = find_header(first_bytes)
    if lines_before and separator:
        return f"line {lines_before + 1} names columns between {_SEPARATOR_NAMES[separator]}"
    separator = separator or _guess_separator(first_bytes)
    return f"the first line names columns between {_SEPARATOR_NAMES[separator]}" if separator else None


def _guess_separator(first_bytes: bytes) -> str | None:
    """The separator of a first line of unusual names that describe the columns."""
    from rankgate.data.guessed_column_names import names_columns

    separator = likely_separator(first_bytes)
    return separator if names_columns(delimited_records.first_fields(first_bytes, separator)) else None


def sniff_tabs(first_bytes: bytes, name: str) -> str | None:
    """The first line names columns that are known, between tabs."""
    separator = separator_of(first_bytes) or _guess_separator(first_bytes)
    names = delimited_records.first_fields(first_bytes, "\t")
    if not separator and len(names) > 1 and match_columns(names, ("query_id",)):
        return None if any(map(str.isnumeric, names)) else "the first line names queries, between tabs"
    return sniff(first_bytes, name) if separator == "\t" else None


def write(contents: FileContents, out: BinaryIO, separator: str = ",") -> tuple[Loss, ...]:
    """Write one part as a table; a run keeps its own order."""
    part_name, lost = schemas.choose_part(contents)
    is_first = True
    for frame in schemas.part_frames(contents, part_name):
        # otherwise a line that begins with a byte order mark would be read as a file's beginning
        has_mark = frame.to_series(0).cast(pl.String).str.starts_with(_MARK).any()
        style: Literal["always", "necessary"] = "always" if has_mark else "necessary"
        frame.write_csv(out, separator=separator, include_header=is_first, quote_style=style)
        is_first = False
    return lost


FORMAT = table_format(
    CsvTable,
    name="csv",
    title="CSV with column names in the first line",
    suffixes=(".csv",),
    sniff=sniff,
    write=write,
    loses=schemas.LOSES,
    streams=True,
    detail=(
        "The columns may be in any order and have any of the names that tools use (query_id, qid, query, "
        "topic; doc_id, docid, docno, corpus-id; grade, rating, relevance; score, sim; rank); other columns "
        "are passed over. Commas, tabs, semicolons or bars separate them; a byte order mark and Windows line "
        "ends are fine. An empty grade means that the pair is unrated, not that its grade is 0. Judgments "
        "may have subtopic with subtopic_weight (its weight among the subtopics of its query), inclusion "
        "(the probability of being drawn to be judged) and stratum. In a run, latency_ms and state (ok, "
        "zero, failed, not_run) give the time that each query took and how it ended."
    ),
)
TSV = replace(
    FORMAT,
    name="tsv",
    title="TSV with column names in the first line",
    suffixes=(".tsv", ".tab"),
    sniff=sniff_tabs,
    write=partial(write, separator="\t"),
    detail="As csv, with tabs between the fields.",
)

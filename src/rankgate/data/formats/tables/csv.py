"""CSV and TSV with a header line: any column order, any of the known names, quotes allowed."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace
from functools import partial
from typing import TYPE_CHECKING, BinaryIO, Literal

import polars as pl

from rankgate.core.errors import InputError
from rankgate.data.columns import is_header, named, one_document_column
from rankgate.data.contents import FileContents
from rankgate.data.formats.format import Format
from rankgate.data.formats.tables import run_columns, schemas
from rankgate.data.place import Place
from rankgate.data.rows import NUMBERS, FileRows
from rankgate.data.run import Run
from rankgate.data.text import records
from rankgate.data.text.lines import RETURNS

if TYPE_CHECKING:
    from rankgate.data.formats.format import Loss
    from rankgate.data.formats.tables.schemas import TableSchema
    from rankgate.data.qrels import Qrels
    from rankgate.data.streams.source import InputFile

_BETWEEN = {",": "commas", "\t": "tabs", ";": "semicolons", "|": "bars"}
_MARK = "\ufeff"


def separator_of(head: bytes) -> str | None:
    """The separator under which the first line names columns; none if it does not."""
    for separator in records.SEPARATORS:
        names = records.first_fields(head, separator)
        if is_header(names) or (len(names) > 1 and schemas.table_of(names)):
            return separator
    return None


def sniff(head: bytes, name: str) -> str | None:
    """The first line names columns that are known."""
    separator = separator_of(head)
    return f"the first line names columns between {_BETWEEN[separator]}" if separator else None


def sniff_tabs(head: bytes, name: str) -> str | None:
    """The first line names columns that are known, between tabs."""
    return sniff(head, name) if separator_of(head) == "\t" else None


def read(source: InputFile) -> FileContents:
    """What the columns say: judgments, a run, ratings, queries, documents or metric values."""
    header = _header(source)
    table = schemas.table_of(header.names)
    if table is None:
        names = ", ".join(header.names[:10])
        problem = f"the columns {names} match no known table; see rankgate formats csv."
        raise InputError(problem, source=source.label, line=1, code="unknown-format")
    if table.part == "runs":
        return FileContents(runs=(read_run(source),))
    if table.part == "qrels":
        one_document_column(header.names, source.label)
    return schemas.contents_of(table, _whole(source, header, table), source.stem, _place(source))


def read_qrels(source: InputFile) -> Qrels:
    """Judgments from columns for query, document and grade; pairs without a grade are unrated."""
    header = _header(source)
    rows = _whole(source, header, schemas.asked(header.names, "qrels", source.label))
    with schemas.ratings_named(header.names):
        return schemas.judgments(rows, source.stem, _place(source))[0]


def read_run(source: InputFile) -> Run:
    """A run from columns for query, document and score, or rank; rows are read when needed."""
    header = _header(source)
    table = schemas.asked(header.names, "runs", source.label)

    def pieces(document: str) -> Iterator[pl.DataFrame]:
        kept = table.kept | {"doc_id": document}
        layout = records.ColumnChoice(header, kept, table.numbers, table.empty)
        for frame in records.frames(source, layout):
            yield schemas.scored(frame)

    columns = table.document_columns(header.names)
    for document in columns:
        refuse_twins(header, replace(table, kept=table.kept | {"doc_id": document}), source)
    readings = {document: partial(pieces, document) for document in columns}
    return Run.of_columns(
        source.stem, readings, queries=_queries(source, header), place=_place(source)
    )


def rows(source: InputFile) -> FileRows | None:
    """The rows with their defects, with the rank; None where they are neither kind.

    Raises:
        InputError: a record with the wrong number of fields, bytes that are not text.
    """
    header = _header(source)
    table = schemas.table_of(header.names)
    part = schemas.part_of(table)
    if table is None or part is None:
        return None
    one_document_column(header.names, source.label)
    refuse_twins(header, table, source)
    kept = table.kept
    if part == "run" and "score" in kept:
        kept = kept | named(header.names, ("rank",))
    number = frozenset({NUMBERS[part]} & set(kept))
    empty = table.empty | ({"rank"} & set(kept))
    layout = records.ColumnChoice(header, kept, number, empty, defects=True)
    return FileRows.of(part, records.frames(source, layout), _place(source))


def _queries(source: InputFile, header: records.Header) -> pl.DataFrame | None:
    kept = run_columns.kept(header.names)
    if not kept:
        return None
    result = frozenset(kept) - {"query_id"}
    layout = records.ColumnChoice(header, kept, result & {"latency_ms"}, result)
    return run_columns.queries_of(records.frames(source, layout), source.label)


def write(contents: FileContents, out: BinaryIO, separator: str = ",") -> tuple[Loss, ...]:
    """One part as a table, a run in its own order."""
    part, lost = schemas.chosen(contents)
    first = True
    for frame in schemas.rows(contents, part):
        # a line that began with a byte order mark would be taken for the beginning of a file
        marked = frame.to_series(0).cast(pl.String).str.starts_with(_MARK).any()
        style: Literal["always", "necessary"] = "always" if marked else "necessary"
        frame.write_csv(out, separator=separator, include_header=first, quote_style=style)
        first = False
    return lost


def _header(source: InputFile) -> records.Header:
    first = next(source.chunks(), b"")
    separator = separator_of(first)
    if separator is None and b"\r" in first.split(b"\n", 1)[0].rstrip(b"\r"):
        raise InputError(RETURNS, source=source.label, line=1, code="carriage-returns")
    return records.header_in(first, separator or ",")


def refuse_twins(header: records.Header, table: TableSchema, source: InputFile) -> None:
    """Check that each column that is read appears once; nobody knows which of two is meant.

    Raises:
        InputError: two columns of one name.
    """
    lower = [name.lower() for name in header.names]
    for theirs in table.kept.values():
        if lower.count(theirs.lower()) > 1:
            problem = f"two columns are called '{theirs}'; rename or remove one of them."
            raise InputError(problem, source=source.label, line=1, code="duplicate-column")


def _whole(source: InputFile, header: records.Header, table: TableSchema) -> pl.DataFrame:
    refuse_twins(header, table, source)
    layout = records.ColumnChoice(header, table.kept, table.numbers, table.empty)
    schema = {name: pl.Float64 if name in table.numbers else pl.String for name in table.kept}
    return pl.concat([pl.DataFrame(schema=schema), *records.frames(source, layout)])


def _place(source: InputFile) -> Place:
    return Place(source.label, partial(_line, source))


def _line(source: InputFile, row: int) -> int | None:
    return records.line_of(source, _header(source), row)


FORMAT = Format(
    name="csv",
    title="CSV whose first line names the columns",
    suffixes=(".csv",),
    sniff=sniff,
    read=read,
    write=write,
    read_qrels=read_qrels,
    read_run=read_run,
    rows=rows,
    holds=schemas.HOLDS,
    loses=schemas.LOSES,
    columns=schemas.COLUMNS,
    streams=True,
    detail=(
        "The columns may be in any order and have any of the names that tools use "
        "(query_id, qid, query, topic; doc_id, docid, docno, corpus-id; grade, rating, relevance; "
        "score, sim; rank); other columns are passed over. Commas, tabs, semicolons or bars "
        "separate them; a byte order mark and Windows line ends are fine. An empty grade means "
        "that the pair is unrated, not that its grade is 0. Judgments may have subtopic with "
        "subtopic_weight (what it weighs among those of its query), inclusion (the probability of "
        "being drawn to be judged) and stratum. Of a run latency_ms and state (ok, zero, failed, "
        "not_run) say how long each query took and how it ended."
    ),
)
TSV = replace(
    FORMAT,
    name="tsv",
    title="TSV whose first line names the columns",
    suffixes=(".tsv", ".tab"),
    sniff=sniff_tabs,
    write=partial(write, separator="\t"),
    detail="As csv, with tabs between the fields.",
)

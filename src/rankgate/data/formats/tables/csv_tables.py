"""CSV and TSV with a header line: any column order, any of the known names, quotes allowed."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import replace
from functools import partial
from typing import TYPE_CHECKING, BinaryIO, Literal

import polars as pl

from rankgate.core.errors import InputError
from rankgate.data.column_names import match_columns
from rankgate.data.file_contents import FileContents
from rankgate.data.foreign_frames import is_header, one_document_column
from rankgate.data.formats.format import Format
from rankgate.data.formats.tables import interaction_formats, schemas
from rankgate.data.guessed_column_names import refuse_click_log
from rankgate.data.run import Run
from rankgate.data.table_rows import NUMBER_COLUMNS, FileRows, RowLocation
from rankgate.data.text import delimited_records
from rankgate.data.text.field_lines import CARRIAGE_RETURNS_MESSAGE
from rankgate.data.text.text_values import BOM

if TYPE_CHECKING:
    from rankgate.data.formats.format import Loss
    from rankgate.data.formats.tables.schemas import TableSchema
    from rankgate.data.qrels import Qrels
    from rankgate.data.streams.source import InputFile


_SEPARATOR_NAMES = {",": "commas", "\t": "tabs", ";": "semicolons", "|": "bars"}
_MARK = "\ufeff"
_LINES, _BEGINNING = 6, 1 << 16  # lines and bytes to find the separator in


def separator_of(first_bytes: bytes) -> str | None:
    """The separator that splits the first line into column names; None if there is none."""
    for separator in delimited_records.SEPARATORS:
        names = delimited_records.first_fields(first_bytes, separator)
        if is_header(names) or (len(names) > 1 and schemas.find_schema(names)):
            return separator
    return None


def likely_separator(first_bytes: bytes) -> str:
    """The separator that gives most fields in the first lines, if no column name is a usual one."""
    lines = [line for line in first_bytes.removeprefix(BOM).split(b"\n")[:_LINES] if line.strip()]

    def fields(separator: str) -> tuple[bool, int]:
        counts = [len(delimited_records.first_fields(line, separator)) for line in lines]
        return len(set(counts)) == 1, min(counts, default=0)

    return max(delimited_records.SEPARATORS, key=fields)


def table(source: InputFile) -> pl.LazyFrame:
    """The rows under the file's names, as strings."""
    header = _read_header(source)
    names = _unique_names(header.names)
    columns = dict(zip(names, names, strict=True))
    layout = delimited_records.ColumnChoice(
        replace(header, names=tuple(names)), columns, empty=frozenset(names)
    )
    empty_table = pl.DataFrame(schema=dict.fromkeys(names, pl.String))
    return pl.concat([empty_table, *delimited_records.read_record_frames(source, layout)]).lazy()


def _unique_names(names: Sequence[str]) -> list[str]:
    """The names; repeated names get their position as a suffix."""
    return [name if name not in names[:index] else f"{name} {index + 1}" for index, name in enumerate(names)]


def sniff(first_bytes: bytes, name: str) -> str | None:
    """The first line names columns that are known."""
    separator = separator_of(first_bytes) or _guess_separator(first_bytes)
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


def read(source: InputFile) -> FileContents:
    """The part that the columns hold: judgments, a run, ratings, queries, documents or values."""
    header = _read_header(source)
    if interaction_formats.is_log(header.names):
        return interaction_formats.read_contents(source, "csv")
    refuse_click_log(header.names, source.label)
    table = schemas.find_schema(header.names)
    if table is None:
        names = ", ".join(header.names[:10])
        problem = f"the columns {names} match no known table; see rankgate formats csv."
        raise InputError(problem, source=source.label, line=1, code="unknown-format")
    if table.part == "runs":
        return FileContents(runs=(read_run(source),))
    if table.part == "qrels":
        one_document_column(header.names, source.label)
    rows = _read_whole(source, _choose_columns(source, header, table))
    with schemas.explain_duplicates(header.names):
        return schemas.contents_of(table, rows, source.stem, _make_location(source))


def read_qrels(source: InputFile) -> Qrels:
    """Judgments from columns for query, document and grade; pairs without a grade are unrated."""
    header = _read_header(source)
    if interaction_formats.is_log(header.names):
        return interaction_formats.read_judgments(source, "csv")
    if not match_columns(header.names, ("grade",)):
        refuse_click_log(header.names, source.label)
    table = schemas.required_schema(header.names, "qrels", source.label)
    layout = _choose_columns(source, header, table)
    rows = _read_whole(source, layout)
    with schemas.explain_duplicates(header.names):
        qrels = schemas.make_qrels(rows, source.stem, _make_location(source))[0]
    return replace(qrels, cautions=_comma_cautions(source, layout)) if layout.decimal_commas else qrels


def read_run(source: InputFile) -> Run:
    """A run from columns for query, document and score, or rank; rows are read when needed."""
    header = _read_header(source)
    table = schemas.required_schema(header.names, "runs", source.label)

    columns = table.document_columns(header.names)
    for document_column in columns:
        refuse_repeated_columns(header, replace(table, kept=table.kept | {"doc_id": document_column}), source)
    layout = _choose_columns(source, header, table)

    def pieces(document_column: str) -> Iterator[pl.DataFrame]:
        column_layout = replace(layout, kept=table.kept | {"doc_id": document_column})
        for frame in delimited_records.read_record_frames(source, column_layout):
            yield schemas.with_scores(frame)

    readings = {document_column: partial(pieces, document_column) for document_column in columns}
    return Run.of_columns(
        source.stem,
        readings,
        queries=_read_queries(source, header),
        place=_make_location(source),
        cautions=_comma_cautions(source, layout),
    )


def rows(source: InputFile) -> FileRows | None:
    """The rows with invalid values and ranks; None if they are neither judgments nor a run.

    Raises:
        InputError: a record has the wrong number of fields, or bytes are not text.
    """
    header = _read_header(source)
    table = schemas.find_schema(header.names)
    input_kind = schemas.input_kind_of(table)
    if table is None or input_kind is None:
        return None
    one_document_column(header.names, source.label)
    refuse_repeated_columns(header, table, source)
    source_columns = table.kept
    if input_kind == "run" and "score" in source_columns:
        source_columns = source_columns | match_columns(header.names, ("rank",))
    number_columns = frozenset({NUMBER_COLUMNS[input_kind]} & set(source_columns))
    nullable_columns = table.empty | ({"rank"} & set(source_columns))
    layout = delimited_records.ColumnChoice(
        header, source_columns, number_columns, nullable_columns, defects=True
    )
    layout = replace(layout, decimal_commas=delimited_records.find_decimal_commas(source, layout))
    return FileRows.from_frames(
        input_kind, delimited_records.read_record_frames(source, layout), _make_location(source)
    )


def _read_queries(source: InputFile, header: delimited_records.Header) -> pl.DataFrame | None:
    source_columns = schemas.find_run_columns(header.names)
    if not source_columns:
        return None
    value_columns = frozenset(source_columns) - {"query_id"}
    layout = delimited_records.ColumnChoice(
        header, source_columns, value_columns & {"latency_ms"}, value_columns
    )
    return schemas.read_query_states(delimited_records.read_record_frames(source, layout), source.label)


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


def _read_header(source: InputFile) -> delimited_records.Header:
    first_chunk = next(source.chunks(), b"")
    separator = separator_of(first_chunk)
    if separator is None and b"\r" in first_chunk.split(b"\n", 1)[0].rstrip(b"\r"):
        raise InputError(CARRIAGE_RETURNS_MESSAGE, source=source.label, line=1, code="carriage-returns")
    return delimited_records.parse_header(
        first_chunk, separator or likely_separator(first_chunk[:_BEGINNING])
    )


def refuse_repeated_columns(header: delimited_records.Header, table: TableSchema, source: InputFile) -> None:
    """Check that each column to read appears once; a second one would be ambiguous.

    Raises:
        InputError: two columns have the same name.
    """
    lower_names = [name.lower() for name in header.names]
    for file_column in table.kept.values():
        if lower_names.count(file_column.lower()) > 1:
            problem = f"two columns are called '{file_column}'; rename or remove one of them."
            raise InputError(problem, source=source.label, line=1, code="duplicate-column")


def _read_whole(source: InputFile, layout: delimited_records.ColumnChoice) -> pl.DataFrame:
    schema = {name: pl.Float64 if name in layout.numbers else pl.String for name in layout.kept}
    return pl.concat([pl.DataFrame(schema=schema), *delimited_records.read_record_frames(source, layout)])


def _choose_columns(
    source: InputFile, header: delimited_records.Header, table: TableSchema
) -> delimited_records.ColumnChoice:
    """The columns to read; numbers may have a decimal comma, if all of a column have it."""
    refuse_repeated_columns(header, table, source)
    layout = delimited_records.ColumnChoice(header, table.kept, table.numbers, table.empty)
    return replace(layout, decimal_commas=delimited_records.find_decimal_commas(source, layout))


def _comma_cautions(source: InputFile, layout: delimited_records.ColumnChoice) -> dict[str, str]:
    """The caution about numbers with a decimal comma, by its code."""
    names = ", ".join(sorted(layout.decimal_commas))
    return {"decimal-commas": f"{source.label}: numbers in {names} have a decimal comma"} if names else {}


def _make_location(source: InputFile) -> RowLocation:
    return RowLocation(source.label, partial(line_of, source))


def line_of(source: InputFile, row: int) -> int | None:
    """The line of a row."""
    return delimited_records.line_of(source, _read_header(source), row)


FORMAT = Format(
    name="csv",
    title="CSV with column names in the first line",
    suffixes=(".csv",),
    sniff=sniff,
    read=read,
    write=write,
    read_qrels=read_qrels,
    read_run=read_run,
    rows=rows,
    table=table,
    holds=schemas.HOLDS,
    loses=schemas.LOSES,
    columns=schemas.COLUMNS,
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

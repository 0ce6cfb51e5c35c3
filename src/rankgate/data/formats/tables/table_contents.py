"""Judgments, runs, ratings, texts and values of a table, whatever the format of its file."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import replace
from functools import partial
from typing import TYPE_CHECKING, Any

import polars as pl

from rankgate.core.errors import InputError
from rankgate.data.column_names import match_columns
from rankgate.data.file_contents import FileContents
from rankgate.data.foreign_frames import one_document_column
from rankgate.data.formats.format import Format
from rankgate.data.formats.table import Table, TableSchema, input_kind_of
from rankgate.data.formats.tables import interaction_formats, schemas
from rankgate.data.guessed_column_names import refuse_click_log
from rankgate.data.run import Run
from rankgate.data.table_rows import NUMBER_COLUMNS

if TYPE_CHECKING:
    from rankgate.data.qrels import Qrels
    from rankgate.data.streams.source import InputFile, InputKind
    from rankgate.data.unchecked_rows import RawQrels, RawRun


_PARTS = {"qrels": "qrels", "run": "runs"}


def table_format(table: Callable[[InputFile], Table], **fields: Any) -> Format:
    """The format of files that hold one table.

    Args:
        table: makes the table of a file.
        fields: the other fields of the format.
    """
    return Format(
        read=lambda source: read_table(table(source), source.read_as),
        rows=lambda source: raw_rows(table(source)),
        table=table,
        holds=schemas.HOLDS,
        columns=schemas.COLUMNS,
        **fields,
    )


def form_of_table(form: Format, table: Table) -> Format:
    """The format of a file whose table is made already.

    Args:
        form: the format of the file.
        table: the table.
    """
    kept_fields = {name: getattr(form, name) for name in ("name", "title", "suffixes", "sniff", "detail")}
    return table_format(lambda _: table, **kept_fields)


def read_table(table: Table, read_as: InputKind | None = None) -> FileContents:
    """The part that the columns hold: judgments, a run, ratings, queries, documents or values.

    Args:
        table: the table.
        read_as: the judgments or the run, where these alone are asked for.

    Raises:
        InputError: the columns are those of no such table; see also `Table.frames`.
        DuplicateError: a document is judged twice for one query.
    """
    if read_as == "qrels":
        return FileContents(qrels=read_table_qrels(table))
    if read_as == "run":
        return FileContents(runs=(read_table_run(table),))
    label = table.source.label
    if interaction_formats.is_log(table.names):
        return interaction_formats.read_contents(table.log_source(), table.log_format)
    refuse_click_log(table.names, label, table.header_line)
    schema = table.schema()
    if schema is None:
        names = ", ".join(table.names[:10])
        problem = f"the {table.noun}s {names} match no known table; see rankgate formats csv."
        raise InputError(problem, source=label, line=table.header_line, code="unknown-format")
    if schema.part == "runs":
        return FileContents(runs=(read_table_run(table),))
    if schema.part == "qrels":
        one_document_column(table.names, label)
    rows = read_columns(table, schema)
    with schemas.explain_duplicates(table.names):
        return schemas.contents_of(schema, rows, table.source.stem, table.location)


def read_table_qrels(table: Table) -> Qrels:
    """Judgments from columns for query, document and grade; pairs without a grade are unrated.

    Raises:
        InputError: a column is missing; see also `Table.frames`.
        DuplicateError: a document is judged twice for one query.
    """
    if interaction_formats.is_log(table.names):
        return interaction_formats.read_judgments(table.log_source(), table.log_format)
    if not match_columns(table.names, ("grade",)):
        refuse_click_log(table.names, table.source.label, table.header_line)
    schema = table.required_schema("qrels")
    rows = read_columns(table, schema)
    with schemas.explain_duplicates(table.names):
        qrels = schemas.make_qrels(rows, table.source.stem, table.location)[0]
    cautions = table.cautions(schema)
    return replace(qrels, cautions=cautions) if cautions else qrels


def read_table_run(table: Table) -> Run:
    """A run from columns for query, document and score, or rank; rows are read when needed.

    Raises:
        InputError: a column is missing or repeated.
    """
    schema = table.required_schema("runs")
    schema_by_column = {
        column: replace(schema, kept=schema.kept | {"doc_id": column})
        for column in schema.document_columns(table.names)
    }
    for column_schema in schema_by_column.values():
        _refuse_repeated_columns(table, column_schema)

    def pieces(column: str) -> Iterator[pl.DataFrame]:
        yield from map(schemas.with_scores, _frames_of_run(table, schema_by_column[column]))

    return Run.of_columns(
        table.source.stem,
        {column: partial(pieces, column) for column in schema_by_column},
        queries=_read_queries(table),
        place=table.location,
        cautions=table.cautions(schema),
    )


def raw_rows(table: Table, read_as: InputKind | None = None) -> RawQrels | RawRun | None:
    """The rows with invalid values and ranks; None if they are neither judgments nor a run.

    Args:
        table: the table.
        read_as: the kind to read it as; what its columns say if not given.

    Raises:
        InputError: rows that cannot be read, as records with a wrong number of fields.
    """
    from rankgate.data.unchecked_rows import unchecked_rows

    schema = table.required_schema(_PARTS[read_as]) if read_as else table.schema()
    input_kind = input_kind_of(schema)
    if schema is None or input_kind is None:
        return None
    one_document_column(table.names, table.source.label)
    rank = match_columns(table.names, ("rank",)) if input_kind == "run" and "score" in schema.kept else {}
    columns = schema.kept | rank
    schema = replace(
        schema,
        kept=columns,
        numbers=frozenset({NUMBER_COLUMNS[input_kind]} & set(columns)),
        empty=schema.empty | ({"rank"} & set(columns)),
        defects=True,
    )
    _refuse_repeated_columns(table, schema)
    return unchecked_rows(input_kind, _frames_of_run(table, schema), table.source.stem, table.location)


def _frames_of_run(table: Table, schema: TableSchema) -> Iterator[pl.DataFrame]:
    """The rows of some columns; ranks that make the scores must be whole numbers.

    Raises:
        InputError: a rank is not; see also `Table.frames`.
    """
    makes_scores = "rank" in schema.kept and "score" not in schema.kept and "rank" not in table.named_by_user
    first_row = 0
    for frame in table.frames(schema):
        if makes_scores:
            schemas.refuse_fractional_ranks(frame["rank"], table.location, first_row)
        first_row += len(frame)
        yield frame


def read_columns(table: Table, schema: TableSchema) -> pl.DataFrame:
    """All rows of some columns.

    Raises:
        InputError: a column is repeated; see also `Table.frames`.
    """
    _refuse_repeated_columns(table, schema)
    return pl.concat([pl.DataFrame(schema=schema.types), *table.frames(schema)])


def _read_queries(table: Table) -> pl.DataFrame | None:
    columns = schemas.find_run_columns(table.names)
    if not columns:
        return None
    value_columns = frozenset(columns) - {"query_id"}
    schema = TableSchema("states", columns, value_columns & {"latency_ms"}, value_columns)
    return schemas.read_query_states(table.frames(schema), table.source.label)


def _refuse_repeated_columns(table: Table, schema: TableSchema) -> None:
    """Check that each column to read appears once; a second one would be ambiguous.

    Raises:
        InputError: two columns have the same name.
    """
    lower_names = [name.lower() for name in table.names]
    for column in schema.kept.values():
        if lower_names.count(column.lower()) > 1:
            problem = f"two {table.noun}s are called '{column}'; rename or remove one of them."
            raise InputError(
                problem, source=table.source.label, line=table.header_line, code="duplicate-column"
            )

"""JSONL: one object a line with a query, a document and a grade or a score."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import suppress
from dataclasses import replace
from functools import partial
from typing import TYPE_CHECKING, Any, BinaryIO

import polars as pl

from rankgate.core.errors import InputError
from rankgate.data.columns import map_columns, one_document_column
from rankgate.data.contents import FileContents
from rankgate.data.formats.format import Format
from rankgate.data.formats.tables import interactions, run_columns, schemas
from rankgate.data.formats.tables.jsonl_rows import line_of, read_frames, read_whole
from rankgate.data.place import RowLocation
from rankgate.data.rows import FileRows
from rankgate.data.run import Run
from rankgate.data.text import json_text
from rankgate.data.text.utf8 import BOM

if TYPE_CHECKING:
    from rankgate.data.formats.format import Loss
    from rankgate.data.formats.tables.schemas import TableSchema
    from rankgate.data.qrels import Qrels
    from rankgate.data.streams.source import InputFile


def sniff(first_bytes: bytes, name: str) -> str | None:
    """The first line is an object with known keys and plain values."""
    first_object = _first_object(first_bytes)
    table = schemas.find_schema(list(first_object)) if first_object else None
    if not first_object or table is None or not _has_plain_values(first_object, table):
        return None
    keys = ", ".join(f"'{key}'" for key in list(table.kept.values())[:3])
    return f"the first line is an object with {keys}"


def read(source: InputFile) -> FileContents:
    """The part that the keys hold: judgments, a run, ratings, queries, documents or values."""
    names = read_key_names(source)
    if interactions.is_log(names):
        return interactions.read_contents(source, "jsonl")
    table = schemas.find_schema(names)
    if table is None:
        problem = f"the keys {', '.join(names[:10])} match no known table."
        raise InputError(problem, source=source.label, line=1, code="unknown-format")
    if table.part == "runs":
        return FileContents(runs=(read_run(source),))
    if table.part == "qrels":
        one_document_column(names, source.label)
    location = RowLocation(source.label, partial(line_of, source))
    return schemas.contents_of(table, read_whole(source, table), source.stem, location)


def read_qrels(source: InputFile) -> Qrels:
    """Judgments from objects with a query, a document and a grade; null is unrated."""
    if interactions.is_log(read_key_names(source)):
        return interactions.read_judgments(source, "jsonl")
    rows = read_whole(
        source, schemas.required_schema(read_key_names(source), "qrels", source.label, "key")
    )
    location = RowLocation(source.label, partial(line_of, source))
    with schemas.explain_duplicates(read_key_names(source)):
        return schemas.make_qrels(rows, source.stem, location)[0]


def read_run(source: InputFile) -> Run:
    """A run from objects with a query, a document and a score, or rank; read when needed.

    Raises:
        InputError: the first line is no such object.
    """
    table = schemas.required_schema(read_key_names(source), "runs", source.label, "key")

    def pieces(document_column: str) -> Iterator[pl.DataFrame]:
        for frame in read_frames(
            source, replace(table, kept=table.kept | {"doc_id": document_column})
        ):
            yield schemas.with_scores(frame)

    document_columns = table.document_columns(read_key_names(source))
    readings = {
        document_column: partial(pieces, document_column) for document_column in document_columns
    }
    location = RowLocation(source.label, partial(line_of, source))
    return Run.of_columns(source.stem, readings, queries=_read_queries(source), place=location)


def rows(source: InputFile) -> FileRows | None:
    """The rows, with the rank if each is a number; None if neither judgments nor a run."""
    names = read_key_names(source)
    table = schemas.find_schema(names)
    input_kind = schemas.input_kind_of(table)
    if table is None or input_kind is None:
        return None
    one_document_column(names, source.label)
    location = RowLocation(source.label, partial(line_of, source))
    if "score" in table.kept and (rank := map_columns(names, ("rank",))):
        numbers, empty = table.numbers | {"rank"}, table.empty | {"rank"}
        ranked_table = replace(table, kept=table.kept | rank, numbers=numbers, empty=empty)
        with suppress(InputError):  # nothing else reads the rank
            return FileRows.of(input_kind, [read_whole(source, ranked_table)], location)
    return FileRows.of(input_kind, [read_whole(source, table)], location)


def table(source: InputFile) -> pl.LazyFrame:
    """The rows under the file's names.

    Raises:
        InputError: a line that is no object, with its number; columns of different types.
    """
    data = source.everything().removeprefix(BOM)
    try:
        return pl.read_ndjson(data, infer_schema_length=None).lazy()
    except pl.exceptions.PolarsError:
        for _ in json_text.read_json_objects(source):  # its error names the line
            pass
        problem = "one column has values of different types; write each column in one type."
        raise InputError(problem, source=source.label, code="wrong-type") from None


def _read_queries(source: InputFile) -> pl.DataFrame | None:
    source_columns = run_columns.find_run_columns(read_key_names(source))
    if not source_columns:
        return None
    value_columns = frozenset(source_columns) - {"query_id"}
    table = schemas.TableSchema(
        "runs", source_columns, value_columns & {"latency_ms"}, value_columns
    )
    return run_columns.read_query_states(read_frames(source, table), source.label)


def write(contents: FileContents, out: BinaryIO) -> tuple[Loss, ...]:
    """One part, an object a row, a run in its own order."""
    part_name, lost = schemas.choose_part(contents)
    for frame in schemas.part_frames(contents, part_name):
        frame.write_ndjson(out)
    return lost


def _first_object(first_bytes: bytes) -> dict[str, Any] | None:
    line = first_bytes.removeprefix(BOM).lstrip().split(b"\n", 1)[0].strip()
    try:
        value = json_text.parse_json(line, "")
    except InputError:
        return None
    return value if isinstance(value, dict) else None


def has_plain_rows(first_bytes: bytes) -> bool:
    """True if the first line is an object with at least three plain values."""
    first_object = _first_object(first_bytes) or {}
    return len(first_object) > 2 and not any(
        isinstance(value, dict | list) for value in first_object.values()
    )


def _has_plain_values(first_object: dict[str, Any], table: TableSchema) -> bool:
    """True if all needed values are plain, as those of a row are."""
    return not any(isinstance(first_object[key], dict | list) for key in table.kept.values())


def read_key_names(source: InputFile) -> list[str]:
    """The keys of the first object.

    Raises:
        InputError: the first line is not an object.
    """
    _, first_object = next(json_text.read_json_objects(source), (1, None))
    if first_object is None:
        problem = "the file is empty; check whether it was written completely."
        raise InputError(problem, source=source.label, code="empty-file")
    return list(first_object)


FORMAT = Format(
    name="jsonl",
    title="JSONL, an object a line with named keys",
    suffixes=(".jsonl", ".ndjson"),
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
        "Keys as the columns of csv; other keys are ignored, whatever their values. An id is a "
        "string or a whole number; a grade or a score is a number or a string that writes one; "
        "null is unrated. A key twice in one object is an error."
    ),
)

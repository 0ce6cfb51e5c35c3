"""JSONL: one object a line with a query, a document and a grade or a score."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import suppress
from dataclasses import replace
from functools import partial
from typing import TYPE_CHECKING, Any, BinaryIO

from rankgate.core.errors import InputError
from rankgate.data.columns import named, one_document_column
from rankgate.data.contents import FileContents
from rankgate.data.formats.format import Format
from rankgate.data.formats.tables import run_columns, schemas
from rankgate.data.formats.tables.jsonl_rows import frames, line_of, whole
from rankgate.data.place import Place
from rankgate.data.rows import FileRows
from rankgate.data.run import Run
from rankgate.data.text import json_text
from rankgate.data.text.utf8 import BOM

if TYPE_CHECKING:
    import polars as pl

    from rankgate.data.formats.format import Loss
    from rankgate.data.formats.tables.schemas import TableSchema
    from rankgate.data.qrels import Qrels
    from rankgate.data.streams.source import InputFile


def sniff(head: bytes, name: str) -> str | None:
    """The first line is an object with known keys and plain values."""
    first = _first_object(head)
    table = schemas.table_of(list(first)) if first else None
    if not first or table is None or not _flat(first, table):
        return None
    keys = ", ".join(f"'{theirs}'" for theirs in list(table.kept.values())[:3])
    return f"the first line is an object with {keys}"


def read(source: InputFile) -> FileContents:
    """What the keys say: judgments, a run, ratings, queries, documents or metric values."""
    names = names_of(source)
    table = schemas.table_of(names)
    if table is None:
        problem = f"the keys {', '.join(names[:10])} match no known table."
        raise InputError(problem, source=source.label, line=1, code="unknown-format")
    if table.part == "runs":
        return FileContents(runs=(read_run(source),))
    if table.part == "qrels":
        one_document_column(names, source.label)
    place = Place(source.label, partial(line_of, source))
    return schemas.contents_of(table, whole(source, table), source.stem, place)


def read_qrels(source: InputFile) -> Qrels:
    """Judgments from objects with a query, a document and a grade; null is unrated."""
    rows = whole(source, schemas.asked(names_of(source), "qrels", source.label, "key"))
    place = Place(source.label, partial(line_of, source))
    with schemas.ratings_named(names_of(source)):
        return schemas.judgments(rows, source.stem, place)[0]


def read_run(source: InputFile) -> Run:
    """A run from objects with a query, a document and a score, or rank; read when needed.

    Raises:
        InputError: the first line is no such object.
    """
    table = schemas.asked(names_of(source), "runs", source.label, "key")

    def pieces(document: str) -> Iterator[pl.DataFrame]:
        for frame in frames(source, replace(table, kept=table.kept | {"doc_id": document})):
            yield schemas.scored(frame)

    columns = table.document_columns(names_of(source))
    readings = {document: partial(pieces, document) for document in columns}
    place = Place(source.label, partial(line_of, source))
    return Run.of_columns(source.stem, readings, queries=_queries(source), place=place)


def rows(source: InputFile) -> FileRows | None:
    """The rows, with the rank if every one is a number; None where they are neither kind."""
    names = names_of(source)
    table = schemas.table_of(names)
    part = schemas.part_of(table)
    if table is None or part is None:
        return None
    one_document_column(names, source.label)
    place = Place(source.label, partial(line_of, source))
    if "score" in table.kept and (rank := named(names, ("rank",))):
        numbers, empty = table.numbers | {"rank"}, table.empty | {"rank"}
        ranked = replace(table, kept=table.kept | rank, numbers=numbers, empty=empty)
        with suppress(InputError):  # nothing else reads the rank
            return FileRows.of(part, [whole(source, ranked)], place)
    return FileRows.of(part, [whole(source, table)], place)


def _queries(source: InputFile) -> pl.DataFrame | None:
    kept = run_columns.kept(names_of(source))
    if not kept:
        return None
    result = frozenset(kept) - {"query_id"}
    table = schemas.TableSchema("runs", kept, result & {"latency_ms"}, result)
    return run_columns.queries_of(frames(source, table), source.label)


def write(contents: FileContents, out: BinaryIO) -> tuple[Loss, ...]:
    """One part, an object a row, a run in its own order."""
    part, lost = schemas.chosen(contents)
    for frame in schemas.rows(contents, part):
        frame.write_ndjson(out)
    return lost


def _first_object(head: bytes) -> dict[str, Any] | None:
    line = head.removeprefix(BOM).lstrip().split(b"\n", 1)[0].strip()
    try:
        value = json_text.parsed(line, "")
    except InputError:
        return None
    return value if isinstance(value, dict) else None


def _flat(first: dict[str, Any], table: TableSchema) -> bool:
    """Whether the values that are needed are plain, as those of a row are."""
    return not any(isinstance(first[key], dict | list) for key in table.kept.values())


def names_of(source: InputFile) -> list[str]:
    """The keys of the first object.

    Raises:
        InputError: the first line is not an object.
    """
    _, first = next(json_text.objects(source), (1, None))
    if first is None:
        problem = "the file is empty; check whether it was written completely."
        raise InputError(problem, source=source.label, code="empty-file")
    return list(first)


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

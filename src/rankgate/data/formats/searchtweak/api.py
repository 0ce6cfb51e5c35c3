"""SearchTweak's API: the judgments of a finished evaluation."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, BinaryIO

import polars as pl

from rankgate.core.errors import InputError
from rankgate.data.contents import FileContents
from rankgate.data.formats.collected import GrowingQrels
from rankgate.data.formats.format import Format, Loss
from rankgate.data.formats.query_texts import with_text_ids
from rankgate.data.formats.writing import (
    collect_pooled_grades,
    column_losses,
    find_losses,
    has_pairs,
    write_json,
)
from rankgate.data.text.json_keys import has_keys
from rankgate.data.text.json_text import describe_type, identifier, read_document, whole_numbers

if TYPE_CHECKING:
    from rankgate.data.streams.source import InputFile

_NAME = "searchtweak"
_PAIR = ("query_id", "doc_id")
_DOCUMENT_SCHEMA = {"query_id": pl.String, "doc_id": pl.String, "position": pl.String}


def sniff(first_bytes: bytes, name: str) -> str | None:
    """A list of grade, keyword and doc."""
    if has_keys(first_bytes, "[].grade", "[].keyword", "[].doc"):
        return "a list of objects with grade, keyword and doc"
    return None


def read(source: InputFile) -> FileContents:
    """Judgments, and the position of each document."""
    judgments = read_document(source)
    if not isinstance(judgments, list):
        problem = f"{describe_type(judgments)}, where a list of judgments is needed."
        raise InputError(problem, source=source.label, code="wrong-type")
    judged = GrowingQrels(source.label)
    rows: dict[tuple[str, str], str | None] = {}
    for index, judgment in enumerate(judgments):
        json_path = f"[{index}]"
        query, doc, grade, position = _read_fields(judgment, json_path, source.label)
        judged.add(query, doc, grade, json_path, "grade")
        rows.setdefault((query, str(doc)), position)
    qrels, notes = judged.qrels(source.stem)
    columns = [[pair[0] for pair in rows], [pair[1] for pair in rows], list(rows.values())]
    documents = pl.DataFrame(
        dict(zip(_DOCUMENT_SCHEMA, columns, strict=True)), schema=_DOCUMENT_SCHEMA
    )
    if qrels is None:
        raise InputError("no judgments found.", source=source.label, code="no-judgments")
    return FileContents(qrels=qrels, documents=documents if rows else None, notes=notes)


def _read_fields(judgment: Any, json_path: str, label: str) -> tuple[str, Any, Any, str | None]:
    if not isinstance(judgment, dict):
        raise InputError(
            f"{json_path} is {describe_type(judgment)}, where an object is needed.",
            source=label,
            code="wrong-type",
        )
    for key in ("grade", "keyword", "doc"):
        if key not in judgment:
            raise InputError(f"{json_path} has no '{key}'.", source=label, code="missing-key")
    position = judgment.get("position")
    if position is not None and (not isinstance(position, int) or isinstance(position, bool)):
        raise InputError(
            f"'position' of {json_path} is not a whole number.",
            source=label,
            code="not-a-whole-number",
        )
    position_text = None if position is None else str(position)
    return (
        identifier(judgment["keyword"], f"'keyword' of {json_path}", label),
        judgment["doc"],
        judgment["grade"],
        position_text,
    )


def write(contents: FileContents, out: BinaryIO) -> tuple[Loss, ...]:
    """A list of judgments; whole grades as integers, others with two decimals, as the API does."""
    contents, query_losses = with_text_ids(contents)
    table = contents.documents
    positions = _positions_of_pairs(table)
    rows, rounded_pairs = [], []
    for query, grades in collect_pooled_grades(contents).items():
        for doc, grade in grades.items():
            rounded_grade = None if grade is None else whole_numbers(round(grade, 2))
            rounded_pairs += [] if rounded_grade == grade else [f"{query} {doc} {grade:g}"]
            position = positions.get((query, doc))
            position_field = {"position": int(position)} if position else {}
            rows.append({"grade": rounded_grade, "keyword": query, **position_field, "doc": doc})
    write_json(out, rows, levels=1)
    has_documents = has_pairs(contents)
    kept_parts = ("qrels", "documents") if has_documents else ("qrels",)
    return (
        *find_losses(contents, _NAME, *kept_parts, "unjudged"),
        *query_losses,
        *column_losses("documents", table if has_documents else None, (*_PAIR, "position")),
        *Loss.of("queries without judgments", _queries_without_documents(contents)),
        *Loss.of("grades beyond two decimals", rounded_pairs),
    )


def _positions_of_pairs(table: pl.DataFrame | None) -> dict[tuple[str, str], str]:
    """The position of each document for a query, if given."""
    if table is None or not {*_PAIR, "position"} <= set(table.columns):
        return {}
    rows = table.select(*_PAIR, "position").iter_rows()
    return {
        (query, doc): position for query, doc, position in rows if position and position.isdigit()
    }


def _queries_without_documents(contents: FileContents) -> list[str]:
    """The queries that have neither a judgment nor a document."""
    pooled = collect_pooled_grades(contents)
    return [query for query, documents in pooled.items() if not documents]


FORMAT = Format(
    name=_NAME,
    title="SearchTweak's judgments from its API",
    suffixes=(".json",),
    sniff=sniff,
    read=read,
    write=write,
    loses="raters, scales, queries without judgments, digits after the second decimal",
    detail=(
        "The answer of SearchTweak's API for a finished evaluation: a list of objects with grade, "
        "keyword, position and doc. The grades are its aggregate of the raters, whole or with two "
        "decimals; a null grade is unrated. The position is kept as a field of the document for "
        "the keyword."
    ),
)

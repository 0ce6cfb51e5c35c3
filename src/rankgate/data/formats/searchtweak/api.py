"""SearchTweak's API: the judgments of a finished evaluation."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, BinaryIO

import polars as pl

from rankgate.core.errors import InputError
from rankgate.data.contents import FileContents
from rankgate.data.formats.collected import GrowingQrels
from rankgate.data.formats.format import Format, Loss
from rankgate.data.formats.query_texts import by_text
from rankgate.data.formats.writing import by_pair, lost, lost_columns, pooled_by_query, put
from rankgate.data.text.json_keys import have
from rankgate.data.text.json_text import document, identifier, kind, whole

if TYPE_CHECKING:
    from rankgate.data.streams.source import InputFile

_NAME = "searchtweak"
_PAIR = ("query_id", "doc_id")
_WHOLE = {"query_id": pl.String, "doc_id": pl.String, "position": pl.String}


def sniff(head: bytes, name: str) -> str | None:
    """A list of grade, keyword and doc."""
    if have(head, "[].grade", "[].keyword", "[].doc"):
        return "a list of objects with grade, keyword and doc"
    return None


def read(source: InputFile) -> FileContents:
    """Judgments, and the position of each document."""
    found = document(source)
    if not isinstance(found, list):
        problem = f"{kind(found)}, where a list of judgments is needed."
        raise InputError(problem, source=source.label, code="wrong-type")
    judged = GrowingQrels(source.label)
    rows: dict[tuple[str, str], str | None] = {}
    for index, each in enumerate(found):
        where = f"[{index}]"
        query, doc, grade, position = _fields(each, where, source.label)
        judged.add(query, doc, grade, where, "grade")
        rows.setdefault((query, str(doc)), position)
    qrels, notes = judged.qrels(source.stem)
    columns = [[pair[0] for pair in rows], [pair[1] for pair in rows], list(rows.values())]
    documents = pl.DataFrame(dict(zip(_WHOLE, columns, strict=True)), schema=_WHOLE)
    if qrels is None:
        raise InputError("no judgments found.", source=source.label, code="no-judgments")
    return FileContents(qrels=qrels, documents=documents if rows else None, notes=notes)


def _fields(each: Any, where: str, label: str) -> tuple[str, Any, Any, str | None]:
    if not isinstance(each, dict):
        raise InputError(
            f"{where} is {kind(each)}, where an object is needed.", source=label, code="wrong-type"
        )
    for key in ("grade", "keyword", "doc"):
        if key not in each:
            raise InputError(f"{where} has no '{key}'.", source=label, code="missing-key")
    position = each.get("position")
    if position is not None and (not isinstance(position, int) or isinstance(position, bool)):
        raise InputError(
            f"'position' of {where} is not a whole number.", source=label, code="not-a-whole-number"
        )
    shown = None if position is None else str(position)
    return (
        identifier(each["keyword"], f"'keyword' of {where}", label),
        each["doc"],
        each["grade"],
        shown,
    )


def write(contents: FileContents, out: BinaryIO) -> tuple[Loss, ...]:
    """A list of judgments; whole grades as integers, others with two decimals, as the API does."""
    contents, called = by_text(contents)
    table = contents.documents
    positions = _positions(table)
    rows, rounded = [], []
    for query, grades in pooled_by_query(contents).items():
        for doc, grade in grades.items():
            short = None if grade is None else whole(round(grade, 2))
            rounded += [] if short == grade else [f"{query} {doc} {grade:g}"]
            at = positions.get((query, doc))
            place = {"position": int(at)} if at else {}
            rows.append({"grade": short, "keyword": query, **place, "doc": doc})
    put(out, rows, levels=1)
    in_pool = by_pair(contents)
    kept = ("qrels", "documents") if in_pool else ("qrels",)
    return (
        *lost(contents, _NAME, *kept, "unjudged"),
        *called,
        *lost_columns("documents", table if in_pool else None, (*_PAIR, "position")),
        *Loss.of("queries without judgments", _alone(contents)),
        *Loss.of("grades beyond two decimals", rounded),
    )


def _positions(table: pl.DataFrame | None) -> dict[tuple[str, str], str]:
    """The position of each document for a query, if given."""
    if table is None or not {*_PAIR, "position"} <= set(table.columns):
        return {}
    rows = table.select(*_PAIR, "position").iter_rows()
    return {(query, doc): at for query, doc, at in rows if at and at.isdigit()}


def _alone(contents: FileContents) -> list[str]:
    """The queries that have neither a judgment nor a document."""
    pooled = pooled_by_query(contents)
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

"""Quepid's ratings as JSON: the documents and grades of each query."""

from __future__ import annotations

from typing import TYPE_CHECKING, BinaryIO

from rankgate.data.contents import FileContents
from rankgate.data.formats.collected import GrowingQrels
from rankgate.data.formats.format import Format, Loss
from rankgate.data.formats.query_texts import by_text
from rankgate.data.formats.rating_sheet import pool_losses
from rankgate.data.formats.writing import pooled_by_query, put
from rankgate.data.text.json_keys import matching
from rankgate.data.text.json_reader import an_id, an_object, inside, whole_object
from rankgate.data.text.json_text import document

if TYPE_CHECKING:
    from rankgate.data.streams.source import InputFile

_NAME = "quepid-ratings"


def sniff(head: bytes, name: str) -> str | None:
    """Queries with ratings by document."""
    if matching(head, r"queries\[\]\.query") and matching(head, r"queries\[\]\.ratings(\..+)?"):
        return "queries with an object of ratings by document"
    return None


def read(source: InputFile) -> FileContents:
    """Judgments."""
    found = whole_object(document(source), source)
    judged = GrowingQrels(source.label)
    for where, query in inside(found, "queries", "", source.label):
        text = an_id(query, "query", where, source.label)
        judged.ask(text)
        for doc, grade in an_object(query, "ratings", where, source.label).items():
            judged.add(text, doc, grade, f"{where}.ratings.{doc}", "")
    qrels, notes = judged.qrels(source.stem)
    return FileContents(qrels=qrels, documents=judged.pool(), notes=notes)


def write(contents: FileContents, out: BinaryIO) -> tuple[Loss, ...]:
    """The queries with their ratings."""
    contents, called = by_text(contents)
    grades = pooled_by_query(contents)
    put(out, {"queries": [{"query": query, "ratings": found} for query, found in grades.items()]})
    return (*pool_losses(contents, _NAME), *called)


FORMAT = Format(
    name=_NAME,
    title="Quepid's ratings as JSON",
    suffixes=(".json",),
    sniff=sniff,
    read=read,
    write=write,
    loses="raters, scales, texts besides ids",
    detail='One object: {"queries": [{"query": "star wars", "ratings": {"11": 3}}]}.',
)

"""Quepid's ratings as JSON: the documents and grades of each query."""

from __future__ import annotations

from typing import TYPE_CHECKING, BinaryIO

from rankgate.data.contents import FileContents
from rankgate.data.formats.collected import GrowingQrels
from rankgate.data.formats.format import Format, Loss
from rankgate.data.formats.query_texts import with_text_ids
from rankgate.data.formats.rating_sheet import pool_losses
from rankgate.data.formats.writing import collect_pooled_grades, write_json
from rankgate.data.text.json_keys import matches_key
from rankgate.data.text.json_reader import objects_under_key, read_id, read_object, require_object
from rankgate.data.text.json_text import read_document

if TYPE_CHECKING:
    from rankgate.data.streams.source import InputFile

_NAME = "quepid-ratings"


def sniff(first_bytes: bytes, name: str) -> str | None:
    """Queries with ratings by document."""
    if matches_key(first_bytes, r"queries\[\]\.query") and matches_key(
        first_bytes, r"queries\[\]\.ratings(\..+)?"
    ):
        return "queries with an object of ratings by document"
    return None


def read(source: InputFile) -> FileContents:
    """Judgments."""
    root = require_object(read_document(source), source)
    judged = GrowingQrels(source.label)
    for json_path, query in objects_under_key(root, "queries", "", source.label):
        text = read_id(query, "query", json_path, source.label)
        judged.ask(text)
        for doc, grade in read_object(query, "ratings", json_path, source.label).items():
            judged.add(text, doc, grade, f"{json_path}.ratings.{doc}", "")
    qrels, notes = judged.qrels(source.stem)
    return FileContents(qrels=qrels, documents=judged.pool(), notes=notes)


def write(contents: FileContents, out: BinaryIO) -> tuple[Loss, ...]:
    """Write the queries with their ratings."""
    contents, query_losses = with_text_ids(contents)
    grades = collect_pooled_grades(contents)
    write_json(
        out,
        {
            "queries": [
                {"query": query, "ratings": grade_of_doc} for query, grade_of_doc in grades.items()
            ]
        },
    )
    return (*pool_losses(contents, _NAME), *query_losses)


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

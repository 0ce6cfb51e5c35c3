"""Judgments by subtopic (TREC web track, diversity): ``51 2 clueweb09-en0000-96-09560 1``."""

from __future__ import annotations

from functools import partial
from typing import TYPE_CHECKING, BinaryIO

import polars as pl

from rankgate.core.errors import InputError
from rankgate.data.contents import FileContents
from rankgate.data.formats.format import Format
from rankgate.data.place import Place
from rankgate.data.qrels import Qrels
from rankgate.data.text.lines import Layout, first_fields, frames, line_of
from rankgate.data.text.utf8 import BOM

if TYPE_CHECKING:
    from rankgate.data.formats.format import Loss
    from rankgate.data.streams.source import InputFile

_FIELDS = ("query_id", "subtopic", "doc_id", "grade")
_NAMES = ("diversity", "subtopic")


def sniff(head: bytes, name: str) -> str | None:
    """Four fields, and a document of a query has two second fields; or the file's name says so."""
    lines = [line.split() for line in head.removeprefix(BOM).splitlines()]
    found = [fields for fields in lines if fields and not fields[0].startswith(b"#")]
    if not found or len(found[0]) != len(_FIELDS):
        return None
    result = next((word for word in _NAMES if word in name.lower()), None)
    if result:
        return f"lines of 4 fields, and the file's name has '{result}' in it"
    first: dict[tuple[bytes, bytes], bytes] = {}
    for fields in found:
        if len(fields) == len(_FIELDS):
            query, subtopic, document, _ = fields
            if first.setdefault((query, document), subtopic) != subtopic:
                return "lines of 4 fields, and a document has several second fields for one query"
    return None


def read(source: InputFile) -> FileContents:
    """Judgments, each for a subtopic of a query."""
    first = first_fields(source)
    if len(first) != len(_FIELDS):
        problem = f"{len(first)} fields, expected 4 (query_id subtopic doc_id grade)."
        raise InputError(
            problem, source=source.label, line=line_of(source, 0), code="wrong-field-count"
        )
    pieces = list(frames(source, Layout(_FIELDS, "grade", _FIELDS)))
    schema = {name: pl.Float64 if name == "grade" else pl.String for name in _FIELDS}
    table = pl.concat([pl.DataFrame(schema=schema), *pieces])
    place = Place(source.label, partial(line_of, source))
    columns = ["query_id", "doc_id", "grade", "subtopic"]
    return FileContents(qrels=Qrels(table.select(columns), source.stem, place=place))


def write(contents: FileContents, out: BinaryIO) -> tuple[Loss, ...]:
    """Four fields a line; judgments without subtopics have 0 there, as in TREC's qrels.

    Raises:
        InputError: there are no judgments, or two ids that would become one.
    """
    from rankgate.data.formats.tables import schemas
    from rankgate.data.formats.trec import write as trec_write

    qrels = contents.judgments("")
    zero = pl.lit("0")
    subtopic = pl.col("subtopic").fill_null(zero) if qrels.by_subtopic else zero
    grade, named = schemas.whole(qrels.table), subtopic.alias("subtopic")
    fields: tuple[str | pl.Expr, ...] = ("query_id", named, "doc_id", grade)
    return trec_write.judgments(contents, out, fields, ("subtopic",))


FORMAT = Format(
    name="trec-subtopics",
    title="TREC judgments by subtopic, for diversity",
    suffixes=(".qrels", ".txt"),
    sniff=sniff,
    read=read,
    write=write,
    loses="all parts but judgments; raters, scales, queries without judgments",
    columns=("subtopic",),
    detail=(
        "Lines of 4 fields: query_id subtopic doc_id grade. They look like TREC's qrels, and are "
        "known by a document that has several second fields for one query, or by 'diversity' or "
        "'subtopic' in the file's name; otherwise name the format. Formats without subtopics are "
        "written with each document's highest grade, which is reported as a loss."
    ),
)

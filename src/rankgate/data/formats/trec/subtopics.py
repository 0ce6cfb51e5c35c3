"""Judgments by subtopic (TREC web track, diversity): ``51 2 clueweb09-en0000-96-09560 1``."""

from __future__ import annotations

from functools import partial
from typing import TYPE_CHECKING, BinaryIO

import polars as pl

from rankgate.core.errors import InputError
from rankgate.data.contents import FileContents
from rankgate.data.formats.format import Format
from rankgate.data.place import RowLocation
from rankgate.data.qrels import Qrels
from rankgate.data.text.lines import Layout, first_fields, line_of, read_line_frames
from rankgate.data.text.utf8 import BOM

if TYPE_CHECKING:
    from rankgate.data.formats.format import Loss
    from rankgate.data.streams.source import InputFile

_FIELDS = ("query_id", "subtopic", "doc_id", "grade")
_NAMES = ("diversity", "subtopic")


def sniff(first_bytes: bytes, name: str) -> str | None:
    """Four fields, and a document of a query has two second fields; or the file's name says so."""
    lines = [line.split() for line in first_bytes.removeprefix(BOM).splitlines()]
    line_fields = [fields for fields in lines if fields and not fields[0].startswith(b"#")]
    if not line_fields or len(line_fields[0]) != len(_FIELDS):
        return None
    marker = next((marker_word for marker_word in _NAMES if marker_word in name.lower()), None)
    if marker:
        return f"lines of 4 fields, and the file's name has '{marker}' in it"
    subtopic_of_pair: dict[tuple[bytes, bytes], bytes] = {}
    for fields in line_fields:
        if len(fields) == len(_FIELDS):
            query, subtopic, document, _ = fields
            if subtopic_of_pair.setdefault((query, document), subtopic) != subtopic:
                return "lines of 4 fields, and a document has several second fields for one query"
    return None


def read(source: InputFile) -> FileContents:
    """Judgments, each for a subtopic of a query."""
    first_row = first_fields(source)
    if len(first_row) != len(_FIELDS):
        problem = f"{len(first_row)} fields, expected 4 (query_id subtopic doc_id grade)."
        raise InputError(
            problem, source=source.label, line=line_of(source, 0), code="wrong-field-count"
        )
    chunks = list(read_line_frames(source, Layout(_FIELDS, "grade", _FIELDS)))
    schema = {name: pl.Float64 if name == "grade" else pl.String for name in _FIELDS}
    table = pl.concat([pl.DataFrame(schema=schema), *chunks])
    location = RowLocation(source.label, partial(line_of, source))
    columns = ["query_id", "doc_id", "grade", "subtopic"]
    return FileContents(qrels=Qrels(table.select(columns), source.stem, place=location))


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
    grade, subtopic_column = schemas.grade_expression(qrels.table), subtopic.alias("subtopic")
    fields: tuple[str | pl.Expr, ...] = ("query_id", subtopic_column, "doc_id", grade)
    return trec_write.write_judgments(contents, out, fields, ("subtopic",))


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

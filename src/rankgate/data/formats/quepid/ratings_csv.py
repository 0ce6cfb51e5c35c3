"""Quepid's basic ratings: ``query,docid,rating``, in any order of columns."""

from __future__ import annotations

from typing import TYPE_CHECKING, BinaryIO

import polars as pl

from rankgate.data.formats.format import Format, Loss
from rankgate.data.formats.query_texts import by_text
from rankgate.data.formats.rating_sheet import LOSES, judged, pool_losses, pool_of
from rankgate.data.text import sheet

if TYPE_CHECKING:
    from rankgate.data.contents import FileContents
    from rankgate.data.streams.source import InputFile

_COLUMNS = {"query_id": ("query",), "doc_id": ("docid", "doc_id"), "grade": ("rating",)}
_PAIR = ["query_id", "doc_id"]


def sniff(head: bytes, name: str) -> str | None:
    """The columns query, docid (or doc_id) and rating."""
    names = sheet.names_of(head)
    if "rating" in names and "query" in names and {"docid", "doc_id"} & set(names):
        return "the first line names query, docid and rating, as Quepid does"
    return None


def read(source: InputFile) -> FileContents:
    """Judgments; a row without a rating is an unrated document, one without a document a query."""
    return judged(source, _COLUMNS, guard=True)


def write(contents: FileContents, out: BinaryIO) -> tuple[Loss, ...]:
    """Three columns, no newline at the end; unrated documents and queries have empty fields."""
    contents, called = by_text(contents)
    rows = pool_of(contents).with_columns(sheet.grade())
    sheet.write(
        rows.rename({"query_id": "query", "doc_id": "docid", "grade": "rating"}), out, last=False
    )
    guarded = rows.filter(pl.any_horizontal(pl.col(_PAIR).str.contains(r"^ [-=+@]")))
    return (
        *pool_losses(contents, "quepid-csv"),
        *called,
        *Loss.of("ids whose first blank is read as a guard", guarded["query_id"].to_list()),
    )


FORMAT = Format(
    name="quepid-csv",
    title="Quepid's basic ratings",
    suffixes=(".csv",),
    sniff=sniff,
    read=read,
    write=write,
    holds=("qrels",),
    loses=LOSES,
    detail=(
        "Columns query, docid (or doc_id) and rating in any order; others are kept as fields of "
        "the document. An empty rating is an unrated document, never grade 0; a query with two "
        "empty fields has no judgments. The one blank that Quepid puts before a cell that begins "
        "with - = + or @, against formulas in spreadsheets, is taken away and put back."
    ),
)

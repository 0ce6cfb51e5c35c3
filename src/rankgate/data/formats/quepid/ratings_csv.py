"""Quepid's basic ratings: ``query,docid,rating``, in any order of columns."""

from __future__ import annotations

from typing import TYPE_CHECKING, BinaryIO

import polars as pl

from rankgate.data.formats.format import Format, Loss
from rankgate.data.formats.query_texts import with_text_ids
from rankgate.data.formats.rating_sheet import LOSES, pool_losses, pool_rows, read_sheet_judgments
from rankgate.data.text import sheet

if TYPE_CHECKING:
    from rankgate.data.contents import FileContents
    from rankgate.data.streams.source import InputFile

_COLUMNS = {"query_id": ("query",), "doc_id": ("docid", "doc_id"), "grade": ("rating",)}
_PAIR = ["query_id", "doc_id"]


def sniff(first_bytes: bytes, name: str) -> str | None:
    """The columns query, docid (or doc_id) and rating."""
    names = sheet.read_column_names(first_bytes)
    if "rating" in names and "query" in names and {"docid", "doc_id"} & set(names):
        return "the first line names query, docid and rating, as Quepid does"
    return None


def read(source: InputFile) -> FileContents:
    """Judgments; a row without a rating is an unrated document, one without a document a query."""
    return read_sheet_judgments(source, _COLUMNS, guard=True)


def write(contents: FileContents, out: BinaryIO) -> tuple[Loss, ...]:
    """Write three columns, no newline at the end; unrated documents have empty fields."""
    contents, query_losses = with_text_ids(contents)
    rows = pool_rows(contents).with_columns(sheet.format_grade())
    sheet.write_sheet(
        rows.rename({"query_id": "query", "doc_id": "docid", "grade": "rating"}), out, last=False
    )
    guarded_rows = rows.filter(pl.any_horizontal(pl.col(_PAIR).str.contains(r"^ [-=+@]")))
    return (
        *pool_losses(contents, "quepid-csv"),
        *query_losses,
        *Loss.of("ids whose first blank is read as a guard", guarded_rows["query_id"].to_list()),
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

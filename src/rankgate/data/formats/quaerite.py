"""Quaerite's judgments: ``rating,docid,query`` with a byte order mark."""

from __future__ import annotations

from typing import TYPE_CHECKING, BinaryIO

from rankgate.data.formats.format import Format, Loss
from rankgate.data.formats.rating_sheet import judged, plain
from rankgate.data.text import sheet

if TYPE_CHECKING:
    from rankgate.data.contents import FileContents
    from rankgate.data.streams.source import InputFile

_BOM = b"\xef\xbb\xbf"
_COLUMNS = {"query_id": ("query",), "doc_id": ("docid",), "grade": ("rating",)}


def sniff(head: bytes, name: str) -> str | None:
    """The three columns in Quaerite's order."""
    if sheet.names_of(head) == ("rating", "docid", "query"):
        return "the first line is rating,docid,query, as Quaerite writes it"
    return None


def read(source: InputFile) -> FileContents:
    """Judgments; where a document is rated twice the last rating counts, as in Quaerite.

    Raises:
        InputError: a rating that is not a number, an empty query; with the line.
    """
    return judged(source, _COLUMNS, guard=False, last=True)


def write(contents: FileContents, out: BinaryIO) -> tuple[Loss, ...]:
    """Three columns behind a byte order mark.

    Raises:
        InputError: there are no judgments.
    """
    contents.judgments("")
    out.write(_BOM)
    return plain(
        contents, out, {"rating": "grade", "docid": "doc_id", "query": "query_id"}, "quaerite"
    )


FORMAT = Format(
    name="quaerite",
    title="Quaerite's judgments",
    suffixes=(".csv",),
    sniff=sniff,
    read=read,
    write=write,
    loses="raters, scales, texts besides ids, fields of documents",
    detail=(
        "CSV with the columns rating, docid and query in this order, written with a byte order "
        "mark, as Quaerite's own judgments are. An empty rating is unrated. Where a document has "
        "two ratings for one query the last one counts, as in Quaerite, and is reported."
    ),
)

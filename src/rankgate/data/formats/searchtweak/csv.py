"""SearchTweak's export of judgments: ``grade,keyword,doc``."""

from __future__ import annotations

from typing import TYPE_CHECKING, BinaryIO

from rankgate.data.formats.format import Format, Loss
from rankgate.data.formats.rating_sheet import judged, plain
from rankgate.data.text import sheet

if TYPE_CHECKING:
    from rankgate.data.contents import FileContents
    from rankgate.data.streams.source import InputFile

_COLUMNS = {"query_id": ("keyword",), "doc_id": ("doc",), "grade": ("grade",)}


def sniff(head: bytes, name: str) -> str | None:
    """The columns grade, keyword and doc."""
    if {"grade", "keyword", "doc"} <= set(sheet.names_of(head)):
        return "the first line names grade, keyword and doc, as SearchTweak does"
    return None


def read(source: InputFile) -> FileContents:
    """Judgments, which SearchTweak has aggregated: grades may be fractions.

    Raises:
        InputError: a grade that is not a number, an empty keyword; with the line.
        DuplicateError: a document graded twice for one keyword.
    """
    return judged(source, _COLUMNS, guard=False)


def write(contents: FileContents, out: BinaryIO) -> tuple[Loss, ...]:
    """The three columns.

    Raises:
        InputError: there are no judgments.
    """
    names = {"grade": "grade", "keyword": "query_id", "doc": "doc_id"}
    return plain(contents, out, names, "searchtweak-csv")


FORMAT = Format(
    name="searchtweak-csv",
    title="SearchTweak's judgments as CSV",
    suffixes=(".csv",),
    sniff=sniff,
    read=read,
    write=write,
    loses="raters, scales, texts besides ids, fields of documents",
    detail=(
        "CSV with the columns grade, keyword and doc, in any order. Grades are SearchTweak's "
        "aggregate of its raters and may be fractions; an empty one is unrated. Further columns "
        "(position) are kept as fields of the document for the keyword."
    ),
)

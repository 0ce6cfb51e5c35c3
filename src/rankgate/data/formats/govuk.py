"""GOV.UK's judgment lists: ``queryEntry.query,queryEntry.targets.score,queryEntry.targets.uri``."""

from __future__ import annotations

from typing import TYPE_CHECKING, BinaryIO

from rankgate.data.formats.format import Format, Loss
from rankgate.data.formats.rating_sheet import judged, plain
from rankgate.data.text import sheet

if TYPE_CHECKING:
    from rankgate.data.contents import FileContents
    from rankgate.data.streams.source import InputFile

_QUERY, _SCORE, _URI = "queryEntry.query", "queryEntry.targets.score", "queryEntry.targets.uri"
_COLUMNS = {"query_id": (_QUERY.lower(),), "doc_id": (_URI.lower(),), "grade": (_SCORE.lower(),)}


def sniff(head: bytes, name: str) -> str | None:
    """Its long names of columns."""
    if {_QUERY.lower(), _SCORE.lower(), _URI.lower()} <= set(sheet.names_of(head)):
        return "the first line names queryEntry.query, .targets.score and .targets.uri"
    return None


def read(source: InputFile) -> FileContents:
    """Judgments; the document is its address.

    Raises:
        InputError: a score that is not a number, an empty query; with the line.
        DuplicateError: a document with two scores for one query.
    """
    return judged(source, _COLUMNS, guard=False)


def write(contents: FileContents, out: BinaryIO) -> tuple[Loss, ...]:
    """The three columns.

    Raises:
        InputError: there are no judgments.
    """
    names = {_QUERY: "query_id", _SCORE: "grade", _URI: "doc_id"}
    return plain(contents, out, names, "govuk")


FORMAT = Format(
    name="govuk",
    title="GOV.UK's judgment lists",
    suffixes=(".csv",),
    sniff=sniff,
    read=read,
    write=write,
    loses="raters, scales, texts besides ids, fields of documents",
    detail=(
        "CSV with the columns queryEntry.query, queryEntry.targets.score and "
        "queryEntry.targets.uri, one judgment a row; the address is the document's id."
    ),
)

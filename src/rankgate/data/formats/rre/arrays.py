"""RRE's ratings in array mode: gains, each with the documents that have it."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, Any, BinaryIO

from rankgate.data.formats.format import Format, Loss
from rankgate.data.formats.rre import document
from rankgate.data.text.json_text import whole

if TYPE_CHECKING:
    from rankgate.data.contents import FileContents


def sniff(head: bytes, name: str) -> str | None:
    """Relevant documents as lists."""
    if document.mode(head) == "array":
        return "queries with relevant_documents, lists of documents by gain"
    return None


def _relevant(grades: Mapping[str, float]) -> dict[str, Any]:
    found: dict[str, list[str]] = {}
    for doc, grade in sorted(grades.items(), key=lambda pair: pair[1]):
        found.setdefault(str(whole(grade)), []).append(doc)
    return found


def write(contents: FileContents, out: BinaryIO) -> tuple[Loss, ...]:
    """Relevant documents in lists by their gains, the lowest first.

    Raises:
        InputError: there are no judgments.
    """
    return document.write(contents, out, _relevant)


FORMAT = Format(
    name="rre-array",
    title="RRE's ratings, array mode",
    suffixes=(".json",),
    sniff=sniff,
    read=document.read,
    write=write,
    loses="raters, scales, ids besides texts",
    detail=(
        'As rre, with {"3": ["doc", ...]}: the key is the gain. It is the mode that Quepid can '
        "import. The two modes are distinguished by the type of their values."
    ),
)

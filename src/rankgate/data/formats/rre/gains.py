"""RRE's ratings in gain mode: documents, each with its gain."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, Any, BinaryIO

from rankgate.data.formats.format import Format, Loss
from rankgate.data.formats.rre import document
from rankgate.data.text.json_text import whole

if TYPE_CHECKING:
    from rankgate.data.contents import FileContents


def sniff(head: bytes, name: str) -> str | None:
    """Relevant documents with gains, or none at all."""
    found = document.mode(head)
    if found == "gain" or (found is None and document.is_rre(head)):
        return "queries with relevant_documents, each document with its gain"
    return None


def _relevant(grades: Mapping[str, float]) -> dict[str, Any]:
    return {doc: {"gain": whole(grade)} for doc, grade in grades.items()}


def write(contents: FileContents, out: BinaryIO) -> tuple[Loss, ...]:
    """Relevant documents by their ids, each with its gain.

    Raises:
        InputError: there are no judgments.
    """
    return document.write(contents, out, _relevant)


FORMAT = Format(
    name="rre",
    title="RRE's ratings, gain mode",
    suffixes=(".json",),
    sniff=sniff,
    read=document.read,
    write=write,
    loses="raters, scales, ids besides texts",
    detail=(
        "Topics with groups of queries that share their relevant documents, or a flat list of "
        'queries; {"doc": {"gain": 3}}. Index, templates and placeholders come back as they were. '
        "Quepid writes this mode and reads only the other one: rre-array."
    ),
)

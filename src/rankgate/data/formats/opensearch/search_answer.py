"""What all documents of OpenSearch's search relevance share: the answer of a search around them."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, BinaryIO

from rankgate.core.errors import InputError
from rankgate.data.formats.writing import lost, own, put
from rankgate.data.text.json_keys import keys
from rankgate.data.text.json_reader import an_object, each, whole_object
from rankgate.data.text.json_text import document

if TYPE_CHECKING:
    from rankgate.data.contents import FileContents
    from rankgate.data.notes import Loss
    from rankgate.data.streams.source import InputFile

_AROUND = "hits.hits[]._source."


def inner(head: bytes) -> frozenset[str]:
    """The paths of keys, without those of the answer of a search around them."""
    found = keys(head)
    return found | {path.removeprefix(_AROUND) for path in found if path.startswith(_AROUND)}


def sources(source: InputFile) -> list[dict[str, Any]]:
    """The document, or all documents of the answer of a search.

    Raises:
        InputError: no object.
    """
    found = whole_object(document(source), source)
    if "hits" not in found:
        return [found]
    hits = an_object(found, "hits", "", source.label)
    listed = each(hits.get("hits"), "hits.hits", source.label)
    return [an_object(hit, "_source", where, source.label) for where, hit in listed]


def only(source: InputFile, what: str) -> dict[str, Any]:
    """The one document.

    Raises:
        InputError: none or several.
    """
    found = sources(source)
    if len(found) != 1:
        problem = f"{len(found)} {what}, where one is needed; save one of them alone."
        raise InputError(problem, source=source.label, code="several-candidates")
    return found[0]


def write_kept(contents: FileContents, out: BinaryIO, owner: str, key: str) -> tuple[Loss, ...]:
    """Write a document as it was read, of a format that is written only from itself.

    Args:
        contents: what a file held.
        out: where to.
        owner: the format.
        key: the document's name among what only this format knows, and in the error.

    Raises:
        InputError: it is not from such a file.
    """
    found = own(contents, owner).get(key)
    if found is None:
        problem = f"no {key} of OpenSearch in it; such a file is written only from one."
        raise InputError(problem, code="no-such-content")
    put(out, found)
    return lost(contents, owner)

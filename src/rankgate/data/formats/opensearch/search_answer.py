"""The answer of a search, which is around all documents of OpenSearch's search relevance."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, BinaryIO

from rankgate.core.errors import InputError
from rankgate.data.formats.writing import find_losses, format_data, write_json
from rankgate.data.text.json_keys import find_key_paths
from rankgate.data.text.json_reader import list_objects, read_object, require_object
from rankgate.data.text.json_text import read_document

if TYPE_CHECKING:
    from rankgate.data.contents import FileContents
    from rankgate.data.notes import Loss
    from rankgate.data.streams.source import InputFile

_SOURCE_PATH = "hits.hits[]._source."


def inner_key_paths(first_bytes: bytes) -> frozenset[str]:
    """The paths of keys, relative to the document inside the answer of a search."""
    key_paths = find_key_paths(first_bytes)
    return key_paths | {
        path.removeprefix(_SOURCE_PATH) for path in key_paths if path.startswith(_SOURCE_PATH)
    }


def read_documents(source: InputFile) -> list[dict[str, Any]]:
    """The document, or all documents of the answer of a search.

    Raises:
        InputError: no object.
    """
    root = require_object(read_document(source), source)
    if "hits" not in root:
        return [root]
    hits = read_object(root, "hits", "", source.label)
    hit_objects = list_objects(hits.get("hits"), "hits.hits", source.label)
    return [read_object(hit, "_source", json_path, source.label) for json_path, hit in hit_objects]


def read_single_document(source: InputFile, noun: str) -> dict[str, Any]:
    """The only document.

    Raises:
        InputError: none or several.
    """
    documents = read_documents(source)
    if len(documents) != 1:
        problem = f"{len(documents)} {noun}, where one is needed; save one of them alone."
        raise InputError(problem, source=source.label, code="several-candidates")
    return documents[0]


def write_kept(contents: FileContents, out: BinaryIO, owner: str, key: str) -> tuple[Loss, ...]:
    """Write a document unchanged, in a format that is written only from itself.

    Args:
        contents: the contents of a file.
        out: where to.
        owner: the format.
        key: the key of the document in the format's extra data, and its name in the error.

    Raises:
        InputError: it is not from such a file.
    """
    kept_document = format_data(contents, owner).get(key)
    if kept_document is None:
        problem = f"no {key} of OpenSearch in it; such a file is written only from one."
        raise InputError(problem, code="no-such-content")
    write_json(out, kept_document)
    return find_losses(contents, owner)

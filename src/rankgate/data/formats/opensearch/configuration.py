"""OpenSearch's search configurations: how one system is asked."""

from __future__ import annotations

from typing import TYPE_CHECKING, BinaryIO

from rankgate.data.contents import FileContents
from rankgate.data.formats.format import Format, Loss
from rankgate.data.formats.opensearch import search_answer
from rankgate.data.formats.writing import lost, own, put
from rankgate.data.text.json_reader import TOP, an_id
from rankgate.data.text.json_text import member, parsed
from rankgate.errors import InputError

if TYPE_CHECKING:
    from rankgate.data.streams.source import InputFile

_NAME = "opensearch-configuration"


def sniff(head: bytes, name: str) -> str | None:
    """A name, an index and a query with the placeholder of the search."""
    found = search_answer.inner(head)
    if {"index", "query"} <= found and b"%SearchText%" in head:
        return "an object with index and a query for %SearchText%"
    return None


def read(source: InputFile) -> FileContents:
    """The configuration, for its own sake; the query in it must be JSON.

    Raises:
        InputError: something of another shape; with the place.
    """
    found = search_answer.only(source, "search configurations")
    an_id(found, "index", "", source.label)
    query = member(found, "query", str, TOP, source.label)
    parsed(query.encode(), f"{source.label}, the query in it")
    return FileContents(extra={_NAME: {"configuration": found}})


def write(contents: FileContents, out: BinaryIO) -> tuple[Loss, ...]:
    """The configuration as it was read.

    Raises:
        InputError: it is not from such a file.
    """
    found = own(contents, _NAME).get("configuration")
    if found is None:
        problem = "no search configuration in it; such a file is written only from one."
        raise InputError(problem, code="no-such-content")
    put(out, found)
    return lost(contents, _NAME)


FORMAT = Format(
    name=_NAME,
    title="OpenSearch's search configurations",
    suffixes=(".json",),
    sniff=sniff,
    read=read,
    write=write,
    holds=("extra",),
    loses="everything but the configuration",
    detail=(
        "The body that makes a search configuration: name, index, pipeline, and the query as a "
        "string of JSON with %SearchText% in it. It comes back as it was."
    ),
)

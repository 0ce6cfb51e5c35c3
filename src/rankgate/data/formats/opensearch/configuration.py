"""OpenSearch's search configurations: how one system is asked."""

from __future__ import annotations

from functools import partial
from typing import TYPE_CHECKING

from rankgate.data.contents import FileContents
from rankgate.data.formats.format import Format
from rankgate.data.formats.opensearch import search_answer
from rankgate.data.text.json_reader import TOP, an_id
from rankgate.data.text.json_text import member, parsed

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
    """The configuration, for its own sake; the query in it must be JSON."""
    found = search_answer.only(source, "search configurations")
    an_id(found, "index", "", source.label)
    query = member(found, "query", str, TOP, source.label)
    parsed(query.encode(), f"{source.label}, the query in it")
    return FileContents(extra={_NAME: {"configuration": found}})


FORMAT = Format(
    name=_NAME,
    title="OpenSearch's search configurations",
    suffixes=(".json",),
    sniff=sniff,
    read=read,
    write=partial(search_answer.write_kept, owner=_NAME, key="configuration"),
    holds=("extra",),
    loses="everything but the configuration",
    detail=(
        "The body that makes a search configuration: name, index, pipeline, and the query as a "
        "string of JSON with %SearchText% in it. It comes back as it was."
    ),
)

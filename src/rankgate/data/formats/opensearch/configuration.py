"""OpenSearch's search configurations: the query settings of one system."""

from __future__ import annotations

from functools import partial
from typing import TYPE_CHECKING

from rankgate.data.contents import FileContents
from rankgate.data.formats.format import Format
from rankgate.data.formats.opensearch import search_answer
from rankgate.data.text.json_reader import TOP, read_id
from rankgate.data.text.json_text import member, parse_json

if TYPE_CHECKING:
    from rankgate.data.streams.source import InputFile

_NAME = "opensearch-configuration"


def sniff(first_bytes: bytes, name: str) -> str | None:
    """A name, an index and a query with the placeholder of the search."""
    key_paths = search_answer.inner_key_paths(first_bytes)
    if {"index", "query"} <= key_paths and b"%SearchText%" in first_bytes:
        return "an object with index and a query for %SearchText%"
    return None


def read(source: InputFile) -> FileContents:
    """The configuration alone; the query in it must be JSON."""
    configuration = search_answer.read_single_document(source, "search configurations")
    read_id(configuration, "index", "", source.label)
    query = member(configuration, "query", str, TOP, source.label)
    parse_json(query.encode(), f"{source.label}, the query in it")
    return FileContents(extra={_NAME: {"configuration": configuration}})


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

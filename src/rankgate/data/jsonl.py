"""JSONL: one object a line with a query, a document and a grade or a score."""

from __future__ import annotations

from typing import TYPE_CHECKING

from rankgate.data.contents import Contents
from rankgate.data.format import Format

if TYPE_CHECKING:
    from rankgate.data.source import Source


def sniff(head: bytes, name: str) -> str | None:  # noqa: ARG001 - what every format is asked
    """Nothing yet."""
    return None


def read(source: Source) -> Contents:
    """Nothing yet."""
    raise NotImplementedError(source)


FORMAT = Format(name="jsonl", title="", suffixes=(".jsonl",), sniff=sniff, read=read)

"""TSV: CSV with tabs as separators."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING, BinaryIO

from rankgate.data.formats.tables import csv as delimited

if TYPE_CHECKING:
    from rankgate.data.contents import FileContents
    from rankgate.data.formats.format import Loss


def sniff(head: bytes, name: str) -> str | None:
    """The first line names columns that are known, between tabs."""
    return delimited.sniff(head, name) if delimited.separator_of(head) == "\t" else None


def write(contents: FileContents, out: BinaryIO) -> tuple[Loss, ...]:
    """As CSV, between tabs.

    Raises:
        UsageError: no part that is a table.
    """
    return delimited.write(contents, out, "\t")


FORMAT = replace(
    delimited.FORMAT,
    name="tsv",
    title="TSV whose first line names the columns",
    suffixes=(".tsv", ".tab"),
    sniff=sniff,
    write=write,
    detail="As csv, with tabs between the fields.",
)

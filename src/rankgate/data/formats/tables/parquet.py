"""Parquet files: the same columns as Arrow."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING, BinaryIO

from rankgate.data.formats.tables import arrow, schemas

if TYPE_CHECKING:
    from rankgate.data.contents import FileContents
    from rankgate.data.formats.format import Loss


def sniff(head: bytes, name: str) -> str | None:
    """The file begins with PAR1."""
    return "it begins with PAR1" if head.startswith(arrow.PARQUET) else None


def write(contents: FileContents, out: BinaryIO) -> tuple[Loss, ...]:
    """One part as a table, a run in its own order.

    Raises:
        UsageError: no part that is a table.
    """
    part, lost = schemas.chosen(contents)
    with arrow.disk_errors():
        arrow.batches(contents, part).sink_parquet(out)
    return lost


FORMAT = replace(
    arrow.FORMAT,
    name="parquet",
    title="Parquet with named columns",
    suffixes=(".parquet", ".pq"),
    sniff=sniff,
    write=write,
)

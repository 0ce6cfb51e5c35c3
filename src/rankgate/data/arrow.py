"""Parquet and Arrow files."""

from __future__ import annotations

from typing import TYPE_CHECKING

import polars as pl

from rankgate.data.columns import graded, shaped
from rankgate.data.contents import Contents
from rankgate.data.format import Format
from rankgate.data.place import Place
from rankgate.data.qrels import Qrels, refuse_holes
from rankgate.data.run import Run
from rankgate.errors import InputError

if TYPE_CHECKING:
    from collections.abc import Iterator

    from rankgate.data.source import Source

PARQUET = b"PAR1"
ARROW = b"ARROW1"
_BATCH = 2_000_000


def read_qrels(source: Source) -> Qrels:
    """Judgments from columns for query, document and grade.

    Raises:
        InputError: a damaged file, a missing column.
        DuplicateError: a document judged twice for one query.
    """
    frame = shaped(_scan(source), "grade", source.label).collect()
    return Qrels(frame, name=source.stem, place=Place(source.label))


def read_run(source: Source) -> Run:
    """A run from columns for query, document and score, or rank.

    Raises:
        InputError: a damaged file, a missing column.
    """
    table = shaped(_scan(source), "score", source.label)
    place = Place(source.label)

    def pieces() -> Iterator[pl.DataFrame]:
        frame = table.collect(engine="streaming")
        refuse_holes(frame, "score", place)
        yield from frame.iter_slices(_BATCH)

    return Run(source.stem, pieces, place=place)


def read(source: Source) -> Contents:
    """Judgments or a run, by the names of the columns.

    Raises:
        InputError: as of the two readers.
    """
    if graded(_scan(source).collect_schema().names()):
        return Contents(qrels=read_qrels(source))
    return Contents(runs=(read_run(source),))


def sniff(head: bytes, name: str) -> str | None:  # noqa: ARG001 - what every format is asked
    """The letters that every Arrow file begins with."""
    return "it begins with ARROW1" if head.startswith(ARROW) else None


def _scan(source: Source) -> pl.LazyFrame:
    scan = pl.scan_parquet if source.head(4) == PARQUET else pl.scan_ipc
    try:
        frame = scan(source.path or source.everything())
        frame.collect_schema()
    except (pl.exceptions.PolarsError, OSError):
        problem = "a damaged Parquet or Arrow file; write it again."
        raise InputError(problem, source=source.label) from None
    return frame


FORMAT = Format(
    name="arrow",
    title="Arrow IPC (Feather) with the same columns",
    suffixes=(".arrow", ".feather", ".ipc"),
    sniff=sniff,
    read=read,
    read_qrels=read_qrels,
    read_run=read_run,
    holds=("qrels", "runs"),
    detail="",
)

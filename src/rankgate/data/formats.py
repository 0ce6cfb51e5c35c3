"""The table of formats: what a file is, found by looking into it."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

from rankgate.data import arrow, delimited, memory, trec_qrels, trec_run
from rankgate.data.qrels import Qrels
from rankgate.data.run import Run
from rankgate.data.source import Source, source

if TYPE_CHECKING:
    from collections.abc import Callable


@dataclass(frozen=True)
class Format:
    """One format.

    Attributes:
        name: how the command line and the documentation call it.
        title: what it is, in a sentence.
        fits: whether a file that begins with these bytes is of this format.
        read_qrels: reads judgments.
        read_run: reads a run.
    """

    name: str
    title: str
    fits: Callable[[bytes], bool]
    read_qrels: Callable[[Source], Qrels]
    read_run: Callable[[Source], Run]


FORMATS = (
    Format(
        "parquet",
        "Parquet with columns for query, document and grade or score",
        lambda head: head.startswith(arrow.PARQUET),
        arrow.read_qrels,
        arrow.read_run,
    ),
    Format(
        "arrow",
        "Arrow IPC (Feather) with the same columns",
        lambda head: head.startswith(arrow.ARROW),
        arrow.read_qrels,
        arrow.read_run,
    ),
    Format(
        "csv",
        "CSV or TSV whose first line names the columns",
        lambda head: delimited.separator_of(head) is not None,
        delimited.read_qrels,
        delimited.read_run,
    ),
    Format(
        "trec",
        "TREC qrels (4 or 3 fields) and runs (6, 3 or 2 fields) between blanks",
        lambda head: True,  # noqa: ARG005 - what nothing else claims
        trec_qrels.read,
        trec_run.read,
    ),
)
"""Every format, the most particular first."""


def format_of(place: Source) -> Format:
    """The first format that a file's beginning fits."""
    head = place.head()
    return next(each for each in FORMATS if each.fits(head))


def read_qrels(table: Any, name: str | None = None) -> Qrels:  # noqa: ANN401
    """Judgments from a path (``-`` is standard input), a frame, a dict of dicts, or as they are.

    Raises:
        InputError: what is wrong, with file and line.
        DuplicateError: a document judged twice for one query.
    """
    if isinstance(table, Qrels):
        return table
    if isinstance(table, str | Path):
        place = source(table)
        return format_of(place).read_qrels(place)
    return memory.qrels_of(table, name or "qrels")


def read_run(table: Any, name: str | None = None) -> Run:  # noqa: ANN401
    """A run from a path (``-`` is standard input), a frame, a dict of dicts, or as it is.

    Rows are read and checked when they are first needed.

    Raises:
        InputError: what is wrong, with file and line.
    """
    if isinstance(table, Run):
        return table
    if isinstance(table, str | Path):
        place = source(table)
        return format_of(place).read_run(place)
    return memory.run_of(table, name or "run")

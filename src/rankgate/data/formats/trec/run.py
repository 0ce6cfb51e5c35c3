"""TREC runs: ``query_id Q0 doc_id rank score tag`` between blanks.

The rank column is not used: trec_eval orders by score, and so do we. Three columns are
``query_id doc_id score``, or ``query_id doc_id rank`` where the third counts from 1 in each query;
two are ``query_id doc_id``, best first.
"""

from __future__ import annotations

from collections.abc import Iterator
from functools import partial
from typing import TYPE_CHECKING

import numpy as np
import polars as pl

from rankgate.core.errors import InputError
from rankgate.data.place import RowLocation
from rankgate.data.run import SCHEMA, Run
from rankgate.data.text.lines import Layout, first_fields, line_of, read_line_frames

if TYPE_CHECKING:
    from rankgate.data.streams.source import InputFile

_THREE_FIELDS = tuple(SCHEMA)
_SIX_FIELDS = ("query_id", "Q0", "doc_id", "rank", "score", "tag")
_QRELS_WIDTH = 4  # fields of judgments
_MIN_RANKS = 2  # documents of a query, for the third field to show an order
_RANKS = (
    "the third field counts 1, 2, 3, … in each query and is read as the rank, as in MS MARCO's "
    "runs; write six fields, query_id Q0 doc_id rank score tag, if it is a score"
)


def read(source: InputFile, *, loose: bool = False) -> Run:
    """A run whose rows are parsed when they are needed.

    Args:
        source: the file.
        loose: read as trec_eval does: six fields, further ones are ignored, and a score is the
            number that the field begins with, or 0.

    Raises:
        InputError: the first line has a number of fields that no kind of run has.
    """
    first_row, cautions = first_fields(source), {}
    if loose or len(first_row) == len(_SIX_FIELDS):
        read_frames = partial(
            read_line_frames,
            source,
            Layout(_SIX_FIELDS, "score", _THREE_FIELDS, loose=loose, longer=loose),
        )
    elif len(first_row) == len(_THREE_FIELDS):
        read_frames = partial(
            read_line_frames, source, Layout(_THREE_FIELDS, "score", _THREE_FIELDS)
        )
        if counts_ranks(source, _MIN_RANKS):
            read_frames, cautions = partial(_read_ranks, source), {"ranks-not-scores": _RANKS}
    elif len(first_row) == len(_THREE_FIELDS) - 1:
        read_frames = partial(_read_ordered, source)
    else:
        expectation = (
            "expected 6 (query_id Q0 doc_id rank score tag), 3 (query_id doc_id score) or 2"
        )
        if len(first_row) == _QRELS_WIDTH:
            expectation += "; these are judgments, which come before the run"
        line = line_of(source, 0)
        raise InputError(
            f"{_format_field_count(first_row)}, {expectation}.",
            source=source.label,
            line=line,
            code="wrong-field-count",
        )
    tag = first_row[5] if len(first_row) >= len(_SIX_FIELDS) else None
    location = RowLocation(source.label, partial(line_of, source))
    return Run(source.stem, read_frames, tag=tag, place=location, cautions=cautions)


def counts_ranks(source: InputFile, min_rank: int) -> bool:
    """True if the third of three fields counts 1, 2, 3, … in each query, as in MS MARCO's runs.

    Args:
        source: the file.
        min_rank: the rank that some query has to reach, or two queries 2.
    """
    first_bytes = source.head()
    lines = first_bytes.split(b"\n")
    if len(lines) > 1 and not first_bytes.endswith(b"\n"):
        lines.pop()  # the last line may be cut
    ranks: dict[bytes, int] = {}
    for fields in map(bytes.split, lines):
        if not fields or fields[0].startswith(b"#"):
            continue
        if len(fields) != len(_THREE_FIELDS) or fields[2] != b"%d" % (ranks.get(fields[0], 0) + 1):
            return False
        ranks[fields[0]] = ranks.get(fields[0], 0) + 1
    counting_queries = sum(rank >= _MIN_RANKS for rank in ranks.values())
    return counting_queries >= _MIN_RANKS or max(ranks.values(), default=0) >= min_rank


def _format_field_count(fields: list[str]) -> str:
    return "1 field" if len(fields) == 1 else f"{len(fields)} fields"


def _read_ranks(source: InputFile) -> Iterator[pl.DataFrame]:
    """Read three columns, the third of them the rank."""
    for frame in read_line_frames(source, Layout(_THREE_FIELDS, "score", _THREE_FIELDS)):
        yield frame.with_columns(-pl.col("score"))


def _read_ordered(source: InputFile) -> Iterator[pl.DataFrame]:
    """Read two columns: the score is the position in the file, counted down."""
    layout = Layout(_THREE_FIELDS[:2], "", _THREE_FIELDS[:2])
    row = 0
    for frame in read_line_frames(source, layout):
        score = -np.arange(row, row + len(frame), dtype=np.float64)
        yield frame.with_columns(pl.Series("score", score))
        row += len(frame)

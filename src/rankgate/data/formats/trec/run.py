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
from rankgate.data.place import Place
from rankgate.data.run import SCHEMA, Run
from rankgate.data.text.lines import Layout, first_fields, frames, line_of

if TYPE_CHECKING:
    from rankgate.data.streams.source import InputFile

_KEPT = tuple(SCHEMA)
_SIX = ("query_id", "Q0", "doc_id", "rank", "score", "tag")
_JUDGED = 4  # fields of judgments
_SHORTEST = 2  # documents of a query, for the third field to show an order
_RANKS = (
    "the third field counts 1, 2, 3, … in each query and is read as the rank, as in MS MARCO's "
    "runs; write six fields, query_id Q0 doc_id rank score tag, if it is a score"
)


def read(source: InputFile, *, loose: bool = False) -> Run:
    """A run whose rows are parsed when they are needed.

    Args:
        source: the file.
        loose: read as trec_eval does: six fields, more are passed over, and a score is the
            number that the field begins with, or 0.

    Raises:
        InputError: the first line has a number of fields that no kind of run has.
    """
    first, cautions = first_fields(source), {}
    if loose or len(first) == len(_SIX):
        pieces = partial(frames, source, Layout(_SIX, "score", _KEPT, loose=loose, longer=loose))
    elif len(first) == len(_KEPT):
        pieces = partial(frames, source, Layout(_KEPT, "score", _KEPT))
        if counts_ranks(source, _SHORTEST):
            pieces, cautions = partial(_by_rank, source), {"ranks-not-scores": _RANKS}
    elif len(first) == len(_KEPT) - 1:
        pieces = partial(_ordered, source)
    else:
        known = "expected 6 (query_id Q0 doc_id rank score tag), 3 (query_id doc_id score) or 2"
        if len(first) == _JUDGED:
            known += "; these are judgments, which come before the run"
        line = line_of(source, 0)
        raise InputError(
            f"{_count(first)}, {known}.", source=source.label, line=line, code="wrong-field-count"
        )
    tag = first[5] if len(first) >= len(_SIX) else None
    place = Place(source.label, partial(line_of, source))
    return Run(source.stem, pieces, tag=tag, place=place, cautions=cautions)


def counts_ranks(source: InputFile, least: int) -> bool:
    """True if the third of three fields counts 1, 2, 3, … in each query, as in MS MARCO's runs.

    Args:
        source: the file.
        least: how far some query has to count, or two queries to 2.
    """
    head = source.head()
    lines = head.split(b"\n")
    if len(lines) > 1 and not head.endswith(b"\n"):
        lines.pop()  # which may be cut
    ranks: dict[bytes, int] = {}
    for fields in map(bytes.split, lines):
        if not fields or fields[0].startswith(b"#"):
            continue
        if len(fields) != len(_KEPT) or fields[2] != b"%d" % (ranks.get(fields[0], 0) + 1):
            return False
        ranks[fields[0]] = ranks.get(fields[0], 0) + 1
    several = sum(rank >= _SHORTEST for rank in ranks.values())
    return several >= _SHORTEST or max(ranks.values(), default=0) >= least


def _count(fields: list[str]) -> str:
    return "1 field" if len(fields) == 1 else f"{len(fields)} fields"


def _by_rank(source: InputFile) -> Iterator[pl.DataFrame]:
    """Three columns of which the third is the rank."""
    for frame in frames(source, Layout(_KEPT, "score", _KEPT)):
        yield frame.with_columns(-pl.col("score"))


def _ordered(source: InputFile) -> Iterator[pl.DataFrame]:
    """Two columns: the place in the file, counted down, is the score."""
    layout = Layout(_KEPT[:2], "", _KEPT[:2])
    row = 0
    for frame in frames(source, layout):
        score = -np.arange(row, row + len(frame), dtype=np.float64)
        yield frame.with_columns(pl.Series("score", score))
        row += len(frame)

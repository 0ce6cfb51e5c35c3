"""TREC runs: ``query_id Q0 doc_id rank score tag`` between blanks.

The rank column is not used: trec_eval orders by score, and so do we. Three columns are
``query_id doc_id score``; two are ``query_id doc_id``, best first.
"""

from __future__ import annotations

from collections.abc import Iterator
from functools import partial
from typing import TYPE_CHECKING

import numpy as np
import polars as pl

from rankgate.data.place import Place
from rankgate.data.run import SCHEMA, Run
from rankgate.data.text.lines import Layout, first_fields, frames, line_of
from rankgate.errors import InputError

if TYPE_CHECKING:
    from rankgate.data.streams.source import InputFile

_KEPT = tuple(SCHEMA)
_SIX = ("query_id", "Q0", "doc_id", "rank", "score", "tag")


def read(source: InputFile, *, loose: bool = False) -> Run:
    """A run whose rows are parsed when they are needed.

    Args:
        source: the file.
        loose: read as trec_eval does: six fields, more are passed over, and a score is the
            number that the field begins with, or 0.

    Raises:
        InputError: the first line has a number of fields that no kind of run has.
    """
    first = first_fields(source)
    if loose or len(first) == len(_SIX):
        pieces = partial(frames, source, Layout(_SIX, "score", _KEPT, loose=loose, longer=loose))
    elif len(first) == len(_KEPT):
        pieces = partial(frames, source, Layout(_KEPT, "score", _KEPT))
    elif len(first) == len(_KEPT) - 1:
        pieces = partial(_ordered, source)
    else:
        known = "expected 6 (query_id Q0 doc_id rank score tag), 3 (query_id doc_id score) or 2"
        line = line_of(source, 0)
        raise InputError(
            f"{_count(first)}, {known}.", source=source.label, line=line, code="wrong-field-count"
        )
    tag = first[5] if len(first) >= len(_SIX) else None
    place = Place(source.label, partial(line_of, source))
    return Run(source.stem, pieces, tag=tag, place=place)


def _count(fields: list[str]) -> str:
    return "1 field" if len(fields) == 1 else f"{len(fields)} fields"


def _ordered(source: InputFile) -> Iterator[pl.DataFrame]:
    """Two columns: the place in the file, counted down, is the score."""
    layout = Layout(_KEPT[:2], "", _KEPT[:2])
    row = 0
    for frame in frames(source, layout):
        score = -np.arange(row, row + len(frame), dtype=np.float64)
        yield frame.with_columns(pl.Series("score", score))
        row += len(frame)

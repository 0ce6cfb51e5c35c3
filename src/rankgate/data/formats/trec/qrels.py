"""TREC qrels: ``query_id iteration doc_id grade`` between blanks, or without the iteration."""

from __future__ import annotations

from functools import partial
from typing import TYPE_CHECKING

import polars as pl

from rankgate.core.errors import InputError
from rankgate.data.place import RowLocation
from rankgate.data.qrels import SCHEMA, Qrels
from rankgate.data.text.lines import Layout, first_fields, line_of, read_line_frames

if TYPE_CHECKING:
    from rankgate.data.streams.source import InputFile

_THREE_FIELDS = tuple(SCHEMA)
_RUN_WIDTH = 6  # fields of a run
_FOUR_FIELDS = ("query_id", "iteration", "doc_id", "grade")


def read(source: InputFile, *, loose: bool = False) -> Qrels:
    """The judgments of a file.

    Args:
        source: the file.
        loose: read as trec_eval does: four fields, and a grade is the whole number that the
            field begins with, or 0.

    Raises:
        InputError: a line that is not a judgment, with its number.
        DuplicateError: a document judged twice for one query.
    """
    first_row = first_fields(source)
    if len(first_row) not in (
        len(_FOUR_FIELDS),
        len(_FOUR_FIELDS) if loose else len(_THREE_FIELDS),
    ):
        found_count = "1 field" if len(first_row) == 1 else f"{len(first_row)} fields"
        expectation = "expected 4 (query_id iteration doc_id grade)"
        expectation += "" if loose else " or 3 (query_id doc_id grade)"
        if len(first_row) == _RUN_WIDTH:
            expectation += "; this is a run, which comes after the judgments"
        first_line = line_of(source, 0)
        raise InputError(
            f"{found_count}, {expectation}.",
            source=source.label,
            line=first_line,
            code="wrong-field-count",
        )
    fields = _FOUR_FIELDS if len(first_row) == len(_FOUR_FIELDS) else _THREE_FIELDS
    table = _join_chunks(
        list(read_line_frames(source, Layout(fields, "grade", _THREE_FIELDS, loose=loose)))
    )
    if loose:
        table = table.with_columns(pl.col("grade").cast(pl.Int64).cast(pl.Float64))
    return Qrels(table, name=source.stem, place=RowLocation(source.label, partial(line_of, source)))


def _join_chunks(chunks: list[pl.DataFrame]) -> pl.DataFrame:
    """Join chunks into one table; they are freed on return, so that none is in memory twice."""
    return pl.concat(chunks, rechunk=True) if chunks else pl.DataFrame(schema=SCHEMA)

"""TREC qrels: ``query_id iteration doc_id grade`` between blanks, or without the iteration."""

from __future__ import annotations

from functools import partial
from typing import TYPE_CHECKING

import polars as pl

from rankgate.core.errors import InputError
from rankgate.data.place import Place
from rankgate.data.qrels import SCHEMA, Qrels
from rankgate.data.text.lines import Layout, first_fields, frames, line_of

if TYPE_CHECKING:
    from rankgate.data.streams.source import InputFile

_KEPT = tuple(SCHEMA)
_RANKED = 6  # fields of a run
_FOUR = ("query_id", "iteration", "doc_id", "grade")


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
    first = first_fields(source)
    if len(first) not in (len(_FOUR), len(_FOUR) if loose else len(_KEPT)):
        found = "1 field" if len(first) == 1 else f"{len(first)} fields"
        known = "expected 4 (query_id iteration doc_id grade)"
        known += "" if loose else " or 3 (query_id doc_id grade)"
        if len(first) == _RANKED:
            known += "; this is a run, which comes after the judgments"
        where = line_of(source, 0)
        raise InputError(
            f"{found}, {known}.", source=source.label, line=where, code="wrong-field-count"
        )
    fields = _FOUR if len(first) == len(_FOUR) else _KEPT
    table = _joined(list(frames(source, Layout(fields, "grade", _KEPT, loose=loose))))
    if loose:
        table = table.with_columns(pl.col("grade").cast(pl.Int64).cast(pl.Float64))
    return Qrels(table, name=source.stem, place=Place(source.label, partial(line_of, source)))


def _joined(pieces: list[pl.DataFrame]) -> pl.DataFrame:
    """One table; the pieces go when this returns, so that they are not in memory twice later."""
    return pl.concat(pieces, rechunk=True) if pieces else pl.DataFrame(schema=SCHEMA)

"""Judgments that appear twice in a file of a product, with the same grade or another."""

from __future__ import annotations

from typing import TYPE_CHECKING

import polars as pl

from rankgate.core.errors import DuplicateError
from rankgate.data.duplicates import hashed_twice, pairs_of
from rankgate.data.notes import Note

if TYPE_CHECKING:
    from rankgate.data.place import Place

_PAIR = ["query_id", "doc_id"]


def once(
    rows: pl.DataFrame, place: Place, *, last: bool = False
) -> tuple[pl.DataFrame, Place, tuple[Note, ...]]:
    """Rows without those that say again what another says, where the rest are, and what went.

    Args:
        rows: ``query_id``, ``doc_id``, ``grade``; a document or a grade may be null.
        place: where the rows are.
        last: where a pair has two grades the last one counts; otherwise that is an error.

    Raises:
        DuplicateError: a pair with two grades; with the lines of both.
    """
    if not len(hashed_twice(pairs_of(rows))):
        return rows, place, ()
    numbered = rows.with_row_index("row")
    graded = numbered.filter(pl.col("doc_id").is_not_null() & pl.col("grade").is_not_null())
    judgment = pl.struct(*_PAIR, "grade")
    said = judgment.is_last_distinct() if last else judgment.is_first_distinct()
    again = graded.filter(~said)
    single = graded.join(again, on="row", how="anti", maintain_order="left")
    other = single.filter(~pl.struct(_PAIR).is_first_distinct())
    if not last and len(other):
        _tell_apart(single, other, place)
    past = single.filter(~pl.struct(_PAIR).is_last_distinct())
    gone = pl.concat([again["row"], past["row"]])
    if gone.is_empty():
        return rows, place, ()
    kept = numbered.join(gone.to_frame(), on="row", how="anti", maintain_order="left")
    notes = (
        *_note("judgments that appear twice with one grade, read once", again, place),
        *_note("judgments that a later line corrects, passed over", past, place),
    )
    return kept.drop("row"), place.among(kept["row"].to_list()), notes


def _tell_apart(single: pl.DataFrame, other: pl.DataFrame, place: Place) -> None:
    """Refuse the first pair that has a second grade."""
    row, query, document, grade = other.row(0)
    first, before = (
        single.filter(pl.col("query_id") == query, pl.col("doc_id") == document)
        .select("row", "grade")
        .row(0)
    )
    where = place.line(first)
    words = f" on line {where}" if where else ""
    problem = (
        f"document '{document}' has grade {before:g}{words} and grade {grade:g} here for query "
        f"'{query}'; remove one of the two lines."
    )
    raise DuplicateError(problem, source=place.file(row), line=place.line(row))


def _note(what: str, rows: pl.DataFrame, place: Place) -> tuple[Note, ...]:
    if rows.is_empty():
        return ()
    shown = (
        f"{query} {document} (line {place.line(row)})"
        for row, query, document, _ in rows.head(3).iter_rows()
    )
    return (Note(what, len(rows), tuple(shown)),)

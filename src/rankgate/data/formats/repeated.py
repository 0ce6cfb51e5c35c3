"""Judgments that appear twice in a file of a product, with the same grade or another."""

from __future__ import annotations

from typing import TYPE_CHECKING

import polars as pl

from rankgate.core.errors import DuplicateError
from rankgate.data.duplicates import find_repeated_hashes, hash_pairs
from rankgate.data.notes import Note

if TYPE_CHECKING:
    from rankgate.data.place import RowLocation

_PAIR = ["query_id", "doc_id"]


def drop_repeated(
    rows: pl.DataFrame, location: RowLocation, *, last: bool = False
) -> tuple[pl.DataFrame, RowLocation, tuple[Note, ...]]:
    """Rows without repetitions of other rows, their location, and notes on dropped rows.

    Args:
        rows: ``query_id``, ``doc_id``, ``grade``; a document or a grade may be null.
        location: the location of the rows.
        last: if a pair has two grades, the last one counts; otherwise that is an error.

    Raises:
        DuplicateError: a pair with two grades; with the lines of both.
    """
    if not len(find_repeated_hashes(hash_pairs(rows))):
        return rows, location, ()
    numbered_rows = rows.with_row_index("row")
    graded = numbered_rows.filter(pl.col("doc_id").is_not_null() & pl.col("grade").is_not_null())
    judgment = pl.struct(*_PAIR, "grade")
    is_distinct = judgment.is_last_distinct() if last else judgment.is_first_distinct()
    repeated_rows = graded.filter(~is_distinct)
    unique_rows = graded.join(repeated_rows, on="row", how="anti", maintain_order="left")
    conflicting_rows = unique_rows.filter(~pl.struct(_PAIR).is_first_distinct())
    if not last and len(conflicting_rows):
        _raise_conflict(unique_rows, conflicting_rows, location)
    corrected_rows = unique_rows.filter(~pl.struct(_PAIR).is_last_distinct())
    dropped_rows = pl.concat([repeated_rows["row"], corrected_rows["row"]])
    if dropped_rows.is_empty():
        return rows, location, ()
    kept_rows = numbered_rows.join(
        dropped_rows.to_frame(), on="row", how="anti", maintain_order="left"
    )
    notes = (
        *_make_note(
            "judgments that appear twice with one grade, read once", repeated_rows, location
        ),
        *_make_note("judgments that a later line corrects, passed over", corrected_rows, location),
    )
    return kept_rows.drop("row"), location.among(kept_rows["row"].to_list()), notes


def _raise_conflict(
    unique_rows: pl.DataFrame, conflicting_rows: pl.DataFrame, location: RowLocation
) -> None:
    """Refuse the first pair that has a second grade."""
    row, query, document, grade = conflicting_rows.row(0)
    first_row, first_grade = (
        unique_rows.filter(pl.col("query_id") == query, pl.col("doc_id") == document)
        .select("row", "grade")
        .row(0)
    )
    first_line = location.line(first_row)
    line_note = f" on line {first_line}" if first_line else ""
    problem = (
        f"document '{document}' has grade {first_grade:g}{line_note} and grade {grade:g} here for "
        f"query '{query}'; remove one of the two lines."
    )
    raise DuplicateError(problem, source=location.file(row), line=location.line(row))


def _make_note(note_text: str, rows: pl.DataFrame, location: RowLocation) -> tuple[Note, ...]:
    if rows.is_empty():
        return ()
    examples = (
        f"{query} {document} (line {location.line(row)})"
        for row, query, document, _ in rows.head(3).iter_rows()
    )
    return (Note(note_text, len(rows), tuple(examples)),)

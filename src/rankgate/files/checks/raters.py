"""Checks of ratings: duplicates, missing grades, grades off the scale."""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING

import polars as pl

from rankgate.files.checks.declare import Check, Found, counted, some
from rankgate.files.checks.subject import PAIR

if TYPE_CHECKING:
    from rankgate.data.ratings import Ratings


def _corrected(found: Ratings) -> Iterator[Found]:
    again = found.table.with_row_index("row").filter(
        ~pl.struct([*PAIR, "rater"]).is_first_distinct()
    )
    if len(again):
        yield Found(
            f"{counted(len(again), 'rating')} of a pair by somebody who rated it before: the later "
            "one counts",
            len(again),
            "nothing needs to be done if they are corrections",
            "query {}, document {}, rater {}".format(*again.select(*PAIR, "rater").row(0)),
            row=int(again["row"][0]),
        )


def _without_grade(found: Ratings) -> Iterator[Found]:
    table = found.table.with_row_index("row").filter(pl.col("grade").is_null())
    if len(table):
        why = table["reason"].drop_nulls().unique().sort()
        words = f" ({some(why)})" if len(why) else ""
        yield Found(
            f"{counted(len(table), 'rating')} without a grade{words}: nobody's 0",
            len(table),
            "nothing needs to be done; rankgate resolve leaves them out",
            row=int(table["row"][0]),
        )


def _outside(found: Ratings) -> Iterator[Found]:
    scale = found.scale
    if scale is None:
        return
    grade = pl.col("grade")
    wrong = (grade < scale.lowest) | (grade > scale.highest)
    if scale.labels:
        known = pl.Series([value for value, _ in scale.labels], dtype=pl.Float64)
        wrong |= ~grade.is_in(known.implode())
    table = found.table.with_row_index("row").filter(wrong)
    if len(table):
        values = table["grade"].unique().sort()
        yield Found(
            f"{counted(len(table), 'rating')} ({some(f'{value:g}' for value in values)}) not "
            f"on the scale from {scale.lowest:g} to {scale.highest:g}",
            len(table),
            "fix them, or map them with rankgate resolve --transform",
            row=int(table["row"][0]),
        )


CHECKS = (
    Check("rated-again", "note", "ratings", "Somebody rated a pair more than once.", _corrected),
    Check("rating-untold", "note", "ratings", "Ratings have no grade.", _without_grade),
    Check("rating-outside", "error", "ratings", "Ratings are not on the scale.", _outside),
)
"""Checks of ratings."""

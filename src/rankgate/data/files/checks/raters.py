"""Checks of ratings: duplicates, missing grades, grades off the scale."""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING

import polars as pl

from rankgate.data.files.checks.declare import Found, check, count_noun, first_few
from rankgate.data.files.checks.subject import PAIR
from rankgate.data.scales import on_scale

if TYPE_CHECKING:
    from rankgate.data.ratings import Ratings


@check("rated-again", "note", "ratings", "Somebody rated a pair more than once.")
def _find_rated_again(ratings: Ratings) -> Iterator[Found]:
    repeated_rows = ratings.table.with_row_index("row").filter(
        ~pl.struct([*PAIR, "rater"]).is_first_distinct()
    )
    if len(repeated_rows):
        yield Found(
            f"{count_noun(len(repeated_rows), 'rating')} of a pair by somebody who rated it "
            "before: the later "
            "one counts",
            len(repeated_rows),
            "nothing needs to be done if they are corrections",
            "query {}, document {}, rater {}".format(*repeated_rows.select(*PAIR, "rater").row(0)),
            row=int(repeated_rows["row"][0]),
        )


@check("rating-without-grade", "note", "ratings", "Ratings have no grade.")
def _find_missing_grades(ratings: Ratings) -> Iterator[Found]:
    table = ratings.table.with_row_index("row").filter(pl.col("grade").is_null())
    if len(table):
        reasons = table["reason"].drop_nulls().unique().sort()
        reason_text = f" ({first_few(reasons)})" if len(reasons) else ""
        yield Found(
            f"{count_noun(len(table), 'rating')} without a grade{reason_text}: nobody's 0",
            len(table),
            "nothing needs to be done; rankgate resolve leaves them out",
            row=int(table["row"][0]),
        )


@check("rating-outside", "error", "ratings", "Ratings are not on the scale.")
def _find_off_scale(ratings: Ratings) -> Iterator[Found]:
    scale = ratings.scale
    if scale is None:
        return
    table = ratings.table.with_row_index("row").filter(~on_scale(pl.col("grade"), scale))
    if len(table):
        grades = table["grade"].unique().sort()
        yield Found(
            f"{count_noun(len(table), 'rating')} ({first_few(f'{value:g}' for value in grades)}) "
            f"not on the scale from {scale.lowest:g} to {scale.highest:g}",
            len(table),
            "fix them, or map them with rankgate resolve --transform",
            row=int(table["row"][0]),
        )

"""Checks of ratings: duplicates, missing grades, grades off the scale."""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING

import polars as pl

from rankgate.data.files.checks.declare import Found, check, counted, some
from rankgate.data.files.checks.subject import PAIR
from rankgate.data.scales import on_scale

if TYPE_CHECKING:
    from rankgate.data.ratings import Ratings


@check("rated-again", "note", "ratings", "Somebody rated a pair more than once.")
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


@check("rating-without-grade", "note", "ratings", "Ratings have no grade.")
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


@check("rating-outside", "error", "ratings", "Ratings are not on the scale.")
def _outside(found: Ratings) -> Iterator[Found]:
    scale = found.scale
    if scale is None:
        return
    table = found.table.with_row_index("row").filter(~on_scale(pl.col("grade"), scale))
    if len(table):
        values = table["grade"].unique().sort()
        yield Found(
            f"{counted(len(table), 'rating')} ({some(f'{value:g}' for value in values)}) not "
            f"on the scale from {scale.lowest:g} to {scale.highest:g}",
            len(table),
            "fix them, or map them with rankgate resolve --transform",
            row=int(table["row"][0]),
        )

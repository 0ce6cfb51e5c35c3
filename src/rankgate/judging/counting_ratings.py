"""Select the ratings that count: each rater's last rating of each document."""

from __future__ import annotations

from typing import TYPE_CHECKING

import polars as pl

from rankgate.core.frozen import dataclass

if TYPE_CHECKING:
    from rankgate.data.qrels import Ratings


PAIR = ("query_id", "doc_id")

WITHDRAWN = "withdrawn"
"""The reason of a row without a grade that withdraws the rater's last rating."""


@dataclass(frozen=True)
class CountingRatings:
    """The ratings that count, and the numbers of other ratings.

    Attributes:
        table: the columns of ratings and ``row``, the row's position; one row for each rater and
            pair, in the order of rating; the grade is null if the rater could not tell.
        corrected: ratings that a later rating of the same rater replaced.
        beyond: ratings left out because the pair has enough grades.
    """

    table: pl.DataFrame
    corrected: int = 0
    beyond: int = 0


def counting_ratings(ratings: Ratings, slots: int | None = None) -> CountingRatings:
    """Select the ratings that count.

    Ratings are never changed. The last rating of a rater and pair, by time and then by row,
    replaces the earlier ratings. A rating without a time keeps its position among those around it.

    Args:
        ratings: all ratings.
        slots: the number of first grades that count for a pair; by default all count.
            SearchTweak's strategies are 1 and 3.
    """
    table = ratings.table.with_row_index("row")
    if table["at"].null_count() < len(table):
        # a row without a time follows the previous row
        time = pl.col("at").forward_fill().backward_fill()
        if not table.select(time).to_series().is_sorted():
            table = table.sort(time, "row", maintain_order=True)
    last_rows = table.unique((*PAIR, "rater"), keep="last", maintain_order=True)
    corrected = len(table) - len(last_rows)
    is_withdrawn = pl.col("grade").is_null() & pl.col("reason").eq_missing(pl.lit(WITHDRAWN))
    last = last_rows.filter(~is_withdrawn)
    if slots is None:
        return CountingRatings(last, corrected)
    has_grade = pl.col("grade").is_not_null()
    # raters take slots in the order of their first rating
    first = table.unique((*PAIR, "rater"), keep="first", maintain_order=True).select(
        *PAIR, "rater", pl.int_range(pl.len()).alias("came")
    )
    within_slots = (
        last.join(first, on=(*PAIR, "rater"))
        .sort("came")
        .filter(~has_grade | (has_grade.cum_sum().over(PAIR) <= slots))
        .drop("came")
    )
    return CountingRatings(within_slots, corrected, len(last) - len(within_slots))

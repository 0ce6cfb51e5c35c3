"""Other raters' grades and comments, for the sheet of an adjudicator."""

from __future__ import annotations

from typing import TYPE_CHECKING

import polars as pl

from rankgate.judging.standing import PAIR, counting_ratings

if TYPE_CHECKING:
    from rankgate.data.ratings import Ratings


def other_ratings_by_pair(ratings: Ratings, rater: str) -> dict[tuple[str, str], tuple[str, str]]:
    """Grades and comments of all others by pair, lowest grade first, without names.

    A rating without a grade is shown as ``cannot tell``; its reason counts as a comment.
    """
    label = pl.col("grade").map_elements(lambda grade: f"{grade:g}", pl.String)
    table = (
        counting_ratings(ratings)
        .table.filter(pl.col("rater") != rater)
        .sort("grade", nulls_last=True)
        .with_columns(
            label.fill_null("cannot tell").alias("label"),
            pl.coalesce("comment", "reason").alias("words"),
        )
    )
    comment = pl.format("{}: {}", "label", "words").drop_nulls()
    rows_by_pair = table.group_by(PAIR, maintain_order=True).agg("label", comment.alias("said"))
    return {
        (query, document): (", ".join(labels), "; ".join(comments))
        for query, document, labels, comments in rows_by_pair.iter_rows()
    }

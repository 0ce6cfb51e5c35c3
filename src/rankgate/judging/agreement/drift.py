"""Drift: changes of a rater's grades against the others, first half to second half."""

from __future__ import annotations

from statistics import NormalDist
from typing import TYPE_CHECKING

import polars as pl

from rankgate.judging.agreement.tables import with_others_grades
from rankgate.judging.standing import counting_ratings

if TYPE_CHECKING:
    from rankgate.data.ratings import Ratings

LEVEL = 0.95
"""The confidence level of all raters' intervals together (Bonferroni)."""

SCHEMA = {
    "rater": pl.String,
    "pairs": pl.Int64,
    "first_agreement": pl.Float64,
    "last_agreement": pl.Float64,
    "first_bias": pl.Float64,
    "last_bias": pl.Float64,
    "change": pl.Float64,
    "low": pl.Float64,
    "high": pl.Float64,
    "drifts": pl.Boolean,
}
_MIN_RATINGS = 20


def drift(ratings: Ratings) -> pl.DataFrame:
    """The first half of each rater's ratings, by time, against the second half.

    Only pairs that others graded too count. The bias is the mean of the grade minus the mean grade
    of the others; its change has Welch's interval, ``change ± z·√(s₁²/n₁ + s₂²/n₂)``, at 95 % for
    all raters together. Raters with fewer than 20 such ratings have no row.

    Args:
        ratings: all of them; ratings without a time keep their position in the order.

    Returns:
        The columns of ``SCHEMA``; ``drifts`` where the interval of the change excludes 0.
    """
    graded_ratings = counting_ratings(ratings).table.filter(pl.col("grade").is_not_null())
    shared_ratings = with_others_grades(graded_ratings).with_columns(
        bias=pl.col("grade") - pl.col("others")
    )
    count = pl.len().over("rater")
    position = pl.int_range(pl.len()).over("rater")
    shared_ratings = shared_ratings.with_columns(many=count, late=position * 2 >= count).filter(
        pl.col("many") >= _MIN_RATINGS
    )
    halves = shared_ratings.group_by("rater", "late").agg(
        pl.len().cast(pl.Int64).alias("pairs"),
        pl.col("equal").mean().alias("agreement"),
        pl.col("bias").mean().alias("bias"),
        (pl.col("bias").var() / pl.len()).alias("error"),
    )
    first, last = (halves.filter(pl.col("late") == late).drop("late") for late in (False, True))
    joined = first.join(last, on="rater", suffix="_last").sort("rater")
    if joined.is_empty():
        return pl.DataFrame(schema=SCHEMA)
    z = NormalDist().inv_cdf(1 - (1 - LEVEL) / len(joined) / 2)
    change = pl.col("bias_last") - pl.col("bias")
    half_width = z * (pl.col("error") + pl.col("error_last")).sqrt()
    return joined.select(
        "rater",
        (pl.col("pairs") + pl.col("pairs_last")).alias("pairs"),
        pl.col("agreement").alias("first_agreement"),
        pl.col("agreement_last").alias("last_agreement"),
        pl.col("bias").alias("first_bias"),
        pl.col("bias_last").alias("last_bias"),
        change.alias("change"),
        (change - half_width).alias("low"),
        (change + half_width).alias("high"),
        (change.abs() > half_width).alias("drifts"),
    )

"""Rates as grades: the rule that turns what a click model learned into judgments."""

from __future__ import annotations

from typing import TYPE_CHECKING, Literal

import polars as pl

if TYPE_CHECKING:
    from collections.abc import Sequence

GradeRule = Literal["relative", "cuts", "quantiles", "value"]
"""How a value becomes a grade: ``relative`` to the highest of the query, by fixed ``cuts`` of the
value, by ``quantiles`` of the query's documents, or the value itself."""

CUTS = (0.25, 0.5, 0.75)
"""Where grades begin: the first gives grade 1, the second grade 2, and so on."""


def graded(
    table: pl.DataFrame, rule: GradeRule, cuts: Sequence[float], least: float
) -> pl.DataFrame:
    """Add ``grade`` to pairs with enough evidence; leave others out.

    Args:
        table: ``query_id``, ``value``, ``examined``.
        rule: how values become grades.
        cuts: where grades begin.
        least: how many impressions must have been looked at.
    """
    enough = table.filter(pl.col("examined") >= least, pl.col("value").is_not_nan())
    measure = pl.col("value")
    if rule == "relative":
        top = pl.col("value").max().over("query_id")
        measure = pl.when(top > 0).then(pl.col("value") / top).otherwise(0.0)
    elif rule == "quantiles":
        # the share of the query's documents below, ties in the middle; of one document a half
        rank, count = pl.col("value").rank("average").over("query_id"), pl.len().over("query_id")
        measure = (rank - 0.5) / count
    if rule == "value":
        return enough.with_columns(grade=measure)
    steps = [(measure >= cut).cast(pl.Float64) for cut in cuts]
    return enough.with_columns(grade=pl.sum_horizontal(steps))

"""The columns of means with their intervals."""

from __future__ import annotations

import polars as pl

from rankgate.core.present.columns import Column, Columns
from rankgate.core.present.common_columns import LEVEL, METRIC, RUN

INTERVALS = Columns(
    "One row per run and metric, and per value of a tag. Metrics that are not a plain mean of values have no "
    "n, sd and ends.",
    Column("tag", pl.String, "the name of the tag; null: all queries"),
    Column("value", pl.String, "the value of the tag; null: all queries"),
    RUN,
    METRIC,
    Column("n", pl.Int64, "queries with a value", unit="queries"),
    Column("mean", pl.Float64, "the mean of their values"),
    Column("sd", pl.Float64, "the standard deviation of their values"),
    Column("low", pl.Float64, "the low end of Student's interval of the mean"),
    Column("high", pl.Float64, "the high end of Student's interval of the mean"),
    LEVEL,
)

WEIGHTED = Columns(
    "One row per run and metric: the mean over the population that the sample was drawn from.",
    RUN,
    METRIC,
    Column("queries", pl.Int64, "queries of the sample with a value"),
    Column(
        "effective",
        pl.Float64,
        "the number of queries of equal weight with the same information",
        ".1f",
        "queries",
        "effective\nqueries",
    ),
    Column("mean", pl.Float64, "the mean over the population"),
    Column("low", pl.Float64, "the low end of the interval of the mean"),
    Column("high", pl.Float64, "the high end of the interval of the mean"),
    LEVEL,
)

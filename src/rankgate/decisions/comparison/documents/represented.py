"""Render figures of a sample: people's judgments, a model's, and both together."""

from __future__ import annotations

from typing import TYPE_CHECKING

from rankgate.core.present.figures import (
    format_interval,
    format_number,
    format_query_count,
    format_signed,
)
from rankgate.core.present.grid import Grid
from rankgate.measurement.stats.represented import LEAST_EFFECTIVE, MOST_SPREAD

if TYPE_CHECKING:
    import polars as pl

    from rankgate.decisions.comparison.comparison import Comparison


CONDITION = (
    "Effective queries of equal weight tell as much. Intervals hold where there are at least "
    f"{LEAST_EFFECTIVE:.0f} of them, weights have a design effect of at most {MOST_SPREAD:g} "
    "within strata, and no query that was not drawn carries much of the weight."
)
"""The conditions of the intervals of weighted queries."""


def represented_grid(result: Comparison) -> Grid:
    """The table by metric; no rows without a sample."""
    table = result.represented
    if not table["population"].drop_nulls().len():
        effective_rows = [
            (row["metric"], str(row["queries"]), format_number(row["effective"], 1))
            for row in table.iter_rows(named=True)
        ]
        return Grid(("metric", "queries", "effective\nqueries"), tuple(effective_rows))
    if table["documents"].drop_nulls().len():
        return _document_grid(table)
    rows = [
        (
            row["metric"],
            f"{row['queries']:,} of {row['population']:,}",
            format_interval(row["people_low"], row["people_high"]),
            format_signed(row["people"]),
            format_signed(row["model"]),
            format_number(row["correlation"], 2),
            format_number(row["agreement"], 2),
            format_number(row["slope"], 2),
            f"{row['saving']:.0%}",
            format_query_count(row["needed"]),
        )
        for row in table.iter_rows(named=True)
        if row["population"] is not None
    ]
    header = (
        "metric",
        "queries\npeople judged",
        f"{result.level:.0%} interval\nby people alone",
        "delta by\npeople",
        "delta by\nthe model",
        "correlation",
        "agreement\n(kappa)",
        "slope",
        "queries\nsaved",
        "people need\nfor this delta",
    )
    return Grid(header, tuple(rows))


def _document_grid(table: pl.DataFrame) -> Grid:
    """The table by metric if people judged a part of the documents."""
    rows = tuple(
        (
            row["metric"],
            f"{row['queries']:,} of {row['population']:,}",
            f"{row['documents']:,}",
            format_signed(row["model"]),
            format_signed(row["people"]),
            format_query_count(row["more_documents"]),
        )
        for row in table.iter_rows(named=True)
        if row["population"] is not None
    )
    header = (
        "metric",
        "queries\npeople judged",
        "documents\npeople judged",
        "delta by\nthe model",
        "delta of their queries,\ncorrected",
        "more documents\nfor this delta",
    )
    return Grid(header, rows)


def heading(result: Comparison) -> str:
    """The heading of the table; empty without a sample."""
    if not result.sample:
        return ""
    if not result.represented["population"].drop_nulls().len():
        return "queries weighted by how they were drawn"
    return "people's judgments correct those of the model"


def prediction_grid(result: Comparison, metric: str, worst: int) -> Grid:
    """The worst queries by the model, of those that people did not judge."""
    sign = -1.0 if metric in result.lower else 1.0
    table = result.predictions.filter(result.predictions["metric"] == metric)
    table = table.filter(table["delta"] * sign < 0).sort(
        "delta", "query_id", descending=[sign < 0, False]
    )
    rows = [
        (row["query_id"], format_signed(row["delta"]), format_interval(row["low"], row["high"]))
        for row in table.head(worst).iter_rows(named=True)
    ]
    header = ("query", "delta by\nthe model", f"{result.level:.0%} interval\nof people's delta")
    return Grid(header, tuple(rows))


def note(result: Comparison) -> str:
    """A note on the estimates; empty without a sample."""
    if not result.sample:
        return ""
    source = "every query had the same chance" if result.sample == "random" else result.sample
    if not result.represented["population"].drop_nulls().len():
        return (
            f"Means, intervals and tests weigh each query by how it was drawn ({source}): Hájek's "
            "estimate (Horvitz and Thompson's where the population's size is given) with the error "
            f"of the jackknife. {CONDITION} "
        )
    if result.represented["documents"].drop_nulls().len():
        return (
            "Means and deltas are of all queries that the model judged; people's judgments of a "
            f"random sample of the documents ({source}) correct its bias, each by the inverse of "
            "its chance. Values of single queries, won, tied and lost, and the effect are of these "
            "estimates. "
        )
    return (
        "Means and deltas are of all queries that the model judged; people's judgments of a random "
        f"sample ({source}) correct its bias (prediction-powered inference). Won, tied and lost, "
        "the effect and the worst queries are those of people alone; queries saved: the share of "
        "people's queries that the model's judgments save. An interval of a single query is "
        "conformal: it holds people's delta with its level's chance over queries. "
    )

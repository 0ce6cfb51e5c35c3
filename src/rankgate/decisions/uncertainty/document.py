"""Render a total error: intervals, sources, and the repetitions to add first."""

from __future__ import annotations

from typing import TYPE_CHECKING

from rankgate.core.present.document import Document, PlainRows, Table, Warnings
from rankgate.core.present.document import make_document as made
from rankgate.core.present.figures import format_interval, format_signed
from rankgate.core.present.grid import Grid, make_printable
from rankgate.core.present.numbers import format_decimal
from rankgate.decisions.uncertainty.total_error import HOLES

if TYPE_CHECKING:
    from rankgate.decisions.uncertainty.total import TotalError

_MIN_SHARE = 0.005  # smaller shares are not shown


def document(result: TotalError) -> Document:
    """Both intervals of each metric, the sources of its error, and the repetitions to add first."""
    facets = ", ".join(f"{levels:,} {name}" for name, levels in result.facets.items())
    metrics = result.metrics["metric"].to_list()
    return made(
        f"{make_printable(result.candidate)} against {make_printable(result.baseline)}: {facets}",
        Table("", _interval_grid(result)),
        *(
            Table(f"{metric}: sources of the error", _source_grid(result, metric))
            for metric in metrics
        ),
        Table("what lowers the error most", _next_grid(result)),
        Warnings(tuple(notice.text for notice in result.notices)),
        "The total interval is for other queries, judgments and snapshots like these; that of "
        "queries alone takes the judgments and snapshots for the only ones there are. Shares are "
        "of the variance of the difference; a product of two is what they do together, such as "
        "a judge that is strict with some queries.",
        rows=PlainRows(tuple(result.metrics.columns), list(result.metrics.iter_rows())),
    )


def _interval_grid(result: TotalError) -> Grid:
    level = f"{result.level:.0%}"
    rows = tuple(
        (
            row["metric"],
            format_decimal(row["baseline"]),
            format_decimal(row["candidate"]),
            format_signed(row["delta"]),
            format_interval(row["low"], row["high"]),
            format_interval(row["naive_low"], row["naive_high"]),
        )
        for row in result.metrics.iter_rows(named=True)
    )
    header = (
        "metric",
        make_printable(result.baseline),
        make_printable(result.candidate),
        "delta",
        f"{level} interval,\ntotal",
        f"{level} interval,\nqueries alone",
    )
    return Grid(header, rows)


def _source_grid(result: TotalError, metric: str) -> Grid:
    rows = tuple(
        (
            row["source"],
            "" if row["levels"] is None else f"{row['levels']:,}",
            f"{row['share']:.1%}",
        )
        for row in result.sources.iter_rows(named=True)
        if row["metric"] == metric and row["share"] >= _MIN_SHARE
    )
    return Grid(("source", "levels", "share"), rows)


def _next_grid(result: TotalError) -> Grid:
    rows = tuple(
        (
            row["metric"],
            f"judge all {HOLES}" if row["facet"] == HOLES else f"{row['levels']:,} {row['facet']}",
            format_decimal(row["error"]),
            f"{row['less']:.1%}",
        )
        for row in result.next.iter_rows(named=True)
        if row["less"] >= _MIN_SHARE
    )
    return Grid(("metric", "with", "standard\nerror", "less"), rows, frozenset({0, 1}))

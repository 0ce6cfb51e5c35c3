"""The total error of a difference: intervals, sources, and what to add first."""

from __future__ import annotations

from typing import TYPE_CHECKING

from rankgate.core.present.document import Document, PlainRows, Table, Warnings
from rankgate.core.present.document import document as made
from rankgate.core.present.figures import interval, signed
from rankgate.core.present.grid import Grid, printable
from rankgate.core.present.numbers import decimal
from rankgate.decisions.uncertainty.total_error import HOLES

if TYPE_CHECKING:
    from rankgate.decisions.uncertainty.total import TotalError

_LEAST = 0.005  # shares that are shown


def document(result: TotalError) -> Document:
    """Both intervals of each metric, the sources of its error, and what to add first."""
    facets = ", ".join(f"{levels:,} {name}" for name, levels in result.facets.items())
    named = result.metrics["metric"].to_list()
    return made(
        f"{printable(result.candidate)} against {printable(result.baseline)}: {facets}",
        Table("", _intervals(result)),
        *(Table(f"{metric}: sources of the error", _sources(result, metric)) for metric in named),
        Table("what lowers the error most", _next(result)),
        Warnings(tuple(notice.text for notice in result.notices)),
        "The total interval is for other queries, judgments and snapshots like these; that of "
        "queries alone takes the judgments and snapshots for the only ones there are. Shares are "
        "of the variance of the difference; a product of two is what they do together, such as "
        "a judge that is strict with some queries.",
        rows=PlainRows(tuple(result.metrics.columns), list(result.metrics.iter_rows())),
    )


def _intervals(result: TotalError) -> Grid:
    level = f"{result.level:.0%}"
    rows = tuple(
        (row["metric"], decimal(row["baseline"]), decimal(row["candidate"]), signed(row["delta"]),
         interval(row["low"], row["high"]), interval(row["naive_low"], row["naive_high"]))
        for row in result.metrics.iter_rows(named=True)
    )  # fmt: skip
    head = ("metric", printable(result.baseline), printable(result.candidate), "delta",
            f"{level} interval,\ntotal", f"{level} interval,\nqueries alone")  # fmt: skip
    return Grid(head, rows)


def _sources(result: TotalError, metric: str) -> Grid:
    rows = tuple(
        (row["source"], "" if row["levels"] is None else f"{row['levels']:,}",
         f"{row['share']:.1%}")
        for row in result.sources.iter_rows(named=True)
        if row["metric"] == metric and row["share"] >= _LEAST
    )  # fmt: skip
    return Grid(("source", "levels", "share"), rows)


def _next(result: TotalError) -> Grid:
    rows = tuple(
        (row["metric"],
         f"judge all {HOLES}" if row["facet"] == HOLES else f"{row['levels']:,} {row['facet']}",
         decimal(row["error"]), f"{row['less']:.1%}")
        for row in result.next.iter_rows(named=True)
        if row["less"] >= _LEAST
    )  # fmt: skip
    return Grid(("metric", "with", "standard\nerror", "less"), rows, frozenset({0, 1}))

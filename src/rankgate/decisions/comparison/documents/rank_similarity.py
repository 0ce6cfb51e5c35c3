"""Render similarities: of two runs by measure and by depth, of several as a matrix."""

from __future__ import annotations

from math import isnan
from typing import TYPE_CHECKING

import polars as pl

from rankgate.core.present.charts.words import count_queries
from rankgate.core.present.document import Document, PlainRows, Table, Warnings
from rankgate.core.present.document import make_document as made
from rankgate.core.present.grid import Grid, make_printable
from rankgate.core.present.numbers import format_decimal
from rankgate.decisions.comparison.rank_similarity import DIRECTED

if TYPE_CHECKING:
    from rankgate.decisions.comparison.rank_similarity import RankSimilarities, RankSimilarity

_ORDERS = {"a": "mean over all orders", "b": "corrected for ties", "w": "equal ranks"}


def document(result: RankSimilarity) -> Document:
    """Render all measures with the least similar query, and the curve of overlap."""
    rbo = result.measures.row(0, named=True)
    return made(
        f"RBO {rbo['mean']:.4f}: {make_printable(result.first)} and "
        f"{make_printable(result.second)} on "
        f"{result.queries:,} queries",
        Table("", _measure_grid(result)),
        Table("overlap by depth", _curve_grid(result)),
        *(
            [Table("reproduction of values", _reproduction_grid(result))]
            if len(result.reproduction)
            else []
        ),
        Warnings(tuple(notice.text for notice in result.notices)),
        f"RBO with p = {result.p:g}, ties: {_ORDERS[result.ties]}; its bounds say what documents "
        f"below rank {result.depth} could change. tau, tau-b, tau-AP and Spearman are over "
        "documents that both rankings have.",
        rows=PlainRows(tuple(result.measures.columns), list(result.measures.iter_rows())),
    )


def document_of_many(result: RankSimilarities, *, measure: str = "RBO") -> Document:
    """Render the matrix of one measure; the rows for programs have all measures of each pair.

    Args:
        result: the similarities.
        measure: one of its measures.

    Raises:
        UsageError: an unknown measure.
    """
    cells = result.matrix(measure)
    names = tuple(map(make_printable, result.runs))
    rows = tuple(
        tuple("" if isnan(cell) else format_decimal(cell) for cell in row) for row in cells
    )
    by_name = Grid(
        ("run", *names), tuple((name, *row) for name, row in zip(names, rows, strict=True))
    )
    numbers = tuple(f"({i})" for i in range(1, len(names) + 1))
    by_number = Grid(
        ("run", *numbers),
        tuple(
            (f"{number} {name}", *row)
            for number, name, row in zip(numbers, names, rows, strict=True)
        ),
    )
    counts = count_queries(*(int(n) for n in result.pairs["queries"].unique()))
    return made(
        f"{measure} of {len(names)} runs on {counts}",
        _extremes(result, measure),
        Table("", by_name, plain=(by_name, by_number)),
        Warnings(tuple(notice.text for notice in result.notices)),
        _explanation(result, measure),
        rows=PlainRows(tuple(result.pairs.columns), list(result.pairs.iter_rows())),
    )


def _extremes(result: RankSimilarities, measure: str) -> str:
    """A sentence on the most and the least similar pair of runs."""
    pairs = result.pairs.filter(pl.col("measure") == measure, pl.col("mean").is_not_null())
    if pairs.is_empty():
        return f"No pair of runs has a value of {measure}."
    sorted_pairs = pairs.sort("mean", "first", "second", descending=[True, False, False])
    most_similar, least_similar = (
        f"{make_printable(row['first'])} and {make_printable(row['second'])} "
        f"({format_decimal(row['mean'])})"
        for row in (sorted_pairs.row(0, named=True), sorted_pairs.row(-1, named=True))
    )
    return f"Most alike: {most_similar}; least: {least_similar}."


def _explanation(result: RankSimilarities, measure: str) -> str:
    """A note on the computation of the measure, and on the other measures."""
    explanation = f"Means over queries, of the first {result.depth:,} documents of each ranking"
    if measure == "RBO":
        explanation = f"{explanation}; p = {result.p:g}, ties: {_ORDERS[result.ties]}"
    elif measure in DIRECTED:
        explanation = (
            f"{explanation}; the run of the row is the reference, over documents that both "
            "rankings have"
        )
    elif measure in {"tau", "tau-b", "Spearman"}:
        explanation = f"{explanation}; over documents that both rankings have"
    return (
        f"{explanation}. CSV and JSON have all measures of each pair; two runs alone show theirs, "
        "with the least similar queries and the overlap by depth."
    )


def _measure_grid(result: RankSimilarity) -> Grid:
    rows = tuple(
        (
            row["measure"],
            format_decimal(row["mean"]),
            "" if row["low"] is None else f"{row['low']:.4f} to {row['high']:.4f}",
            format_decimal(row["lowest"]),
            make_printable(row["lowest_query"] or ""),
            f"{row['n']:,}",
        )
        for row in result.measures.to_dicts()
    )
    return Grid(("measure", "mean", "bounds", "lowest", "query", "queries"), rows)


def _curve_grid(result: RankSimilarity) -> Grid:
    depths = [
        d for d in (1, 2, 3, 5, 10, 20, 50, 100, 200, 500, 1000) if d <= len(result.agreement)
    ]
    values = dict(result.agreement.iter_rows())
    return Grid(("depth", "overlap"), tuple((f"{d}", format_decimal(values[d])) for d in depths))


def _reproduction_grid(result: RankSimilarity) -> Grid:
    effects = result.reproduction["effect_ratio"].is_not_null().any()
    header = (
        "metric",
        make_printable(result.first),
        make_printable(result.second),
        "RMSE",
        "queries",
    )
    rows = tuple(
        (
            row["metric"],
            format_decimal(row["first"]),
            format_decimal(row["second"]),
            format_decimal(row["rmse"]),
            f"{row['n']:,}",
            *(
                (format_decimal(row["effect_ratio"]), format_decimal(row["delta_ri"]))
                if effects
                else ()
            ),
        )
        for row in result.reproduction.to_dicts()
    )
    return Grid(
        (*header, *(("effect\nratio", "delta of rel.\nimprovement") if effects else ())), rows
    )

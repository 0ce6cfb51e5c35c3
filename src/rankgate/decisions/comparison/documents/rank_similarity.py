"""The similarity of two runs: measures, overlap by depth, reproduction of values."""

from __future__ import annotations

from typing import TYPE_CHECKING

from rankgate.core.present.document import Document, PlainRows, Table, Warnings
from rankgate.core.present.document import document as made
from rankgate.core.present.grid import Grid, printable
from rankgate.core.present.numbers import decimal

if TYPE_CHECKING:
    from rankgate.decisions.comparison.rank_similarity import RankSimilarity

_ORDERS = {"a": "mean over all orders", "b": "corrected for ties", "w": "equal ranks"}


def document(result: RankSimilarity) -> Document:
    """Every measure with the query that is least alike, and the curve of overlap."""
    rbo = result.measures.row(0, named=True)
    return made(
        f"RBO {rbo['mean']:.4f}: {printable(result.first)} and {printable(result.second)} on "
        f"{result.queries:,} queries",
        Table("", _measures(result)),
        Table("overlap by depth", _curve(result)),
        *(
            [Table("reproduction of values", _reproduction(result))]
            if len(result.reproduction)
            else []
        ),
        Warnings(tuple(notice.text for notice in result.notices)),
        f"RBO with p = {result.p:g}, ties: {_ORDERS[result.ties]}; its bounds say what documents "
        f"below rank {result.depth} could change. tau, tau-b, tau-AP and Spearman are over "
        "documents that both rankings have.",
        rows=PlainRows(tuple(result.measures.columns), list(result.measures.iter_rows())),
    )


def _measures(result: RankSimilarity) -> Grid:
    rows = tuple(
        (
            row["measure"],
            decimal(row["mean"]),
            "" if row["low"] is None else f"{row['low']:.4f} to {row['high']:.4f}",
            decimal(row["lowest"]),
            printable(row["lowest_query"] or ""),
            f"{row['n']:,}",
        )
        for row in result.measures.to_dicts()
    )
    return Grid(("measure", "mean", "bounds", "lowest", "query", "queries"), rows)


def _curve(result: RankSimilarity) -> Grid:
    depths = [
        d for d in (1, 2, 3, 5, 10, 20, 50, 100, 200, 500, 1000) if d <= len(result.agreement)
    ]
    values = dict(result.agreement.iter_rows())
    return Grid(("depth", "overlap"), tuple((f"{d}", decimal(values[d])) for d in depths))


def _reproduction(result: RankSimilarity) -> Grid:
    effects = result.reproduction["effect_ratio"].is_not_null().any()
    head = ("metric", printable(result.first), printable(result.second), "RMSE", "queries")
    rows = tuple(
        (
            row["metric"],
            decimal(row["first"]),
            decimal(row["second"]),
            decimal(row["rmse"]),
            f"{row['n']:,}",
            *((decimal(row["effect_ratio"]), decimal(row["delta_ri"])) if effects else ()),
        )
        for row in result.reproduction.to_dicts()
    )
    return Grid(
        (*head, *(("effect\nratio", "delta of rel.\nimprovement") if effects else ())), rows
    )

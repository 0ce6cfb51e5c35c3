"""Documents and charts of similarities of runs, and documents of audits.

Similarities of two runs are shown by measure and by depth, similarities of several runs as a
matrix; charts show the same. An audit shows impossible numbers, and the systems that a table
distinguishes.
"""

from __future__ import annotations

from math import isnan
from typing import TYPE_CHECKING

import polars as pl

from rankgate.core.present.charts.chart_layers import heat_map
from rankgate.core.present.charts.chart_parts import ChartAxis, labelled_lines
from rankgate.core.present.charts.chart_style import (
    SHARES,
    SIGNED,
    count_queries,
    shorten_name,
    shorten_names,
)
from rankgate.core.present.charts.picture import Picture
from rankgate.core.present.document_model import (
    Document,
    Grid,
    PlainRows,
    Points,
    Table,
    Warnings,
    make_printable,
)
from rankgate.core.present.document_model import make_document as made
from rankgate.core.present.number_formats import UNDEFINED, count_noun, format_decimal
from rankgate.decisions.reproduction.published_table import (
    CONSISTENT,
    IMPOSSIBLE,
    POSSIBLE,
    UNKNOWN,
    UNREAD,
    UNRESOLVABLE,
)
from rankgate.decisions.reproduction.rank_similarity_result import DIRECTED

if TYPE_CHECKING:
    from rankgate.decisions.reproduction.published_table import TableAudit
    from rankgate.decisions.reproduction.rank_similarity_result import RankSimilarities, RankSimilarity


_ORDERS = {"a": "mean over all orders", "b": "corrected for ties", "w": "equal ranks"}


def rank_similarity_document(result: RankSimilarity) -> Document:
    """Render all measures with the least similar query, and the curve of overlap."""
    rbo = result.measures.row(0, named=True)
    return made(
        f"RBO {rbo['mean']:.4f}: {make_printable(result.first)} and {make_printable(result.second)} on "
        f"{count_noun(result.queries, 'query')}",
        Table("", _measure_grid(result)),
        Table("overlap by depth", _curve_grid(result)),
        *([Table("reproduction of values", _reproduction_grid(result))] if len(result.reproduction) else []),
        Warnings.from_notices(result.notices),
        f"RBO with p = {result.p:g}, ties: {_ORDERS[result.ties]}; its bounds show the possible effect of "
        f"documents below rank {result.depth} could change. tau, tau-b, tau-AP and Spearman are over "
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
    rows = tuple(tuple("" if isnan(cell) else format_decimal(cell) for cell in row) for row in cells)
    by_name = Grid(("run", *names), tuple((name, *row) for name, row in zip(names, rows, strict=True)))
    numbers = tuple(f"({i})" for i in range(1, len(names) + 1))
    by_number = Grid(
        ("run", *numbers),
        tuple((f"{number} {name}", *row) for number, name, row in zip(numbers, names, rows, strict=True)),
    )
    counts = count_queries(*(int(n) for n in result.pairs["queries"].unique()))
    return made(
        f"{measure} of {count_noun(len(names), 'run')} on {counts}",
        _extremes(result, measure),
        Table("", by_name, plain=(by_name, by_number)),
        Warnings.from_notices(result.notices),
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
        f"{make_printable(row['first'])} and {make_printable(row['second'])} ({format_decimal(row['mean'])})"
        for row in (sorted_pairs.row(0, named=True), sorted_pairs.row(-1, named=True))
    )
    return f"Most similar: {most_similar}; least: {least_similar}."


def _explanation(result: RankSimilarities, measure: str) -> str:
    """A note on the computation of the measure, and on the other measures."""
    explanation = f"Means over queries, of the first {count_noun(result.depth, 'document')} of each ranking"
    if measure == "RBO":
        explanation = f"{explanation}; p = {result.p:g}, ties: {_ORDERS[result.ties]}"
    elif measure in DIRECTED:
        explanation = (
            f"{explanation}; the run of the row is the reference, over documents that both rankings have"
        )
    elif measure in {"tau", "tau-b", "Spearman"}:
        explanation = f"{explanation}; over documents that both rankings have"
    return (
        f"{explanation}. CSV and JSON have all measures of each pair; two runs alone show theirs, with the "
        "least similar queries and the overlap by depth."
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
    depths = [d for d in (1, 2, 3, 5, 10, 20, 50, 100, 200, 500, 1000) if d <= len(result.agreement)]
    values = dict(result.agreement.iter_rows())
    return Grid(("depth", "overlap"), tuple((f"{d}", format_decimal(values[d])) for d in depths))


def _reproduction_grid(result: RankSimilarity) -> Grid:
    effects = result.reproduction["effect_ratio"].is_not_null().any()
    header = ("metric", make_printable(result.first), make_printable(result.second), "RMSE", "queries")
    rows = tuple(
        (
            row["metric"],
            format_decimal(row["first"]),
            format_decimal(row["second"]),
            format_decimal(row["rmse"]),
            f"{row['n']:,}",
            *((format_decimal(row["effect_ratio"]), format_decimal(row["delta_ri"])) if effects else ()),
        )
        for row in result.reproduction.to_dicts()
    )
    return Grid((*header, *(("effect\nratio", "delta of rel.\nimprovement") if effects else ())), rows)


def draw_overlap(result: RankSimilarity) -> Picture:
    """The agreement curve: the share of documents that both rankings have in the first k."""
    rows = [row | {"series": "overlap"} for row in result.agreement.to_dicts()]
    depth_axis = ChartAxis("depth", "depth k", (1, max(len(rows), 2)), log=len(rows) > 2)
    return Picture(
        "overlap-curve",
        f"Overlap of {shorten_name(result.first)} and {shorten_name(result.second)} by depth",
        "The mean share of documents that both rankings have in the first k; 1 is the same documents, in any "
        "order.",
        count_noun(result.queries, "query"),
        {},
        tuple(result.agreement.to_dicts()),
        labelled_lines(rows, depth_axis, ChartAxis("overlap", "overlap", (0, 1), form=".2f")),
    )


def matrix(result: RankSimilarities, measure: str = "RBO") -> Picture:
    """A cell for each pair of runs, in the order of the result.

    Args:
        result: the similarities.
        measure: one of its measures.

    Raises:
        UsageError: an unknown measure.
    """
    names = shorten_names(result.runs, 18)
    rows = [
        {"row": first_name, "column": second_name, "value": None if isnan(value) else float(value)}
        for first_name, values in zip(names, result.matrix(measure), strict=True)
        for second_name, value in zip(names, values, strict=True)
    ]
    is_share = measure == "RBO" or measure.startswith("overlap@")
    return Picture(
        "similarity",
        f"{measure} of {count_noun(len(names), 'run')}",
        "The mean over queries of each pair of runs: 1 is the same ranking"
        + (", 0 is nothing in common." if is_share else ", -1 is the reverse."),
        count_queries(*(int(n) for n in result.pairs["queries"].unique())),
        {},
        tuple(rows),
        heat_map(rows, (0, 1), SHARES) if is_share else heat_map(rows, (-1, 1), SIGNED),
        fluid=False,
    )


_STATUS = {IMPOSSIBLE: "fail", CONSISTENT: "pass"}
_LEAD = {
    IMPOSSIBLE: "Some numbers cannot be means over so many queries.",
    UNRESOLVABLE: "No metric separates the best system from the second.",
    CONSISTENT: "",
    UNKNOWN: "Most could not be checked: that decides nothing.",
}


def audit_document(result: TableAudit) -> Document:
    """The verdict, the impossible numbers, the best systems of each metric, unknown columns."""
    impossible = result.cells.filter(status=IMPOSSIBLE)
    unread = result.cells.filter(status=UNREAD)
    unknown_cells = result.cells.filter(status=UNKNOWN)
    possible = result.cells.filter(status=POSSIBLE).height
    checked = (
        f"{possible} of {count_noun(result.cells.height, 'number')} could be checked"
        f"{', and are possible' if possible else ''}; {unknown_cells.height} could not, for the reasons "
        "below."
        if unknown_cells.height
        else "Every number is possible."
    )
    lead = [sentence for sentence in (impossible.is_empty() and checked, _LEAD[result.verdict]) if sentence]
    reasons = unknown_cells.group_by("why", maintain_order=True).agg(pl.col("column").unique().sort())
    return made(
        f"{make_printable(result.table)}: {result.verdict}",
        Table("impossible", _reason_grid(impossible)),
        Table("not read", _reason_grid(unread)),
        Table("best and second", _pair_grid(result)),
        Points(
            tuple(
                f"{', '.join(map(make_printable, row['column']))}: {row['why']}"
                for row in reasons.iter_rows(named=True)
            )
        ),
        f"{count_noun(result.cells.height, 'cell')}: {possible} "
        f"possible, {impossible.height} impossible, {unknown_cells.height} unknown, {unread.height} not "
        f"read. A printed number can be any mean that rounds to it; one that was cut off, or that is over "
        "several runs of a system, can look impossible. Needed is the smallest difference that is "
        "significant at "
        f"{1 - result.level:.2g} if per-query differences have a standard deviation of {result.sd:g}; usual "
        f"ones are larger.",
        lead=(" ".join(lead),),
        status=_STATUS.get(result.verdict, "inconclusive"),
        rows=PlainRows(tuple(result.cells.columns), list(result.cells.iter_rows())),
    )


def _reason_grid(cells: pl.DataFrame) -> Grid:
    rows = tuple(
        (
            f"{row['line']}",
            make_printable(row["system"]),
            make_printable(row["column"]),
            row["printed"],
            row["why"],
        )
        for row in cells.iter_rows(named=True)
    )
    return Grid(("line", "system", "column", "printed", "why"), rows, frozenset({1, 2, 4}))


def _pair_grid(result: TableAudit) -> Grid:
    rows = tuple(
        (
            make_printable(row["column"]),
            make_printable(row["best"]),
            make_printable(row["second"]),
            f"{row['difference']:.4f}",
            UNDEFINED if row["needed"] is None else f"{row['needed']:.4f}",
            row["status"],
            row["why"] or "",
        )
        for row in result.pairs.iter_rows(named=True)
    )
    header = ("column", "best", "second", "difference\nat most", "needed", "status", "why")
    return Grid(header, rows, frozenset({0, 1, 2, 5, 6}))

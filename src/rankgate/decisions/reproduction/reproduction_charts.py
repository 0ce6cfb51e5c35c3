"""Charts of similarities of runs: the overlap of two by depth, and a matrix of several."""

from __future__ import annotations

from math import isnan
from typing import TYPE_CHECKING

from rankgate.core.present.charts.chart_layers import heat_map
from rankgate.core.present.charts.chart_parts import ChartAxis, labelled_lines
from rankgate.core.present.charts.chart_style import SHARES, SIGNED, shorten_names
from rankgate.core.present.charts.picture import Picture
from rankgate.core.present.document_model import shorten_name
from rankgate.core.present.number_formats import count_noun, count_queries

if TYPE_CHECKING:
    from rankgate.decisions.reproduction.rank_similarity_result import RankSimilarities, RankSimilarity


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

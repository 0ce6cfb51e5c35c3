"""Overlap of two runs by depth, without judgments."""

from __future__ import annotations

from typing import TYPE_CHECKING

from rankgate.core.present.charts.parts import ChartAxis, labelled_lines
from rankgate.core.present.charts.picture import Picture
from rankgate.core.present.charts.words import short

if TYPE_CHECKING:
    from rankgate.decisions.comparison.rank_similarity import RankSimilarity


def draw(result: RankSimilarity) -> Picture:
    """The agreement curve: the share of documents that both rankings have in the first k."""
    rows = [row | {"series": "overlap"} for row in result.agreement.to_dicts()]
    x = ChartAxis("depth", "depth k", (1, max(len(rows), 2)), log=len(rows) > 2)
    return Picture(
        "overlap-curve",
        f"Overlap of {short(result.first)} and {short(result.second)} by depth",
        "The mean share of documents that both rankings have in the first k; 1 is the same "
        "documents, in any order.",
        f"{result.queries:,} queries",
        {"name": "no judgments", "hash": ""},
        tuple(result.agreement.to_dicts()),
        labelled_lines(rows, x, ChartAxis("overlap", "overlap", (0, 1), form=".2f")),
    )

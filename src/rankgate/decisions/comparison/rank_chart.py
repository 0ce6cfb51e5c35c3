"""The chart of rank intervals: a line for each system from its best to its worst possible rank."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from rankgate.core.present.charts.chart_parts import concat_panels, inline_data, load_altair, panel_title
from rankgate.core.present.charts.chart_style import BLUE, GREY, shorten_names
from rankgate.core.present.charts.picture import Picture
from rankgate.core.present.number_formats import count_noun

if TYPE_CHECKING:
    from rankgate.core.present.charts.chart_parts import Rows
    from rankgate.decisions.comparison.data_sets import DataSetComparison

_ROW, _SMALL_ROW, _WIDTH = 18, 11, 360
_MANY = 40  # systems with rows of the smaller height


def draw_rank_intervals(result: DataSetComparison) -> Picture:
    """A panel for each metric and population, the systems by their means; blue may have rank 1."""
    names = dict(zip(result.systems, shorten_names(result.systems), strict=True))
    rows = [{**row, "system": names[row["system"]]} for row in result.intervals.iter_rows(named=True)]
    panels = [
        _panel([row for row in rows if (row["metric"], row["population"]) == key], ", ".join(key))
        for key in dict.fromkeys((row["metric"], row["population"]) for row in rows)
    ]
    return Picture(
        "rank-intervals",
        f"Ranks that {count_noun(len(result.systems), 'system')} may have",
        "The rank of the mean over data sets (point), and the ranks that a system may have (line). All lines "
        f"of a panel together hold the true ranks with a confidence of {result.level:.0%}. Blue: may have "
        "rank 1.",
        count_noun(len(result.data_sets), "data set"),
        result.convention,
        tuple(rows),
        concat_panels(panels, 1),
    )


def _panel(rows: Rows, title: str) -> Any:
    alt = load_altair()
    y = alt.Y(
        "system:N",
        sort=[row["system"] for row in rows],
        title=None,
        axis=alt.Axis(domain=False, ticks=False, grid=False),
    )
    shade = alt.Color(condition={"test": "datum.low == 1", "value": BLUE}, value=GREY)
    scale = alt.Scale(domain=[1, max(len(rows), 2)], nice=False)
    base = alt.Chart(inline_data(rows)).encode(
        y=y, color=shade, tooltip=["system:N", "rank:Q", "low:Q", "high:Q"]
    )
    lines = base.mark_rule(strokeWidth=2).encode(
        x=alt.X("low:Q", title="rank", scale=scale, axis=alt.Axis(format="d", tickMinStep=1)), x2="high:Q"
    )
    points = base.mark_point(filled=True, size=40, opacity=1).encode(x=alt.X("rank:Q", scale=scale))
    height = max((_SMALL_ROW if len(rows) > _MANY else _ROW) * len(rows), 40)
    return alt.layer(lines, points).properties(width=_WIDTH, height=height, **panel_title(title))

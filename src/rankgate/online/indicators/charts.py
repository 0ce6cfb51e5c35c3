"""Charts of KPIs: by day and by rank."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import polars as pl

from rankgate.core.errors import UsageError
from rankgate.core.present.charts.backend import load_altair
from rankgate.core.present.charts.parts import concat_panels, inline_data, panel_title
from rankgate.core.present.charts.picture import Picture
from rankgate.core.present.charts.style import BLUE
from rankgate.online.indicators.catalogue import KPIS

if TYPE_CHECKING:
    from rankgate.online.indicators.kpi_table import KpiTable

_DAYS = (
    "search_ctr",
    "zero_result_rate",
    "mrr_first_click",
    "session_conversion_rate",
    "revenue_per_search",
    "latency_p95",
)
_POSITIONS = ("impression_ctr",)
_PANELS = 4
_SIZE = {"width": 300, "height": 150}


def days(result: KpiTable) -> Picture:
    """A panel for each of the most important KPIs, by day."""
    description = "Values by day (UTC). A day without a point has no value, which is not 0."
    return _lines(result, "day", "kpi-days", "KPIs by day", description, _DAYS)


def positions(result: KpiTable) -> Picture:
    """The share of shown results that were clicked, by rank."""
    description = (
        "Clicks divided by impressions at each rank. The curve mixes how good results are with "
        "how often users look at a rank; rankgate online judgments separates the two."
    )
    return _lines(result, "position", "kpi-positions", "Clicks by rank", description, _POSITIONS)


def _lines(
    result: KpiTable, by: str, kind: str, title: str, description: str, first: tuple[str, ...]
) -> Picture:
    rows = result.values.filter(pl.col("by") == by, pl.col("value").is_not_null())
    available = rows["kpi"].unique(maintain_order=True).to_list()
    names = [name for name in first if name in available] or available
    if not names:
        raise UsageError(
            f"there are no KPIs by {by}; ask for them with --by {by}.", code="nothing-to-draw"
        )
    panel_kpis = names[:_PANELS]
    points = [
        {
            "kpi": row["kpi"],
            "at": int(row["slice"]) if by == "position" else row["slice"],
            "value": row["value"],
            "n": row["n"],
        }
        for row in rows.filter(pl.col("kpi").is_in(panel_kpis)).iter_rows(named=True)
    ]
    panels = [
        _panel([point for point in points if point["kpi"] == name], name, by) for name in panel_kpis
    ]
    return Picture(
        kind,
        title,
        description,
        f"{result.events:,} events",
        {"name": "KPIs", "hash": ""},
        tuple(points),
        concat_panels(panels, 2),
    )


def _panel(rows: list[dict[str, Any]], name: str, by: str) -> Any:
    alt = load_altair()
    share = name in KPIS and KPIS[name].unit == "share"
    axis = alt.Axis(format=".0%") if share else alt.Axis()
    x = alt.X("at:O", title="rank" if by == "position" else None)
    if by == "day":
        x = alt.X("at:T", title=None, axis=alt.Axis(format="%d %b", tickCount=6))
    lines = alt.Chart(inline_data(rows)).mark_line(color=BLUE, point={"color": BLUE})
    y = alt.Y("value:Q", title=name.replace("_", " "), axis=axis, scale=alt.Scale(zero=True))
    return lines.encode(x=x, y=y, tooltip=["at:N", "value:Q", "n:Q"]).properties(
        **_SIZE, **panel_title(name.replace("_", " "))
    )

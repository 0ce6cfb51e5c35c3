"""Charts of KPIs and of users.

KPIs are charted by day and by rank; users by intents, personalisation, and satisfaction over
weeks.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

import polars as pl

from rankgate.core.errors import UsageError
from rankgate.core.present.charts.chart_parts import (
    concat_panels,
    inline_data,
    load_altair,
    panel_title,
    rule_line,
)
from rankgate.core.present.charts.chart_style import BLUE, GREY, system_colour
from rankgate.core.present.charts.picture import Picture
from rankgate.core.present.number_formats import count_noun
from rankgate.online.indicators.kpi_catalogue import KPIS
from rankgate.online.users.personalization_impact import ALL

if TYPE_CHECKING:
    from rankgate.core.value_types import Json, JsonObject
    from rankgate.online.indicators.kpi_table import KpiTable
    from rankgate.online.users.intent_diversity import IntentDiversity
    from rankgate.online.users.personalization_impact import PersonalizationImpact
    from rankgate.online.users.satisfaction import Satisfaction


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
        "Clicks divided by impressions at each rank. The curve mixes how good results are with how often "
        "users look at a rank; rankgate online judgments separates the two."
    )
    return _lines(result, "position", "kpi-positions", "Clicks by rank", description, _POSITIONS)


def _lines(
    result: KpiTable, by: str, kind: str, title: str, description: str, first: tuple[str, ...]
) -> Picture:
    rows = result.values.filter(pl.col("by") == by, pl.col("value").is_not_null())
    available = rows["kpi"].unique(maintain_order=True).to_list()
    names = [name for name in first if name in available] or available
    if not names:
        raise UsageError(f"there are no KPIs by {by}; ask for them with --by {by}.", code="nothing-to-draw")
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
    panels = [_panel([point for point in points if point["kpi"] == name], name, by) for name in panel_kpis]
    return Picture(
        kind,
        title,
        description,
        count_noun(result.events, "event"),
        {"name": "KPIs", "hash": ""},
        tuple(points),
        concat_panels(panels, 2),
    )


def _panel(rows: Sequence[JsonObject], name: str, by: str) -> Any:
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


_LARGE_SIZE = {"width": 460, "height": 260}
_QUERIES = 400  # points of a picture
_COHORTS = 7


def _picture(kind: str, title: str, description: str, sample_size: str, rows: Any, draw: Any) -> Picture:
    if not rows:
        raise UsageError("there are no values to draw.", code="nothing-to-draw")
    return Picture(kind, title, description, sample_size, {"name": "online", "hash": ""}, tuple(rows), draw())


def intents(result: IntentDiversity) -> Picture:
    """Queries by their users, and how unlike the clicks of these are."""
    rows = result.queries.sort("users", descending=True).head(_QUERIES).to_dicts()

    def draw_panel() -> Any:
        alt = load_altair()
        points = alt.Chart(inline_data(rows)).mark_circle(color=BLUE, size=45, opacity=0.7)
        return points.encode(
            x=alt.X("users:Q", title="users that clicked", scale=alt.Scale(type="log")),
            y=alt.Y(
                "distance:Q",
                title="clicks of two users on different documents",
                axis=alt.Axis(format=".0%"),
                scale=alt.Scale(domain=[0, 1]),
            ),
            tooltip=["query:N", "users:Q", "entropy:Q", "distance:Q"],
        ).properties(**_LARGE_SIZE)

    description = "Each point is a query. At the top, users who type the same words want different documents."
    sample_size = count_noun(len(result.queries), "query")
    return _picture("intents", "Diversity of intents", description, sample_size, rows, draw_panel)


def personalization(result: PersonalizationImpact) -> Picture:
    """Differences from the control with their intervals, by group of users."""
    lifts = result.lifts.filter(pl.col("low").is_not_null())
    names = lifts["kpi"].unique(maintain_order=True).to_list()[:_PANELS]
    rows = lifts.filter(pl.col("kpi").is_in(names)).to_dicts()

    def draw_metric(name: str) -> Any:
        alt = load_altair()
        kpi_rows = [row for row in rows if row["kpi"] == name]
        order = list(dict.fromkeys(row["group"] for row in kpi_rows))
        base = alt.Chart(inline_data(kpi_rows)).encode(
            y=alt.Y("group:N", sort=order, title=None),
            color=alt.condition(alt.datum.group == ALL, alt.value(BLUE), alt.value(GREY)),
        )
        lines = base.mark_rule(strokeWidth=2).encode(x="low:Q", x2="high:Q")
        points = base.mark_point(filled=True, size=60).encode(
            x=alt.X("delta:Q", title="difference from the control"),
            tooltip=["variant:N", "group:N", "delta:Q", "low:Q", "high:Q"],
        )
        size = {"width": _SIZE["width"], "height": 30 * len(order)}
        return (rule_line("zero", 0, along="x") + lines + points).properties(
            **size, **panel_title(name.replace("_", " "))
        )

    description = f"95 % intervals of the difference from {result.control}, with users as units."
    return _picture(
        "personalization",
        "Impact of personalisation by group of users",
        description,
        count_noun(len(result.lifts), "difference"),
        rows,
        lambda: concat_panels([draw_metric(name) for name in names], 2),
    )


def weeks(result: Satisfaction) -> Picture:
    """A panel for each KPI, by week."""
    names = result.weeks["kpi"].unique(maintain_order=True).to_list()[:_PANELS]
    rows = result.weeks.filter(pl.col("kpi").is_in(names)).to_dicts()
    description = "Values by week (of its Monday, UTC) with 95 % intervals; users are units."
    return _picture(
        "weeks",
        "KPIs by week",
        description,
        count_noun(result.weeks["week"].n_unique(), "week"),
        rows,
        lambda: concat_panels([_band(rows, name, "week:T", None) for name in names], 2),
    )


def novelty(result: Satisfaction) -> Picture:
    """A panel for each KPI, by the weeks since a user's first event."""
    names = result.ages["kpi"].unique(maintain_order=True).to_list()[:_PANELS]
    rows = result.ages.filter(pl.col("kpi").is_in(names), pl.col("variant") == "").to_dicts()
    description = "Values by weeks since a user's first event. A novelty wears off where they fall."
    title = "weeks since the first event"
    return _picture(
        "novelty",
        "KPIs by how long users are known",
        description,
        count_noun(len(rows), "value"),
        rows,
        lambda: concat_panels([_band(rows, name, "age:Q", title) for name in names], 2),
    )


def _band(rows: list[dict[str, Json]], name: str, field: str, title: str | None) -> Any:
    alt = load_altair()
    kpi_rows = [row for row in rows if row["kpi"] == name]
    axis = alt.Axis(format="%d %b", tickCount=5) if field.endswith("T") else alt.Axis(tickMinStep=1)
    x = alt.X(field, title=title, axis=axis)
    base = alt.Chart(inline_data(kpi_rows)).encode(x=x)
    band = base.mark_area(color=BLUE, opacity=0.2).encode(
        y=alt.Y("low:Q", title=name.replace("_", " "), scale=alt.Scale(zero=False)), y2="high:Q"
    )
    line = base.mark_line(color=BLUE, point={"color": BLUE}).encode(
        y="value:Q", tooltip=[field, "value:Q", "low:Q", "high:Q", "users:Q"]
    )
    return (band + line).properties(**_SIZE, **panel_title(name.replace("_", " ")))


def retention(result: Satisfaction) -> Picture:
    """The share of each cohort that is active later."""
    cohorts = sorted(result.cohorts["cohort"].unique())[:_COHORTS]
    rows = result.cohorts.filter(pl.col("cohort").is_in(cohorts)).to_dicts()

    def draw_panel() -> Any:
        alt = load_altair()
        colours = alt.Scale(domain=cohorts, range=[system_colour(index) for index in range(len(cohorts))])
        return (
            alt.Chart(inline_data(rows))
            .mark_line(point=True)
            .encode(
                x=alt.X("age:Q", title="weeks since the first event", axis=alt.Axis(tickMinStep=1)),
                y=alt.Y(
                    "retention:Q",
                    title="users active",
                    axis=alt.Axis(format=".0%"),
                    scale=alt.Scale(domain=[0, 1]),
                ),
                color=alt.Color("cohort:N", scale=colours, title="week of"),
                tooltip=["cohort:N", "age:Q", "retention:Q", "active:Q", "users:Q"],
            )
            .properties(**_LARGE_SIZE)
        )

    description = "Users by the week of their first event: the share that is active in later weeks."
    sample_size = count_noun(len(cohorts), "cohort")
    return _picture("retention", "Users that come back", description, sample_size, rows, draw_panel)

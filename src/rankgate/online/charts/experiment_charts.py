"""Charts of experiments, and offline against online values as a picture.

Charts of experiments show intervals of metrics, differences by day, and detectable differences.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

import polars as pl

from rankgate.core.errors import UsageError
from rankgate.core.present.charts.chart_parts import (
    concat_panels,
    inline_data,
    load_altair,
    panel_title,
    rule_line,
)
from rankgate.core.present.charts.chart_style import BLUE, GREY
from rankgate.core.present.charts.picture import Picture
from rankgate.core.present.number_formats import count_noun

if TYPE_CHECKING:
    from rankgate.core.value_types import JsonObject
    from rankgate.online.experiments.experiment_plan import ExperimentPlan
    from rankgate.online.experiments.experiment_result import Experiment
    from rankgate.online.experiments.online_agreement import OnlineAgreement


_ROW = 30
_EXPERIMENT_SIZE = {"width": 300, "height": 160}
_PANELS = 4
_LINES = 8


def intervals(result: Experiment) -> Picture:
    """The relative difference of each metric with its interval."""
    with_interval = result.metrics.drop_nulls(["relative_low", "relative_high"])
    if with_interval.is_empty():
        raise UsageError("no metric has an interval.", code="nothing-to-draw")
    has_several_arms = with_interval["variant"].n_unique() > 1
    rows = [
        {
            "metric": row["metric"] + (f" ({row['variant']})" if has_several_arms else ""),
            "relative": row["relative"],
            "low": row["relative_low"],
            "high": row["relative_high"],
        }
        for row in with_interval.iter_rows(named=True)
    ]
    alt = load_altair()
    y = alt.Y("metric:N", sort=[row["metric"] for row in rows], title=None, axis=alt.Axis(labelLimit=220))
    base = alt.Chart(inline_data(rows))
    axis = alt.Axis(format="+.1%")
    lines = base.mark_rule(color=BLUE, strokeWidth=2).encode(
        x=alt.X("low:Q", axis=axis, title="relative difference"), x2="high:Q", y=y
    )
    points = base.mark_point(filled=True, color=BLUE, size=60).encode(
        x="relative:Q", y=y, tooltip=["metric:N", "relative:Q", "low:Q", "high:Q"]
    )
    chart = (rule_line("zero", 0.0, along="x") + lines + points).properties(
        width=420, height=max(_ROW * len(rows), 60)
    )
    description = "Points are relative differences to the control, lines their intervals."
    return _picture("experiment", ("Differences of metrics", description), result, rows, chart)


def days(result: Experiment) -> Picture:
    """The difference at the end of each day, with intervals that hold on all days."""
    if result.daily.is_empty():
        raise UsageError("the experiment has no days.", code="nothing-to-draw")
    rows = result.daily.to_dicts()
    names = result.daily.select("metric", "variant").unique(maintain_order=True).rows()[:_PANELS]
    alt = load_altair()
    panels = []
    for metric, variant in names:
        arm_rows = [row for row in rows if (row["metric"], row["variant"]) == (metric, variant)]
        base = alt.Chart(inline_data(arm_rows))
        x = alt.X("day:T", title=None, axis=alt.Axis(format="%d %b", tickCount=6))
        band = base.mark_area(color=BLUE, opacity=0.2).encode(
            x=x, y=alt.Y("low:Q", title="difference"), y2="high:Q"
        )
        line = base.mark_line(color=BLUE).encode(x=x, y="delta:Q", tooltip=["day:T", "delta:Q"])
        title = f"{metric} ({variant})"
        panels.append(
            (band + line + rule_line("zero", 0.0)).properties(**_EXPERIMENT_SIZE, **panel_title(title))
        )
    description = "The interval holds on all days together: one may stop on any of them."
    panel_rows = [row for row in rows if (row["metric"], row["variant"]) in names]
    return _picture(
        "experiment-days", ("Differences by day", description), result, panel_rows, concat_panels(panels, 2)
    )


def _picture(
    kind: str, texts: tuple[str, str], result: Experiment, rows: Sequence[JsonObject], chart: object
) -> Picture:
    units = int(result.variants["units"].sum())
    return Picture(
        kind, *texts, count_noun(units, "unit"), {"name": "experiment", "hash": ""}, tuple(rows), chart
    )


def plan(result: ExperimentPlan) -> Picture:
    """Detectable differences by day, for each KPI with the largest share of traffic."""
    if result.detectable.is_empty():
        raise UsageError("no KPI can be planned for.", code="nothing-to-draw")
    share = float(result.detectable["share"].to_numpy().max())
    rows = result.detectable.filter(pl.col("share") == share).to_dicts()
    names = result.needed["kpi"].unique(maintain_order=True).to_list()[:_LINES]
    kpi_rows = [row for row in rows if row["kpi"] in names]
    alt = load_altair()
    effect = result.settings["effect"]
    lines = (
        alt.Chart(inline_data(kpi_rows))
        .mark_line(point=True)
        .encode(
            x=alt.X("day:Q", title="days"),
            y=alt.Y(
                "relative:Q",
                title="relative difference that shows",
                axis=alt.Axis(format=".1%"),
                scale=alt.Scale(type="log"),
            ),
            color=alt.Color("kpi:N", sort=names, title=None),
            tooltip=["kpi:N", "day:Q", "relative:Q", "units:Q"],
        )
    )
    chart = (lines + rule_line("relative", effect, dashed=True)).properties(width=460, height=280)
    description = f"With {share:.0%} of the traffic; the dashed line is the requested effect."
    units = int(result.kpis["units"].to_numpy().max())
    return Picture(
        "experiment-plan",
        "The smallest effect that shows, by days",
        description,
        f"{units:,} {result.unit}s",
        {"name": "plan", "hash": ""},
        tuple(kpi_rows),
        chart,
    )


_SCATTER_SIZE = {"width": 300, "height": 220}
_NORMAL = 1.96


def scatter(result: OnlineAgreement) -> Picture:
    """The best metric of each KPI: a point for each unit, with the interval of the KPI."""
    best = result.best.head(_PANELS)
    if best.is_empty():
        raise UsageError("no metric has a skill.", code="nothing-to-draw")
    alt = load_altair()
    all_rows, panels = [], []
    for row in best.iter_rows(named=True):
        pair_units = result.units.filter(
            pl.col("metric") == row["metric"], pl.col("kpi") == row["kpi"]
        ).with_columns(
            low=pl.col("online") - _NORMAL * pl.col("error"),
            high=pl.col("online") + _NORMAL * pl.col("error"),
        )
        rows = pair_units.to_dicts()
        all_rows += rows
        data = inline_data(rows)
        x = alt.X("offline:Q", title=row["metric"], scale=alt.Scale(zero=False))
        y = alt.Y("low:Q", title=row["kpi"].replace("_", " "), scale=alt.Scale(zero=False))
        intervals = alt.Chart(data).mark_rule(color=GREY).encode(x=x, y=y, y2="high:Q")
        points = (
            alt.Chart(data)
            .mark_point(filled=True, size=50, color=BLUE)
            .encode(x=x, y="online:Q", tooltip=["unit:N", "offline:Q", "online:Q", "predicted:Q"])
        )
        panels.append(
            (intervals + points).properties(**_SCATTER_SIZE, **panel_title(f"skill {row['skill']:.2f}"))
        )
    return Picture(
        "offline-online",
        "Does offline predict online?",
        f"A point is one {result.unit}: the offline value and the online one with its 95 % interval.",
        f"{count_noun(result.units['unit'].n_unique(), 'unit')} ({result.unit})",
        {"name": "agreement", "hash": ""},
        tuple(all_rows),
        concat_panels(panels, 2),
    )

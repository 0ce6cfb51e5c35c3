"""Offline against online values as a picture."""

from __future__ import annotations

from typing import TYPE_CHECKING

import polars as pl

from rankgate.core.errors import UsageError
from rankgate.core.present.charts.backend import load_altair
from rankgate.core.present.charts.parts import concat_panels, inline_data, panel_title
from rankgate.core.present.charts.picture import Picture
from rankgate.core.present.charts.style import BLUE, GREY

if TYPE_CHECKING:
    from rankgate.online.offline_online.online_agreement import OnlineAgreement

_SIZE = {"width": 300, "height": 220}
_PANELS = 4
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
            (intervals + points).properties(**_SIZE, **panel_title(f"skill {row['skill']:.2f}"))
        )
    return Picture(
        "offline-online",
        "Does offline predict online?",
        f"A point is one {result.unit}: the offline value and the online one with its 95 % "
        "interval.",
        f"{result.units['unit'].n_unique():,} units ({result.unit})",
        {"name": "agreement", "hash": ""},
        tuple(all_rows),
        concat_panels(panels, 2),
    )

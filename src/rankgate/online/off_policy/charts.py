"""Charts of off-policy estimates."""

from __future__ import annotations

from typing import TYPE_CHECKING

import polars as pl

from rankgate.core.errors import UsageError
from rankgate.core.present.charts.backend import load_altair
from rankgate.core.present.charts.parts import inline_data
from rankgate.core.present.charts.picture import Picture
from rankgate.core.present.charts.style import BLUE, GREY, INK

if TYPE_CHECKING:
    from rankgate.online.off_policy.off_policy_estimate import OffPolicyEstimate

_WIDTH = 420
_ROW = 30  # points an estimator


def estimates(result: OffPolicyEstimate) -> Picture:
    """Every estimate with its interval, and the reward of the log."""
    with_interval = result.estimates.filter(pl.col("low").is_not_null())
    if with_interval.is_empty():
        raise UsageError("the log allows no estimate.", code="nothing-to-draw")
    rows = with_interval.select("estimator", "value", "low", "high").to_dicts()
    alt = load_altair()
    data = inline_data(rows)
    y = alt.Y("estimator:N", sort=None, title=None)
    colour = alt.condition(
        alt.datum.estimator == result.estimator, alt.value(BLUE), alt.value(GREY)
    )
    x = alt.X("low:Q", title="reward", scale=alt.Scale(zero=False))
    intervals = alt.Chart(data).mark_rule(strokeWidth=2).encode(x=x, x2="high:Q", y=y, color=colour)
    points = (
        alt.Chart(data)
        .mark_point(filled=True, size=70)
        .encode(
            x="value:Q",
            y=y,
            color=colour,
            tooltip=["estimator:N", "value:Q", "low:Q", "high:Q"],
        )
    )
    line = alt.Chart(inline_data([{"logged": result.logged}])).mark_rule(
        color=INK, strokeDash=[2, 2]
    )
    chart = (line.encode(x="logged:Q") + intervals + points).properties(
        width=_WIDTH, height=_ROW * len(rows)
    )
    return Picture(
        "off-policy",
        f"What {result.target} would have earned",
        "The dashed line is what the logged policy earned; blue is the reported estimate. "
        f"Intervals are {result.level:.0%}.",
        f"{result.units:,} logged decisions, effective size {result.ess:,.0f}",
        {"name": "off-policy", "hash": ""},
        tuple(rows),
        chart,
    )

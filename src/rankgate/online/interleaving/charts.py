"""Charts of interleaving."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import polars as pl

from rankgate.core.errors import UsageError
from rankgate.core.present.charts.backend import load_altair
from rankgate.core.present.charts.parts import inline_data
from rankgate.core.present.charts.picture import Picture
from rankgate.core.present.charts.style import BLUE, GREY, INK

if TYPE_CHECKING:
    from rankgate.online.interleaving.preference import Preference
    from rankgate.online.interleaving.sensitivity import Sensitivity

_WIDTH = 420
_ROW = 34  # points a pair or test


def preferences(result: Preference) -> Picture:
    """The preference of each pair with its interval: of wins, or of credits."""
    signs = result.test == "sign"
    value, low, high = (
        ("preference", "low", "high") if signs else ("credit", "credit_low", "credit_high")
    )
    with_interval = result.pairs.filter(pl.col(low).is_not_null())
    if with_interval.is_empty():
        raise UsageError("no pair has clicks enough for an interval.", code="nothing-to-draw")
    rows = [
        {
            "pair": f"{row['other']} against {row['one']}",
            "value": row[value],
            "low": row[low],
            "high": row[high],
            "preferred": row["preferred"] or "none",
        }
        for row in with_interval.iter_rows(named=True)
    ]
    alt = load_altair()
    data = inline_data(rows)
    y = alt.Y("pair:N", sort=None, title=None, axis=alt.Axis(labelLimit=260))
    colour = alt.condition(alt.datum.preferred == "none", alt.value(GREY), alt.value(BLUE))
    axis = alt.Axis(format="+.0%") if signs else alt.Axis()
    x = alt.X("low:Q", title="preference" if signs else "difference of credits", axis=axis)
    intervals = alt.Chart(data).mark_rule(strokeWidth=2).encode(x=x, x2="high:Q", y=y, color=colour)
    points = (
        alt.Chart(data)
        .mark_point(filled=True, size=70)
        .encode(
            x="value:Q",
            y=y,
            color=colour,
            tooltip=["pair:N", "value:Q", "low:Q", "high:Q", "preferred:N"],
        )
    )
    return Picture(
        "preference",
        "Which system users prefer",
        f"Right of 0 users prefer the first named system. Intervals are {result.level:.0%}; grey "
        "ones show no preference.",
        f"{result.clicked:,} {result.unit}s with clicks, {result.method}",
        {"name": "interleaving", "hash": ""},
        tuple(rows),
        _with_zero_line(intervals + points, len(rows)),
    )


def sensitivities(result: Sensitivity) -> Picture:
    """The searches that each test needs, on a logarithmic axis."""
    with_effect = result.tests.filter(pl.col("needed").is_not_null()).sort("needed")
    if with_effect.is_empty():
        raise UsageError("no test shows an effect.", code="nothing-to-draw")
    rows = with_effect.select("test", "design", "needed").to_dicts()
    alt = load_altair()
    points = (
        alt.Chart(inline_data(rows))
        .mark_point(filled=True, size=80)
        .encode(
            x=alt.X("needed:Q", title="searches needed", scale=alt.Scale(type="log")),
            y=alt.Y("test:N", sort=[row["test"] for row in rows], title=None),
            color=alt.condition(alt.datum.design == "A/B", alt.value(GREY), alt.value(BLUE)),
            tooltip=["test:N", "design:N", "needed:Q"],
        )
    )
    return Picture(
        "sensitivity",
        "How many searches tests need",
        "Blue points are interleaving, grey ones KPIs of an A/B test; further left is better. "
        "For a power of 80 % at 5 %.",
        f"{result.searches:,} simulated searches, {result.user} users",
        {"name": "interleaving", "hash": ""},
        tuple(rows),
        points.properties(width=_WIDTH, height=_ROW * len(rows)),
    )


def _with_zero_line(layers: Any, rows: int) -> Any:
    alt = load_altair()
    zero = (
        alt.Chart(inline_data([{"x": 0}])).mark_rule(color=INK, strokeDash=[2, 2]).encode(x="x:Q")
    )
    return (zero + layers).properties(width=_WIDTH, height=_ROW * rows)

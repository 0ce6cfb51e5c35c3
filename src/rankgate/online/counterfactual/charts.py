"""Charts of a replay."""

from __future__ import annotations

from typing import TYPE_CHECKING

from rankgate.core.errors import UsageError
from rankgate.core.present.charts.backend import load_altair
from rankgate.core.present.charts.parts import inline_data
from rankgate.core.present.charts.picture import Picture
from rankgate.core.present.charts.style import BLUE, GREY, INK

if TYPE_CHECKING:
    from rankgate.online.counterfactual.counterfactual_replay import CounterfactualReplay

_WIDTH = 420
_ROW = 36  # points a measure


def measures(result: CounterfactualReplay) -> Picture:
    """The difference to the logged lists, relative to them, with its interval."""
    rows = [
        {
            "measure": row["measure"],
            "delta": row["delta"] / row["logged"],
            "low": row["delta_low"] / row["logged"],
            "high": row["delta_high"] / row["logged"],
        }
        for row in result.measures.iter_rows(named=True)
        if row["logged"]
    ]
    if not rows:
        raise UsageError("the log allows no estimate.", code="nothing-to-draw")
    alt = load_altair()
    data = inline_data(rows)
    y = alt.Y("measure:N", sort=None, title=None)
    clear = (alt.datum.low > 0) | (alt.datum.high < 0)
    colour = alt.condition(clear, alt.value(BLUE), alt.value(GREY))
    x = alt.X("low:Q", title="candidate less logged", axis=alt.Axis(format="+.0%"))
    intervals = alt.Chart(data).mark_rule(strokeWidth=2).encode(x=x, x2="high:Q", y=y, color=colour)
    points = (
        alt.Chart(data)
        .mark_point(filled=True, size=70)
        .encode(
            x="delta:Q",
            y=y,
            color=colour,
            tooltip=["measure:N", "delta:Q", "low:Q", "high:Q"],
        )
    )
    zero = (
        alt.Chart(inline_data([{"x": 0}])).mark_rule(color=INK, strokeDash=[2, 2]).encode(x="x:Q")
    )
    return Picture(
        "replay",
        f"What users would do with {result.candidate}",
        "Right of 0 the candidate would earn more than the lists that were shown. Intervals are "
        f"{result.level:.0%}; grey ones show no difference.",
        f"{result.searches:,} searches, {result.support:.0%} of the candidate ever shown",
        {"name": "replay", "hash": ""},
        tuple(rows),
        (zero + intervals + points).properties(width=_WIDTH, height=_ROW * len(rows)),
    )

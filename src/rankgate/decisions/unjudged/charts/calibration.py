"""Chart of calibration: predicted against measured shares."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING, Any

from rankgate.core.present.charts.backend import load_altair
from rankgate.core.present.charts.parts import concat_panels, inline_data, panel_title
from rankgate.core.present.charts.picture import Picture
from rankgate.core.present.charts.style import BLUE, DIM, GREY
from rankgate.core.present.charts.words import count_queries, shorten_name

if TYPE_CHECKING:
    from rankgate.decisions.unjudged.calibration import Calibration

_SIDE = 320


def draw(result: Calibration) -> Picture:
    """A square for the relevance of hidden documents, and one for flips of the comparison."""
    titled_tables = [
        (name, title, getattr(result, name).to_dicts())
        for name, title in (
            ("relevance", f"relevant: {result.documents:,} documents"),
            ("flips", f"flips of {result.metric}: {result.experiments} trials"),
        )
    ]
    panels = [(name, title, rows) for name, title, rows in titled_tables if rows]
    return Picture(
        "calibration",
        f"Predictions for hidden judgments: {shorten_name(result.candidate)} against "
        f"{shorten_name(result.baseline)}",
        "Judgments were hidden and predicted. Across: the predicted probability; up: the observed "
        "share, with its 95% interval and the number of cases. On the diagonal, predictions are "
        "right. A flip: with all judgments the interval of the difference leads to another "
        "conclusion; trials share queries, so their intervals are too narrow.",
        count_queries(result.queries),
        result.convention,
        tuple({"what": name, **row} for name, _, rows in panels for row in rows),
        concat_panels(
            [_panel(rows, f"{title}{_brier(result, name)}") for name, title, rows in panels]
        ),
    )


def _brier(result: Calibration, name: str) -> str:
    score, mean = result.brier[name]
    return "" if math.isnan(score) else f"; Brier {score:.3f} (mean alone {mean:.3f})"


def _panel(rows: list[dict[str, Any]], title: str) -> Any:
    alt = load_altair()
    scale = alt.Scale(domain=[0, 1], nice=False)
    axis = alt.Axis(format=".0%", tickCount=6)
    x = alt.X("predicted:Q", title="predicted", scale=scale, axis=axis)
    y = alt.Y("measured:Q", title="observed", scale=scale, axis=axis)
    line = (
        alt.Chart(inline_data([{"predicted": end, "measured": end} for end in (0, 1)]))
        .mark_line(color=GREY, strokeDash=[4, 3], strokeWidth=1)
        .encode(x=x, y=y)
    )
    base = alt.Chart(inline_data([row | {"count": f"{row['n']:,}"} for row in rows])).encode(x=x)
    bars = base.mark_rule(strokeWidth=2, color=BLUE, opacity=0.6).encode(
        y=alt.Y("measured_low:Q", scale=scale), y2="measured_high:Q"
    )
    points = base.mark_point(filled=True, size=70, color=BLUE, opacity=1).encode(
        y=y, tooltip=["n:Q", "predicted:Q", "measured:Q", "measured_low:Q", "measured_high:Q"]
    )
    counts = base.mark_text(align="left", dx=7, dy=8, color=DIM, fontSize=10).encode(
        y=y, text="count:N"
    )
    return alt.layer(line, bars, points, counts).properties(
        width=_SIDE, height=_SIDE, **panel_title(title)
    )

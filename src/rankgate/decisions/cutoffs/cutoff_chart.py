"""The chart of ``cutoff``: silence and documents kept by threshold."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import polars as pl

from rankgate.core.present.charts.chart_parts import (
    concat_panels,
    inline_data,
    load_altair,
    panel_title,
    rule_line,
)
from rankgate.core.present.charts.chart_style import BLUE, RED, count_queries, shorten_name
from rankgate.core.present.charts.picture import Picture

if TYPE_CHECKING:
    from rankgate.core.value_types import Json
    from rankgate.decisions.cutoffs.cutoff import CutoffAnalysis

_WIDTH, _HEIGHT = 300, 200
_COLOURS = {"silent": BLUE, "kept": RED}


def draw_cutoff(result: CutoffAnalysis) -> Picture:
    """Draw a panel for each system: both shares and their lower bounds by threshold."""
    rows = pl.concat(
        result.curve.select(
            "system", "threshold", subject=pl.lit(subject), share=subject, low=f"{subject}_low"
        )
        for subject in _COLOURS
    ).drop_nulls()
    chosen = result.demands.filter(pl.col("slice").is_null(), pl.col("status") == "chosen")
    panels = [
        _panel(name, rows.filter(system=name).to_dicts(), chosen.filter(system=name)["threshold"].to_list())
        for name in result.systems
    ]
    return Picture(
        "cutoff",
        f"Where to cut off the score: {shorten_name(', '.join(result.systems))}",
        "Blue: questions without an answer that return nothing. Orange: relevant documents kept. Line: these "
        "questions; area: down to the lower bound at a threshold that was fixed beforehand. Dashed: the "
        "thresholds that keep the demands.",
        count_queries(*result.demands.filter(pl.col("slice").is_null())["n"]),
        result.convention,
        tuple(rows.to_dicts()),
        concat_panels(panels),
        fluid=False,
    )


def _panel(name: str, rows: list[dict[str, Json]], thresholds: list[float]) -> Any:
    alt = load_altair()
    colour = alt.Color(
        "subject:N", legend=None, scale=alt.Scale(domain=[*_COLOURS], range=[*_COLOURS.values()])
    )
    base = alt.Chart(inline_data(rows)).encode(
        x=alt.X("threshold:Q", title="threshold", scale=alt.Scale(zero=False)), color=colour
    )
    share = alt.Y("share:Q", title="share", axis=alt.Axis(format="%"), scale=alt.Scale(domain=[0, 1]))
    layers = [
        base.mark_area(opacity=0.25, interpolate="step-before").encode(y=share, y2="low:Q"),
        base.mark_line(interpolate="step-before").encode(y=share),
        *(rule_line("threshold", threshold, along="x", dashed=True) for threshold in thresholds),
    ]
    return alt.layer(*layers).properties(width=_WIDTH, height=_HEIGHT, **panel_title(name))

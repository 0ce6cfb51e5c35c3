"""Charts of ``holes``, and of the calibration of its estimates.

The chart of holes shows the possible changes of a difference by unjudged documents; that of a
calibration plots predicted against measured shares.
"""

from __future__ import annotations

import math
from typing import TYPE_CHECKING, Any

from rankgate.core.errors import UsageError
from rankgate.core.present.charts.chart_parts import (
    concat_panels,
    inline_data,
    load_altair,
    panel_title,
    rule_line,
    signed_axis,
)
from rankgate.core.present.charts.chart_style import BLUE, DIM, GREY, INK
from rankgate.core.present.charts.picture import Picture
from rankgate.core.present.document_model import shorten_name
from rankgate.core.present.number_formats import count_noun, count_queries, format_signed

if TYPE_CHECKING:
    from rankgate.core.value_types import Json
    from rankgate.decisions.unjudged.calibration import Calibration
    from rankgate.decisions.unjudged.holes import HoleAnalysis


_ROW, _WIDTH = 34, 420
_FIGURES = ("metric", "n", "delta", "worst", "best", "expected", "low", "high", "flip")


def draw_holes(result: HoleAnalysis) -> Picture:
    """A line for each metric: as measured, as estimated, and the two ends.

    Raises:
        UsageError: no query has a value on both sides.
    """
    rows = [
        {name: row[name] for name in _FIGURES} for row in result.metrics.iter_rows(named=True) if row["n"]
    ]
    if not rows:
        raise UsageError(
            "no query has a value of both systems; there is no difference to draw.", code="nothing-to-draw"
        )
    return Picture(
        "holes",
        f"What unjudged documents could change: {shorten_name(result.candidate)} against "
        f"{shorten_name(result.baseline)}",
        f"Mean differences. Thin line: the range that grades of the unjudged documents among the first "
        f"{result.depth} can give. Thick line: 95% interval of the estimate; ring: the estimate. Tick: the "
        "measured difference. Flip: the probability that judging these documents changes the conclusion of "
        "the interval.",
        count_queries(*(row["n"] for row in rows)),
        result.convention,
        tuple(rows),
        _chart(rows),
    )


def _chart(rows: list[dict[str, Json]]) -> Any:
    alt = load_altair()
    labelled_rows = [row | {"words": _label(row)} for row in rows]
    y = alt.Y(
        "metric:N",
        sort=[row["metric"] for row in rows],
        title=None,
        axis=alt.Axis(domain=False, ticks=False, grid=False, labelPadding=8),
    )
    base = alt.Chart(inline_data(labelled_rows)).encode(y=y)
    x = alt.X("worst:Q", title="mean difference", axis=signed_axis())
    layers = [
        rule_line("worst", 0, along="x"),
        base.mark_rule(color=GREY, strokeWidth=1.5).encode(x=x, x2="best:Q"),
        base.mark_rule(color=BLUE, strokeWidth=7, opacity=0.55).encode(x="low:Q", x2="high:Q"),
        base.mark_point(size=70, strokeWidth=2, color=BLUE, opacity=1).encode(
            x="expected:Q", tooltip=[f"{name}:{'N' if name == 'metric' else 'Q'}" for name in _FIGURES]
        ),
        base.mark_tick(color=INK, thickness=2.5, size=20).encode(x="delta:Q"),
        base.mark_text(align="left").encode(x=alt.value(_WIDTH + 10), text="words:N"),
    ]
    return alt.layer(*layers).properties(width=_WIDTH, height=max(_ROW * len(rows), 50))


def _label(row: dict[str, Any]) -> str:
    flip = "" if row["flip"] is None else f"  flip {row['flip']:.0%}"
    return f"{format_signed(row['delta'])}{flip}"


_SIDE = 320


def draw_calibration(result: Calibration) -> Picture:
    """A square for the relevance of hidden documents, and one for flips of the comparison."""
    titled_tables = [
        (name, title, getattr(result, name).to_dicts())
        for name, title in (
            ("relevance", f"relevant: {count_noun(result.documents, 'document')}"),
            ("flips", f"flips of {result.metric}: {count_noun(result.experiments, 'trial')}"),
        )
    ]
    panels = [(name, title, rows) for name, title, rows in titled_tables if rows]
    return Picture(
        "calibration",
        f"Predictions for hidden judgments: {shorten_name(result.candidate)} against "
        f"{shorten_name(result.baseline)}",
        "Judgments were hidden and predicted. Across: the predicted probability; up: the observed share, "
        "with its 95% interval and the number of cases. On the diagonal, predictions are right. A flip: with "
        "all judgments the interval of the difference leads to another conclusion; trials share queries, so "
        "their intervals are too narrow.",
        count_queries(result.queries),
        result.convention,
        tuple({"what": name, **row} for name, _, rows in panels for row in rows),
        concat_panels([_panel(rows, f"{title}{_brier(result, name)}") for name, title, rows in panels]),
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
    counts = base.mark_text(align="left", dx=7, dy=8, color=DIM, fontSize=10).encode(y=y, text="count:N")
    return alt.layer(line, bars, points, counts).properties(width=_SIDE, height=_SIDE, **panel_title(title))

"""Intervals of many differences below each other."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from rankgate.core.present.charts.backend import load_altair
from rankgate.core.present.charts.parts import (
    concat_panels,
    inline_data,
    panel_title,
    rule_line,
    signed_axis,
)
from rankgate.core.present.charts.picture import Picture
from rankgate.core.present.charts.style import BLUE, GREY, RED
from rankgate.core.present.charts.words import (
    count_queries,
    no_interval_reason,
    shorten_name,
    shorten_names,
)
from rankgate.core.present.figures import (
    format_correction,
    format_interval,
    format_p_value,
    format_signed,
)

if TYPE_CHECKING:
    from rankgate.decisions.comparison.comparison import Comparisons

_ROW, _WIDTH, _AWAY = 22, 360, 10


def draw(result: Comparisons) -> Picture:
    """A panel for each metric, a line for each candidate, the best first."""
    first_comparison = result.comparisons[0]
    alpha = round(1 - first_comparison.level, 10)
    rows = _rows(result)
    panels = [
        _panel(
            [row for row in rows if row["metric"] == metric],
            metric,
            first_comparison.baseline.name,
            alpha,
        )
        for metric in first_comparison.names
    ]
    counts = sorted({row["n"] for row in rows})
    has_no_correction = first_comparison.correction.startswith("none")
    correction_note = "" if has_no_correction else ", not corrected"
    caption = (
        f"Mean difference from {shorten_name(first_comparison.baseline.name)} with its "
        f"{first_comparison.level:.0%} interval ({first_comparison.interval}{correction_note}), "
        f"and p of the {first_comparison.test} test, "
        f"{format_correction(first_comparison.correction)}. "
        f"Blue: better, orange: worse, where p is below {alpha:g}."
    )
    candidate_count = len(result.comparisons)
    title = (
        f"{candidate_count} systems against {shorten_name(first_comparison.baseline.name)}"
        if candidate_count > 1
        else f"{shorten_name(first_comparison.candidate.name)} against "
        f"{shorten_name(first_comparison.baseline.name)}"
    )
    source = count_queries(*counts)
    return Picture(
        "forest",
        title,
        caption,
        source,
        first_comparison.convention,
        tuple(rows),
        concat_panels(panels, 1),
    )


def _rows(result: Comparisons) -> list[dict[str, Any]]:
    names = shorten_names([comparison.candidate.name for comparison in result.comparisons])
    columns = ("metric", "n", "delta", "gain", "low", "high", "p_value")
    return [
        {"system": name, **{column: row[column] for column in columns}}
        for name, comparison in zip(names, result.comparisons, strict=True)
        for row in comparison.metrics.iter_rows(named=True)
        if row["delta"] is not None
    ]


def _label(row: dict[str, Any]) -> str:
    """The figures, with the reason if there is no interval."""
    if row["low"] is None:
        return f"{format_signed(row['delta'])}  {no_interval_reason(row['n'])}"
    interval_text = format_interval(row["low"], row["high"], 3)
    return f"{format_signed(row['delta'])}  {interval_text}  p {format_p_value(row['p_value'])}"


def _panel(rows: list[dict[str, Any]], metric: str, baseline: str, alpha: float) -> Any:
    alt = load_altair()
    rows = sorted(rows, key=lambda row: (-row["gain"], row["system"]))
    labelled_rows = [row | {"words": _label(row)} for row in rows]
    is_significant = f"isValid(datum.p_value) && datum.p_value < {alpha:g}"
    shade = alt.Color(
        condition=[
            {"test": f"{is_significant} && datum.gain > 0", "value": BLUE},
            {"test": f"{is_significant} && datum.gain < 0", "value": RED},
        ],
        value=GREY,
    )
    y = alt.Y(
        "system:N",
        sort=[row["system"] for row in rows],
        title=None,
        axis=alt.Axis(domain=False, ticks=False, grid=False),
    )
    base = alt.Chart(inline_data(labelled_rows)).encode(y=y)
    bars = base.mark_rule(strokeWidth=2).encode(
        x=alt.X("low:Q", title=f"Δ {metric} from {shorten_name(baseline)}", axis=signed_axis()),
        x2="high:Q",
        color=shade,
    )
    points = base.mark_point(filled=True, size=60, opacity=1).encode(x="delta:Q", color=shade)
    labels = base.mark_text(align="left").encode(x=alt.value(_WIDTH + _AWAY), text="words:N")
    return alt.layer(rule_line("delta", 0, along="x"), bars, points, labels).properties(
        width=_WIDTH, height=max(_ROW * len(rows), 40), **panel_title(metric)
    )

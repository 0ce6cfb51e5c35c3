"""Intervals of many differences below each other."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from rankgate.core.present.charts.backend import altair
from rankgate.core.present.charts.parts import in_columns, panel, rule, signed_axis, table
from rankgate.core.present.charts.picture import Picture
from rankgate.core.present.charts.style import BLUE, GREY, RED
from rankgate.core.present.charts.words import no_interval, queries, short, shorts
from rankgate.core.present.figures import corrected, interval, p_value, signed

if TYPE_CHECKING:
    from rankgate.decisions.comparison.comparison import Comparisons

_ROW, _WIDTH, _AWAY = 22, 360, 10


def draw(result: Comparisons) -> Picture:
    """A panel for each metric, a line for each candidate, the best first."""
    first = result.comparisons[0]
    alpha = round(1 - first.level, 10)
    rows = _rows(result)
    panels = [
        _panel([row for row in rows if row["metric"] == metric], metric, first.baseline.name, alpha)
        for metric in first.names
    ]
    counts = sorted({row["n"] for row in rows})
    single = first.correction.startswith("none")
    widened = "" if single else ", not corrected"
    about = (
        f"Mean difference from {short(first.baseline.name)} with its {first.level:.0%} interval "
        f"({first.interval}{widened}), and p of the {first.test} test, "
        f"{corrected(first.correction)}. Blue: better, orange: worse, where p is below {alpha:g}."
    )
    several = len(result.comparisons)
    title = (
        f"{several} systems against {short(first.baseline.name)}"
        if several > 1
        else f"{short(first.candidate.name)} against {short(first.baseline.name)}"
    )
    of = queries(*counts)
    return Picture("forest", title, about, of, first.convention, tuple(rows), in_columns(panels, 1))


def _rows(result: Comparisons) -> list[dict[str, Any]]:
    names = shorts([each.candidate.name for each in result.comparisons])
    kept = ("metric", "n", "delta", "gain", "low", "high", "p_value")
    return [
        {"system": name, **{column: row[column] for column in kept}}
        for name, each in zip(names, result.comparisons, strict=True)
        for row in each.metrics.iter_rows(named=True)
        if row["delta"] is not None
    ]


def _words(row: dict[str, Any]) -> str:
    """The figures; why there is no interval, if there is none."""
    if row["low"] is None:
        return f"{signed(row['delta'])}  {no_interval(row['n'])}"
    ends = interval(row["low"], row["high"], 3)
    return f"{signed(row['delta'])}  {ends}  p {p_value(row['p_value'])}"


def _panel(rows: list[dict[str, Any]], metric: str, baseline: str, alpha: float) -> Any:
    alt = altair()
    rows = sorted(rows, key=lambda row: (-row["gain"], row["system"]))
    shown = [row | {"words": _words(row)} for row in rows]
    shown_to_be = f"isValid(datum.p_value) && datum.p_value < {alpha:g}"
    shade = alt.Color(
        condition=[
            {"test": f"{shown_to_be} && datum.gain > 0", "value": BLUE},
            {"test": f"{shown_to_be} && datum.gain < 0", "value": RED},
        ],
        value=GREY,
    )
    y = alt.Y(
        "system:N",
        sort=[row["system"] for row in rows],
        title=None,
        axis=alt.Axis(domain=False, ticks=False, grid=False),
    )
    base = alt.Chart(table(shown)).encode(y=y)
    bars = base.mark_rule(strokeWidth=2).encode(
        x=alt.X("low:Q", title=f"Δ {metric} from {short(baseline)}", axis=signed_axis()),
        x2="high:Q",
        color=shade,
    )
    points = base.mark_point(filled=True, size=60, opacity=1).encode(x="delta:Q", color=shade)
    words = base.mark_text(align="left").encode(x=alt.value(_WIDTH + _AWAY), text="words:N")
    return alt.layer(rule("delta", 0, along="x"), bars, points, words).properties(
        width=_WIDTH, height=max(_ROW * len(rows), 40), **panel(metric)
    )

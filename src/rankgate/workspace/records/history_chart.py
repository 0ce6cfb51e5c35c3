"""The chart of a history: a line for each system, with changes, breaks and annotations."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from rankgate.core.errors import UsageError
from rankgate.core.present.charts.chart_parts import inline_data, load_altair
from rankgate.core.present.charts.chart_style import GREY, INK, system_colour
from rankgate.core.present.charts.picture import Picture
from rankgate.core.present.number_formats import count_noun

if TYPE_CHECKING:
    from rankgate.workspace.records.history import History


_SIZE = {"width": 560, "height": 260}
_MAX_BANDS = 3  # largest number of systems drawn with intervals
_DASHES = {"break": [5, 3], "annotation": [2, 2]}


def draw_history(result: History) -> Picture:
    """Draw values over time: bands are intervals, gaps are breaks, triangles are changes."""
    if result.series.is_empty():
        raise UsageError("there are no values to draw.", code="nothing-to-draw")
    alt = load_altair()
    names = list(result.systems)
    rows = [
        {
            **{key: row[key] for key in ("system", "at", "value", "low", "high", "revision")},
            "line": f"{row['system']} {row['segment']}",
        }
        for row in result.series.iter_rows(named=True)
    ]
    scale = alt.Scale(domain=names, range=[system_colour(i) for i in range(len(names))])
    legend = alt.Legend(title=None) if len(names) > 1 else None
    x = alt.X("at:T", title=None, axis=alt.Axis(format="%d %b", tickCount=6))
    shade = alt.Color("system:N", scale=scale, legend=legend)
    y = alt.Y("value:Q", title=result.metric, scale=alt.Scale(zero=False))
    base = alt.Chart(inline_data(rows)).encode(x=x, detail="line:N")
    layers = [
        base.mark_line(point={"size": 25}).encode(
            y=y, color=shade, tooltip=["at:T", "system:N", "value:Q", "revision:N"]
        )
    ]
    rows_with_interval = [row for row in rows if row["low"] is not None]
    if rows_with_interval and len(names) <= _MAX_BANDS:
        band = alt.Chart(inline_data(rows_with_interval)).mark_area(opacity=0.15)
        colour_without_legend = alt.Color("system:N", scale=scale, legend=None)
        layers.insert(
            0, band.encode(x=x, detail="line:N", y="low:Q", y2="high:Q", color=colour_without_legend)
        )
    layers += _vertical_lines(result) + _change_marks(result)
    chart = alt.layer(*layers).properties(**_SIZE)
    description = (
        "Bands are 95% intervals over queries. Triangles are changes, up is better; long dashes are breaks, "
        "short dashes annotations."
    )
    title = f"{result.metric}{f' for {result.slice}' if result.slice else ''} over time"
    return Picture(
        "history",
        title,
        description,
        count_noun(len(rows), "evaluation"),
        {"name": "history", "hash": ""},
        tuple(rows),
        chart,
    )


def _vertical_lines(result: History) -> list[Any]:
    """Vertical lines with text for breaks and annotations."""
    alt = load_altair()
    first, last = result.series["at"].min(), result.series["at"].max()
    breaks = result.breaks.unique("at", maintain_order=True)
    marks = [("break", row["at"], f"other {row['reasons']}") for row in breaks.iter_rows(named=True)]
    marks += [
        ("annotation", row["at"], row["text"])
        for row in result.annotations.iter_rows(named=True)
        if str(first) <= row["at"] <= str(last)
    ]
    layers = []
    for kind, dashes in _DASHES.items():
        kind_marks = [{"at": time, "words": text} for mark_kind, time, text in marks if mark_kind == kind]
        if kind_marks:
            base = alt.Chart(inline_data(kind_marks)).encode(x="at:T")
            layers.append(base.mark_rule(color=GREY, strokeDash=dashes))
            below = kind == "break"  # so that both texts are readable
            labels = base.mark_text(
                color=INK,
                angle=270,
                align="left" if below else "right",
                dx=4 if below else -4,
                dy=-5,
                fontSize=9,
                limit=170,
            )
            layers.append(labels.encode(text="words:N", y=alt.value(_SIZE["height"] * below)))
    return layers


def _change_marks(result: History) -> list[Any]:
    alt = load_altair()
    layers = []
    for better in (True, False):
        rows = [
            {"at": row["at"], "value": row["after"], "delta": row["delta"]}
            for row in result.changes.iter_rows(named=True)
            if (row["gain"] > 0) is better
        ]
        if rows:
            shape = "triangle-up" if better else "triangle-down"
            mark = alt.Chart(inline_data(rows)).mark_point(
                shape=shape, filled=True, size=110, color=INK, opacity=1
            )
            layers.append(mark.encode(x="at:T", y="value:Q", tooltip=["at:T", "delta:Q"]))
    return layers

"""The chart of a history: a line for each system, with changes, breaks and annotations."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from rankgate.core.errors import UsageError
from rankgate.core.present.charts.backend import altair
from rankgate.core.present.charts.parts import table
from rankgate.core.present.charts.picture import Picture
from rankgate.core.present.charts.style import GREY, INK, colour

if TYPE_CHECKING:
    from rankgate.workspace.records.history import History

_SIZE = {"width": 560, "height": 260}
_BANDS = 3  # systems whose intervals are drawn
_DASHES = {"break": [5, 3], "annotation": [2, 2]}


def draw(result: History) -> Picture:
    """Values over time: bands are intervals, gaps breaks, triangles changes."""
    if result.series.is_empty():
        raise UsageError("there are no values to draw.", code="nothing-to-draw")
    alt = altair()
    names = list(result.systems)
    rows = [
        {**{key: row[key] for key in ("system", "at", "value", "low", "high", "revision")},
         "line": f"{row['system']} {row['segment']}"}
        for row in result.series.iter_rows(named=True)
    ]  # fmt: skip
    scale = alt.Scale(domain=names, range=[colour(i) for i in range(len(names))])
    legend = alt.Legend(title=None) if len(names) > 1 else None
    x = alt.X("at:T", title=None, axis=alt.Axis(format="%d %b", tickCount=6))
    shade = alt.Color("system:N", scale=scale, legend=legend)
    y = alt.Y("value:Q", title=result.metric, scale=alt.Scale(zero=False))
    base = alt.Chart(table(rows)).encode(x=x, detail="line:N")
    layers = [base.mark_line(point={"size": 25}).encode(
        y=y, color=shade, tooltip=["at:T", "system:N", "value:Q", "revision:N"])]  # fmt: skip
    banded = [row for row in rows if row["low"] is not None]
    if banded and len(names) <= _BANDS:
        band = alt.Chart(table(banded)).mark_area(opacity=0.15)
        plain = alt.Color("system:N", scale=scale, legend=None)
        layers.insert(0, band.encode(x=x, detail="line:N", y="low:Q", y2="high:Q", color=plain))
    layers += _rules(result) + _changes(result)
    drawn = alt.layer(*layers).properties(**_SIZE)
    about = (
        "Bands are 95% intervals over queries. Triangles are changes, up is better; long dashes "
        "are breaks, short dashes annotations."
    )
    title = f"{result.metric}{f' for {result.slice}' if result.slice else ''} over time"
    return Picture("history", title, about, f"{len(rows):,} evaluations",
                   {"name": "history", "hash": ""}, tuple(rows), drawn)  # fmt: skip


def _rules(result: History) -> list[Any]:
    """Vertical lines: breaks and annotations, with their words."""
    alt = altair()
    first, last = result.series["at"].min(), result.series["at"].max()
    breaks = result.breaks.unique("at", maintain_order=True)
    marks = [
        ("break", row["at"], f"other {row['reasons']}") for row in breaks.iter_rows(named=True)
    ]
    marks += [("annotation", row["at"], row["text"])
              for row in result.annotations.iter_rows(named=True)
              if str(first) <= row["at"] <= str(last)]  # fmt: skip
    found = []
    for kind, dashes in _DASHES.items():
        own = [{"at": at, "words": words} for each, at, words in marks if each == kind]
        if own:
            base = alt.Chart(table(own)).encode(x="at:T")
            found.append(base.mark_rule(color=GREY, strokeDash=dashes))
            below = kind == "break"  # so that the words of both are read
            words = base.mark_text(color=INK, angle=270, align="left" if below else "right",
                                   dx=4 if below else -4, dy=-5, fontSize=9, limit=170)  # fmt: skip
            found.append(words.encode(text="words:N", y=alt.value(_SIZE["height"] * below)))
    return found


def _changes(result: History) -> list[Any]:
    alt = altair()
    found = []
    for better in (True, False):
        own = [
            {"at": row["at"], "value": row["after"], "delta": row["delta"]}
            for row in result.changes.iter_rows(named=True)
            if (row["gain"] > 0) is better
        ]
        if own:
            shape = "triangle-up" if better else "triangle-down"
            mark = alt.Chart(table(own)).mark_point(
                shape=shape, filled=True, size=110, color=INK, opacity=1
            )
            found.append(mark.encode(x="at:T", y="value:Q", tooltip=["at:T", "delta:Q"]))
    return found

"""Two systems against each other: a point a query."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from rankgate.report.charts.door import altair
from rankgate.report.charts.parts import in_columns, panel, table
from rankgate.report.charts.picture import Picture
from rankgate.report.charts.style import BLUE, DIM, GREY, RED
from rankgate.report.charts.words import short

if TYPE_CHECKING:
    from rankgate.data.comparison import Comparison

_SIDE = 340
_NAMED = 6
_APART = 0.035  # of the axes: names of points nearer than that would stand on each other

HOW = "A point is a query; above the diagonal the candidate is better. The furthest have names."


def draw(told: Comparison) -> Picture:
    """A square for each metric of a comparison."""
    rows: list[dict[str, Any]] = []
    panels = []
    for metric in told.names:
        own = [
            {"metric": metric, "query": row["query_id"], "baseline": row["baseline"],
             "candidate": row["candidate"], "delta": row["delta"]}
            for row in told.deltas(metric).iter_rows(named=True)
        ]  # fmt: skip
        rows += own
        panels.append(_panel(told, metric, own))
    counts = sorted({row["n"] for row in told.metrics.iter_rows(named=True)})
    return Picture(
        "scatter",
        f"{short(told.candidate.name)} against {short(told.baseline.name)}",
        HOW,
        f"{' or '.join(map(str, counts))} queries",
        told.convention,
        tuple(rows),
        in_columns(panels),
    )


def _panel(told: Comparison, metric: str, rows: list[dict[str, Any]]) -> Any:  # noqa: ANN401
    alt = altair()
    values = [row[side] for row in rows for side in ("baseline", "candidate")]
    ends = [min(0.0, *values), max(values)]
    ends[1] = 1.0 if 0.5 < ends[1] <= 1 else ends[1] or 1.0  # noqa: PLR2004 - shares end at 1
    scale = alt.Scale(domain=ends, nice=False)
    axes = {
        "x": alt.X("baseline:Q", title=short(told.baseline.name), scale=scale),
        "y": alt.Y("candidate:Q", title=short(told.candidate.name), scale=scale),
    }
    tied = {"test": "datum.delta == 0", "value": GREY}
    shade = alt.Color(condition=[tied, {"test": "datum.delta > 0", "value": BLUE}], value=RED)
    points = (
        alt.Chart(table(rows))
        .mark_point(filled=True, size=46, opacity=0.75)
        .encode(**axes, color=shade, tooltip=["query:N", "baseline:Q", "candidate:Q", "delta:Q"])
    )
    line = (
        alt.Chart(table([{"baseline": end, "candidate": end} for end in ends]))
        .mark_line(color=GREY, strokeDash=[4, 3], strokeWidth=1)
        .encode(**axes)
    )
    named = [row | {"shown": short(row["query"], 18)} for row in _furthest(rows, ends)]
    names = [
        alt.Chart(table([row for row in named if (row["baseline"] > middle(ends)) == right]))
        .mark_text(align="right" if right else "left", dx=-7 if right else 7, color=DIM)
        .encode(**axes, text="shown:N")
        for right in (True, False)
    ]
    row = told.metrics.row(told.names.index(metric), named=True)
    title = f"{metric}: {row['wins']} won, {row['ties']} tied, {row['losses']} lost"
    return alt.layer(line, points, *names).properties(width=_SIDE, height=_SIDE, **panel(title))


def middle(ends: list[float]) -> float:
    """Between both ends."""
    return (ends[0] + ends[1]) / 2


def _furthest(rows: list[dict[str, Any]], ends: list[float]) -> list[dict[str, Any]]:
    """The queries furthest from the diagonal whose names have room."""
    found: list[dict[str, Any]] = []
    room = _APART * (ends[1] - ends[0])
    for row in sorted(rows, key=lambda each: (-abs(each["delta"]), each["query"])):
        near = any(
            abs(row["candidate"] - other["candidate"]) < room
            and abs(row["baseline"] - other["baseline"]) < 4 * room
            for other in found
        )
        if not near and row["delta"]:
            found.append(row)
        if len(found) == _NAMED:
            break
    return found

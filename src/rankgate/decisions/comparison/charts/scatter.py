"""Scatter chart of two systems: one point per query."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from rankgate.core.present.charts.backend import altair
from rankgate.core.present.charts.parts import cut, in_columns, panel, table
from rankgate.core.present.charts.picture import Picture
from rankgate.core.present.charts.side_by_side import spots, written
from rankgate.core.present.charts.style import BLUE, DIM, GREY, RED
from rankgate.core.present.charts.words import queries, short

if TYPE_CHECKING:
    from rankgate.decisions.comparison.comparison import Comparison, Comparisons

_SIDE = 340
_NAMED = 6
_POINT, _ROOM = 46, 0.03  # the area of a point; what is left free around all of them
_CROWD = 300  # places; with more, points are small and have no names
_ALIKE = 8  # queries at one place that get the largest point, or more

_MANY, _FINE, _COARSE = 1500, 6, 2  # points, and decimals of places that count as one

HOW = (
    "Each point is a query, larger points are several; blue: the candidate is better, orange: "
    "worse. The queries furthest from the diagonal are labelled."
)


def draw(results: Comparisons) -> Picture:
    """A square for each metric, for the first candidate."""
    result = results.only
    rows: list[dict[str, Any]] = []
    panels = []
    for metric in result.names:
        own = [
            {
                "metric": metric,
                "query": row["query_id"],
                "baseline": row["baseline"],
                "candidate": row["candidate"],
                "delta": row["delta"],
                "gain": row["gain"],
            }
            for row in result.deltas(metric).iter_rows(named=True)
        ]
        rows += own
        panels.append(_panel(result, metric, own))
    counts = sorted({row["n"] for row in result.metrics.iter_rows(named=True)})
    return Picture(
        "scatter",
        f"{short(result.candidate.name)} against {short(result.baseline.name)}",
        HOW,
        queries(*counts),
        result.convention,
        tuple(rows),
        in_columns(panels),
        fluid=False,
    )


def _panel(result: Comparison, metric: str, rows: list[dict[str, Any]]) -> Any:
    alt = altair()
    ends = _ends([row[side] for row in rows for side in ("baseline", "candidate")])
    room = _ROOM * (ends[1] - ends[0])
    scale = alt.Scale(domain=[ends[0] - room, ends[1] + room], nice=False, zero=False)
    start = ends[0] - room
    axes = {
        "x": alt.X("baseline:Q", title=cut(short(result.baseline.name), start), scale=scale),
        "y": alt.Y("candidate:Q", title=cut(short(result.candidate.name), start), scale=scale),
    }
    line = (
        alt.Chart(table([{"baseline": end, "candidate": end} for end in ends]))
        .mark_line(color=GREY, strokeDash=[4, 3], strokeWidth=1)
        .encode(**axes)
    )
    places = _places(rows)
    layers = [line, _points(places, axes)]
    if len(places) <= _CROWD:
        layers += _named(places, ends, axes)
    row = result.metrics.row(result.names.index(metric), named=True)
    title = f"{metric}: {row['wins']} won, {row['ties']} tied, {row['losses']} lost"
    return alt.layer(*layers).properties(width=_SIDE, height=_SIDE, **panel(title))


def _ends(values: list[float]) -> tuple[float, float]:
    """From 0, or below it where values are, to the greatest; shares end at 1."""
    low, high = min(0.0, *values, 0.0), max(0.0, *values, 0.0)
    return low, 1.0 if 0.5 < high <= 1 else high or 1.0  # what may be a share


def _points(places: list[dict[str, Any]], axes: dict[str, Any]) -> Any:
    alt = altair()
    least = _POINT if len(places) <= _CROWD else _POINT / 4
    tied = {"test": "datum.gain == 0", "value": GREY}
    shade = alt.Color(condition=[tied, {"test": "datum.gain > 0", "value": BLUE}], value=RED)
    most = max(_ALIKE, *(row["count"] for row in places), 0)
    size = alt.Size(
        "count:Q", legend=None, scale=alt.Scale(domain=[1, most], range=[least, least * _ALIKE])
    )
    return (
        alt.Chart(table(places))
        .mark_point(filled=True, opacity=0.7)
        .encode(
            **axes,
            color=shade,
            size=size,
            tooltip=["count:Q", "query:N", "baseline:Q", "candidate:Q", "delta:Q"],
        )
    )


def _named(
    places: list[dict[str, Any]], ends: tuple[float, float], axes: dict[str, Any]
) -> list[Any]:
    """Names of the queries furthest from the diagonal that have room."""
    rows = sorted(places, key=lambda row: (-abs(row["delta"]), row["query"]))
    shown = [row | {"shown": _name(row)} for row in rows]
    low = ends[0] - _ROOM * (ends[1] - ends[0])
    scale = _SIDE / ((1 + 2 * _ROOM) * (ends[1] - ends[0]))
    points = [
        ((row["baseline"] - low) * scale, _SIDE - (row["candidate"] - low) * scale) for row in rows
    ]
    apart = [row["shown"] for row in shown if row["delta"]]
    found = spots(points, apart, (_SIDE, _SIDE), _NAMED)
    return written(shown[: len(apart)], found, axes, color=altair().value(DIM))


def _places(rows: list[dict[str, Any]]) -> list[dict[str, Any]]:
    """Queries that are at one place as one, with their ``count``."""
    found: dict[tuple[float, float], dict[str, Any]] = {}
    for digits in (_FINE, _COARSE):
        found = {}
        for row in rows:
            place = (round(row["baseline"], digits), round(row["candidate"], digits))
            result = found.setdefault(place, row | {"count": 0})
            result["count"] += 1
        if len(found) <= _MANY:
            break
    return list(found.values())


def _name(row: dict[str, Any]) -> str:
    return short(row["query"], 18) if row["count"] == 1 else f"{row['count']} queries"

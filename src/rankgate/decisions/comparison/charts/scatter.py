"""Scatter chart of two systems: one point per query."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from rankgate.core.present.charts.backend import load_altair
from rankgate.core.present.charts.parts import axis_title, concat_panels, inline_data, panel_title
from rankgate.core.present.charts.picture import Picture
from rankgate.core.present.charts.side_by_side import find_label_spots, spot_layers
from rankgate.core.present.charts.style import BLUE, DIM, GREY, RED
from rankgate.core.present.charts.words import count_queries, shorten_name

if TYPE_CHECKING:
    from rankgate.decisions.comparison.comparison import Comparison, Comparisons

_SIDE = 340
_MAX_LABELS = 6
_POINT, _ROOM = 46, 0.03  # the area of a point; the margin around all points
_MAX_LABELLED_POINTS = 300  # points; with more, they are small and have no names
_MAX_SIZE_COUNT = 8  # queries, or more, that make the largest point

_MANY, _FINE, _COARSE = 1500, 6, 2  # points; decimals of coordinates that are merged

EXPLANATION = (
    "Each point is a query, larger points are several; blue: the candidate is better, orange: "
    "worse. The queries furthest from the diagonal are labelled."
)


def draw(results: Comparisons) -> Picture:
    """A square for each metric, for the first candidate."""
    result = results.only
    rows: list[dict[str, Any]] = []
    panels = []
    for metric in result.names:
        metric_rows = [
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
        rows += metric_rows
        panels.append(_panel(result, metric, metric_rows))
    counts = sorted({row["n"] for row in result.metrics.iter_rows(named=True)})
    return Picture(
        "scatter",
        f"{shorten_name(result.candidate.name)} against {shorten_name(result.baseline.name)}",
        EXPLANATION,
        count_queries(*counts),
        result.convention,
        tuple(rows),
        concat_panels(panels),
        fluid=False,
    )


def _panel(result: Comparison, metric: str, rows: list[dict[str, Any]]) -> Any:
    alt = load_altair()
    domain = _domain([row[side] for row in rows for side in ("baseline", "candidate")])
    room = _ROOM * (domain[1] - domain[0])
    scale = alt.Scale(domain=[domain[0] - room, domain[1] + room], nice=False, zero=False)
    start = domain[0] - room
    axes = {
        "x": alt.X(
            "baseline:Q", title=axis_title(shorten_name(result.baseline.name), start), scale=scale
        ),
        "y": alt.Y(
            "candidate:Q", title=axis_title(shorten_name(result.candidate.name), start), scale=scale
        ),
    }
    line = (
        alt.Chart(inline_data([{"baseline": end, "candidate": end} for end in domain]))
        .mark_line(color=GREY, strokeDash=[4, 3], strokeWidth=1)
        .encode(**axes)
    )
    points = _merge_points(rows)
    layers = [line, _points(points, axes)]
    if len(points) <= _MAX_LABELLED_POINTS:
        layers += _query_labels(points, domain, axes)
    row = result.metrics.row(result.names.index(metric), named=True)
    title = f"{metric}: {row['wins']} won, {row['ties']} tied, {row['losses']} lost"
    return alt.layer(*layers).properties(width=_SIDE, height=_SIDE, **panel_title(title))


def _domain(values: list[float]) -> tuple[float, float]:
    """The domain of the axes: from 0 or the lowest value to the greatest; shares end at 1."""
    low, high = min(0.0, *values, 0.0), max(0.0, *values, 0.0)
    return low, 1.0 if 0.5 < high <= 1 else high or 1.0  # what may be a share


def _points(points: list[dict[str, Any]], axes: dict[str, Any]) -> Any:
    alt = load_altair()
    min_size = _POINT if len(points) <= _MAX_LABELLED_POINTS else _POINT / 4
    tied_colour = {"test": "datum.gain == 0", "value": GREY}
    shade = alt.Color(condition=[tied_colour, {"test": "datum.gain > 0", "value": BLUE}], value=RED)
    max_count = max(_MAX_SIZE_COUNT, *(row["count"] for row in points), 0)
    size = alt.Size(
        "count:Q",
        legend=None,
        scale=alt.Scale(domain=[1, max_count], range=[min_size, min_size * _MAX_SIZE_COUNT]),
    )
    return (
        alt.Chart(inline_data(points))
        .mark_point(filled=True, opacity=0.7)
        .encode(
            **axes,
            color=shade,
            size=size,
            tooltip=["count:Q", "query:N", "baseline:Q", "candidate:Q", "delta:Q"],
        )
    )


def _query_labels(
    point_rows: list[dict[str, Any]], domain: tuple[float, float], axes: dict[str, Any]
) -> list[Any]:
    """Name the queries furthest from the diagonal, as far as there is room."""
    rows = sorted(point_rows, key=lambda row: (-abs(row["delta"]), row["query"]))
    named_rows = [row | {"shown": _point_name(row)} for row in rows]
    low = domain[0] - _ROOM * (domain[1] - domain[0])
    scale = _SIDE / ((1 + 2 * _ROOM) * (domain[1] - domain[0]))
    points = [
        ((row["baseline"] - low) * scale, _SIDE - (row["candidate"] - low) * scale) for row in rows
    ]
    labels = [row["shown"] for row in named_rows if row["delta"]]
    label_positions = find_label_spots(points, labels, (_SIDE, _SIDE), _MAX_LABELS)
    return spot_layers(
        named_rows[: len(labels)], label_positions, axes, color=load_altair().value(DIM)
    )


def _merge_points(rows: list[dict[str, Any]]) -> list[dict[str, Any]]:
    """Merge queries with equal coordinates into one point with their ``count``."""
    merged_points: dict[tuple[float, float], dict[str, Any]] = {}
    for digits in (_FINE, _COARSE):
        merged_points = {}
        for row in rows:
            point = (round(row["baseline"], digits), round(row["candidate"], digits))
            merged_row = merged_points.setdefault(point, row | {"count": 0})
            merged_row["count"] += 1
        if len(merged_points) <= _MANY:
            break
    return list(merged_points.values())


def _point_name(row: dict[str, Any]) -> str:
    return shorten_name(row["query"], 18) if row["count"] == 1 else f"{row['count']} queries"

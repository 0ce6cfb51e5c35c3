"""Charts of a comparison by query: sorted differences, and a scatter of two systems.

The sorted differences by query show the wins, the losses, and their sizes. The scatter chart has
one point per query.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from rankgate.core.present.charts.chart_layers import find_label_spots, spot_layers
from rankgate.core.present.charts.chart_parts import (
    axis_title,
    concat_panels,
    inline_data,
    load_altair,
    panel_title,
    rule_line,
    signed_axis,
)
from rankgate.core.present.charts.chart_style import BLUE, DIM, GREY, RED, no_interval_reason, shorten_names
from rankgate.core.present.charts.picture import Picture
from rankgate.core.present.document_model import shorten_name
from rankgate.core.present.number_formats import count_noun, count_queries, format_interval, format_signed
from rankgate.core.present.text_tables import wrap_line

if TYPE_CHECKING:
    from rankgate.core.value_types import Json
    from rankgate.decisions.comparison.comparison import Comparison, Comparisons


_MAX_NAMED = 60  # most queries with ids below their bars
_BAR, _WIDEST, _HEIGHT = 11, 680, 220
_FEW, _WIDE_BAR = 12, 24  # queries, and the width of their bars in a panel with room for more
_MAX_BARS = 680  # most queries with bars at least a point wide

DELTAS_EXPLANATION = (
    "One bar per query, the largest gain of the candidate first: blue gained, orange lost. Dashed: the mean "
    "difference, with its interval in brackets."
)


def draw_deltas(results: Comparisons) -> Picture:
    """A panel for each metric, for the first candidate."""
    result = results.only
    rows: list[dict[str, Json]] = []
    panels = []
    for metric in result.names:
        metric_rows = delta_rows(result, metric)
        rows += metric_rows
        panels.append(_delta_panel(result, metric, metric_rows))
    counts = sorted({row["n"] for row in result.metrics.iter_rows(named=True)})
    return Picture(
        "deltas",
        f"{shorten_name(result.candidate.name)} against {shorten_name(result.baseline.name)}, query by query",
        DELTAS_EXPLANATION
        + (f" {_MAX_BARS} of the queries are drawn." if max(counts, default=0) > _MAX_BARS else ""),
        count_queries(*counts),
        result.convention,
        tuple(rows),
        concat_panels(panels, 1),
    )


def delta_rows(result: Comparison, metric: str) -> list[dict[str, Any]]:
    """The queries of one metric, the greatest gain first."""
    table = result.deltas(metric).sort("gain", "query_id", descending=[True, False])
    return [
        {
            "metric": metric,
            "place": i,
            "query": row["query_id"],
            "delta": row["delta"],
            "gain": row["gain"],
            "baseline": row["baseline"],
            "candidate": row["candidate"],
        }
        for i, row in enumerate(table.iter_rows(named=True))
    ]


def _delta_panel(result: Comparison, metric: str, rows: list[dict[str, Any]]) -> Any:
    alt = load_altair()
    row = result.metrics.row(result.names.index(metric), named=True)
    count = len(rows)
    width = max(min(_BAR * count, _WIDEST), 320)
    layers = [_bars(rows, metric)]
    if row["delta"] is not None:
        layers.append(rule_line("mean", row["delta"], dashed=True))
    interval_text = (
        format_interval(row["low"], row["high"])
        if row["low"] is not None
        else f"({no_interval_reason(row['n'])})"
    )
    title = (
        f"{metric}: mean {format_signed(row['delta'])} {interval_text}; {row['wins']} won, {row['ties']} "
        f"tied, {row['losses']} lost"
    )
    return alt.layer(*layers).properties(width=width, height=_HEIGHT, **panel_title(title))


def _bars(rows: list[dict[str, Any]], metric: str) -> Any:
    alt = load_altair()
    bar_rows = _thin_rows(rows)
    sign = alt.condition("datum.gain >= 0", alt.value(BLUE), alt.value(RED))
    y = alt.Y("delta:Q", title=f"Δ {metric}", axis=signed_axis())
    tooltip = ["query:N", "baseline:Q", "candidate:Q", "delta:Q"]
    if len(rows) <= _MAX_NAMED:
        names = shorten_names([row["query"] for row in rows], 18)
        bar_rows = [row | {"shown": name} for row, name in zip(bar_rows, names, strict=True)]
        x = alt.X(
            "shown:N",
            sort=names,
            title=None,
            axis=alt.Axis(labelAngle=-90, labelFontSize=9, domain=False, ticks=False),
            scale=alt.Scale(paddingInner=0.15),
        )
        size = {"size": _WIDE_BAR} if len(rows) < _FEW else {}
        return alt.Chart(inline_data(bar_rows)).mark_bar(**size).encode(x=x, y=y, color=sign, tooltip=tooltip)
    position_scale = alt.Scale(domain=[-0.5, len(rows) - 0.5], nice=False)
    x = alt.X(
        "left:Q",
        title=f"{count_noun(len(rows), 'query')}, sorted",
        scale=position_scale,
        axis=alt.Axis(labels=False, ticks=False, grid=False),
    )
    bars = alt.Chart(inline_data(bar_rows)).mark_rect()
    return bars.encode(x=x, x2="right:Q", y=y, y2=alt.datum(0), color=sign, tooltip=tooltip)


def _thin_rows(rows: list[dict[str, Any]]) -> list[dict[str, Any]]:
    """Keep all rows, or an even selection of the sorted rows if there are more than points."""
    half = len(rows) / (2 * min(len(rows), _MAX_BARS) or 1)
    last_index = len(rows) - 1
    drawn_rows = (
        rows
        if last_index < _MAX_BARS
        else [rows[i * last_index // (_MAX_BARS - 1)] for i in range(_MAX_BARS)]
    )
    room = half * (0.84 if drawn_rows is rows else 1)
    return [row | {"left": row["place"] - room, "right": row["place"] + room} for row in drawn_rows]


def text_deltas(results: Comparisons, width: int) -> str:
    """Draw bars of characters: all queries if they fit a screen, else both ends."""
    result = results.only
    texts = [_metric_text(result, metric, width) for metric in result.names]
    return "\n".join(texts)


_ENDS = 15


def _metric_text(result: Comparison, metric: str, width: int) -> str:
    rows = delta_rows(result, metric)
    row = result.metrics.row(result.names.index(metric), named=True)
    heading = (
        f"{metric}: {shorten_name(result.candidate.name)} minus {shorten_name(result.baseline.name)}, mean "
        f"{format_signed(row['delta'])} over {count_noun(row['n'], 'query')}; {row['wins']} won, "
        f"{row['ties']} tied, {row['losses']} lost"
    )
    shown_rows = rows if len(rows) <= 2 * _ENDS else [*rows[:_ENDS], *rows[-_ENDS:]]
    names = shorten_names([row["query"] for row in shown_rows], 20)
    label = max((len(name) for name in names), default=0)
    half = max((width - label - 11) // 2, 4)
    max_delta = max((abs(row["delta"]) for row in shown_rows), default=0) or 1
    lines = [
        (f"{name:<{label}}  {format_signed(row['delta'])}  {bar(row['gain'] / max_delta, half)}").rstrip()
        for name, row in zip(names, shown_rows, strict=True)
    ]
    if len(shown_rows) < len(rows):
        lines.insert(_ENDS, f"… {count_noun(len(rows) - len(shown_rows), 'query')} between …")
    return "\n".join([*wrap_line(heading, width), "", *lines]) + "\n"


def bar(share: float, half: int) -> str:
    """A bar from the middle to the right or the left.

    >>> bar(0.5, 4), bar(-1, 4), bar(0, 4)
    ('    ██', '░░░░', '    ')
    """
    size = round(abs(share) * half)
    return " " * half + "█" * size if share >= 0 else " " * (half - size) + "░" * size


_SIDE = 340
_MAX_LABELS = 6
_POINT, _ROOM = 46, 0.03  # the area of a point; the margin around all points
_MAX_LABELLED_POINTS = 300  # points; with more, they are small and have no names
_MAX_SIZE_COUNT = 8  # queries, or more, that make the largest point

_MANY, _FINE, _COARSE = 1500, 6, 2  # points; decimals of coordinates that are merged

SCATTER_EXPLANATION = (
    "Each point is a query, larger points are several; blue: the candidate is better, orange: worse. The "
    "queries furthest from the diagonal are labelled."
)


def draw_scatter(results: Comparisons) -> Picture:
    """A square for each metric, for the first candidate."""
    result = results.only
    rows: list[dict[str, Json]] = []
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
        panels.append(_scatter_panel(result, metric, metric_rows))
    counts = sorted({row["n"] for row in result.metrics.iter_rows(named=True)})
    return Picture(
        "scatter",
        f"{shorten_name(result.candidate.name)} against {shorten_name(result.baseline.name)}",
        SCATTER_EXPLANATION,
        count_queries(*counts),
        result.convention,
        tuple(rows),
        concat_panels(panels),
        fluid=False,
    )


def _scatter_panel(result: Comparison, metric: str, rows: list[dict[str, Any]]) -> Any:
    alt = load_altair()
    domain = _domain([row[side] for row in rows for side in ("baseline", "candidate")])
    room = _ROOM * (domain[1] - domain[0])
    scale = alt.Scale(domain=[domain[0] - room, domain[1] + room], nice=False, zero=False)
    start = domain[0] - room
    axes = {
        "x": alt.X("baseline:Q", title=axis_title(shorten_name(result.baseline.name), start), scale=scale),
        "y": alt.Y("candidate:Q", title=axis_title(shorten_name(result.candidate.name), start), scale=scale),
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
    return low, 1.0 if 0.5 < high <= 1 else high or 1.0  # metrics that may be shares


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
    """Name the queries furthest from the diagonal if there is room."""
    rows = sorted(point_rows, key=lambda row: (-abs(row["delta"]), row["query"]))
    named_rows = [row | {"shown": _point_name(row)} for row in rows]
    low = domain[0] - _ROOM * (domain[1] - domain[0])
    scale = _SIDE / ((1 + 2 * _ROOM) * (domain[1] - domain[0]))
    points = [((row["baseline"] - low) * scale, _SIDE - (row["candidate"] - low) * scale) for row in rows]
    labels = [row["shown"] for row in named_rows if row["delta"]]
    label_positions = find_label_spots(points, labels, (_SIDE, _SIDE), _MAX_LABELS)
    return spot_layers(named_rows[: len(labels)], label_positions, axes, color=load_altair().value(DIM))


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
    return shorten_name(row["query"], 18) if row["count"] == 1 else count_noun(row["count"], "query")

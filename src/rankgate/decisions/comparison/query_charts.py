"""Charts of a comparison by query: sorted differences, and a scatter of two systems.

The sorted differences by query show the wins, the losses, and their sizes. The scatter chart has
one point per query.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from rankgate.core.present.charts.chart_style import BLUE, DIM, GREY, RED, no_interval_reason, shorten_names
from rankgate.core.present.charts.chart_views import (
    Axis,
    ChartView,
    Mark,
    Panel,
    PointNames,
    Reference,
    highlight,
)
from rankgate.core.present.document_model import shorten_name
from rankgate.core.present.layout import fill, with_values
from rankgate.core.present.number_formats import count_noun, format_signed
from rankgate.core.present.text_tables import wrap_line

if TYPE_CHECKING:
    from collections.abc import Mapping

    from rankgate.core.present.charts.chart_views import Rows
    from rankgate.decisions.comparison.comparison import Comparison, Comparisons


_MAX_NAMED = 60  # most queries with ids below their bars
_BAR, _WIDEST, _HEIGHT = 11, 680, 220
_FEW, _WIDE_BAR = 12, 24  # queries, and the width of their bars in a panel with room for more
_MAX_BARS = 680  # most queries with bars at least a point wide

DELTAS_EXPLANATION = (
    "One bar per query, the largest gain of the candidate first: blue gained, orange lost. Dashed: the mean "
    "difference, with its interval in brackets."
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


def _delta_panel(result: Comparison, metric: str) -> Panel:
    """The bars of a metric, with names below them if there is room."""
    rows = delta_rows(result, metric)
    count = len(rows)
    is_named = count <= _MAX_NAMED
    if is_named:
        names = shorten_names([row["query"] for row in rows], 18)
        rows = [row | {"shown": name} for row, name in zip(rows, names, strict=True)]
    style = {"size": _WIDE_BAR} if count < _FEW else {}
    sign = highlight("datum.gain >= 0", BLUE, RED)
    position = {
        "field": "left",
        "type": "quantitative",
        "title": f"{count_noun(count, 'query')}, sorted",
        "scale": {"domain": [-0.5, count - 0.5], "nice": False},
        "axis": {"labels": False, "ticks": False, "grid": False},
    }
    spans: dict[str, dict[str, Any]] = {"x": position, "x2": {"field": "right"}, "y2": {"datum": 0}}
    return Panel(
        lambda _: rows,
        Axis("shown", scale="names") if is_named else Axis("place"),
        Axis("delta", "Δ {metric}", form="signed"),
        (
            Mark("bar", "delta", "", sign, style)
            if is_named
            else Mark("rect", "delta", "", sign, rows=_thin_rows, channels=spans),
            Reference(lambda result: _figures(result, metric)["delta"], dashed=True),
        ),
        title=_delta_title,
        width=max(min(_BAR * count, _WIDEST), 320),
        height=_HEIGHT,
        tooltip=("query", "baseline", "candidate"),
    )


def _figures(result: Comparison, metric: str) -> dict[str, Any]:
    return result.metrics.row(result.names.index(metric), named=True)


def _delta_title(result: Comparison, rows: Rows) -> str:
    row = _figures(result, rows[0]["metric"])
    interval = (
        "[{low:signed}, {high:signed}]" if row["low"] is not None else f"({no_interval_reason(row['n'])})"
    )
    return fill(f"{{metric}}: mean {{delta:signed}} {interval}; {_COUNTS}", result, row)


_COUNTS = "{wins} won, {ties} tied, {losses} lost"


def _thin_rows(rows: Rows, _result: object) -> Rows:
    """All rows, or an even selection of the sorted rows if there are more than points."""
    half = len(rows) / (2 * min(len(rows), _MAX_BARS) or 1)
    last_index = len(rows) - 1
    is_complete = last_index < _MAX_BARS
    if not is_complete:
        rows = [rows[i * last_index // (_MAX_BARS - 1)] for i in range(_MAX_BARS)]
    room = half * (0.84 if is_complete else 1)
    return [{**row, "left": row["place"] - room, "right": row["place"] + room} for row in rows]


def _deltas_about(result: Comparison) -> str:
    is_sample = max(result.metrics["n"], default=0) > _MAX_BARS
    return DELTAS_EXPLANATION + (f" {_MAX_BARS} of the queries are drawn." if is_sample else "")


DELTAS = ChartView(
    "{candidate.name:short} against {baseline.name:short}, query by query",
    _deltas_about,
    "{metrics[n]:query_counts}",
    lambda result: [_delta_panel(result, metric) for metric in result.names],
    across=1,
    of=lambda results: results.only,
)


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


def _scatter_rows(result: Comparison, metric: str) -> Rows:
    columns = ("query_id", "baseline", "candidate", "delta", "gain")
    return [
        {"metric": metric, "query": query, **dict(zip(columns[1:], values, strict=True))}
        for query, *values in result.deltas(metric).select(columns).iter_rows()
    ]


def _scatter_panel(result: Comparison, metric: str) -> Panel:
    """A square with a point for each query."""
    rows = _scatter_rows(result, metric)
    points = _merge_points(rows, result)
    low, high = _domain([row[side] for row in rows for side in ("baseline", "candidate")])
    room = _ROOM * (high - low)
    ends = [{"baseline": end, "candidate": end} for end in (low, high)]
    is_fine = len(points) > _MAX_LABELLED_POINTS
    min_size = _POINT / 4 if is_fine else _POINT
    max_count = max(_MAX_SIZE_COUNT, *(row["count"] for row in points), 0)
    size = {"domain": [1, max_count], "range": [min_size, min_size * _MAX_SIZE_COUNT]}
    channel = {"field": "count", "type": "quantitative", "legend": None, "scale": size}
    names = PointNames(_point_name, _MAX_LABELS, colour=DIM, rows=_furthest_first)
    return Panel(
        lambda _: rows,
        Axis("baseline", "{baseline_name:short}", domain=(low - room, high + room)),
        Axis("candidate", "{candidate_name:short}", domain=(low - room, high + room)),
        (
            Mark("line", "candidate", "", GREY, {"strokeDash": [4, 3], "strokeWidth": 1}, lambda *_: ends),
            Mark(
                "point", "candidate", style={"opacity": 0.7}, rows=_merge_points, channels={"size": channel}
            ),
            *(() if is_fine else (names,)),
        ),
        title=lambda result, rows: fill(
            f"{{metric}}: {_COUNTS}", result, _figures(result, rows[0]["metric"])
        ),
        colour=(("datum.gain == 0", GREY), ("datum.gain > 0", BLUE), RED),
        width=_SIDE,
        height=_SIDE,
        tooltip=("count", "query", "delta"),
    )


SCATTER = ChartView(
    "{candidate_name:short} against {baseline_name:short}",
    SCATTER_EXPLANATION,
    "{metrics[n]:query_counts}",
    lambda result: [_scatter_panel(result, metric) for metric in result.names],
    fluid=False,
    of=lambda results: with_values(
        results.only, baseline_name=results.only.baseline.name, candidate_name=results.only.candidate.name
    ),
)


def _domain(values: list[float]) -> tuple[float, float]:
    """The domain of the axes: from 0 or the lowest value to the greatest; shares end at 1."""
    low, high = min(0.0, *values, 0.0), max(0.0, *values, 0.0)
    return low, 1.0 if 0.5 < high <= 1 else high or 1.0  # metrics that may be shares


def _furthest_first(rows: Rows, result: object) -> Rows:
    """The points furthest from the diagonal first."""
    return sorted(_merge_points(rows, result), key=lambda row: (-abs(row["delta"]), row["query"]))


def _merge_points(rows: Rows, _result: object) -> list[dict[str, Any]]:
    """Merge queries with equal coordinates into one point with their ``count``."""
    merged_points: dict[tuple[float, float], dict[str, Any]] = {}
    for digits in (_FINE, _COARSE):
        merged_points = {}
        for row in rows:
            point = (round(row["baseline"], digits), round(row["candidate"], digits))
            merged_row = merged_points.setdefault(point, {**row, "count": 0})
            merged_row["count"] += 1
        if len(merged_points) <= _MANY:
            break
    return list(merged_points.values())


def _point_name(row: Mapping[str, Any]) -> str:
    if not row["delta"]:
        return ""
    return shorten_name(row["query"], 18) if row["count"] == 1 else count_noun(row["count"], "query")

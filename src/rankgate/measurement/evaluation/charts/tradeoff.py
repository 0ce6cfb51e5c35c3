"""Charts of several metrics: parallel coordinates and trade-offs."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from rankgate.core.present.charts.backend import load_altair
from rankgate.core.present.charts.parts import (
    ChartAxis,
    axis_title,
    hidden_axis,
    inline_data,
    labelled_lines,
)
from rankgate.core.present.charts.picture import Picture
from rankgate.core.present.charts.side_by_side import find_label_spots, spot_layers, unplaced_layers
from rankgate.core.present.charts.style import BLUE, DIM, GREY, INK
from rankgate.core.present.charts.words import count_queries, shorten_name, shorten_names
from rankgate.core.present.numbers import format_decimal
from rankgate.measurement.evaluation.tradeoff import tradeoff

if TYPE_CHECKING:
    from rankgate.measurement.evaluation.scores import Scores
    from rankgate.measurement.evaluation.tradeoff import ScorecardFigures, Tradeoff

_STEP, _LEAST, _HEIGHT, _SIDE, _NAME, _LINE = 110, 330, 300, 400, 120, 9
_MOST_NARROW_AXES = 5  # axes that a phone has room for
_MARGIN = 0.06  # of the axes, around the points


def scorecard(source: Scores | ScorecardFigures | Tradeoff) -> Picture:
    """A line a system across an axis for each metric, the best on top."""
    result = tradeoff(source)
    names = dict(zip(result.means, shorten_names(list(result.means)), strict=True))
    systems = sorted(result.means, key=lambda name: _merit(result, name))  # the first get colours
    rows = [
        {
            "series": names[system],
            "metric": metric,
            "place": position,
            "value": result.means[system][metric],
            "share": _share(result, system, metric),
        }
        for system in systems
        for position, metric in enumerate(result.higher)
    ]
    width = max(_STEP * (len(result.higher) - 1), _LEAST)
    x = ChartAxis("place", "", (0, len(result.higher) - 1), bare=True)
    lines = labelled_lines(
        rows, x, ChartAxis("share", "", (0, 1), bare=True), size=(width, _HEIGHT)
    )
    height = lines.height
    falls = "" if all(result.higher.values()) else " ↓: lower is better."
    return Picture(
        "scorecard",
        f"{len(result.means)} systems by {len(result.higher)} metrics",
        "Each axis goes from 0 to the largest mean of these systems, with the better end on top; "
        "lines that do not cross agree on the order. The front (no other system is as good at "
        "everything and better at something): "
        f"{', '.join(map(shorten_name, result.front))}.{falls}",
        count_queries(*result.counts, users=source.kind == "scorecard"),
        result.convention,
        tuple(rows),
        load_altair().layer(_axes(result, height), lines).properties(width=width, height=height),
        fluid=len(result.higher) <= _MOST_NARROW_AXES,
    )


def _merit(result: Tradeoff, system: str) -> tuple[bool, float]:
    """The order of systems: the front first, then by the mean of their shares of all axes."""
    shares = [_share(result, system, metric) for metric in result.higher]
    return system not in result.front, -sum(shares) / len(shares)


def _span(result: Tradeoff, metric: str) -> tuple[float, float]:
    """The ends of a metric's axis, 0 among them, so that small differences look small."""
    values = [system_means[metric] for system_means in result.means.values()]
    return min(0.0, *values), max(0.0, *values)


def _share(result: Tradeoff, system: str, metric: str) -> float:
    """The position of a value on its axis, from 0 to 1; in the middle if all are 0."""
    low, high = _span(result, metric)
    share = (result.means[system][metric] - low) / (high - low) if high > low else 0.5
    return share if result.higher[metric] else 1 - share


def _axes(result: Tradeoff, height: float) -> Any:
    alt = load_altair()
    rows = []
    for position, (metric, higher) in enumerate(result.higher.items()):
        top, bottom = _span(result, metric)[:: -1 if higher else 1]
        rows.append(
            {
                "place": position,
                "metric": f"{shorten_name(metric, 20)}{'' if higher else ' ↓'}",
                "top": _end(top),
                "bottom": _end(bottom),
            }
        )
    base = alt.Chart(inline_data(rows)).encode(x=alt.X("place:Q", axis=hidden_axis()))
    text_rows = (("metric", -26, INK), ("top", -12, DIM), ("bottom", height + 14, DIM))
    texts = [
        base.mark_text(color=shade, fontSize=12 if name == "metric" else 11).encode(
            y=alt.value(offset), text=f"{name}:N"
        )
        for name, offset, shade in text_rows
    ]
    return alt.layer(base.mark_rule(color=GREY, opacity=0.5), *texts)


def _end(value: float) -> str:
    return format_decimal(value) if value else "0"


def pareto(source: Scores | ScorecardFigures | Tradeoff) -> Picture:
    """The first metric against the second, a point a system; blue: on the front."""
    result = tradeoff(source)
    first, second = list(result.higher)[:2]
    names = dict(zip(result.means, shorten_names(list(result.means)), strict=True))
    rows = [
        {
            "system": names[system],
            "x": system_means[first],
            "y": system_means[second],
            "front": system in result.front,
        }
        for system, system_means in result.means.items()
    ]
    more = f" The front is by {len(result.higher)} metrics." if len(result.higher) > 2 else ""
    lower = [metric for metric in (first, second) if not result.higher[metric]]
    better = f" Lower is better: {', '.join(lower)}." if lower else ""
    return Picture(
        "pareto",
        f"{shorten_name(first)} against {shorten_name(second)}: {len(rows)} systems",
        f"Blue: no other system is as good at everything and better at something.{more}{better}",
        count_queries(*result.counts, users=source.kind == "scorecard"),
        result.convention,
        tuple(rows),
        _points(rows, (first, second)),
        fluid=False,
    )


def _points(rows: list[dict[str, Any]], metrics: tuple[str, str]) -> Any:
    alt = load_altair()
    x, y = (
        channel(
            f"{field}:Q",
            title=axis_title(f"mean {metric}", _ends([row[field] for row in rows])[0]),
            scale=alt.Scale(domain=_ends([row[field] for row in rows]), nice=False, zero=False),
            axis=alt.Axis(tickCount=6),
        )
        for channel, field, metric in zip((alt.X, alt.Y), "xy", metrics, strict=True)
    )
    base = alt.Chart(inline_data(rows)).encode(x=x, y=y)
    shade = alt.condition("datum.front", alt.value(BLUE), alt.value(GREY))
    points = base.mark_point(filled=True, size=80, opacity=0.9).encode(
        color=shade, tooltip=["system:N", "x:Q", "y:Q"]
    )
    labelled_rows = [
        row | {"shown": row["system"]} for row in sorted(rows, key=lambda r: not r["front"])
    ]
    size = (_SIDE, max(_SIDE, _LINE * len(rows)))
    places, axes = _places(labelled_rows, size), {"x": x, "y": y}
    label_spots = find_label_spots(
        places, [row["shown"] for row in labelled_rows], size, outside=_NAME
    )
    names = spot_layers(labelled_rows, label_spots, axes, color=shade)
    names += unplaced_layers(labelled_rows, places, label_spots, size, axes, color=shade)
    return alt.layer(points, *names).properties(width=size[0], height=size[1])


def _places(rows: list[dict[str, Any]], size: tuple[int, int]) -> list[tuple[float, float]]:
    """The places of points, from the left and from the top."""
    (left, right), (low, high) = (_ends([row[field] for row in rows]) for field in "xy")
    return [
        (size[0] * (row["x"] - left) / (right - left), size[1] * (high - row["y"]) / (high - low))
        for row in rows
    ]


def _ends(values: list[float]) -> list[float]:
    low, high = min(values), max(values)
    margin = (high - low) * _MARGIN or 0.05
    return [low - margin, high + margin]

"""Charts of a trade-off: all metrics of each system, and two metrics against each other."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import polars as pl

from rankgate.core.present.charts.chart_style import DIM, GREY, INK
from rankgate.core.present.charts.chart_views import Axis, ChartView, Mark, Panel, PointNames, highlight
from rankgate.core.present.document_model import shorten_name
from rankgate.core.present.layout import with_values
from rankgate.core.present.number_formats import count_queries, format_decimal
from rankgate.measurement.evaluation.tradeoff import tradeoff

if TYPE_CHECKING:
    from rankgate.core.present.charts.chart_views import Rows
    from rankgate.measurement.evaluation.scores import Scores
    from rankgate.measurement.evaluation.tradeoff import ScorecardFigures, Tradeoff


def _with_counts(source: Scores | ScorecardFigures | Tradeoff) -> Tradeoff:
    """The trade-off, with the number of queries or users and the first two metrics."""
    result = tradeoff(source)
    count_text = count_queries(*result.counts, users=source.kind == "scorecard")
    first, second = list(result.higher)[:2]
    extended: Tradeoff = with_values(result, count_text=count_text, first=first, second=second)
    return extended


_STEP, _LEAST = 110, 330  # points of a metric, and of all
_MOST_NARROW_AXES = 5  # axes that fit on a phone


def _positions(result: Tradeoff) -> Rows:
    """The means of each system with their shares of the axes: first the front, then the best."""
    spans = {metric: _span(result, metric) for metric in result.higher}
    shares = {
        system: {
            metric: _share(means[metric], *spans[metric], higher=higher)
            for metric, higher in result.higher.items()
        }
        for system, means in result.means.items()
    }
    systems = sorted(shares, key=lambda name: (name not in result.front, -sum(shares[name].values())))
    return [
        {
            "series": system,
            "metric": metric,
            "place": position,
            "value": result.means[system][metric],
            "share": shares[system][metric],
        }
        for system in systems
        for position, metric in enumerate(result.higher)
    ]


def _span(result: Tradeoff, metric: str) -> tuple[float, float]:
    """The ends of a metric's axis, including 0, so that small differences look small."""
    values = [system_means[metric] for system_means in result.means.values()]
    return min(0.0, *values), max(0.0, *values)


def _share(value: float, low: float, high: float, *, higher: bool) -> float:
    """The position of a value on its axis, from 0 to 1; 0.5 if all values are 0."""
    share = (value - low) / (high - low) if high > low else 0.5
    return share if higher else 1 - share


def _axes(_rows: Rows, result: Tradeoff) -> Rows:
    """The axis of each metric with its ends."""
    rows: list[dict[str, Any]] = []
    for position, (metric, higher) in enumerate(result.higher.items()):
        ends = [format_decimal(value) if value else "0" for value in _span(result, metric)]
        bottom, top = ends if higher else reversed(ends)
        name = f"{shorten_name(metric, 20)}{'' if higher else ' ↓'}"
        rows.append({"place": position, "metric": name, "top": top, "bottom": bottom})
    return rows


def _axis_words(column: str, y: dict[str, Any], colour: str, size: int = 11) -> Mark:
    style = {"align": "center", "fontSize": size}
    return Mark("words", f"{{{column}}}", "", colour, style, _axes, {"y": y})


def _scorecard_panels(result: Tradeoff) -> tuple[Panel, ...]:
    """A line for each system across an axis for each metric, the best on top."""
    last = len(result.higher) - 1
    height = max(300, 13 * len(result.means))
    return (
        Panel(
            _positions,
            Axis("place", domain=(0, last), bare=True),
            Axis("share", domain=(0, 1), bare=True),
            (
                Mark("rule", "", "", GREY, {"opacity": 0.5}, _axes, {"y": None}),
                _axis_words("metric", {"value": -26}, INK, 12),
                _axis_words("top", {"value": -12}, DIM),
                _axis_words("bottom", {"value": height + 14}, DIM),
            ),
            series="series",
            names="ends",
            width=max(_STEP * last, _LEAST),
            height=height,
        ),
    )


def _scorecard_about(result: Tradeoff) -> str:
    falls = "" if all(result.higher.values()) else " ↓: lower is better."
    return (
        "Each axis goes from 0 to the largest mean of these systems, with the better end on top; lines that "
        "do not cross agree on the order. The front (no other system is as good at everything and better at "
        f"something): {', '.join(map(shorten_name, result.front))}.{falls}"
    )


SCORECARD = ChartView(
    "{means:n system} by {higher:n metric}",
    _scorecard_about,
    "{count_text}",
    _scorecard_panels,
    fluid=lambda result: len(result.higher) <= _MOST_NARROW_AXES,
    of=_with_counts,
)

_MARGIN = 0.06  # share of the axes, around the points


def _axis(column: str, metric: str) -> Any:
    """The axis of a metric with a margin around all points."""

    def axis(_result: Tradeoff, rows: Rows) -> Axis:
        values = [row[column] for row in rows]
        margin = (max(values) - min(values)) * _MARGIN or 0.05
        return Axis(column, f"mean {metric}", domain=(min(values) - margin, max(values) + margin))

    return axis


def _front_first(rows: Rows, _result: object) -> Rows:
    return sorted(rows, key=lambda row: not row["front"])


def _pareto_panels(result: Tradeoff) -> tuple[Panel, ...]:
    """The first metric against the second, a point per system; the front is blue."""
    front = highlight("datum.front")
    first, second = list(result.higher)[:2]
    return (
        Panel(
            "table",
            _axis("x", "{first}"),
            _axis("y", "{second}"),
            (
                Mark("point", "y", style={"size": 80, "opacity": 0.9}, colour=front),
                PointNames(
                    lambda row: row["system"], outside=120, all_named=True, colour=front, rows=_front_first
                ),
            ),
            ("system", pl.col(first).alias("x"), pl.col(second).alias("y"), "front"),
            short=("system",),
            width=400,
            height=max(400, 9 * len(result)),
            tooltip=("system",),
        ),
    )


def _pareto_about(result: Tradeoff) -> str:
    front_note = f" The front is by {len(result.higher)} metrics." if len(result.higher) > 2 else ""
    lower = [metric for metric, higher in list(result.higher.items())[:2] if not higher]
    better = f" Lower is better: {', '.join(lower)}." if lower else ""
    return f"Blue: no other system is as good at everything and better at something.{front_note}{better}"


PARETO = ChartView(
    "{first:short} against {second:short}: {means:n system}",
    _pareto_about,
    "{count_text}",
    _pareto_panels,
    fluid=False,
    of=_with_counts,
)

"""Charts of a sweep: points by dial, quality against latency, heat map of two dials.

The first chart shows every point by each dial, with the mean of each value. The second shows
quality against latency, with the front. The third is a heat map of two dials.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import TYPE_CHECKING, Any

from rankgate.core.errors import UsageError
from rankgate.core.present.charts.chart_style import BLUE, GREY, RED, SHARES
from rankgate.core.present.charts.chart_views import (
    Axis,
    ChartView,
    HeatMap,
    Mark,
    Panel,
    PointNames,
    Reference,
)
from rankgate.core.present.document_model import shorten_name
from rankgate.core.present.layout import Sentence, with_values
from rankgate.decisions.sweeps.dials import point_levels, point_text

if TYPE_CHECKING:
    from rankgate.core.present.charts.chart_views import Rows
    from rankgate.decisions.sweeps.sweep import Sweep


def _importance(result: Sweep) -> dict[frozenset[str], float | None]:
    """The share of the variance that each dial, or pair of dials, explains."""
    return {frozenset(importance.dials): importance.share for importance in result.importance}


def _points_by_dial(result: Sweep) -> Rows:
    """Every point by each dial, the most important first, in the order of the dial's values."""
    points = [result.points[index] for index in result.measured]
    shares = _importance(result)
    rows: list[dict[str, Any]] = []
    for dial in sorted(result.space, key=lambda dial: -(shares.get(frozenset({dial.name})) or 0.0)):
        level = point_levels(dial, [point.parameters for point in points]) if points else None
        dial_rows = [
            {
                "dial": dial.name,
                "place": index,
                "value": level.names[code],
                "quality": point.metrics[result.metric].mean,
                "chosen": result.chosen_place == index,
                "order": int(code),
            }
            for index, point, code in zip(result.measured, points, level.codes if level else (), strict=True)
            if level
        ]
        rows += sorted(dial_rows, key=lambda row: row["order"])
    return rows


def _level_means(rows: Rows, _result: object) -> Rows:
    """The mean of all settings with a value."""
    groups: dict[str, list[float]] = {}
    for row in rows:
        groups.setdefault(row["value"], []).append(row["quality"])
    return [{"value": name, "quality": sum(means) / len(means)} for name, means in groups.items()]


def _dial_title(result: Sweep, rows: Rows) -> str:
    dial = rows[0]["dial"]
    share = _importance(result).get(frozenset({dial}))
    return shorten_name(dial) + ("" if share is None else f": {share:.0%}")


def _baseline_mean(result: Sweep) -> float | None:
    return result.baseline.metrics[result.metric].mean if result.baseline.state == "ok" else None


def _with_margin(column: str, title: str, share: float, least: float = -float("inf")) -> Callable[..., Axis]:
    """An axis with a margin around all points."""

    def axis(_result: object, rows: Rows) -> Axis:
        values = [row[column] for row in rows]
        room = (max(values) - min(values)) * share or 0.05
        low = min(values) - room
        return Axis(column, title, domain=(max(low, least) if min(values) >= 0 else low, max(values) + room))

    return axis


BY_DIAL = ChartView(
    "{metric:short} by dial: {drawn[place]:n setting} of {target:short}",
    "Grey: a setting. Blue: the mean of all settings with this value. Orange: the chosen setting. Dashed: "
    "the baseline. The share is what only this dial explains of the variance between settings.",
    "{queries:n query}",
    (
        Panel(
            _points_by_dial,
            Axis("value", scale="names"),
            _with_margin("quality", "mean {metric}", 0.06),
            (
                Mark("point", "quality", "", GREY, {"size": 26, "opacity": 0.45}),
                Mark("tick", "quality", "", BLUE, {"size": 26}, _level_means),
                Mark(
                    "point",
                    "quality",
                    "",
                    RED,
                    {"size": 70},
                    lambda rows, _: [row for row in rows if row["chosen"]],
                ),
                Reference(_baseline_mean, dashed=True),
            ),
            facet=("dial",),
            title=_dial_title,
            height=200,
        ),
    ),
    empty="{name}: no point has figures.",
    fluid=False,
)


_LOG_RATIO = 20  # ratio of slowest to fastest point from which the axis is logarithmic
_FRONT_MARGIN_SHARE = 0.08  # margin of the axes around the points
_STEPS = {"strokeWidth": 1.2, "interpolate": "step-after"}


def _timed_points(result: Sweep) -> Rows:
    """The points with a latency: the chosen one and the baseline first, then the front, then the best."""
    rows: list[dict[str, Any]] = []
    for index in result.measured:
        point, is_chosen = result.points[index], result.chosen_place == index
        time = point.latency.get(result.quantile)
        if time is not None:
            marks = ["chosen"] * is_chosen + ["baseline"] * (index == 0)
            rows.append(
                {
                    "setting": point_text(point.parameters),
                    "quality": point.metrics[result.metric].mean,
                    "latency": max(time, 1e-3),
                    "front": index in result.front,
                    "chosen": is_chosen,
                    "mark": ", ".join(marks),
                }
            )
    return sorted(rows, key=lambda row: (not row["mark"], not row["front"], -row["quality"]))


def _latency_axis(result: Sweep, rows: Rows) -> Axis:
    times = [row["latency"] for row in rows]
    title = "{quantile} of latency in ms"
    if max(times) > _LOG_RATIO * min(times):
        return Axis("latency", title, "log", domain=(min(times) / 1.3, max(times) * 1.3))
    return _with_margin("latency", title, _FRONT_MARGIN_SHARE, 0.0)(result, rows)


def _front_rows(rows: Rows, _result: object) -> Rows:
    return sorted((row for row in rows if row["front"]), key=lambda row: row["latency"])


def _point_name(row: Mapping[str, Any]) -> str:
    """The name of the chosen setting, the baseline, or one of the front."""
    if row["mark"] == "baseline" or not (row["mark"] or row["front"]):
        return str(row["mark"])
    return shorten_name(": ".join(filter(None, (row["mark"], row["setting"]))), 48)


FRONT = ChartView(
    "{metric:short} against latency: {drawn:n setting} of {target:short}",
    (
        "Blue: no other setting is at least as good and known to be faster. Orange: the chosen setting.",
        "Latency is the {quantile} of one query.",
        Sentence("Lower is better.", "is_lower_better"),
    ),
    "{queries:n query}",
    (
        Panel(
            _timed_points,
            _latency_axis,
            _with_margin("quality", "mean {metric}", _FRONT_MARGIN_SHARE, 0.0),
            (
                Mark(
                    "line",
                    "quality",
                    "",
                    BLUE,
                    {"strokeWidth": 1.2, "interpolate": "step-after"},
                    _front_rows,
                ),
                Mark("point", "quality", style={"opacity": 0.85}),
                PointNames(_point_name, 10, 140),
            ),
            colour=(("datum.chosen", RED), ("datum.front", BLUE), GREY),
            width=480,
            height=340,
            tooltip=("setting",),
        ),
    ),
    empty="{name}: no point has figures and a latency.",
    fluid=False,
)


def _with_pair(result: Sweep, *, dials: tuple[str, str] | None = None) -> Sweep:
    """The sweep with the dials of rows and columns; by default the two most important dials.

    Raises:
        UsageError: fewer than two dials, an unknown dial, no point with figures.
    """
    row_dial, column_dial = dials or _important_pair(result)
    names = [dial.name for dial in result.space]
    for name in (row_dial, column_dial):
        if name not in names:
            raise UsageError(f"unknown dial {name!r}; known: {', '.join(names)}.", code="unknown-dial")
    extended: Sweep = with_values(
        result,
        row_dial=row_dial,
        column_dial=column_dial,
        has_other_dials=len(names) > 2,
        joint_share=_importance(result).get(frozenset({row_dial, column_dial})),
    )
    return extended


def _important_pair(result: Sweep) -> tuple[str, str]:
    """The two most important dials; the dial with more values is in the columns."""
    singles = [importance.dials[0] for importance in result.importance if len(importance.dials) == 1]
    if len(singles) < 2:
        raise UsageError(
            f"{result.name}: a heat map needs two dials and points with figures.", code="nothing-to-draw"
        )
    sizes = {dial.name: len(dial.values) for dial in result.space}
    row_dial, column_dial = sorted(singles[:2], key=lambda name: sizes[name])
    return row_dial, column_dial


def _pair_panels(result: Any) -> tuple[HeatMap, ...]:
    """The mean of each pair of values, over the values of all other dials."""
    dials = {dial.name: dial for dial in result.space}
    points = [result.points[index] for index in result.measured]
    row_levels, column_levels = (
        point_levels(dials[name], [point.parameters for point in points])
        for name in (result.row_dial, result.column_dial)
    )
    cells: dict[tuple[int, int], list[float]] = {}
    for point, row, column in zip(points, row_levels.codes, column_levels.codes, strict=True):
        cells.setdefault((int(row), int(column)), []).append(point.metrics[result.metric].mean)
    means = {cell: sum(values) / len(values) for cell, values in cells.items()}
    rows = [
        {"row": f"{result.row_dial} = {row_name}", "column": column_name, "value": means.get((row, column))}
        for row, row_name in enumerate(row_levels.names)
        for column, column_name in enumerate(column_levels.names)
    ]
    low, high = min(means.values()), max(means.values())
    ends = (low, high) if low < high else (low - 0.5, high + 0.5)
    shades = SHARES[::-1] if result.is_lower_better else SHARES
    return (HeatMap(lambda _result: rows, domain=ends, shades=shades, form=".4f"),)


DIAL_PAIR = ChartView(
    "{metric:short} by {row_dial:short} (rows) and {column_dial:short} (columns)",
    (
        "The darker, the better; empty: not measured.",
        Sentence("Each cell is the mean over the other dials.", "has_other_dials"),
        Sentence(
            "Together they explain {joint_share:.1%} of the variance beyond what each does alone.",
            "joint_share",
        ),
    ),
    "{queries:n query}",
    _pair_panels,
    fluid=False,
    of=_with_pair,
)

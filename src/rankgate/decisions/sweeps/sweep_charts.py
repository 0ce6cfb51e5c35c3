"""Charts of a sweep: points by dial, quality against latency, heat map of two dials.

The first chart shows every point by each dial, with the mean of each value. The second shows
quality against latency, with the front. The third is a heat map of two dials.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from rankgate.core.errors import UsageError
from rankgate.core.present.charts.chart_layers import find_label_spots, heat_map, spot_layers
from rankgate.core.present.charts.chart_parts import (
    ChartAxis,
    axis_title,
    concat_panels,
    inline_data,
    load_altair,
    panel_title,
    rule_line,
)
from rankgate.core.present.charts.chart_style import BLUE, GREY, RED, SHARES
from rankgate.core.present.charts.picture import Picture
from rankgate.core.present.document_model import shorten_name
from rankgate.core.present.number_formats import count_noun, count_queries
from rankgate.decisions.sweeps.dials import point_levels, point_text

if TYPE_CHECKING:
    from rankgate.decisions.sweeps.dials import Dial
    from rankgate.decisions.sweeps.sweep import Sweep


_WIDTH, _HEIGHT = 300, 200
_DIAL_MARGIN_SHARE = 0.06


def draw_by_dial(result: Sweep) -> Picture:
    """Draw a panel for each dial, the most important first.

    Raises:
        UsageError: no point has figures.
    """
    rows = _point_rows(result)
    if not rows:
        raise UsageError(f"{result.name}: no point has figures.", code="nothing-to-draw")
    share_of_dial = {
        importance.dials[0]: importance.share
        for importance in result.importance
        if len(importance.dials) == 1
    }
    dials = sorted(result.space, key=lambda dial: -(share_of_dial.get(dial.name) or 0.0))
    values = [row["quality"] for row in rows]
    room = (max(values) - min(values)) * _DIAL_MARGIN_SHARE or 0.05
    ends = (min(values) - room, max(values) + room)
    panels = [_panel(result, dial, rows, ends, share_of_dial.get(dial.name)) for dial in dials]
    return Picture(
        "sweep-dials",
        f"{shorten_name(result.metric)} by dial: "
        f"{count_noun(len({row['place'] for row in rows}), 'setting')} of {shorten_name(result.target)}",
        "Grey: a setting. Blue: the mean of all settings with this value. Orange: the chosen setting. "
        "Dashed: the baseline. The share is what only this dial explains of the variance between settings.",
        count_queries(result.queries),
        result.convention,
        tuple(rows),
        concat_panels(panels),
        fluid=False,
    )


def _point_rows(result: Sweep) -> list[dict[str, Any]]:
    measured_indices = [index for index, point in enumerate(result.points) if point.state == "ok"]
    points = [result.points[index] for index in measured_indices]
    rows = []
    for dial in result.space if points else ():
        level = point_levels(dial, [point.parameters for point in points])
        for index, point, code in zip(measured_indices, points, level.codes, strict=True):
            rows.append(
                {
                    "dial": dial.name,
                    "place": index,
                    "value": level.names[code],
                    "quality": point.metrics[result.metric].mean,
                    "chosen": result.choice is not None and result.choice.place == index,
                    "order": int(code),
                }
            )
    return rows


def _panel(
    result: Sweep, dial: Dial, rows: list[dict[str, Any]], ends: tuple[float, float], share: float | None
) -> Any:
    alt = load_altair()
    dial_rows = [row for row in rows if row["dial"] == dial.name]
    order = [row["value"] for row in sorted(dial_rows, key=lambda row: row["order"])]
    names = list(dict.fromkeys(order))
    means = [
        {"value": name, "quality": sum(qualities) / len(qualities)}
        for name in names
        for qualities in [[row["quality"] for row in dial_rows if row["value"] == name]]
    ]
    axes = {
        "x": alt.X(
            "value:N",
            sort=names,
            title=None,
            axis=alt.Axis(labelAngle=0 if max(map(len, names)) < 9 else -40, grid=False),
        ),
        "y": alt.Y(
            "quality:Q",
            title=axis_title(f"mean {result.metric}", ends[0]),
            scale=alt.Scale(domain=list(ends), nice=False, zero=False),
        ),
    }
    layers = [
        alt.Chart(inline_data(dial_rows))
        .mark_point(filled=True, size=26, opacity=0.45, color=GREY)
        .encode(**axes, tooltip=["value:N", "quality:Q"]),
        alt.Chart(inline_data(means)).mark_tick(color=BLUE, thickness=2.5, width=26).encode(**axes),
    ]
    chosen_rows = [row for row in dial_rows if row["chosen"]]
    if chosen_rows:
        layers.append(
            alt.Chart(inline_data(chosen_rows)).mark_point(filled=True, size=70, color=RED).encode(**axes)
        )
    if result.baseline.state == "ok":
        value = result.baseline.metrics[result.metric].mean
        layers.append(rule_line("quality", value, dashed=True))
    title = f"{shorten_name(dial.name)}" + ("" if share is None else f": {share:.0%}")
    return alt.layer(*layers).properties(width=_WIDTH, height=_HEIGHT, **panel_title(title))


_SIZE = (480, 340)
_FRONT_MARGIN_SHARE = 0.08  # margin of the axes around the points
_LOG_RATIO = 20  # ratio of slowest to fastest point from which the axis is logarithmic
_MAX_NAMES = 10


def draw_front(result: Sweep) -> Picture:
    """Draw a point for each setting, and the front as a line.

    Raises:
        UsageError: no point has figures and a latency.
    """
    rows = _front_rows(result)
    if not rows:
        raise UsageError(f"{result.name}: no point has figures and a latency.", code="nothing-to-draw")
    lower = " Lower is better." if result.metric in result.lower else ""
    return Picture(
        "sweep-front",
        f"{shorten_name(result.metric)} against latency: {count_noun(len(rows), 'setting')} of "
        f"{shorten_name(result.target)}",
        "Blue: no other setting is at least as good and known to be faster. Orange: the chosen setting. "
        f"Latency is the {result.quantile} of one query.{lower}",
        count_queries(result.queries),
        result.convention,
        tuple(rows),
        _chart(result, rows),
        fluid=False,
    )


def _front_rows(result: Sweep) -> list[dict[str, Any]]:
    rows = []
    for index, point in enumerate(result.points):
        time = point.latency.get(result.quantile)
        if point.state != "ok" or time is None:
            continue
        is_chosen = result.choice is not None and result.choice.place == index
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
    return rows


def _chart(result: Sweep, rows: list[dict[str, Any]]) -> Any:
    alt = load_altair()
    times = [row["latency"] for row in rows]
    log = max(times) > _LOG_RATIO * min(times)
    latency_axis = ChartAxis("latency", f"{result.quantile} of latency in ms", log=log)
    low, high = _ends([row["quality"] for row in rows])
    fastest, slowest = (min(times) / 1.3, max(times) * 1.3) if log else _ends(times)
    scale = {"type": "log"} if log else {}
    axes = {
        "x": alt.X(
            "latency:Q",
            title=latency_axis.title if log else axis_title(latency_axis.title, fastest),
            scale=alt.Scale(domain=[fastest, slowest], nice=False, zero=False, **scale),
        ),
        "y": alt.Y(
            "quality:Q",
            title=axis_title(f"mean {result.metric}", low),
            scale=alt.Scale(domain=[low, high], nice=False, zero=False),
        ),
    }
    shade = alt.Color(
        condition=[{"test": "datum.chosen", "value": RED}, {"test": "datum.front", "value": BLUE}], value=GREY
    )
    points = (
        alt.Chart(inline_data(rows))
        .mark_point(filled=True, size=60, opacity=0.85)
        .encode(**axes, color=shade, tooltip=["setting:N", "quality:Q", "latency:Q"])
    )
    front = sorted((row for row in rows if row["front"]), key=lambda row: row["latency"])
    line = (
        alt.Chart(inline_data(front))
        .mark_line(color=BLUE, strokeWidth=1.2, interpolate="step-after")
        .encode(**axes)
    )
    layers = [line, points, *_names(rows, (fastest, slowest), (low, high), axes, log=log)]
    return alt.layer(*layers).properties(width=_SIZE[0], height=_SIZE[1])


def _names(
    rows: list[dict[str, Any]],
    latency_range: tuple[float, float],
    up: tuple[float, float],
    axes: dict[str, Any],
    *,
    log: bool,
) -> list[Any]:
    """The names of the chosen setting, the baseline, and the front, if there is room."""
    from math import log as ln

    ordered_rows = sorted(rows, key=lambda row: (not row["mark"], not row["front"], -row["quality"]))
    scaled = ln if log else float
    scaled_low, scaled_high = scaled(latency_range[0]), scaled(latency_range[1])
    places = [
        (
            _SIZE[0] * (scaled(row["latency"]) - scaled_low) / (scaled_high - scaled_low),
            _SIZE[1] * (up[1] - row["quality"]) / (up[1] - up[0]),
        )
        for row in ordered_rows
    ]
    named_rows = [row | {"shown": _name(row)} for row in ordered_rows if row["mark"] or row["front"]]
    label_spots = find_label_spots(
        places, [row["shown"] for row in named_rows], _SIZE, _MAX_NAMES, outside=140
    )
    return spot_layers(named_rows, label_spots, axes)


def _name(row: dict[str, Any]) -> str:
    if row["mark"] == "baseline":
        return "baseline"
    return shorten_name(": ".join(filter(None, (row["mark"], row["setting"]))), 48)


def _ends(values: list[float]) -> tuple[float, float]:
    low, high = min(values), max(values)
    room = (high - low) * _FRONT_MARGIN_SHARE or 0.05
    return max(low - room, 0.0) if low >= 0 else low - room, high + room


def draw_dial_pair(result: Sweep, *, dials: tuple[str, str] | None = None) -> Picture:
    """Draw the mean of each pair of values, over the values of all other dials.

    Args:
        result: the sweep.
        dials: the dials of rows and columns; by default the two most important dials.

    Raises:
        UsageError: fewer than two dials, an unknown dial, no point with figures.
    """
    row_dial, column_dial = dials or _important_pair(result)
    rows = _pair_rows(result, row_dial, column_dial)
    values = [row["value"] for row in rows if row["value"] is not None]
    ends = (min(values), max(values))
    if ends[0] == ends[1]:
        ends = (ends[0] - 0.5, ends[1] + 0.5)
    shades = SHARES if result.metric not in result.lower else SHARES[::-1]
    joint_share = next(
        (
            importance.share
            for importance in result.importance
            if set(importance.dials) == {row_dial, column_dial}
        ),
        None,
    )
    other_dials_note = " Each cell is the mean over the other dials." if len(result.space) > 2 else ""
    joint_note = (
        ""
        if joint_share is None
        else f" Together they explain {joint_share:.1%} of the variance beyond what each does alone."
    )
    return Picture(
        "sweep-heat",
        f"{shorten_name(result.metric)} by {shorten_name(row_dial)} (rows) and {shorten_name(column_dial)} "
        f"(columns)",
        f"The darker, the better; empty: not measured.{other_dials_note}{joint_note}",
        count_queries(result.queries),
        result.convention,
        tuple(rows),
        heat_map(rows, ends, shades, form=".4f"),
        fluid=False,
    )


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


def _pair_rows(result: Sweep, row_dial: str, column_dial: str) -> list[dict[str, Any]]:
    space = {dial.name: dial for dial in result.space}
    for name in (row_dial, column_dial):
        if name not in space:
            dial_names = ", ".join(space)
            raise UsageError(f"unknown dial {name!r}; known: {dial_names}.", code="unknown-dial")
    points = [point for point in result.points if point.state == "ok"]
    dial_levels = [
        point_levels(space[name], [point.parameters for point in points]) for name in (row_dial, column_dial)
    ]
    cells: dict[tuple[int, int], list[float]] = {}
    for point, row, column in zip(points, dial_levels[0].codes, dial_levels[1].codes, strict=True):
        cells.setdefault((int(row), int(column)), []).append(point.metrics[result.metric].mean)
    return [
        {
            "row": f"{row_dial} = {row_name}",
            "column": column_name,
            "value": sum(means) / len(means) if (means := cells.get((row, column))) else None,
        }
        for row, row_name in enumerate(dial_levels[0].names)
        for column, column_name in enumerate(dial_levels[1].names)
    ]

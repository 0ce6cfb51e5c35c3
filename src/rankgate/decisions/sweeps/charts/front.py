"""Chart of a sweep: quality against latency, with the front."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from rankgate.core.errors import UsageError
from rankgate.core.present.charts.backend import load_altair
from rankgate.core.present.charts.parts import ChartAxis, axis_title, inline_data
from rankgate.core.present.charts.picture import Picture
from rankgate.core.present.charts.side_by_side import find_label_spots, spot_layers
from rankgate.core.present.charts.style import BLUE, GREY, RED
from rankgate.core.present.charts.words import count_queries, shorten_name
from rankgate.decisions.sweeps.dials import point_text

if TYPE_CHECKING:
    from rankgate.decisions.sweeps.sweep import Sweep

_SIZE = (480, 340)
_MARGIN_SHARE = 0.08  # of the axes, around the points
_LOG_RATIO = 20  # times that the slowest point takes more than the fastest, for a logarithmic axis
_MAX_NAMES = 10


def draw(result: Sweep) -> Picture:
    """Draw a point for each setting, and the front as a line.

    Raises:
        UsageError: no point has figures and a latency.
    """
    rows = _rows(result)
    if not rows:
        raise UsageError(
            f"{result.name}: no point has figures and a latency.", code="nothing-to-draw"
        )
    lower = " Lower is better." if result.metric in result.lower else ""
    return Picture(
        "sweep-front",
        f"{shorten_name(result.metric)} against latency: {len(rows)} settings of "
        f"{shorten_name(result.target)}",
        "Blue: no other setting is at least as good and known to be faster. "
        f"Orange: the chosen setting. Latency is the {result.quantile} of one query.{lower}",
        count_queries(result.queries),
        result.convention,
        tuple(rows),
        _chart(result, rows),
        fluid=False,
    )


def _rows(result: Sweep) -> list[dict[str, Any]]:
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
        condition=[
            {"test": "datum.chosen", "value": RED},
            {"test": "datum.front", "value": BLUE},
        ],
        value=GREY,
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
    """Names of the chosen setting, of the baseline, then of the front, where there is room."""
    from math import log as ln

    ordered_rows = sorted(
        rows, key=lambda row: (not row["mark"], not row["front"], -row["quality"])
    )
    scaled = ln if log else float
    scaled_low, scaled_high = scaled(latency_range[0]), scaled(latency_range[1])
    places = [
        (
            _SIZE[0] * (scaled(row["latency"]) - scaled_low) / (scaled_high - scaled_low),
            _SIZE[1] * (up[1] - row["quality"]) / (up[1] - up[0]),
        )
        for row in ordered_rows
    ]
    named_rows = [
        row | {"shown": _name(row)} for row in ordered_rows if row["mark"] or row["front"]
    ]
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
    room = (high - low) * _MARGIN_SHARE or 0.05
    return max(low - room, 0.0) if low >= 0 else low - room, high + room

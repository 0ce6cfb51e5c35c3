"""Chart of a sweep: quality against latency, with the front."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from rankgate.core.errors import UsageError
from rankgate.core.present.charts.backend import altair
from rankgate.core.present.charts.parts import ChartAxis, cut, table
from rankgate.core.present.charts.picture import Picture
from rankgate.core.present.charts.side_by_side import spots, written
from rankgate.core.present.charts.style import BLUE, GREY, RED
from rankgate.core.present.charts.words import queries, short
from rankgate.decisions.sweeps.dials import words

if TYPE_CHECKING:
    from rankgate.decisions.sweeps.sweep import Sweep

_SIZE = (480, 340)
_ROOM = 0.08  # of the axes, around the points
_LOG = 20  # times that the slowest point takes more than the fastest, for a logarithmic axis
_NAMED = 10


def draw(result: Sweep) -> Picture:
    """A point a setting; the front as a line.

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
        f"{short(result.metric)} against latency: {len(rows)} settings of {short(result.target)}",
        "Blue: no other setting is at least as good and known to be faster. "
        f"Orange: the chosen setting. Latency is the {result.quantile} of one query.{lower}",
        queries(result.queries),
        result.convention,
        tuple(rows),
        _chart(result, rows),
        fluid=False,
    )


def _rows(result: Sweep) -> list[dict[str, Any]]:
    found = []
    for place, point in enumerate(result.points):
        time = point.latency.get(result.quantile)
        if point.state != "ok" or time is None:
            continue
        chosen = result.choice is not None and result.choice.place == place
        marks = ["chosen"] * chosen + ["baseline"] * (place == 0)
        found.append(
            {
                "setting": words(point.parameters),
                "quality": point.metrics[result.metric].mean,
                "latency": max(time, 1e-3),
                "front": place in result.front,
                "chosen": chosen,
                "mark": ", ".join(marks),
            }
        )
    return found


def _chart(result: Sweep, rows: list[dict[str, Any]]) -> Any:
    alt = altair()
    times = [row["latency"] for row in rows]
    log = max(times) > _LOG * min(times)
    across = ChartAxis("latency", f"{result.quantile} of latency in ms", log=log)
    low, high = _ends([row["quality"] for row in rows])
    left, right = (min(times) / 1.3, max(times) * 1.3) if log else _ends(times)
    scale = {"type": "log"} if log else {}
    axes = {
        "x": alt.X(
            "latency:Q",
            title=across.title if log else cut(across.title, left),
            scale=alt.Scale(domain=[left, right], nice=False, zero=False, **scale),
        ),
        "y": alt.Y(
            "quality:Q",
            title=cut(f"mean {result.metric}", low),
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
        alt.Chart(table(rows))
        .mark_point(filled=True, size=60, opacity=0.85)
        .encode(**axes, color=shade, tooltip=["setting:N", "quality:Q", "latency:Q"])
    )
    front = sorted((row for row in rows if row["front"]), key=lambda row: row["latency"])
    line = (
        alt.Chart(table(front))
        .mark_line(color=BLUE, strokeWidth=1.2, interpolate="step-after")
        .encode(**axes)
    )
    layers = [line, points, *_names(rows, (left, right), (low, high), axes, log=log)]
    return alt.layer(*layers).properties(width=_SIZE[0], height=_SIZE[1])


def _names(
    rows: list[dict[str, Any]],
    across: tuple[float, float],
    up: tuple[float, float],
    axes: dict[str, Any],
    *,
    log: bool,
) -> list[Any]:
    """Names of the chosen setting, of the baseline, then of the front, where there is room."""
    from math import log as ln

    ordered = sorted(rows, key=lambda row: (not row["mark"], not row["front"], -row["quality"]))
    scaled = ln if log else float
    left, right = scaled(across[0]), scaled(across[1])
    places = [
        (
            _SIZE[0] * (scaled(row["latency"]) - left) / (right - left),
            _SIZE[1] * (up[1] - row["quality"]) / (up[1] - up[0]),
        )
        for row in ordered
    ]
    shown = [row | {"shown": _name(row)} for row in ordered if row["mark"] or row["front"]]
    found = spots(places, [row["shown"] for row in shown], _SIZE, _NAMED, outside=140)
    return written(shown, found, axes)


def _name(row: dict[str, Any]) -> str:
    if row["mark"] == "baseline":
        return "baseline"
    return short(": ".join(filter(None, (row["mark"], row["setting"]))), 48)


def _ends(values: list[float]) -> tuple[float, float]:
    low, high = min(values), max(values)
    room = (high - low) * _ROOM or 0.05
    return max(low - room, 0.0) if low >= 0 else low - room, high + room

"""Several systems by several metrics: parallel coordinates, and two metrics against each other."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from rankgate.report.charts.door import altair
from rankgate.report.charts.parts import Axis, labelled_lines, table, unmarked
from rankgate.report.charts.picture import Picture
from rankgate.report.charts.scored import counted
from rankgate.report.charts.style import BLUE, DIM, GREY, INK
from rankgate.report.charts.words import short, shorts
from rankgate.report.numbers import decimal

if TYPE_CHECKING:
    from rankgate.services.tradeoff import Tradeoff

_STEP, _HEIGHT, _SIDE = 110, 300, 400
_NEAR, _WIDE, _ROOM = 0.035, 0.3, 0.06  # of the axes: of two names, and around the points


def scorecard(told: Tradeoff) -> Picture:
    """A line a system across an axis for each metric, the best on top."""
    names = dict(zip(told.means, shorts(list(told.means)), strict=True))
    rows = [
        {"series": names[system], "metric": metric, "place": place, "value": own[metric],
         "share": _share(own[metric], [each[metric] for each in told.means.values()],
                         higher=told.higher[metric])}
        for system, own in told.means.items()
        for place, metric in enumerate(told.higher)
    ]  # fmt: skip
    width = _STEP * (len(told.higher) - 1)
    x = Axis("place", "", (0, len(told.higher) - 1), bare=True)
    lines = labelled_lines(
        rows, x, Axis("share", "", (0, 1), bare=True), size=(width, _HEIGHT)
    )  # fmt: skip
    height = lines.height
    return Picture(
        "scorecard",
        f"{len(told.means)} systems by {len(told.higher)} metrics",
        "Each axis goes from the worst of these systems to the best, which is on top, with both "
        "means; lines that do not cross agree on the order. No other system is as good at "
        f"everything and better at something: {', '.join(short(name) for name in told.front)}.",
        counted(told.evaluation),
        told.evaluation.convention,
        tuple(rows),
        altair().layer(_axes(told, height), lines).properties(width=width, height=height),
    )


def _share(value: float, values: list[float], *, higher: bool) -> float:
    """Where a value stands between the worst and the best; in the middle if all are equal."""
    low, high = min(values), max(values)
    share = (value - low) / (high - low) if high > low else 0.5
    return share if higher else 1 - share


def _axes(told: Tradeoff, height: float) -> Any:  # noqa: ANN401 - Altair's
    alt = altair()
    rows = []
    for place, (metric, higher) in enumerate(told.higher.items()):
        values = sorted((own[metric] for own in told.means.values()), reverse=higher)
        rows.append({
            "place": place, "metric": short(metric, 20), "best": decimal(values[0]),
            "worst": decimal(values[-1]),
        })  # fmt: skip
    base = alt.Chart(table(rows)).encode(x=alt.X("place:Q", axis=unmarked()))
    words = (("metric", -26, INK), ("best", -12, DIM), ("worst", height + 14, DIM))
    texts = [
        base.mark_text(color=shade, fontSize=12 if name == "metric" else 11).encode(
            y=alt.value(at), text=f"{name}:N"
        )
        for name, at, shade in words
    ]
    return alt.layer(base.mark_rule(color=GREY, opacity=0.5), *texts)


def pareto(told: Tradeoff) -> Picture:
    """The first metric against the second, a point a system; blue: on the front."""
    one, two = list(told.higher)[:2]
    names = dict(zip(told.means, shorts(list(told.means)), strict=True))
    rows = [
        {"system": names[system], "x": own[one], "y": own[two], "front": system in told.front}
        for system, own in told.means.items()
    ]
    more = f" The front is by {len(told.higher)} metrics." if len(told.higher) > 2 else ""  # noqa: PLR2004
    lower = [metric for metric in (one, two) if not told.higher[metric]]
    better = f" Lower is better: {', '.join(lower)}." if lower else ""
    return Picture(
        "pareto",
        f"{short(one)} against {short(two)}: {len(rows)} systems",
        f"Blue: no other system is as good at everything and better at something.{more}{better}",
        counted(told.evaluation),
        told.evaluation.convention,
        tuple(rows),
        _points(rows, (one, two)),
    )


def _points(rows: list[dict[str, Any]], metrics: tuple[str, str]) -> Any:  # noqa: ANN401 - Altair's
    alt = altair()
    x, y = (
        channel(f"{field}:Q", title=f"mean {metric}",
                scale=alt.Scale(domain=_ends([row[field] for row in rows]), nice=False, zero=False))
        for channel, field, metric in zip((alt.X, alt.Y), "xy", metrics, strict=True)
    )  # fmt: skip
    base = alt.Chart(table(rows)).encode(x=x, y=y)
    shade = alt.condition("datum.front", alt.value(BLUE), alt.value(GREY))
    points = base.mark_point(filled=True, size=80, opacity=0.9).encode(
        color=shade, tooltip=["system:N", "x:Q", "y:Q"]
    )
    middle = sum(_ends([row["x"] for row in rows])) / 2
    named = _with_room(rows)
    names = [
        alt.Chart(table([row for row in named if (row["x"] > middle) == right]))
        .mark_text(align="right" if right else "left", dx=-9 if right else 9)
        .encode(x=x, y=y, text="system:N", color=shade)
        for right in (True, False)
    ]
    return alt.layer(points, *names).properties(width=_SIDE, height=_SIDE)


def _ends(values: list[float]) -> list[float]:
    low, high = min(values), max(values)
    room = (high - low) * _ROOM or 0.05
    return [low - room, high + room]


def _with_room(rows: list[dict[str, Any]]) -> list[dict[str, Any]]:
    """Systems whose names do not stand on another's, those of the front first."""
    wide, tall = ((ends[1] - ends[0]) for ends in (_ends([row[f] for row in rows]) for f in "xy"))
    kept: list[dict[str, Any]] = []
    for row in sorted(rows, key=lambda each: not each["front"]):
        near = any(
            abs(row["y"] - other["y"]) < _NEAR * tall and abs(row["x"] - other["x"]) < _WIDE * wide
            for other in kept
        )
        if not near:
            kept.append(row)
    return kept

"""Chart of a sweep: every point by each dial, with the mean of each value."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from rankgate.core.errors import UsageError
from rankgate.core.present.charts.backend import load_altair
from rankgate.core.present.charts.parts import (
    axis_title,
    concat_panels,
    inline_data,
    panel_title,
    rule_line,
)
from rankgate.core.present.charts.picture import Picture
from rankgate.core.present.charts.style import BLUE, GREY, RED
from rankgate.core.present.charts.words import count_queries, shorten_name
from rankgate.decisions.sweeps.importance import point_levels

if TYPE_CHECKING:
    from rankgate.decisions.sweeps.dials import Dial
    from rankgate.decisions.sweeps.sweep import Sweep

_WIDTH, _HEIGHT = 300, 200
_MARGIN_SHARE = 0.06


def draw(result: Sweep) -> Picture:
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
    room = (max(values) - min(values)) * _MARGIN_SHARE or 0.05
    ends = (min(values) - room, max(values) + room)
    panels = [_panel(result, dial, rows, ends, share_of_dial.get(dial.name)) for dial in dials]
    return Picture(
        "sweep-dials",
        f"{shorten_name(result.metric)} by dial: {len({row['place'] for row in rows})} settings of "
        f"{shorten_name(result.target)}",
        "Grey: a setting. Blue: the mean of all settings with this value. Orange: the chosen "
        "setting. Dashed: the baseline. The share is what only this dial explains of the variance "
        "between settings.",
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
    result: Sweep,
    dial: Dial,
    rows: list[dict[str, Any]],
    ends: tuple[float, float],
    share: float | None,
) -> Any:
    alt = load_altair()
    dial_rows = [row for row in rows if row["dial"] == dial.name]
    order = [row["value"] for row in sorted(dial_rows, key=lambda row: row["order"])]
    names = list(dict.fromkeys(order))
    means = [
        {
            "value": name,
            "quality": sum(qualities) / len(qualities),
        }
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
            alt.Chart(inline_data(chosen_rows))
            .mark_point(filled=True, size=70, color=RED)
            .encode(**axes)
        )
    if result.baseline.state == "ok":
        value = result.baseline.metrics[result.metric].mean
        layers.append(rule_line("quality", value, dashed=True))
    title = f"{shorten_name(dial.name)}" + ("" if share is None else f": {share:.0%}")
    return alt.layer(*layers).properties(width=_WIDTH, height=_HEIGHT, **panel_title(title))

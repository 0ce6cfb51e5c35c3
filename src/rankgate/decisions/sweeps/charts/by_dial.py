"""Chart of a sweep: every point by each dial, with the mean of each value."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from rankgate.core.errors import UsageError
from rankgate.core.present.charts.backend import altair
from rankgate.core.present.charts.parts import cut, in_columns, panel, rule, table
from rankgate.core.present.charts.picture import Picture
from rankgate.core.present.charts.style import BLUE, GREY, RED
from rankgate.core.present.charts.words import queries, short
from rankgate.decisions.sweeps.importance import levels

if TYPE_CHECKING:
    from rankgate.decisions.sweeps.dials import Dial
    from rankgate.decisions.sweeps.sweep import Sweep

_WIDTH, _HEIGHT = 300, 200
_ROOM = 0.06


def draw(result: Sweep) -> Picture:
    """A panel for each dial, the most important first.

    Raises:
        UsageError: no point has figures.
    """
    rows = _rows(result)
    if not rows:
        raise UsageError(f"{result.name}: no point has figures.", code="nothing-to-draw")
    shares = {each.dials[0]: each.share for each in result.importance if len(each.dials) == 1}
    dials = sorted(result.space, key=lambda dial: -(shares.get(dial.name) or 0.0))
    values = [row["quality"] for row in rows]
    room = (max(values) - min(values)) * _ROOM or 0.05
    ends = (min(values) - room, max(values) + room)
    panels = [_panel(result, dial, rows, ends, shares.get(dial.name)) for dial in dials]
    return Picture(
        "sweep-dials",
        f"{short(result.metric)} by dial: {len({row['place'] for row in rows})} settings of "
        f"{short(result.target)}",
        "Grey: a setting. Blue: the mean of all settings with this value. Orange: the chosen "
        "setting. Dashed: the baseline. The share is what only this dial explains of the variance "
        "between settings.",
        queries(result.queries),
        result.convention,
        tuple(rows),
        in_columns(panels),
        fluid=False,
    )


def _rows(result: Sweep) -> list[dict[str, Any]]:
    good = [place for place, point in enumerate(result.points) if point.state == "ok"]
    points = [result.points[place] for place in good]
    found = []
    for dial in result.space if points else ():
        level = levels(dial, [point.parameters for point in points])
        for place, point, code in zip(good, points, level.codes, strict=True):
            found.append(
                {
                    "dial": dial.name,
                    "place": place,
                    "value": level.names[code],
                    "quality": point.metrics[result.metric].mean,
                    "chosen": result.choice is not None and result.choice.place == place,
                    "order": int(code),
                }
            )
    return found


def _panel(
    result: Sweep,
    dial: Dial,
    rows: list[dict[str, Any]],
    ends: tuple[float, float],
    share: float | None,
) -> Any:
    alt = altair()
    own = [row for row in rows if row["dial"] == dial.name]
    order = [row["value"] for row in sorted(own, key=lambda row: row["order"])]
    names = list(dict.fromkeys(order))
    means = [
        {
            "value": name,
            "quality": sum(each) / len(each),
        }
        for name in names
        for each in [[row["quality"] for row in own if row["value"] == name]]
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
            title=cut(f"mean {result.metric}", ends[0]),
            scale=alt.Scale(domain=list(ends), nice=False, zero=False),
        ),
    }
    layers = [
        alt.Chart(table(own)).mark_point(filled=True, size=26, opacity=0.45, color=GREY)
        .encode(**axes, tooltip=["value:N", "quality:Q"]),
        alt.Chart(table(means)).mark_tick(color=BLUE, thickness=2.5, width=26).encode(**axes),
    ]  # fmt: skip
    chosen = [row for row in own if row["chosen"]]
    if chosen:
        layers.append(
            alt.Chart(table(chosen)).mark_point(filled=True, size=70, color=RED).encode(**axes)
        )
    if result.baseline.state == "ok":
        value = result.baseline.metrics[result.metric].mean
        layers.append(rule("quality", value, dashed=True))
    title = f"{short(dial.name)}" + ("" if share is None else f": {share:.0%}")
    return alt.layer(*layers).properties(width=_WIDTH, height=_HEIGHT, **panel(title))

"""Chart of a sweep: a heat map of two dials."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from rankgate.core.errors import UsageError
from rankgate.core.present.charts.heat import heat_map
from rankgate.core.present.charts.picture import Picture
from rankgate.core.present.charts.style import SHARES
from rankgate.core.present.charts.words import count_queries, shorten_name
from rankgate.decisions.sweeps.importance import point_levels

if TYPE_CHECKING:
    from rankgate.decisions.sweeps.sweep import Sweep


def draw(result: Sweep, *, dials: tuple[str, str] | None = None) -> Picture:
    """Draw the mean of each pair of values, over the values of all other dials.

    Args:
        result: the sweep.
        dials: rows and columns; the two most important ones without it.

    Raises:
        UsageError: fewer than two dials, an unknown one, no point with figures.
    """
    row_dial, column_dial = dials or _important_pair(result)
    rows = _rows(result, row_dial, column_dial)
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
    other_dials_note = (
        " Each cell is the mean over the other dials." if len(result.space) > 2 else ""
    )
    joint_note = (
        ""
        if joint_share is None
        else f" Together they explain {joint_share:.1%} of the variance "
        "beyond what each does alone."
    )
    return Picture(
        "sweep-heat",
        f"{shorten_name(result.metric)} by {shorten_name(row_dial)} (rows) and "
        f"{shorten_name(column_dial)} (columns)",
        f"The darker, the better; empty: not measured.{other_dials_note}{joint_note}",
        count_queries(result.queries),
        result.convention,
        tuple(rows),
        heat_map(rows, ends, shades, form=".4f"),
        fluid=False,
    )


def _important_pair(result: Sweep) -> tuple[str, str]:
    """The most important dials; the one with more values is the dial of the columns."""
    singles = [
        importance.dials[0] for importance in result.importance if len(importance.dials) == 1
    ]
    if len(singles) < 2:
        raise UsageError(
            f"{result.name}: a heat map needs two dials and points with figures.",
            code="nothing-to-draw",
        )
    sizes = {dial.name: len(dial.values) for dial in result.space}
    row_dial, column_dial = sorted(singles[:2], key=lambda name: sizes[name])
    return row_dial, column_dial


def _rows(result: Sweep, row_dial: str, column_dial: str) -> list[dict[str, Any]]:
    space = {dial.name: dial for dial in result.space}
    for name in (row_dial, column_dial):
        if name not in space:
            dial_names = ", ".join(space)
            raise UsageError(
                f"no dial is called {name!r}; there are {dial_names}.", code="unknown-dial"
            )
    points = [point for point in result.points if point.state == "ok"]
    dial_levels = [
        point_levels(space[name], [point.parameters for point in points])
        for name in (row_dial, column_dial)
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

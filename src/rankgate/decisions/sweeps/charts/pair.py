"""Chart of a sweep: a heat map of two dials."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from rankgate.core.errors import UsageError
from rankgate.core.present.charts.heat import heat
from rankgate.core.present.charts.picture import Picture
from rankgate.core.present.charts.style import SHARES
from rankgate.core.present.charts.words import queries, short
from rankgate.decisions.sweeps.importance import levels

if TYPE_CHECKING:
    from rankgate.decisions.sweeps.sweep import Sweep


def draw(result: Sweep, *, dials: tuple[str, str] | None = None) -> Picture:
    """The mean of each pair of values, over the values of all other dials.

    Args:
        result: the sweep.
        dials: rows and columns; the two most important ones without it.

    Raises:
        UsageError: fewer than two dials, an unknown one, no point with figures.
    """
    down, across = dials or _pair(result)
    rows = _rows(result, down, across)
    values = [row["value"] for row in rows if row["value"] is not None]
    ends = (min(values), max(values))
    if ends[0] == ends[1]:
        ends = (ends[0] - 0.5, ends[1] + 0.5)
    shares = SHARES if result.metric not in result.lower else SHARES[::-1]
    together = next(
        (each.share for each in result.importance if set(each.dials) == {down, across}), None
    )
    other = " Each cell is the mean over the other dials." if len(result.space) > 2 else ""
    more = (
        ""
        if together is None
        else f" Together they explain {together:.1%} of the variance beyond what each does alone."
    )
    return Picture(
        "sweep-heat",
        f"{short(result.metric)} by {short(down)} (rows) and {short(across)} (columns)",
        f"The darker, the better; empty: not measured.{other}{more}",
        queries(result.queries),
        result.convention,
        tuple(rows),
        heat(rows, ends, shares, form=".4f"),
        fluid=False,
    )


def _pair(result: Sweep) -> tuple[str, str]:
    """The most important dials; the one with more values goes across the page."""
    singles = [each.dials[0] for each in result.importance if len(each.dials) == 1]
    if len(singles) < 2:
        raise UsageError(
            f"{result.name}: a heat map needs two dials and points with figures.",
            code="nothing-to-draw",
        )
    sizes = {dial.name: len(dial.values) for dial in result.space}
    down, across = sorted(singles[:2], key=lambda name: sizes[name])
    return down, across


def _rows(result: Sweep, down: str, across: str) -> list[dict[str, Any]]:
    space = {dial.name: dial for dial in result.space}
    for name in (down, across):
        if name not in space:
            known = ", ".join(space)
            raise UsageError(f"no dial is called {name!r}; there are {known}.", code="unknown-dial")
    points = [point for point in result.points if point.state == "ok"]
    own = [levels(space[name], [point.parameters for point in points]) for name in (down, across)]
    cells: dict[tuple[int, int], list[float]] = {}
    for point, row, column in zip(points, own[0].codes, own[1].codes, strict=True):
        cells.setdefault((int(row), int(column)), []).append(point.metrics[result.metric].mean)
    return [
        {
            "row": f"{down} = {row_name}",
            "column": column_name,
            "value": sum(found) / len(found) if (found := cells.get((row, column))) else None,
        }
        for row, row_name in enumerate(own[0].names)
        for column, column_name in enumerate(own[1].names)
    ]

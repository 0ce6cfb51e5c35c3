"""Names next to points, where nothing else is."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from rankgate.core.present.charts.backend import altair
from rankgate.core.present.charts.parts import table
from rankgate.core.present.charts.words import spread

_LETTER, _LINE, _DOT, _GAP = 6.3, 12.0, 5.0, 8.0  # in points: of words, of points, and between
SPOTS = (("left", _GAP, 0.0), ("right", -_GAP, 0.0), ("center", 0.0, -11.0), ("center", 0.0, 11.0))
"""Where a name can be: how it is aligned, and how far from its point, right and down."""


def spots(
    points: Sequence[tuple[float, float]],
    names: Sequence[str],
    size: tuple[float, float],
    most: int | None = None,
    outside: float = 0,
) -> list[int | None]:
    """The first of `SPOTS` that is free for each name, the first names first; None where none is.

    Args:
        points: from the left and from the top, in points.
        names: of the first points; others have none, and are not to be covered.
        size: of the panel.
        most: how many names there shall be.
        outside: how far names may reach over the right edge.

    >>> spots([(50, 50), (60, 50), (90, 50)], ["one", "two", "three"], (100, 100))
    [1, 2, None]
    """
    boxes = [(x - _DOT, x + _DOT, y - _DOT, y + _DOT) for x, y in points]
    found: list[int | None] = []
    for i, name in enumerate(names):
        free = None
        if most is None or sum(each is not None for each in found) < most:
            for place in range(len(SPOTS)):
                box = _box(points[i], name, place)
                others = (other for j, other in enumerate(boxes) if j != i)
                if _within(box, (size[0] + outside, size[1])) and not any(
                    _meet(box, other) for other in others
                ):
                    free = place
                    boxes.append(box)
                    break
        found.append(free)
    return found


def written(
    rows: Sequence[Mapping[str, Any]],
    places: Sequence[int | None],
    axes: Mapping[str, Any],
    **marks: Any,
) -> list[Any]:
    """A layer for each spot that is taken: the rows' ``shown`` next to their points."""
    alt = altair()
    layers = []
    for place, (align, right, down) in enumerate(SPOTS):
        own = [row for row, spot in zip(rows, places, strict=True) if spot == place]
        if own:
            text = alt.Chart(table(own)).mark_text(
                align=align, baseline="middle", dx=right, dy=down
            )
            layers.append(text.encode(**axes, text="shown:N", **marks))
    return layers


def column(
    rows: Sequence[Mapping[str, Any]],
    points: Sequence[tuple[float, float]],
    places: Sequence[int | None],
    size: tuple[float, float],
    axes: Mapping[str, Any],
    **marks: Any,
) -> list[Any]:
    """Layers that list the names without a free spot on the right, each with a line to its point.

    Args:
        rows: with ``shown``, their names.
        points: from the left and from the top, in points.
        places: the spots of `spots`.
        size: of the panel.
        axes: of the panel.
        marks: further encodings, such as the colour.
    """
    left = [i for i, place in enumerate(places) if place is None]
    if not left:
        return []
    edges = [
        _box(points[i], rows[i]["shown"], place)[1]
        for i, place in enumerate(places)
        if place is not None
    ]
    at = max([size[0], *edges]) + 2 * _GAP
    moved = spread([points[i][1] for i in left], _LINE + 1, 0, size[1])
    alt = altair()
    layers = []
    for i, down in zip(left, moved, strict=True):
        own = alt.Chart(table([rows[i]]))
        line = own.mark_rule(strokeWidth=0.7, opacity=0.6)
        layers += [
            line.encode(**axes, x2=alt.value(at - 3), y2=alt.value(down), **marks),
            own.mark_text(align="left", baseline="middle").encode(
                x=alt.value(at), y=alt.value(down), text="shown:N", **marks
            ),
        ]
    return layers


def _box(point: tuple[float, float], name: str, place: int) -> tuple[float, float, float, float]:
    align, right, down = SPOTS[place]
    x, y, wide = point[0] + right, point[1] + down, _LETTER * len(name)
    low = {"left": x, "right": x - wide, "center": x - wide / 2}[align]
    return low, low + wide, y - _LINE / 2, y + _LINE / 2


def _within(box: tuple[float, float, float, float], size: tuple[float, float]) -> bool:
    return box[0] >= 0 and box[1] <= size[0] and box[2] >= 0 and box[3] <= size[1]


def _meet(one: tuple[float, float, float, float], two: tuple[float, float, float, float]) -> bool:
    return one[0] < two[1] and two[0] < one[1] and one[2] < two[3] and two[2] < one[3]

"""Place names next to points without overlap."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from rankgate.core.present.charts.backend import load_altair
from rankgate.core.present.charts.parts import inline_data
from rankgate.core.present.charts.words import separate_positions

_LETTER, _LINE, _DOT, _GAP = 6.3, 12.0, 5.0, 8.0  # in points: of words, of points, and between
SPOTS = (("left", _GAP, 0.0), ("right", -_GAP, 0.0), ("center", 0.0, -11.0), ("center", 0.0, 11.0))
"""Positions of a name: its alignment, and its distance from its point, right and down."""


def find_label_spots(
    points: Sequence[tuple[float, float]],
    names: Sequence[str],
    size: tuple[float, float],
    max_names: int | None = None,
    outside: float = 0,
) -> list[int | None]:
    """The first free one of `SPOTS` for each name, the first names first; None without a free one.

    Args:
        points: from the left and from the top, in points.
        names: of the first points; others have none, and are not to be covered.
        size: of the panel.
        max_names: the largest number of names.
        outside: how far names may reach over the right edge.

    >>> find_label_spots([(50, 50), (60, 50), (90, 50)], ["one", "two", "three"], (100, 100))
    [1, 2, None]
    """
    boxes = [(x - _DOT, x + _DOT, y - _DOT, y + _DOT) for x, y in points]
    free_spots: list[int | None] = []
    for i, name in enumerate(names):
        free_spot = None
        if max_names is None or sum(spot is not None for spot in free_spots) < max_names:
            for candidate in range(len(SPOTS)):
                box = _label_box(points[i], name, candidate)
                other_boxes = (other_box for j, other_box in enumerate(boxes) if j != i)
                if _is_inside(box, (size[0] + outside, size[1])) and not any(
                    _overlap(box, other_box) for other_box in other_boxes
                ):
                    free_spot = candidate
                    boxes.append(box)
                    break
        free_spots.append(free_spot)
    return free_spots


def spot_layers(
    rows: Sequence[Mapping[str, Any]],
    places: Sequence[int | None],
    axes: Mapping[str, Any],
    **marks: Any,
) -> list[Any]:
    """A layer for each spot that is taken: the rows' ``shown`` next to their points."""
    alt = load_altair()
    layers = []
    for spot_index, (align, right, down) in enumerate(SPOTS):
        spot_rows = [row for row, spot in zip(rows, places, strict=True) if spot == spot_index]
        if spot_rows:
            text = alt.Chart(inline_data(spot_rows)).mark_text(
                align=align, baseline="middle", dx=right, dy=down
            )
            layers.append(text.encode(**axes, text="shown:N", **marks))
    return layers


def unplaced_layers(
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
        places: the spots of `find_label_spots`.
        size: of the panel.
        axes: of the panel.
        marks: further encodings, such as the colour.
    """
    unplaced = [i for i, spot in enumerate(places) if spot is None]
    if not unplaced:
        return []
    right_edges = [
        _label_box(points[i], rows[i]["shown"], spot)[1]
        for i, spot in enumerate(places)
        if spot is not None
    ]
    label_x = max([size[0], *right_edges]) + 2 * _GAP
    label_positions = separate_positions([points[i][1] for i in unplaced], _LINE + 1, 0, size[1])
    alt = load_altair()
    layers = []
    for i, label_y in zip(unplaced, label_positions, strict=True):
        base = alt.Chart(inline_data([rows[i]]))
        line = base.mark_rule(strokeWidth=0.7, opacity=0.6)
        layers += [
            line.encode(**axes, x2=alt.value(label_x - 3), y2=alt.value(label_y), **marks),
            base.mark_text(align="left", baseline="middle").encode(
                x=alt.value(label_x), y=alt.value(label_y), text="shown:N", **marks
            ),
        ]
    return layers


def _label_box(
    point: tuple[float, float], name: str, spot_index: int
) -> tuple[float, float, float, float]:
    align, right, down = SPOTS[spot_index]
    x, y, width = point[0] + right, point[1] + down, _LETTER * len(name)
    low = {"left": x, "right": x - width, "center": x - width / 2}[align]
    return low, low + width, y - _LINE / 2, y + _LINE / 2


def _is_inside(box: tuple[float, float, float, float], size: tuple[float, float]) -> bool:
    return box[0] >= 0 and box[1] <= size[0] and box[2] >= 0 and box[3] <= size[1]


def _overlap(
    first: tuple[float, float, float, float], second: tuple[float, float, float, float]
) -> bool:
    return (
        first[0] < second[1]
        and second[0] < first[1]
        and first[2] < second[3]
        and second[2] < first[3]
    )

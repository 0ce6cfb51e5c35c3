"""Texts above a drawing, in rows without overlap."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import replace

from rankgate.core.frozen import dataclass

_LETTER_WIDTH = 7.0
"""The width of a letter of 12 px, more than the mean of usual sans-serif fonts."""

_GAP = 8.0
"""Between two labels of a row."""


@dataclass(frozen=True)
class Label:
    """The position of a text.

    Attributes:
        row: from 0, the row next to the drawing.
        left, right: the ends of the words.
        anchor: ``start`` or ``end``, the end that is at the line of the words.
        free: True if the line can reach the row without crossing words of lower rows.
    """

    row: int
    left: float
    right: float
    anchor: str
    free: bool = True


def place_labels(marks: Sequence[tuple[float, str]], edge: float) -> list[Label]:
    """A label for each mark, in the lowest row with room for it, from the right to the left.

    So a line mostly rises between the words of lower rows. Words that would leave the drawing end
    at their line.

    Args:
        marks: where the line is, and the words.
        edge: the right end of the drawing.
    """
    labels: dict[int, Label] = {}
    for i in sorted(range(len(marks)), key=lambda i: -marks[i][0]):
        x, text = marks[i]
        width = len(text) * _LETTER_WIDTH
        fits = x + width <= edge
        left_end = x if fits else max(0.0, x - width)
        right_end = left_end + width
        used_rows = {
            label.row
            for label in labels.values()
            if left_end < label.right + _GAP and label.left - _GAP < right_end
        }
        row = next(candidate for candidate in range(len(marks)) if candidate not in used_rows)
        labels[i] = Label(row, left_end, right_end, "start" if fits else "end")
    return [
        replace(labels[i], free=_is_line_free(x, labels[i].row, labels.values()))
        for i, (x, _) in enumerate(marks)
    ]


def _is_line_free(x: float, row: int, labels: Iterable[Label]) -> bool:
    return not any(label.row < row and label.left - 1 < x < label.right + 1 for label in labels)

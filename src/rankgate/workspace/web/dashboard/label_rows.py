"""Words above a drawing, in rows without overlap."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import replace

from rankgate.core.frozen import dataclass

_LETTER = 7.0
"""The width of a letter of 12 px, more than the mean of usual sans-serif fonts."""

_GAP = 8.0
"""Between two labels of a row."""


@dataclass(frozen=True)
class Label:
    """Where words are.

    Attributes:
        row: from 0, the row next to the drawing.
        left, right: the ends of the words.
        anchor: ``start`` or ``end``, the end that is at the line of the words.
        free: whether the line can reach the row without crossing words of lower rows.
    """

    row: int
    left: float
    right: float
    anchor: str
    free: bool = True


def placed(marks: Sequence[tuple[float, str]], edge: float) -> list[Label]:
    """A label for each mark, in the lowest row with room for it, from the right to the left.

    So a line mostly rises between the words of lower rows. Words that would leave the drawing end
    at their line.

    Args:
        marks: where the line is, and the words.
        edge: the right end of the drawing.
    """
    found: dict[int, Label] = {}
    for i in sorted(range(len(marks)), key=lambda i: -marks[i][0]):
        x, words = marks[i]
        wide = len(words) * _LETTER
        inside = x + wide <= edge
        left = x if inside else max(0.0, x - wide)
        right = left + wide
        taken = {each.row for each in found.values()
                 if left < each.right + _GAP and each.left - _GAP < right}  # fmt: skip
        row = next(each for each in range(len(marks)) if each not in taken)
        found[i] = Label(row, left, right, "start" if inside else "end")
    return [replace(found[i], free=_free(x, found[i].row, found.values()))
            for i, (x, _) in enumerate(marks)]  # fmt: skip


def _free(x: float, row: int, labels: Iterable[Label]) -> bool:
    return not any(each.row < row and each.left - 1 < x < each.right + 1 for each in labels)

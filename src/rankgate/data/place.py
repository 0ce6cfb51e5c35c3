"""Position of a row (file and line), for error messages."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass


@dataclass(frozen=True)
class Place:
    """The origin of a table: what errors call it, and how a row's line is found."""

    label: str
    line: Callable[[int], int | None] = lambda _row: None

    def among(self, rows: Sequence[int]) -> Place:
        """The place of a table that has only these rows of this one, in this order.

        >>> Place("file", lambda row: row + 2).among([0, 3]).line(1)
        5
        """
        return Place(self.label, lambda row: self.line(rows[row]))

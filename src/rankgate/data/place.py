"""Position of a row (file and line), for error messages."""

from __future__ import annotations

from collections.abc import Callable, Sequence

from rankgate.core.frozen import dataclass


@dataclass(frozen=True)
class Place:
    """The origin of a table: what errors call it, and how a row's line is found.

    Attributes:
        label: the file, or the folder of part files.
        line: the line of a row, where lines are known.
        part: the file of a row, where the table has several.
    """

    label: str
    line: Callable[[int], int | None] = lambda _row: None
    part: Callable[[int], str] | None = None

    def file(self, row: int) -> str:
        """The file that a row is in.

        >>> Place("file").file(7)
        'file'
        """
        return self.part(row) if self.part else self.label

    def among(self, rows: Sequence[int]) -> Place:
        """The place of a table that has only these rows of this one, in this order.

        >>> Place("file", lambda row: row + 2).among([0, 3]).line(1)
        5
        """
        return self._moved(lambda row: rows[row])

    def after(self, first: int) -> Place:
        """The place of a table that begins with a later row of this one.

        >>> Place("file", lambda row: row + 2).after(10).line(1)
        13
        """
        return self._moved(lambda row: first + row)

    def _moved(self, row_of: Callable[[int], int]) -> Place:
        part = self.part
        return Place(
            self.label,
            lambda row: self.line(row_of(row)),
            None if part is None else lambda row: part(row_of(row)),
        )

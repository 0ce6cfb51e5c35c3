"""Position of a row (file and line), for error messages."""

from __future__ import annotations

from collections.abc import Callable, Sequence

from rankgate.core.frozen import dataclass


@dataclass(frozen=True)
class RowLocation:
    """The origin of a table: its name in errors, and the line of each row.

    Attributes:
        label: the file, or the folder of part files.
        line: the line of a row, if lines are known.
        part: the file of a row, if the table has several files.
    """

    label: str
    line: Callable[[int], int | None] = lambda _row: None
    part: Callable[[int], str] | None = None

    def file(self, row: int) -> str:
        """The file of a row.

        >>> RowLocation("file").file(7)
        'file'
        """
        return self.part(row) if self.part else self.label

    def among(self, rows: Sequence[int]) -> RowLocation:
        """The place of a table with only these rows of this one, in this order.

        >>> RowLocation("file", lambda row: row + 2).among([0, 3]).line(1)
        5
        """
        return self._moved(lambda row: rows[row])

    def after(self, first: int) -> RowLocation:
        """The place of a table that begins at a later row of this one.

        >>> RowLocation("file", lambda row: row + 2).after(10).line(1)
        13
        """
        return self._moved(lambda row: first + row)

    def _moved(self, row_of: Callable[[int], int]) -> RowLocation:
        file_of_row = self.part
        return RowLocation(
            self.label,
            lambda row: self.line(row_of(row)),
            None if file_of_row is None else lambda row: file_of_row(row_of(row)),
        )

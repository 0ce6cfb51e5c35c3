"""Rows of codes of different lengths, such as what each user had in training."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import numpy as np
from numpy.typing import NDArray

from rankgate.core.frozen import dataclass

Codes = NDArray[np.int64]

NONE = -1
"""The code of a place that holds nothing."""
_CELLS = 1 << 22  # of a matrix of some rows


@dataclass(frozen=True, eq=False)
class Ragged:
    """Rows of codes, one behind the other: a matrix of them would be as wide as the longest.

    Attributes:
        codes: ``(n,)``, of all rows.
        starts: ``(T,)``, where each row begins.
        lengths: ``(T,)``, how many codes it has.
        mapping: by code the one to take instead, `NONE` for a code to leave out; None where codes
            stay as they are.
    """

    codes: NDArray[np.int32]
    starts: Codes
    lengths: Codes
    mapping: NDArray[np.int32] | None = None

    @classmethod
    def of(cls, codes: NDArray[np.int32], offsets: Codes) -> Ragged:
        """Rows by where each begins and the last ends, ``(T + 1,)``."""
        return cls(codes, offsets[:-1], np.diff(offsets))

    def __len__(self) -> int:
        return len(self.lengths)

    def __getitem__(self, selection: slice | NDArray[Any]) -> Ragged:
        """Some of the rows; their codes stay where they are."""
        return Ragged(self.codes, self.starts[selection], self.lengths[selection], self.mapping)

    def at(self, row: Codes) -> Ragged:
        """Rows by their places, an empty one for `NONE`."""
        if not len(self):
            return Ragged(self.codes, np.zeros_like(row), np.zeros_like(row), self.mapping)
        rows = self[row]
        return Ragged(self.codes, rows.starts, np.where(row == NONE, 0, rows.lengths), self.mapping)

    def mapped(self, mapping: NDArray[np.int32]) -> Ragged:
        """The same rows with other codes, by a mapping as in the attribute `mapping`."""
        if self.mapping is not None:
            mapping = np.where(self.mapping == NONE, NONE, mapping[self.mapping])
        return Ragged(self.codes, self.starts, self.lengths, mapping)

    def matrix(self) -> Codes:
        """The rows as a matrix, padded behind, ``(T, ·)``.

        >>> rows = Ragged.of(np.array([3, 1, 2], np.int32), np.array([0, 1, 3]))
        >>> rows.matrix().tolist(), rows[1:].matrix().tolist()
        ([[3, -1], [1, 2]], [[1, 2]])
        """
        lengths, ends = self.lengths, np.cumsum(self.lengths)
        positions = np.repeat(self.starts - ends + lengths, lengths)
        positions += np.arange(len(positions))
        codes = self.codes[positions]
        if self.mapping is not None:
            codes = self.mapping[codes]
            is_present = codes != NONE
            if not is_present.all():
                owner = np.repeat(np.arange(len(lengths)), lengths)[is_present]
                codes, lengths = codes[is_present], np.bincount(owner, minlength=len(lengths))
        return pad_rows(codes, lengths)


def pad_rows(codes: NDArray[Any], lengths: Codes) -> Codes:
    """Codes by row, padded behind, ``(T, ·)``, in 32 bits: histories of many users are large.

    Args:
        codes: ``(n,)``, row after row.
        lengths: ``(T,)``, how many each row has.
    """
    width = max(1, int(lengths.max(initial=0)))
    matrix: NDArray[Any] = np.full((len(lengths), width), NONE, np.int32)
    matrix[np.arange(width) < lengths[:, None]] = codes
    return matrix


def bounded_parts(rows: slice, lengths: Codes) -> Iterator[slice]:
    """Parts of some rows whose matrices are of bounded size; one long row has its own.

    >>> list(bounded_parts(slice(0, 4), np.array([2, 1, 1 << 23, 3])))
    [slice(0, 2, None), slice(2, 3, None), slice(3, 4, None)]
    """
    count = rows.stop - rows.start
    if count < 2 or count * int(lengths[rows].max()) <= _CELLS:
        yield rows
        return
    middle = rows.start + count // 2
    yield from bounded_parts(slice(rows.start, middle), lengths)
    yield from bounded_parts(slice(middle, rows.stop), lengths)

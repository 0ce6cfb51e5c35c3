"""Stretches of equal values in a column, such as the rows of each query."""

from __future__ import annotations

from concurrent.futures import ThreadPoolExecutor
from typing import TYPE_CHECKING, Any

import numpy as np

if TYPE_CHECKING:
    from collections.abc import Iterator

    import polars as pl
    from numpy.typing import NDArray

_ROWS = 1 << 15  # that are worked on together: they fit the cache
_SORTED = 1 << 12  # that are sorted together
_MANY = 1 << 20  # that are worth a thread


def starts_of(column: pl.Series) -> NDArray[np.int64]:
    """Where each stretch of equal values begins; ``(stretches,)``."""
    if column.is_empty():
        return np.zeros(0, np.int64)
    lengths = column.rle().struct.field("len").to_numpy().astype(np.int64)
    ends: NDArray[np.int64] = np.cumsum(lengths)
    return ends - lengths


def starts_together(column: pl.Series) -> NDArray[np.int64] | None:
    """As `starts_of`, where each value has one stretch; else None, and where most have one row."""
    starts = starts_of(column)
    if 2 * len(starts) > len(column):
        return None
    hashes = np.sort(column.gather(starts).hash().to_numpy())
    return None if (hashes[1:] == hashes[:-1]).any() else starts


def whole_stretches(
    starts: NDArray[np.int64], size: int, rows: int = _ROWS
) -> Iterator[tuple[int, int, int, int]]:
    """Parts of whole stretches with so many rows at most, or of one that is longer.

    Yields:
        the first stretch of each part and the one after it, their first row and the one after.
    """
    bounds = np.append(starts, size)
    first = 0
    while first < len(starts):
        begin = int(bounds[first])
        after = max(int(np.searchsorted(bounds, begin + rows, "right")) - 1, first + 1)
        yield first, after, begin, int(bounds[after])
        first = after


def common_length(starts: NDArray[np.int64], size: int) -> int:
    """How many rows each stretch has; 0 where they differ."""
    lengths = np.diff(starts, append=size)
    return int(lengths[0]) if len(lengths) and not np.ptp(lengths) else 0


def sort_stretches(values: NDArray[Any], starts: NDArray[np.int64]) -> None:
    """Sort values in place that rise from each stretch to the next.

    Short stretches are sorted in a fifth to a twentieth of the time that all values together take.
    """
    if length := common_length(starts, len(values)):
        values.reshape(-1, length).sort(axis=1)
        return
    for _, _, begin, end in whole_stretches(starts, len(values), _SORTED):
        values[begin:end].sort()


def sort_halves(values: NDArray[np.uint64]) -> None:
    """Sort values in place; many of them on two cores, as halves that are merged."""
    if len(values) < _MANY:
        values.sort()
        return
    middle = len(values) // 2
    with ThreadPoolExecutor(1, "rankgate-sort") as other:
        first = other.submit(values[:middle].sort)
        values[middle:].sort()
        first.result()
    values.sort(kind="stable")  # a merge, where there are two halves that rise

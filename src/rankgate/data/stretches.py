"""Ranges of equal values in a column, such as the rows of each query."""

from __future__ import annotations

from concurrent.futures import ThreadPoolExecutor
from typing import TYPE_CHECKING, Any

import numpy as np

if TYPE_CHECKING:
    from collections.abc import Iterator

    import polars as pl
    from numpy.typing import NDArray

_ROWS_PER_PART = 1 << 15  # rows of one part: they fit the cache
_VALUES_PER_SORT = 1 << 12  # values that are sorted together
_MIN_PARALLEL = 1 << 20  # values that justify a thread


def range_starts(column: pl.Series) -> NDArray[np.int64]:
    """The start of each range of equal values; ``(stretches,)``."""
    if column.is_empty():
        return np.zeros(0, np.int64)
    lengths = column.rle().struct.field("len").to_numpy().astype(np.int64)
    ends: NDArray[np.int64] = np.cumsum(lengths)
    return ends - lengths


def unique_range_starts(column: pl.Series) -> NDArray[np.int64] | None:
    """As `range_starts` if each value has one range; None otherwise.

    None too if most ranges have one row.
    """
    starts = range_starts(column)
    if 2 * len(starts) > len(column):
        return None
    hashes = np.sort(column.gather(starts).hash().to_numpy())
    return None if (hashes[1:] == hashes[:-1]).any() else starts


def split_ranges(
    starts: NDArray[np.int64], size: int, rows: int = _ROWS_PER_PART
) -> Iterator[tuple[int, int, int, int]]:
    """Parts of whole ranges with a limited number of rows, or of one range that is longer.

    Yields:
        the first range of each part and the one after it, their first row and the one after.
    """
    bounds = np.append(starts, size)
    first_range = 0
    while first_range < len(starts):
        first_row = int(bounds[first_range])
        next_range = max(
            int(np.searchsorted(bounds, first_row + rows, "right")) - 1, first_range + 1
        )
        yield first_range, next_range, first_row, int(bounds[next_range])
        first_range = next_range


def common_range_length(starts: NDArray[np.int64], size: int) -> int:
    """The number of rows of each range; 0 if they differ."""
    lengths = np.diff(starts, append=size)
    return int(lengths[0]) if len(lengths) and not np.ptp(lengths) else 0


def sort_ranges(values: NDArray[Any], starts: NDArray[np.int64]) -> None:
    """Sort values in place that rise from each range to the next.

    Short ranges are sorted in a fifth to a twentieth of the time for all values together.
    """
    if length := common_range_length(starts, len(values)):
        values.reshape(-1, length).sort(axis=1)
        return
    for _, _, begin, end in split_ranges(starts, len(values), _VALUES_PER_SORT):
        values[begin:end].sort()


def sort_halves(values: NDArray[np.uint64]) -> None:
    """Sort values in place; many of them on two cores, as halves that are merged."""
    if len(values) < _MIN_PARALLEL:
        values.sort()
        return
    middle = len(values) // 2
    with ThreadPoolExecutor(1, "rankgate-sort") as executor:
        first_half = executor.submit(values[:middle].sort)
        values[middle:].sort()
        first_half.result()
    values.sort(kind="stable")  # a merge, as there are two rising halves

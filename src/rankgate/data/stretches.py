"""Stretches of equal values in a column, such as the rows of each query."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

if TYPE_CHECKING:
    from collections.abc import Iterator

    import polars as pl
    from numpy.typing import NDArray

_ROWS = 1 << 15  # that are worked on together: they fit the cache


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


def whole_stretches(starts: NDArray[np.int64], size: int) -> Iterator[tuple[int, int, int, int]]:
    """Parts of whole stretches that fit the cache, or of one that is longer.

    Yields:
        the first stretch of each part and the one after it, their first row and the one after.
    """
    bounds = np.append(starts, size)
    first = 0
    while first < len(starts):
        begin = int(bounds[first])
        after = max(int(np.searchsorted(bounds, begin + _ROWS, "right")) - 1, first + 1)
        yield first, after, begin, int(bounds[after])
        first = after

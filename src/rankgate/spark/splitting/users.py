"""Frames of whole users."""

from __future__ import annotations

from collections.abc import Iterable, Iterator

import polars as pl

_CHUNK = 1 << 20  # rows of a frame, if no user has more


def whole_users(frames: Iterable[pl.DataFrame], rows: int = _CHUNK) -> Iterator[pl.DataFrame]:
    """Rows in frames of whole users, where frames have the rows of each user together.

    Args:
        frames: with ``query_id``.
        rows: the least number of rows of a frame, but for the last.
    """
    gathered: list[pl.DataFrame] = []
    size = 0
    for frame in frames:
        if frame.is_empty():
            continue
        gathered.append(frame)
        size += len(frame)
        if size < rows or frame["query_id"][-1] == gathered[0]["query_id"][0]:
            continue  # too few rows, or one user so far
        joined = pl.concat(gathered, rechunk=False)
        end = size - int(joined["query_id"].rle().struct.field("len")[-1])
        yield joined.head(end)
        gathered, size = [joined.slice(end)], size - end
    if size:
        yield pl.concat(gathered, rechunk=False)

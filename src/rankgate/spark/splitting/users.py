"""Frames of whole users."""

from __future__ import annotations

from collections.abc import Iterable, Iterator

import polars as pl

_CHUNK = 1 << 20  # rows of a frame, if no user has more


def whole_users(frames: Iterable[pl.DataFrame], rows: int = _CHUNK) -> Iterator[pl.DataFrame]:
    """Rows in frames of whole users, where frames have the rows of each user together.

    Args:
        frames: with ``query_id``.
        rows: how many a frame has at least, but for the last.
    """
    kept: list[pl.DataFrame] = []
    size = 0
    for frame in frames:
        if frame.is_empty():
            continue
        kept.append(frame)
        size += len(frame)
        if size < rows or frame["query_id"][-1] == kept[0]["query_id"][0]:
            continue  # too few, or one user so far
        whole = pl.concat(kept, rechunk=False)
        end = size - int(whole["query_id"].rle().struct.field("len")[-1])
        yield whole.head(end)
        kept, size = [whole.slice(end)], size - end
    if size:
        yield pl.concat(kept, rechunk=False)

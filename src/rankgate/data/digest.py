"""Hashes of tables."""

from __future__ import annotations

import hashlib
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    import polars as pl

_PART = 1 << 16
_NULL = (1 << 32) - 1  # the length of no text, which is another thing than an empty one


def digest(table: pl.DataFrame) -> str:
    """SHA-256 over names, types and values in the table's order, however it is stored."""
    total = hashlib.sha256()
    for column in table:
        total.update(f"{column.name}:{column.dtype}\n".encode())
        if column.dtype.is_numeric():
            total.update((column.to_numpy() + 0).tobytes())  # + 0: no negative zero
            continue
        for begin in range(0, len(column), _PART):
            part = column.slice(begin, _PART).cast(str)
            total.update(part.str.len_bytes().fill_null(_NULL).to_numpy().tobytes())
            total.update("".join(part.fill_null("").to_list()).encode())
    return total.hexdigest()

"""Hashes of tables."""

from __future__ import annotations

import hashlib
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    import polars as pl

_ROWS_PER_UPDATE = 1 << 16
_NULL_LENGTH = (1 << 32) - 1  # the length of null, which differs from an empty text


def hash_table(table: pl.DataFrame) -> str:
    """SHA-256 over names, types and values in the table's order, however it is stored."""
    total = hashlib.sha256()
    for column in table:
        total.update(f"{column.name}:{column.dtype}\n".encode())
        if column.dtype.is_numeric():
            total.update((column.to_numpy() + 0).tobytes())  # + 0: no negative zero
            continue
        for begin in range(0, len(column), _ROWS_PER_UPDATE):
            text_slice = column.slice(begin, _ROWS_PER_UPDATE).cast(str)
            total.update(text_slice.str.len_bytes().fill_null(_NULL_LENGTH).to_numpy().tobytes())
            total.update("".join(text_slice.fill_null("").to_list()).encode())
    return total.hexdigest()

"""Tables as Parquet bytes: the same table has the same bytes."""

from __future__ import annotations

import io

import polars as pl

from rankgate.core.errors import InputError


def to_parquet(table: pl.DataFrame) -> bytes:
    """A table as Parquet."""
    out = io.BytesIO()
    table.write_parquet(out, compression="zstd", compression_level=3, statistics=False)
    return out.getvalue()


def from_parquet(content: bytes, source: str) -> pl.DataFrame:
    """A table from Parquet.

    Raises:
        InputError: it is something else.
    """
    try:
        return pl.read_parquet(io.BytesIO(content))
    except pl.exceptions.PolarsError:
        problem = "the rows in the store are no Parquet; restore them from a backup."
        raise InputError(problem, source=source, code="damaged-blob") from None

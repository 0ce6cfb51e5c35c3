"""Frames of other libraries."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from rankgate.errors import MissingExtraError

if TYPE_CHECKING:
    import polars as pl


def pandas_frame(table: pl.DataFrame) -> Any:
    """A Polars frame as a pandas frame; needs pandas alone.

    Raises:
        MissingExtraError: pandas is not installed.
    """
    try:
        import pandas as pd
    except ImportError:
        problem = "pandas is not installed; pip install 'rankgate[pandas]'."
        raise MissingExtraError(problem) from None
    return pd.DataFrame({name: table[name].to_list() for name in table.columns})

"""Frames of results, and those of other libraries."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import polars as pl

from rankgate.core.extras import require


def frame(rows: Sequence[Any] | Mapping[str, Any], schema: Mapping[str, Any]) -> pl.DataFrame:
    """Rows, or columns by name, as a schema has them; an undefined number is null.

    >>> frame([("t1", 0.5), ("t2", float("nan"))], {"query_id": pl.String, "value": pl.Float64})[
    ...     "value"
    ... ].to_list()
    [0.5, None]
    """
    table = pl.DataFrame(rows, schema=dict(schema), orient="row")
    return table.with_columns(pl.col(pl.Float64).fill_nan(None))


def pandas_frame(table: pl.DataFrame) -> Any:
    """A Polars frame as a pandas frame; needs pandas alone.

    Raises:
        MissingExtraError: pandas is not installed.
    """
    require("pandas is not installed", "pandas")
    import pandas as pd

    return pd.DataFrame({name: table[name].to_list() for name in table.columns})

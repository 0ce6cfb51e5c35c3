"""Convert the frames of results to and from those of other libraries."""

from __future__ import annotations

import math
import re
from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any

import polars as pl

from rankgate.core.errors import UsageError, require

if TYPE_CHECKING:
    from rankgate.core.value_types import Schema


_SYSTEMS = frozenset({"system", "run", "candidate"})
"""Columns of names that are left out of names of numbers where there is one system."""


def make_frame(
    rows: Sequence[object] | Mapping[str, object], schema: Schema | Mapping[str, None]
) -> pl.DataFrame:
    """Rows, or columns by name, as a frame with a schema; an undefined number is null.

    >>> schema = {"query_id": pl.String, "value": pl.Float64}
    >>> make_frame([("t1", 0.5), ("t2", float("nan"))], schema)[
    ...     "value"
    ... ].to_list()
    [0.5, None]
    """
    table = pl.DataFrame(rows, schema=dict(schema), orient="row")
    return table.with_columns(pl.col(pl.Float64).fill_nan(None))


def pandas_frame(table: pl.DataFrame) -> Any:
    """A Polars frame as a pandas frame; needs only pandas.

    Raises:
        MissingExtraError: pandas is not installed.
    """
    require("pandas is not installed", "pandas")
    import pandas as pd

    return pd.DataFrame({name: table[name].to_list() for name in table.columns})


def arrow_table(table: pl.DataFrame) -> Any:
    """A Polars frame as a table of PyArrow.

    Raises:
        MissingExtraError: PyArrow is not installed.
    """
    require("PyArrow is not installed", "pyarrow")
    return table.to_arrow()


def flat_values(table: pl.DataFrame, kind: str) -> dict[str, float]:
    """The numbers of a table by the texts of their rows and their columns.

    Args:
        table: the rows.
        kind: the name of the result in errors.

    Raises:
        UsageError: the texts do not distinguish the rows.

    >>> flat_values(pl.DataFrame({"run": ["a", "b"], "nDCG@10": [0.5, None], "n": [2, 3]}), "x")
    {'a/nDCG_at_10': 0.5, 'a/n': 2.0, 'b/n': 3.0}
    """
    keys = _naming_columns(table, kind)
    name_columns = [key for key in keys if key not in _SYSTEMS or table[key].n_unique() > 1]
    numbers = [name for name, dtype in table.schema.items() if dtype.is_numeric() or dtype == pl.Boolean]
    values: dict[str, float] = {}
    for row in table.iter_rows(named=True):
        names = [flat_name(str(row[key])) for key in name_columns if row[key] is not None]
        for column in numbers:
            if row[column] is not None and not math.isnan(row[column]):
                values["/".join((*names, flat_name(column)))] = float(row[column])
    return values


def _naming_columns(table: pl.DataFrame, kind: str) -> list[str]:
    """The first columns of texts that distinguish rows, including the metric.

    Raises:
        UsageError: all text columns together do not.
    """
    texts = [name for name, dtype in table.schema.items() if dtype == pl.String]
    min_count = texts.index("metric") + 1 if "metric" in texts[:2] else 0
    for count in range(min_count, len(texts) + 1):
        if count and table.select(texts[:count]).n_unique() == len(table):
            return texts[:count]
    if len(table) <= 1:
        return []
    problem = f"rows of a result of kind {kind} have no names; use to_polars()."
    raise UsageError(problem, code="no-table")


def flat_name(text: str) -> str:
    """A name without characters that experiment trackers reject.

    >>> flat_name("nDCG(gain='exp')@10")
    'nDCG_gain_exp_at_10'
    """
    name = re.sub(r"[^\w.-]+", "_", text.replace("@", "_at_"))
    return re.sub("__+", "_", name).strip("_")

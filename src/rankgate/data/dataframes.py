"""Frames of other libraries as Polars frames: pandas, Arrow, any Arrow stream, and rows."""

from __future__ import annotations

import sys
from importlib.util import find_spec
from typing import Any

import polars as pl

from rankgate.core.errors import InputError
from rankgate.data.objects import column_names, is_table, read_table


def is_frame(table: object) -> bool:
    """True for a frame of Polars, pandas, Arrow, or another that streams Arrow, and for rows."""
    is_stream = isinstance(table, pl.LazyFrame) or hasattr(table, "__arrow_c_stream__")
    return is_stream or is_table(table)


def refuse_series(table: object, label: str) -> None:
    """Check that something is not a pandas Series, whose rows would lack the ids.

    Raises:
        InputError: it is one.
    """
    pandas = sys.modules.get("pandas")
    if pandas is not None and isinstance(table, pandas.Series):
        problem = (
            "a Series without queries and documents in its index; give "
            "frame.set_index(['query_id', 'doc_id'])['score'], or the frame itself."
        )
        raise InputError(problem, source=label, code="wrong-type")


def lazy_frame(table: Any, label: str = "a frame") -> pl.LazyFrame:
    """A frame as a lazy Polars frame; arguments and errors as of `polars_frame`."""
    return table if isinstance(table, pl.LazyFrame) else polars_frame(table, label).lazy()


def frames_by_system(table: Any, label: str = "a frame") -> dict[str, pl.DataFrame]:
    """The runs of a frame by its column ``system``, in their order; empty without the column.

    >>> runs = pl.DataFrame({"system": ["b", "a", "b"], "doc_id": ["x", "y", "z"]})
    >>> frames_by_system(runs).keys()
    dict_keys(['b', 'a'])
    """
    if not is_frame(table) or "system" not in _column_names(table):
        return {}
    parts = polars_frame(table, label).partition_by("system", as_dict=True, include_key=False)
    return {str(name): frame for (name,), frame in parts.items()}


def _column_names(table: Any) -> list[str]:
    """The columns of a frame; none for a stream, which can be read only once."""
    if isinstance(table, pl.LazyFrame):
        return table.collect_schema().names()
    return column_names(table)


def polars_frame(table: Any, label: str = "a frame") -> pl.DataFrame:
    """A frame as a Polars frame; pandas frames need no pyarrow.

    Args:
        table: a table that `is_frame` accepts.
        label: its name in errors.

    Raises:
        InputError: a column that mixes types.
    """
    if isinstance(table, pl.DataFrame):
        return table
    if isinstance(table, pl.LazyFrame):
        return table.collect()
    table = read_table(table, label)
    if isinstance(table, pl.DataFrame):
        return table
    refuse_series(table, label)
    pandas = sys.modules.get("pandas")
    is_pandas = pandas is not None and isinstance(table, pandas.DataFrame)
    convert = _convert_columns if is_pandas and not find_spec("pyarrow") else pl.DataFrame
    try:
        return convert(table)
    except (TypeError, ValueError, pl.exceptions.PolarsError) as error:
        problem = f"a column mixes types: {str(error).splitlines()[0]}; cast it to one."
        raise InputError(problem, source=label, code="wrong-type") from None


def _convert_columns(table: Any) -> pl.DataFrame:
    """Numbers and times as arrays; strings, categories and nullable columns value by value."""
    return pl.DataFrame([_convert_series(str(name), column) for name, column in table.items()])


def _convert_series(name: str, column: Any) -> pl.Series:
    if getattr(column.dtype, "kind", "O") in "biufmM" and hasattr(column.dtype, "byteorder"):
        return pl.Series(name, column.to_numpy(), nan_to_null=True)
    values = column.astype(object)
    return pl.Series(name, values.where(column.notna(), None).tolist())

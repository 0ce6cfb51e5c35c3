"""Types of plain values: documents of JSON, and the columns of tables."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any, TypeAlias

if TYPE_CHECKING:
    import polars as pl

    Schema: TypeAlias = Mapping[str, pl.DataType | type[pl.DataType]]
    """The columns of a table and their types."""

    Json: TypeAlias = "str | int | float | bool | Sequence[Json] | Mapping[str, Json] | None"
    """A value of JSON; who reads one checks its type before use."""

    JsonObject: TypeAlias = Mapping[str, Json]
    """An object of JSON."""
else:  # fields of results are read by their types, which cannot refer to themselves
    Schema = JsonObject = Mapping[str, Any]
    Json = Any

"""Types of plain values: documents of JSON, and the columns of tables.

The aliases are texts, so that nothing else is loaded for them; `rankgate.core.present.codec` reads
them where fields of results have them.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, TypeAlias

if TYPE_CHECKING:
    import polars as pl

Schema: TypeAlias = "Mapping[str, pl.DataType | type[pl.DataType]]"
"""The columns of a table and their types."""

Json: TypeAlias = "str | int | float | bool | Sequence[Json] | Mapping[str, Json] | None"
"""A value of JSON or TOML; who reads one checks its type before use."""

JsonObject: TypeAlias = "Mapping[str, Json]"
"""An object of JSON or a table of TOML."""

"""The one table that executors write for a split, and how work is carried out on partitions."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Any

import numpy as np
import polars as pl

from rankgate.errors import InputError, RankgateError, UsageError
from rankgate.spark.failures import translated
from rankgate.spark.places import places_where
from rankgate.spark.shipping import mapped

if TYPE_CHECKING:
    from numpy.typing import NDArray
    from pyspark.sql import Column, DataFrame

    from rankgate.spark.tables import Rows

COLUMNS: dict[str, Any] = {
    "query_id": pl.String, "doc_id": pl.String, "at": pl.Int64, "kind": pl.String,
    "value": pl.Float64, "item": pl.Int32, "fold": pl.Int32, "part": pl.Int8,
    "stretch": pl.Int32, "chunk": pl.Int32, "counts": pl.Binary, "totals": pl.String,
}  # fmt: skip
"""An interaction or judgment (``value`` is its grade) with its ``fold`` and ``part``; or numbers of
some users, packed in ``counts``; or figures or an error of a partition, in ``totals``."""

_KINDS = {
    pl.String: "string", pl.Int64: "bigint", pl.Int32: "int", pl.Int8: "byte",
    pl.Float64: "double", pl.Binary: "binary",
}  # fmt: skip
_PACK = 256  # numbers of users in a row

TRAIN, VALIDATION, TEST, TUNING, JUDGMENTS, CANDIDATES = range(6)
"""The ``part`` of a row."""


def filled(table: pl.DataFrame, **values: object) -> pl.DataFrame:
    """A table with all of `COLUMNS`: those given, and null for what is missing."""
    own = {**dict.fromkeys(COLUMNS), **values}
    missing = [
        pl.lit(value, COLUMNS[name]).alias(name)
        for name, value in own.items()
        if name not in table.columns
    ]
    return table.with_columns(missing).select(*COLUMNS)


def packed(
    numbers: NDArray[np.int64], stretch: int, chunk: int, fold: int
) -> dict[str, list[object]]:
    """A number for each of some users, a few hundred in a row, so that batches stay small."""
    heads = range(0, len(numbers), _PACK)
    rows = [numbers[head : head + _PACK].astype(np.int64).tobytes() for head in heads]
    many = len(rows)
    return {
        "stretch": [stretch] * many,
        "chunk": [chunk] * many,
        "item": [*range(many)],
        "fold": [fold] * many,
        "counts": [*rows],
    }


def carried_out(frame: DataFrame, task: Any) -> DataFrame:  # noqa: ANN401 - has `over`
    """What a task makes of the partitions of a frame: a DataFrame with `COLUMNS`."""
    kinds = ", ".join(f"{name} {_KINDS[kind]}" for name, kind in COLUMNS.items())
    return mapped(frame, task, kinds)


def totals_of(frame: DataFrame, rows: Rows) -> list[dict[str, Any]]:
    """The figures of all partitions.

    Args:
        frame: what `carried_out` returns; it is computed.
        rows: the log, for the places of rows that are wrong.

    Raises:
        InputError, UsageError: what is wrong with the data, with file and line.
    """
    from pyspark.sql import functions as F

    with translated(rows.label):
        sent = frame.where(F.col("totals").isNotNull()).select("totals").collect()
    found = [json.loads(each.totals) for each in sent]
    errors = [each["error"] for each in found if "error" in each]
    if errors:
        raise _error(min(errors, key=json.dumps), rows)
    return found


def _error(told: dict[str, Any], rows: Rows) -> RankgateError:
    """An error of an executor, with the place of its row."""
    if told["class"] == UsageError.__name__:
        return UsageError(told["problem"], code=told["code"])
    file, line = row_place(rows, dict(told["at"])) if told["at"] else (rows.label, None)
    return InputError(told["problem"], source=file, line=line, code=told["code"])


def row_place(rows: Rows, content: dict[str, str | None]) -> tuple[str, int | None]:
    """The place of the first row with this content, by column."""
    from pyspark.sql import functions as F

    same: Column = F.lit(True)  # noqa: FBT003 - a value
    for name, value in content.items():
        same &= F.col(name).cast("string").eqNullSafe(F.lit(value))
    places = places_where(rows, same)
    return (places[0][0] or rows.label, places[0][1]) if places else (rows.label, None)

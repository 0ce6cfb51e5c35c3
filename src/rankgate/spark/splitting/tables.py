"""The one table that executors write for a split, and how work is carried out on partitions."""

from __future__ import annotations

import io
import json
from collections.abc import Iterable, Iterator, Sequence
from typing import TYPE_CHECKING, Any

import numpy as np
import polars as pl

from rankgate.core.errors import InputError, RankgateError, UsageError
from rankgate.core.frozen import dataclass
from rankgate.spark.cells import value_of
from rankgate.spark.failures import translated
from rankgate.spark.places import places_where
from rankgate.spark.shipping import mapped
from rankgate.spark.worker import ERROR

if TYPE_CHECKING:
    import pyarrow as pa
    from numpy.typing import NDArray
    from pyspark.sql import Column, DataFrame

    from rankgate.spark.tables import Rows

COLUMNS = (
    "stretch int, chunk int, place int, fold int, part byte, rows binary, counts binary, "
    "totals string"
)
"""Rows of a log or a part, packed in ``rows`` as columns in the format of Arrow, or numbers of some
users in ``counts``; a ``stretch`` is a partition of the sorted log, and in it they are by ``chunk``
and ``place``. In ``totals`` are figures or an error of a partition."""

TRAIN, VALIDATION, TEST, TUNING, JUDGMENTS, CANDIDATES, ITEMS = range(7)
"""The ``part`` of rows; that of `ITEMS` is ``doc_id`` with bits of the logs that have it."""

_COUNTS = 256  # numbers of users in a value
_ROWS = 1 << 18  # rows in a value


def packed(table: pl.DataFrame, stretch: int, fold: int = 0, part: int = 0) -> dict[str, Any]:
    """Rows as columns of `COLUMNS`; Spark moves and keeps a few values at a fraction of the cost.

    Args:
        table: the rows.
        stretch: whose they are.
        fold: of a split.
        part: of it.
    """
    values = [value_of(rows, "lz4") for rows in table.iter_slices(_ROWS)]
    many = len(values)
    own = {"stretch": [stretch] * many, "fold": [fold] * many, "part": [part] * many}
    return {**own, "rows": values}


def unpacked(
    batches: Iterable[pa.RecordBatch],
    columns: Sequence[str] | None = None,
    number: str = "stretch",
) -> Iterator[tuple[int, pl.DataFrame]]:
    """Stretches, and rows of them.

    Args:
        batches: with ``stretch`` and ``rows``.
        columns: of the rows; all if not given.
        number: the column that comes with the rows.
    """
    own = None if columns is None else [*columns]
    for batch in batches:
        stretches, rows = batch.column(number).to_pylist(), batch.column("rows")
        for stretch, value in zip(stretches, rows, strict=True):
            buffer = io.BytesIO(value.as_buffer())
            yield stretch, pl.read_ipc_stream(buffer, columns=own)


def counted(numbers: NDArray[np.int64], stretch: int, chunk: int, fold: int) -> dict[str, Any]:
    """A number for each of some users as columns of `COLUMNS`."""
    heads = range(0, len(numbers), _COUNTS)
    values = [numbers[head : head + _COUNTS].astype(np.int64).tobytes() for head in heads]
    many = len(values)
    own = {"stretch": [stretch] * many, "chunk": [chunk] * many, "fold": [fold] * many}
    return {**own, "place": [*range(many)], "counts": values}


def carried_out(frame: DataFrame, task: Any) -> DataFrame:  # noqa: ANN401 - has `over`
    """What a task makes of the partitions of a frame: a DataFrame with `COLUMNS`."""
    return mapped(frame, task, COLUMNS)


@dataclass(frozen=True)
class _Unpacking:
    """The rows of a part as Spark knows rows."""

    columns: tuple[str, ...]

    def over(self, batches: Iterable[pa.RecordBatch]) -> Iterator[pl.DataFrame]:
        """The rows."""
        for _, table in unpacked(batches):
            yield table.select(self.columns)


def rows_in(frame: DataFrame, part: int, columns: str, fold: int | None = None) -> DataFrame:
    """The rows of a part, of one fold or with the number of their fold.

    Args:
        frame: with `COLUMNS`.
        part: which rows.
        columns: of them, as ``name type, ...``.
        fold: of the split.
    """
    from pyspark.sql import functions as F

    chosen = frame.where(F.col("part") == part)
    if fold is not None:
        chosen = chosen.where(F.col("fold") == fold)
    names = tuple(each.split()[0] for each in columns.split(", "))
    return mapped(chosen.select("stretch", "rows"), _Unpacking(names), columns)


def totals_of(frame: DataFrame, rows: Rows) -> list[Any]:
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
    errors = [each[ERROR] for each in found if ERROR in each]
    if errors:
        raise _error(min(errors, key=json.dumps), rows)
    return found


def _error(sent: dict[str, Any], rows: Rows) -> RankgateError:
    """An error of an executor, with the place of its row."""
    if sent["class"] == UsageError.__name__:
        return UsageError(sent["problem"], code=sent["code"])
    file, line = row_place(rows, dict(sent["at"])) if sent["at"] else (rows.label, None)
    return InputError(sent["problem"], source=file, line=line, code=sent["code"])


def row_place(rows: Rows, content: dict[str, str | None]) -> tuple[str, int | None]:
    """The place of the first row with this content, by column."""
    from pyspark.sql import functions as F

    same: Column = F.lit(True)  # noqa: FBT003 - a value
    for name, value in content.items():
        same &= F.col(name).cast("string").eqNullSafe(F.lit(value))
    places = places_where(rows, same)
    return (places[0][0] or rows.label, places[0][1]) if places else (rows.label, None)

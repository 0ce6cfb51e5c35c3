"""The table that executors write for a split, tasks on its partitions, frames of users.

The frames hold whole users.
"""

from __future__ import annotations

import io
import json
from collections.abc import Iterable, Iterator, Sequence
from typing import TYPE_CHECKING, Any

import numpy as np
import polars as pl

from rankgate.core.errors import InputError, RankgateError, UsageError
from rankgate.core.frozen import dataclass
from rankgate.spark.sessions import translate_errors
from rankgate.spark.shuffle import encode_rows, map_partitions
from rankgate.spark.task_results import row_locations
from rankgate.spark.worker import ERROR

if TYPE_CHECKING:
    import pyarrow as pa
    from numpy.typing import NDArray
    from pyspark.sql import Column, DataFrame

    from rankgate.spark.shuffle import Columns
    from rankgate.spark.table_rows import TableRows


COLUMNS = "stretch int, chunk int, place int, fold int, part byte, rows binary, counts binary, totals string"
"""Rows of a log or a part, packed in ``rows`` as columns in the format of Arrow, or numbers of some
users in ``counts``; a ``stretch`` is a partition of the sorted log, and in it they are by ``chunk``
and ``place``. In ``totals`` are figures or an error of a partition."""

TRAIN, VALIDATION, TEST, TUNING, JUDGMENTS, CANDIDATES, ITEMS = range(7)
"""The ``part`` of rows; that of `ITEMS` is ``doc_id`` with bits of the logs that have it."""

_COUNTS = 256  # numbers of users in a value
_ROWS = 1 << 18  # rows in a value


def pack_rows(table: pl.DataFrame, partition_id: int, fold: int = 0, part_number: int = 0) -> Columns:
    """The rows packed into `COLUMNS`; Spark moves a few large values much faster than rows.

    Args:
        table: the rows.
        partition_id: the partition of the sorted log.
        fold: the number of the split.
        part_number: the part of the split.
    """
    values = [encode_rows(rows, "lz4") for rows in table.iter_slices(_ROWS)]
    count = len(values)
    keys = {"stretch": [partition_id] * count, "fold": [fold] * count, "part": [part_number] * count}
    return {**keys, "rows": values}


def unpack_rows(
    batches: Iterable[pa.RecordBatch], columns: Sequence[str] | None = None, number: str = "stretch"
) -> Iterator[tuple[int, pl.DataFrame]]:
    """Partition numbers, with rows of the partitions.

    Args:
        batches: with ``stretch`` and ``rows``.
        columns: the columns of the rows; all if not given.
        number: the column of the numbers.
    """
    column_names = None if columns is None else [*columns]
    for batch in batches:
        numbers, rows = batch.column(number).to_pylist(), batch.column("rows")
        for number_of_rows, value in zip(numbers, rows, strict=True):
            buffer = io.BytesIO(value.as_buffer())
            yield number_of_rows, pl.read_ipc_stream(buffer, columns=column_names)


def pack_counts(numbers: NDArray[np.int64], partition_id: int, chunk: int, fold: int) -> Columns:
    """A number for each user, packed into `COLUMNS`."""
    starts = range(0, len(numbers), _COUNTS)
    values = [numbers[start : start + _COUNTS].astype(np.int64).tobytes() for start in starts]
    count = len(values)
    keys = {"stretch": [partition_id] * count, "chunk": [chunk] * count, "fold": [fold] * count}
    return {**keys, "place": [*range(count)], "counts": values}


def run_task(frame: DataFrame, task: Any) -> DataFrame:  # noqa: ANN401 - an object with `over`
    """The result of a task on the partitions of a frame: a DataFrame with `COLUMNS`."""
    return map_partitions(frame, task, COLUMNS)


@dataclass(frozen=True)
class _Unpacking:
    """The rows of a part as rows of Spark."""

    columns: tuple[str, ...]

    def process_batches(self, batches: Iterable[pa.RecordBatch]) -> Iterator[pl.DataFrame]:
        """The rows."""
        for _, table in unpack_rows(batches):
            yield table.select(self.columns)


def rows_in(frame: DataFrame, part_number: int, columns: str, fold: int | None = None) -> DataFrame:
    """The rows of a part, of one fold or with the number of their fold.

    Args:
        frame: with `COLUMNS`.
        part_number: the part.
        columns: the columns, as ``name type, ...``.
        fold: the fold of the split.
    """
    from pyspark.sql import functions as F

    part_rows = frame.where(F.col("part") == part_number)
    if fold is not None:
        part_rows = part_rows.where(F.col("fold") == fold)
    names = tuple(column.split()[0] for column in columns.split(", "))
    return map_partitions(part_rows.select("stretch", "rows"), _Unpacking(names), columns)


def collect_totals(frame: DataFrame, rows: TableRows) -> list[Any]:
    """The figures of all partitions.

    Args:
        frame: the result of `run_task`; it is computed here.
        rows: the log, for the places of wrong rows.

    Raises:
        InputError, UsageError: the data are wrong, with file and line.
    """
    from pyspark.sql import functions as F

    with translate_errors(rows.label):
        rows_of_totals = frame.where(F.col("totals").isNotNull()).select("totals").collect()
    partition_totals = [json.loads(row.totals) for row in rows_of_totals]
    errors = [totals[ERROR] for totals in partition_totals if ERROR in totals]
    if errors:
        raise _error(min(errors, key=json.dumps), rows)
    return partition_totals


def _error(error_fields: dict[str, Any], rows: TableRows) -> RankgateError:
    """An error of an executor, with the place of its row."""
    if error_fields["class"] == UsageError.__name__:
        return UsageError(error_fields["problem"], code=error_fields["code"])
    file, line = row_place(rows, dict(error_fields["at"])) if error_fields["at"] else (rows.label, None)
    return InputError(error_fields["problem"], source=file, line=line, code=error_fields["code"])


def row_place(rows: TableRows, content: dict[str, str | None]) -> tuple[str, int | None]:
    """The place of the first row with this content, by column."""
    from pyspark.sql import functions as F

    same: Column = F.lit(True)  # noqa: FBT003 - a value
    for name, value in content.items():
        same &= F.col(name).cast("string").eqNullSafe(F.lit(value))
    places = row_locations(rows, same)
    return (places[0][0] or rows.label, places[0][1]) if places else (rows.label, None)


_CHUNK = 1 << 20  # rows of a frame, if no user has more


def whole_users(frames: Iterable[pl.DataFrame], rows: int = _CHUNK) -> Iterator[pl.DataFrame]:
    """Rows in frames of whole users, where frames have the rows of each user together.

    Args:
        frames: with ``query_id``.
        rows: the least number of rows of a frame, except the last.
    """
    gathered: list[pl.DataFrame] = []
    size = 0
    for frame in frames:
        if frame.is_empty():
            continue
        gathered.append(frame)
        size += len(frame)
        if size < rows or frame["query_id"][-1] == gathered[0]["query_id"][0]:
            continue  # too few rows, or one user so far
        joined = pl.concat(gathered, rechunk=False)
        end = size - int(joined["query_id"].rle().struct.field("len")[-1])
        yield joined.head(end)
        gathered, size = [joined.slice(end)], size - end
    if size:
        yield pl.concat(gathered, rechunk=False)

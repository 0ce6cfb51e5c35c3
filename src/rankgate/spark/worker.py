"""Work on executors: turn the rows of one partition into values and sums."""

from __future__ import annotations

import json
import os
import pickle
import sys
from collections.abc import Iterable, Iterator
from typing import TYPE_CHECKING, Any

from rankgate.core.frozen import dataclass

if TYPE_CHECKING:
    import pyarrow as pa

ERROR = "error"
"""The key of a partition's error; errors are rows, so that no task runs again for bad data."""


@dataclass(frozen=True)
class ShippedTask:
    """Work for executors.

    Attributes:
        task: the work, pickled; its ``process_batches`` makes frames of record batches.
        python: the driver's version of Python.
        schema: the Arrow schema of the result.
    """

    task: bytes
    python: tuple[int, int]
    schema: bytes

    def __call__(self, batches: Iterable[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
        """Do the work on the rows of one partition; rows of a cell are adjacent.

        Raises:
            RuntimeError: this Python is another version than the driver's.
        """
        if sys.version_info[:2] != self.python:
            own_version = ".".join(map(str, sys.version_info[:2]))
            driver_version = ".".join(map(str, self.python))
            raise RuntimeError(
                f"rankgate: executors run Python {own_version}, and the driver {driver_version}"
            )
        os.environ.setdefault("POLARS_MAX_THREADS", "1")  # before Polars is imported
        import pyarrow as pa

        from rankgate.core.errors import RankgateError

        schema = pa.ipc.read_schema(pa.py_buffer(self.schema))
        task: Any = pickle.loads(self.task)  # noqa: S301 - from our own driver
        try:
            for columns in task.process_batches(_until_error(batches)):
                yield from _batches(columns, schema)
        except _EarlierError as earlier:
            yield from _batches({"totals": [str(earlier)]}, schema)
        except RankgateError as error:
            yield from _batches({"totals": [_error_text(error)]}, schema)


class _EarlierError(Exception):
    """The error of an earlier task, as text."""


def _until_error(batches: Iterable[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
    """The record batches before the error of an earlier task.

    Raises:
        _EarlierError: an earlier task failed.
    """
    for batch in batches:
        if "totals" in batch.schema.names and batch.column("totals").null_count < batch.num_rows:
            raise _EarlierError(batch.column("totals").drop_null()[0].as_py())
        yield batch


def _batches(columns: Any, schema: pa.Schema) -> Iterator[pa.RecordBatch]:  # noqa: ANN401 - a frame or a dict
    """A frame, or columns, as record batches of a schema."""
    import pyarrow as pa

    if not isinstance(columns, dict):
        yield from columns.to_arrow().cast(schema).to_batches()
        return
    size = len(next(iter(columns.values())))
    arrays = [pa.array(columns.get(field.name, [None] * size), type=field.type) for field in schema]
    yield pa.RecordBatch.from_arrays(arrays, schema=schema)


def _error_text(error: Any) -> str:  # noqa: ANN401 - a RankgateError
    """An error as text."""
    error_fields = {
        "class": type(error).__name__,
        "code": error.code,
        "problem": error.problem,
        "source": error.source,
        "at": list(getattr(error, "at", ())),
    }
    return json.dumps({ERROR: error_fields})

"""Send work to executors: a task, pickled, as a function of record batches."""

from __future__ import annotations

import sys
from collections.abc import Iterable, Iterator, Sequence
from typing import TYPE_CHECKING, Any

from rankgate.spark.worker import ShippedTask

if TYPE_CHECKING:
    import pyarrow as pa
    from pyspark.sql import DataFrame

_TYPES = {
    "string": "string",
    "bigint": "int64",
    "int": "int32",
    "byte": "int8",
    "double": "float64",
    "binary": "binary",
}


def map_partitions(
    frame: DataFrame,
    task: Any,  # noqa: ANN401 - an object with `over`
    columns: str,
    modules: Sequence[str] = (),
) -> DataFrame:
    """The rows that a task makes of each partition.

    Args:
        frame: the rows of the record batches.
        task: the work; its ``over`` makes frames, or columns, of record batches.
        columns: the columns of the result, as ``name type, ...``; ``totals string`` is for errors.
        modules: of functions of the user, which are sent by value where executors lack them.
    """
    import pyarrow as pa
    from pyspark import cloudpickle

    pickler: Any = cloudpickle  # it has no types
    names = [column.split() for column in columns.split(", ")]
    schema = pa.schema([(name, pa.type_for_alias(_TYPES[kind])) for name, kind in names])
    for module in _unshipped_modules(modules):
        pickler.register_pickle_by_value(module)
    run = ShippedTask(pickler.dumps(task), sys.version_info[:2], schema.serialize().to_pybytes())

    def work(batches: Any) -> Any:  # noqa: ANN401 - Spark asks for a plain function
        yield from run(batches)

    return frame.mapInArrow(work, columns)


def read_numbers(batches: Iterable[pa.RecordBatch]) -> Iterator[int]:
    """The numbers in the only column of some record batches, as ``spark.range`` makes them."""
    for batch in batches:
        yield from batch.column(0).to_pylist()


def _unshipped_modules(names: Sequence[str]) -> list[Any]:
    """The modules that executors may lack: those that are not installed."""
    modules = [sys.modules[name] for name in names if name in sys.modules]
    return [
        module
        for module in modules
        if not module.__name__.startswith("rankgate.")
        and module.__name__ != "__main__"
        and "site-packages" not in (getattr(module, "__file__", None) or "site-packages")
    ]

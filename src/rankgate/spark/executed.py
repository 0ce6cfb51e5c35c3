"""Carry out work on partitions of whole queries, and gather what it adds up to."""

from __future__ import annotations

import sys
from collections.abc import Iterable, Iterator, Sequence
from typing import TYPE_CHECKING, Any, Protocol

from rankgate.errors import RankgateError
from rankgate.spark.failures import translated
from rankgate.spark.places import refuse_placed
from rankgate.spark.worker import Shipped

if TYPE_CHECKING:
    from pyspark.sql import DataFrame

    from rankgate.scoring.plan import Plan
    from rankgate.spark.tables import Rows


class Task(Protocol):
    """What executors do with the rows of a partition."""

    @property
    def plan(self) -> Plan:
        """What is measured."""

    @property
    def runs(self) -> tuple[str, ...]:
        """The names of the runs."""

    def over(self, batches: Iterable[Any]) -> Iterator[Any]:
        """Frames, or columns, of what comes back, from record batches."""


def measured(
    whole: DataFrame, scoring: Task, tables: Sequence[Rows], *, keep: bool
) -> tuple[DataFrame | None, list[list[str]]]:
    """Values as a DataFrame if they are kept, and of each run the sums of all partitions.

    Args:
        whole: rows with those of each query together.
        scoring: what is done with them.
        tables: the judgments, and the runs.
        keep: whether values are kept.

    Raises:
        InputError, DuplicateError: what is wrong with the data, with file and line.
    """
    from pyspark.sql import functions as F

    columns = len(scoring.plan.jobs[0])
    frame = whole.mapInArrow(_shipped(scoring, columns), _ddl(columns))
    if keep:
        frame = frame.persist()
    try:
        with translated(tables[-1].label):
            rows = frame.where(F.col("totals").isNotNull()).select("run", "totals").collect()
        refuse_placed([each.totals for each in rows if each.run is None], tables)
    except RankgateError:
        frame.unpersist()
        raise
    sent = [[each.totals for each in rows if each.run == i] for i in range(len(scoring.runs))]
    return frame if keep else None, sent


def _ddl(columns: int) -> str:
    """The columns that come back: values, why they are undefined, and sums as text."""
    values = "".join(f", v{i} double" for i in range(columns))
    why = "".join(f", w{i} tinyint" for i in range(columns))
    return f"query_id string, run int{values}{why}, totals string"


def _shipped(task: Task, columns: int) -> Any:  # noqa: ANN401 - a function
    """A function of record batches that executors can load.

    Args:
        task: what is done; metrics of the user's own are sent by value.
        columns: how many metrics there are.
    """
    import pyarrow as pa
    from pyspark import cloudpickle

    pickler: Any = cloudpickle  # which has no types

    schema = pa.schema(
        [
            ("query_id", pa.string()),
            ("run", pa.int32()),
            *((f"v{i}", pa.float64()) for i in range(columns)),
            *((f"w{i}", pa.int8()) for i in range(columns)),
            ("totals", pa.string()),
        ]
    )
    for module in _own_modules(task):
        pickler.register_pickle_by_value(module)
    text = pickler.dumps(task)
    run = Shipped(text, sys.version_info[:2], schema.serialize().to_pybytes())

    def work(batches: Any) -> Any:  # noqa: ANN401 - Spark asks for a plain function
        yield from run(batches)

    return work


def _own_modules(task: Task) -> list[Any]:
    """The modules of metrics that executors may lack: those that are not installed."""
    names = {getattr(job.metric.kernel, "__module__", "") for job in task.plan.jobs[0]}
    found = [sys.modules[name] for name in names if name in sys.modules]
    return [
        each
        for each in found
        if not each.__name__.startswith("rankgate.")
        and each.__name__ != "__main__"
        and "site-packages" not in (getattr(each, "__file__", None) or "site-packages")
    ]

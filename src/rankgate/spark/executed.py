"""Carry out work on partitions of whole queries, and gather its sums."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence
from typing import TYPE_CHECKING, Any, Protocol

from rankgate.core.errors import RankgateError
from rankgate.core.frozen import dataclass
from rankgate.spark.failures import translate_errors
from rankgate.spark.places import raise_first_error
from rankgate.spark.shipping import map_partitions

if TYPE_CHECKING:
    from pyspark.sql import DataFrame

    from rankgate.measurement.scoring.plan import Plan
    from rankgate.spark.partition import Cell
    from rankgate.spark.tables import TableRows


class Task(Protocol):
    """Work of executors on the rows of a partition."""

    @property
    def plan(self) -> Plan:
        """The scoring plan."""

    @property
    def runs(self) -> tuple[str, ...]:
        """The names of the runs."""

    def over(self, cells: Iterable[Cell]) -> Iterator[Any]:
        """Frames, or columns, to send back, from the rows of whole queries."""


@dataclass(frozen=True)
class WholeQueries:
    """Rows on executors; each task gets the rows of whole queries.

    Attributes:
        frame: the input of tasks.
        opened: the function from its record batches to cells.
    """

    frame: DataFrame
    opened: Callable[[Iterable[Any]], Iterator[Cell]]


@dataclass(frozen=True)
class _CellTask:
    """A task, from record batches on."""

    opened: Callable[[Iterable[Any]], Iterator[Cell]]
    task: Task

    def over(self, batches: Iterable[Any]) -> Iterator[Any]:
        yield from self.task.over(self.opened(batches))


def run_task(
    whole_queries: WholeQueries, scoring: Task, tables: Sequence[TableRows], *, keep: bool
) -> tuple[DataFrame | None, list[list[str]]]:
    """Values as a DataFrame if they are kept, and for each run the sums of all partitions.

    Args:
        whole_queries: judgments and runs.
        scoring: the work of executors.
        tables: the judgments, and the runs.
        keep: True to keep values.

    Raises:
        InputError, DuplicateError: the data are wrong, with file and line.
    """
    from pyspark.sql import functions as F

    jobs = scoring.plan.jobs[0]
    modules = [getattr(job.metric.kernel, "__module__", "") for job in jobs]
    frame = map_partitions(
        whole_queries.frame, _CellTask(whole_queries.opened, scoring), _columns(len(jobs)), modules
    )
    if keep:
        frame = frame.persist()
    try:
        with translate_errors(tables[-1].label):
            rows = frame.where(F.col("totals").isNotNull()).select("run", "totals").collect()
        raise_first_error([row.totals for row in rows if row.run is None], tables)
    except RankgateError:
        frame.unpersist()
        raise
    texts_by_run = [[row.totals for row in rows if row.run == i] for i in range(len(scoring.runs))]
    return frame if keep else None, texts_by_run


def _columns(metrics: int) -> str:
    """The columns of the result: values, reasons why they are undefined, and sums as text."""
    values = "".join(f", v{i} double" for i in range(metrics))
    reasons = "".join(f", w{i} byte" for i in range(metrics))
    return f"query_id string, run int{values}{reasons}, totals string"

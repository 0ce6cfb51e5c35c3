"""Carry out work on partitions of whole queries, and gather what it adds up to."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence
from typing import TYPE_CHECKING, Any, Protocol

from rankgate.core.errors import RankgateError
from rankgate.core.frozen import dataclass
from rankgate.spark.failures import translated
from rankgate.spark.places import refuse_placed
from rankgate.spark.shipping import mapped

if TYPE_CHECKING:
    from pyspark.sql import DataFrame

    from rankgate.measurement.scoring.plan import Plan
    from rankgate.spark.partition import Cell
    from rankgate.spark.tables import Rows


class Task(Protocol):
    """What executors do with the rows of a partition."""

    @property
    def plan(self) -> Plan:
        """What is measured."""

    @property
    def runs(self) -> tuple[str, ...]:
        """The names of the runs."""

    def over(self, cells: Iterable[Cell]) -> Iterator[Any]:
        """Frames, or columns, of what comes back, from the rows of whole queries."""


@dataclass(frozen=True)
class Whole:
    """Rows on executors, of which each task gets those of whole queries.

    Attributes:
        frame: what tasks get.
        opened: makes cells of its record batches.
    """

    frame: DataFrame
    opened: Callable[[Iterable[Any]], Iterator[Cell]]


@dataclass(frozen=True)
class _Opened:
    """A task, from record batches on."""

    opened: Callable[[Iterable[Any]], Iterator[Cell]]
    task: Task

    def over(self, batches: Iterable[Any]) -> Iterator[Any]:
        yield from self.task.over(self.opened(batches))


def measured(
    whole: Whole, scoring: Task, tables: Sequence[Rows], *, keep: bool
) -> tuple[DataFrame | None, list[list[str]]]:
    """Values as a DataFrame if they are kept, and of each run the sums of all partitions.

    Args:
        whole: judgments and runs.
        scoring: what is done with them.
        tables: the judgments, and the runs.
        keep: whether values are kept.

    Raises:
        InputError, DuplicateError: what is wrong with the data, with file and line.
    """
    from pyspark.sql import functions as F

    jobs = scoring.plan.jobs[0]
    modules = [getattr(job.metric.kernel, "__module__", "") for job in jobs]
    frame = mapped(whole.frame, _Opened(whole.opened, scoring), _columns(len(jobs)), modules)
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


def _columns(metrics: int) -> str:
    """The columns that come back: values, why they are undefined, and sums as text."""
    values = "".join(f", v{i} double" for i in range(metrics))
    why = "".join(f", w{i} byte" for i in range(metrics))
    return f"query_id string, run int{values}{why}, totals string"

"""Carry out work on partitions of whole queries, gather its sums, and locate wrong rows.

A location of a wrong row is a file and line, a row of a Parquet file, or a partition.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Iterable, Iterator, Sequence
from typing import TYPE_CHECKING, Any, Protocol

from rankgate.core import errors
from rankgate.core.errors import DuplicateError, InputError, RankgateError
from rankgate.core.frozen import dataclass
from rankgate.spark.sessions import translate_errors
from rankgate.spark.shuffle import map_partitions
from rankgate.spark.table_rows import local_path

if TYPE_CHECKING:
    from pyspark.sql import Column, DataFrame

    from rankgate.measurement.scoring.scoring_plan import Plan
    from rankgate.spark.partition_scores import Cell
    from rankgate.spark.table_rows import TableRows


def raise_first_error(error_texts: Sequence[str], tables: Sequence[TableRows]) -> None:
    """Raise the first error of the partitions, with the locations of its rows.

    Args:
        error_texts: errors as executors send them.
        tables: the judgments, and the runs.

    Raises:
        RankgateError: the first error in the order of row contents, independent of partitions.
    """
    if not error_texts:
        return
    error_fields = min((json.loads(text)["error"] for text in error_texts), key=json.dumps)
    table = next((candidate for candidate in tables if candidate.label == error_fields["source"]), tables[-1])
    kind: Any = getattr(errors, error_fields["class"], RankgateError)
    if not error_fields["at"]:
        if not issubclass(kind, InputError):
            raise _plain_error(kind, error_fields)
        raise kind(error_fields["problem"], source=error_fields["source"], code=error_fields["code"])
    with translate_errors(table.label):  # Spark reads the files here, and may find more
        places = _places(table, error_fields["at"])
    wrong_index = -1 if kind is DuplicateError else 0
    file, line = places[wrong_index] if places else (table.label, None)
    query, document = error_fields["at"]
    if kind is not DuplicateError:
        problem = error_fields["problem"]
        if error_fields["code"] == "not-a-number":
            number = "grade" if table is tables[0] else "score"
            problem = f"{number} of document '{document}' for query '{query}' is not a number."
        raise InputError(problem, source=file or table.label, line=line, code=error_fields["code"])
    word = "judged" if table is tables[0] else "ranked"
    first = _location_text(*places[0]) if len(places) > 1 else ""
    problem = (
        f"document '{document}' is {word} twice for query '{query}'"
        f"{f' (first in {first})' if first else ''}; remove one of the two rows."
    )
    raise DuplicateError(problem, source=file or table.label, line=line)


def _plain_error(kind: Any, error_fields: dict[str, Any]) -> RankgateError:  # noqa: ANN401 - an error class
    if issubclass(kind, errors.FunctionError):
        return errors.FunctionError(error_fields["problem"], code=error_fields["code"])
    error: RankgateError = kind(
        error_fields["problem"], source=error_fields["source"], code=error_fields["code"]
    )
    return error


def _location_text(file: str, line: int | None) -> str:
    return file if line is None else f"{file}:{line}"


def _places(table: TableRows, pair: Sequence[str | None]) -> list[tuple[str, int | None]]:
    """The locations of the rows of a query and document, in the order of rows."""
    from pyspark.sql import functions as F

    query, document = pair
    same = F.col("query_id").eqNullSafe(F.lit(query)) & F.col("doc_id").eqNullSafe(F.lit(document))
    return row_locations(table, same)


def row_locations(table: TableRows, same: Column) -> list[tuple[str, int | None]]:
    """The locations of the first two rows that meet a condition, in the order of rows."""
    from pyspark.sql import functions as F

    if not table.place:
        numbered = table.frame.select("*", F.spark_partition_id().alias("p"))
        rows = numbered.where(same).orderBy("p").limit(2).collect()
        return [(f"{table.label}, partition {row.p}", None) for row in rows]
    row_id = F.col("at") if table.lines is not None else F.monotonically_increasing_id()
    numbered = table.frame.select("*", *_location_columns(row_id))
    rows = numbered.where(same).orderBy("file", "block", "id").limit(2).collect()
    files = {row.file for row in rows}
    lines = table.lines
    marked_rows = (
        numbered if lines is None else lines.select(*_location_columns(F.monotonically_increasing_id()))
    )
    blocks = (
        marked_rows.where(F.col("file").isin(*files))
        .groupBy("file", "block")
        .agg(F.min("id").alias("first"), F.count(F.lit(1)).alias("n"))
        .collect()
    )
    places = []
    for row in rows:
        block = next(b for b in blocks if (b.file, b.block) == (row.file, row.block))
        rows_before = sum(b.n for b in blocks if b.file == row.file and b.block < row.block)
        line = rows_before + (row.id - block.first) + 1 + (table.header or 0)
        places.append((local_path(row.file), line))
    return places


def _location_columns(row_id: Column) -> tuple[Column, ...]:
    """The columns of a row's location: the file, the block of the file, the id in the block."""
    from pyspark.sql import functions as F

    return (
        F.col("_metadata.file_path").alias("file"),
        F.col("_metadata.file_block_start").alias("block"),
        row_id.alias("id"),
    )


class CellWork(Protocol):
    """Work of executors on the rows of a partition."""

    def results_of_cells(self, cells: Iterable[Cell]) -> Iterator[Any]:
        """Frames, or columns, to send back, from the rows of whole queries."""


class Task(CellWork, Protocol):
    """Work that gives values and sums of runs."""

    @property
    def plan(self) -> Plan:
        """The scoring plan."""

    @property
    def runs(self) -> tuple[str, ...]:
        """The names of the runs."""


@dataclass(frozen=True)
class WholeQueries:
    """Rows on executors; each task gets the rows of whole queries.

    Attributes:
        frame: the input of tasks.
        opened: the function that turns record batches of the frame into cells.
    """

    frame: DataFrame
    opened: Callable[[Iterable[Any]], Iterator[Cell]]


@dataclass(frozen=True)
class CellTask:
    """A task that takes record batches and unpacks their cells."""

    opened: Callable[[Iterable[Any]], Iterator[Cell]]
    task: CellWork

    def process_batches(self, batches: Iterable[Any]) -> Iterator[Any]:
        """The task's results of the cells."""
        yield from self.task.results_of_cells(self.opened(batches))


def run_task(
    whole_queries: WholeQueries, scoring: Task, tables: Sequence[TableRows], *, keep: bool
) -> tuple[DataFrame | None, list[list[str]]]:
    """The values as a DataFrame if they are kept, and the sums of all partitions for each run.

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
        whole_queries.frame, CellTask(whole_queries.opened, scoring), _result_columns(len(jobs)), modules
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


def _result_columns(metrics: int) -> str:
    """The columns of the result: values, reasons why they are undefined, and sums as text."""
    values = "".join(f", v{i} double" for i in range(metrics))
    reasons = "".join(f", w{i} byte" for i in range(metrics))
    return f"query_id string, run int{values}{reasons}, totals string"

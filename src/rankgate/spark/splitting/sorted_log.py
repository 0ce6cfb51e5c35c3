"""A log on Spark, sorted by user and time as the local engine sorts it, without equal rows.

`TimeOrder` holds a sample of the times of a log by rank, as all times would be too many.
"""

from __future__ import annotations

import json
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import replace
from itertools import accumulate
from typing import TYPE_CHECKING, Any

import numpy as np
import polars as pl

from rankgate.core.errors import InputError
from rankgate.core.frozen import dataclass
from rankgate.data.logs.interactions import SCHEMA, fill_columns, order_rows, parse_log_rows
from rankgate.data.table_rows import RowLocation, range_starts
from rankgate.recommenders.split_parts import check_kinds
from rankgate.spark.shuffle import ORDER, Cells
from rankgate.spark.splitting.log_ranges import partition_by_user, unpack_ranges
from rankgate.spark.splitting.packed_rows import (
    collect_totals,
    pack_counts,
    pack_rows,
    row_place,
    run_task,
    whole_users,
)

if TYPE_CHECKING:
    import pyarrow as pa
    from numpy.typing import NDArray
    from pyspark.sql import DataFrame, SparkSession

    from rankgate.data.logs.interactions import Unit
    from rankgate.data.logs.log_judgments import Truth
    from rankgate.spark.table_rows import TableRows


_POINTS = 256  # times of some users


@dataclass(frozen=True)
class TimeOrder:
    """Every ``step``-th time of some rows, in rising order.

    Attributes:
        rows: the number of times.
        step: the distance between two points, in times; the first point is the first time.
        points: these times.
    """

    rows: int
    step: int
    points: tuple[int, ...]

    @classmethod
    def from_times(cls, times: NDArray[np.int64]) -> TimeOrder:
        """The order of the given times."""
        step = max(len(times) // _POINTS, 1)
        return cls(len(times), step, tuple(np.sort(times)[::step].tolist()))

    def to_list(self) -> list[Any]:
        """Plain values, for the driver."""
        return [self.rows, self.step, self.points]

    def before(self, values: NDArray[np.int64]) -> tuple[Any, Any]:
        """The lower and upper bound of the number of times less than each value."""
        less = np.searchsorted(np.array(self.points), values)
        lower_bound = np.maximum((less - 1) * self.step + 1, 0)
        upper_bound = np.where(less == len(self.points), self.rows, less * self.step)
        return lower_bound, upper_bound


def time_range_at(orders: Sequence[TimeOrder], rank: int) -> tuple[int, int, int]:
    """Bounds of the time at a rank, and the number of times between them.

    Args:
        orders: the orders of all times, with at least one time.
        rank: in ascending order, from 0.

    Returns:
        the lowest and the highest possible time, and the largest number of times between them.

    >>> orders = [TimeOrder(4, 2, (10, 30)), TimeOrder(2, 1, (25, 50))]  # 10 20 30 40, 25 50
    >>> time_range_at(orders, 2)
    (25, 49, 4)
    """
    values = np.unique([time for order in orders for time in order.points])
    counts = [order.before(values) for order in orders]
    lower_bounds = np.sum([low for low, _ in counts], axis=0)
    upper_bounds = np.sum([high for _, high in counts], axis=0)
    low = int(np.flatnonzero(upper_bounds <= rank)[-1])
    ranks_above = np.flatnonzero(lower_bounds > rank)
    if len(ranks_above):
        return (
            int(values[low]),
            int(values[ranks_above[0]]) - 1,
            int(upper_bounds[ranks_above[0]] - lower_bounds[low]),
        )
    row_count = sum(order.rows for order in orders)
    return int(values[low]), np.iinfo(np.int64).max, row_count - int(lower_bounds[low])


_BITS = 33  # bits of Spark's row number that are the position in a partition
_KINDS = 10  # rows or kinds that an error names


@dataclass(frozen=True)
class Sorting:
    """Work of executors on the rows of a partition, which has whole users in byte order.

    Attributes:
        label: the source of the log, for errors.
        unit: the unit of numeric times, if it is known.
        same: the rule for rows that are equal in every column: counted ``once``, or ``each``.
        kinds: kinds of interactions that the rule names.
        lengths: True to send the number of rows of each user.
        packed: True if rows are in the packed form of `log_ranges`, not sorted.
    """

    label: str
    unit: Unit | None
    same: str
    kinds: tuple[str, ...]
    lengths: bool
    packed: bool = False

    def process_batches(self, batches: Iterable[pa.RecordBatch]) -> Iterator[Any]:
        """The rows in the form of `Interactions`; at the end the figures of the partition.

        Raises:
            InputError: as `interactions_of`.
        """
        from pyspark import TaskContext

        context = TaskContext.get()
        partition_id = context.partitionId() if context else 0
        total = {"stretch": partition_id, "read": 0, "rows": 0, "users": 0}
        ends: list[int] = []
        orders: list[Any] = []
        units: dict[str, Any] = {}
        kinds: set[str] = set()
        for chunk, frame in enumerate(self._frames(batches)):
            table, unit = self._sorted(frame)
            units.setdefault(unit, row_content(frame, 0))
            starts = range_starts(table["query_id"])
            total["read"] += len(frame)
            total["rows"] += len(table)
            total["users"] += len(starts)
            if unit != "none":
                times = table["at"].to_numpy()
                times_range = [int(times.min()), int(times.max())]
                ends = [min([*ends, *times_range]), max([*ends, *times_range])]
                orders.append(TimeOrder.from_times(times).to_list())
            chunk_kinds = set(table["kind"].unique())
            kinds = {*(chunk_kinds | kinds).intersection(self.kinds), *sorted(chunk_kinds | kinds)[:_KINDS]}
            yield pack_rows(table, partition_id)
            if self.lengths:
                yield pack_counts(np.diff(starts, append=len(table)), partition_id, chunk, 0)
        first, last = ends or (None, None)
        figures = {"first": first, "last": last, "orders": orders, "units": units, "kinds": sorted(kinds)}
        yield {"totals": [json.dumps({**total, **figures})]}

    def _frames(self, batches: Iterable[pa.RecordBatch]) -> Iterator[pl.DataFrame]:
        """Rows of whole users."""
        if self.packed:
            return unpack_ranges(batches)
        return whole_users(pl.DataFrame(pl.from_arrow(batch)) for batch in batches)

    def _sorted(self, frame: pl.DataFrame) -> tuple[pl.DataFrame, Unit]:
        location = RowLocation(self.label, lambda row: row)
        try:
            table, unit = parse_log_rows(frame, location, self.unit)
        except InputError as error:
            if error.line is not None:
                error.at = row_content(frame, error.line)  # type: ignore[attr-defined]
            raise
        if "item" in frame.columns:
            table = table.with_columns(frame["item"])
        table = order_rows(table, unit, self.same)
        item_columns = [table["item"]] if "item" in table.columns else []
        return fill_columns(table).with_columns(item_columns), unit


def row_content(frame: pl.DataFrame, row: int) -> list[tuple[str, str | None]]:
    """The values of a row that Spark writes as the same text, so that the driver finds the row."""
    plain_columns = [
        name
        for name, kind in frame.schema.items()
        if name in SCHEMA and (kind == pl.String or kind.is_integer())
    ]
    plain_values = [(name, frame[name][row]) for name in plain_columns]
    return [(name, None if value is None else str(value)) for name, value in plain_values]


@dataclass(frozen=True)
class Catalogue:
    """All items of a log, numbered in byte order.

    Attributes:
        items: ``doc_id`` and ``item``, its number.
        size: the number of items.
        kept: the frame that executors keep, because a second run would give different numbers.
    """

    items: DataFrame
    size: int
    kept: DataFrame


@dataclass(frozen=True)
class SortedLog:
    """A log whose rows are kept on executors, sorted.

    Attributes:
        frame: the columns of `COLUMNS`.
        rows: the log as it was read.
        unit: the unit of its times.
        repeated: the number of rows that were left out as duplicates.
        before: for each partition, the number of rows and users in the partitions before it.
        size: all rows.
        users: all users.
        span: the first and the last time.
        orders: the orders of all times.
        catalogue: all items, if requested.
        cells: the cells of items.
    """

    frame: DataFrame
    rows: TableRows
    unit: Unit
    repeated: int
    before: Mapping[int, tuple[int, int]]
    size: int
    users: int
    span: tuple[int, int]
    orders: tuple[TimeOrder, ...]
    catalogue: Catalogue | None
    cells: Cells


def sort_log(
    spark: SparkSession,
    rows: TableRows,
    unit: Unit | None,
    same: str,
    rule: Truth,
    partitions: int,
    *,
    items: bool,
    lengths: bool,
) -> SortedLog:
    """Sort a log: one shuffle by ranges of users, so that partitions are in byte order too.

    Args:
        spark: the session.
        rows: the log.
        unit: as in `Sorting`.
        same: as in `Sorting`.
        rule: the rule by which interactions become judgments; the log must have its kinds.
        partitions: the number of partitions.
        items: True to number the items.
        lengths: True to send the number of rows of each user.

    Raises:
        InputError: as `interactions_of`, with file and line.
        UsageError: the rule names a kind that the log does not have.
    """
    numbered = None
    cells = Cells.for_partitions(spark, partitions, partitions)
    task = Sorting(rows.label, unit, same, (*rule.weights, *rule.least), lengths)
    if rows.files is not None and not items:
        by_user = partition_by_user(spark, rows.files, rows.files.known, cells.keys)
        task = replace(task, packed=True)
    else:
        by_user, numbered = _by_spark(rows, partitions, items=items)
    frame = run_task(by_user, task).persist()
    try:
        partition_figures = sorted(collect_totals(frame, rows), key=lambda figures: int(figures["stretch"]))
        return _log(frame, rows, partition_figures, rule, numbered, cells)
    except Exception:
        for kept_frame in (frame, *([numbered.kept] if numbered else [])):
            kept_frame.unpersist()
        raise


def _by_spark(rows: TableRows, partitions: int, *, items: bool) -> tuple[DataFrame, Catalogue | None]:
    """The rows that Spark reads, partitioned by user, and all items if they are numbered."""
    from pyspark.sql import functions as F

    numbered_rows = rows.numbered().drop("_metadata")
    order = [name for name in numbered_rows.columns if name.startswith(ORDER)]
    numbered = None
    if items:
        ids = numbered_rows.select("doc_id").where(F.col("doc_id").isNotNull()).distinct()
        numbered = _numbered(ids, partitions)
        numbered_rows = numbered_rows.join(numbered.items, "doc_id", "left")
    by_user = numbered_rows.repartitionByRange(partitions, "query_id")
    return by_user.sortWithinPartitions("query_id", *order).drop(*order), numbered


def _log(
    frame: DataFrame,
    rows: TableRows,
    partition_figures: list[dict[str, Any]],
    rule: Truth,
    catalogue: Catalogue | None,
    cells: Cells,
) -> SortedLog:
    """The log from the figures of all partitions, in their order."""
    size, read = (sum(figures[name] for figures in partition_figures) for name in ("rows", "read"))
    if not read:
        raise InputError("no interactions found.", source=rows.label, code="no-interactions")
    unit = _one_unit([figures["units"] for figures in partition_figures], rows)
    check_kinds(rule, {kind for figures in partition_figures for kind in figures["kinds"]})
    ends = accumulate(
        ((figures["rows"], figures["users"]) for figures in partition_figures), _add_counts, initial=(0, 0)
    )
    counts_before = {
        figures["stretch"]: start for figures, start in zip(partition_figures, ends, strict=False)
    }
    users = sum(figures["users"] for figures in partition_figures)
    times = [
        figures[name]
        for figures in partition_figures
        for name in ("first", "last")
        if figures[name] is not None
    ]
    span = (min(times), max(times)) if times else (0, 0)
    orders = tuple(TimeOrder(*order) for figures in partition_figures for order in figures["orders"])
    return SortedLog(
        frame, rows, unit, read - size, counts_before, size, users, span, orders, catalogue, cells
    )


def _add_counts(first: tuple[int, int], second: tuple[int, int]) -> tuple[int, int]:
    return first[0] + second[0], first[1] + second[1]


def _one_unit(units_by_partition: list[dict[str, Any]], rows: TableRows) -> Unit:
    """The unit of times, which must be the same in all partitions.

    Raises:
        InputError: the partitions have different units.
    """
    first: dict[str, Any] = {}
    for partition_units in units_by_partition:
        first |= {unit: row for unit, row in partition_units.items() if unit not in first}
    unit: Unit
    unit, *other_units = first  # type: ignore[assignment]
    if other_units:
        file, line = row_place(rows, dict(first[other_units[0]]))
        problem = f"times are in '{other_units[0]}' here and in '{unit}' elsewhere; fix them."
        raise InputError(problem, source=file, line=line, code="mixed-times")
    return unit


def _numbered(ids: DataFrame, partitions: int) -> Catalogue:
    """Each item with its number in byte order, by one shuffle by ranges of items."""
    from pyspark.sql import functions as F

    in_order = ids.repartitionByRange(partitions, "doc_id").sortWithinPartitions("doc_id")
    items_with_ids = in_order.select("doc_id", F.monotonically_increasing_id().alias("id")).persist()
    partition_column = F.shiftright("id", _BITS)
    sizes = {
        row.p: row["count"] for row in items_with_ids.groupBy(partition_column.alias("p")).count().collect()
    }
    starts = accumulate((sizes.get(i, 0) for i in range(max(sizes, default=0) + 1)), initial=0)
    offset = F.get(F.array(*(F.lit(start) for start in starts)), partition_column.cast("int"))
    item_number = offset + F.col("id").bitwiseAND((1 << _BITS) - 1)
    numbered_items = items_with_ids.select("doc_id", item_number.cast("int").alias("item"))
    return Catalogue(numbered_items, sum(sizes.values()), items_with_ids)

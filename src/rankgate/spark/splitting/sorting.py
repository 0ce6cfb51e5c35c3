"""A log on Spark, sorted by user and time as the local engine sorts it, without equal rows."""

from __future__ import annotations

import json
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import replace
from itertools import accumulate
from typing import TYPE_CHECKING, Any

import numpy as np
import polars as pl

from rankgate.core.errors import InputError
from rankgate.core.frozen import dataclass
from rankgate.data.logs.interactions import SCHEMA, checked, completed, ordered
from rankgate.data.place import Place
from rankgate.data.stretches import starts_of
from rankgate.recommenders.split_parts import refuse_unknown_kinds
from rankgate.spark.cells import ORDER, Cells
from rankgate.spark.splitting.order import TimeOrder
from rankgate.spark.splitting.ranges import by_range, unpacked_ranges
from rankgate.spark.splitting.tables import carried_out, counted, packed, row_place, totals_of
from rankgate.spark.splitting.users import whole_users

if TYPE_CHECKING:
    import pyarrow as pa
    from pyspark.sql import DataFrame, SparkSession

    from rankgate.data.logs.clock import Unit
    from rankgate.data.logs.relevance import Truth
    from rankgate.spark.tables import Rows

_BITS = 33  # of a number of Spark's, for the place in a partition
_KINDS = 10  # that an error names


@dataclass(frozen=True)
class Sorting:
    """What executors do with the rows of a partition, which has whole users in byte order.

    Attributes:
        label: where the log comes from, for errors.
        unit: the unit of times that are numbers, if it is known.
        same: what rows are that are equal in every column: counted ``once``, or ``each``.
        kinds: kinds of interactions that are asked about.
        lengths: whether the number of rows of each user is wanted.
        packed: whether rows come as `ranges` packs them, not sorted.
    """

    label: str
    unit: Unit | None
    same: str
    kinds: tuple[str, ...]
    lengths: bool
    packed: bool = False

    def over(self, batches: Iterable[pa.RecordBatch]) -> Iterator[Any]:
        """The rows as `Interactions` has them; at the end the figures of the partition.

        Raises:
            InputError: as `interactions_of`.
        """
        from pyspark import TaskContext

        context = TaskContext.get()
        stretch = context.partitionId() if context else 0
        total = {"stretch": stretch, "read": 0, "rows": 0, "users": 0}
        ends: list[int] = []
        orders: list[Any] = []
        units: dict[str, Any] = {}
        kinds: set[str] = set()
        for chunk, frame in enumerate(self._frames(batches)):
            table, unit = self._sorted(frame)
            units.setdefault(unit, content_of(frame, 0))
            starts = starts_of(table["query_id"])
            total["read"] += len(frame)
            total["rows"] += len(table)
            total["users"] += len(starts)
            if unit != "none":
                times = table["at"].to_numpy()
                own = [int(times.min()), int(times.max())]
                ends = [min([*ends, *own]), max([*ends, *own])]
                orders.append(TimeOrder.of(times).to_list())
            here = set(table["kind"].unique())
            kinds = {*(here | kinds).intersection(self.kinds), *sorted(here | kinds)[:_KINDS]}
            yield packed(table, stretch)
            if self.lengths:
                yield counted(np.diff(starts, append=len(table)), stretch, chunk, 0)
        first, last = ends or (None, None)
        found = {
            "first": first,
            "last": last,
            "orders": orders,
            "units": units,
            "kinds": sorted(kinds),
        }
        yield {"totals": [json.dumps({**total, **found})]}

    def _frames(self, batches: Iterable[pa.RecordBatch]) -> Iterator[pl.DataFrame]:
        """Rows of whole users."""
        if self.packed:
            return unpacked_ranges(batches)
        return whole_users(pl.DataFrame(pl.from_arrow(each)) for each in batches)

    def _sorted(self, frame: pl.DataFrame) -> tuple[pl.DataFrame, Unit]:
        place = Place(self.label, lambda row: row)
        try:
            table, unit = checked(frame, place, self.unit)
        except InputError as error:
            if error.line is not None:
                error.at = content_of(frame, error.line)  # type: ignore[attr-defined]
            raise
        if "item" in frame.columns:
            table = table.with_columns(frame["item"])
        table = ordered(table, unit, self.same)
        others = [table["item"]] if "item" in table.columns else []
        return completed(table).with_columns(others), unit


def content_of(frame: pl.DataFrame, row: int) -> list[tuple[str, str | None]]:
    """What a row holds that is the same text on Spark, for the driver to find it."""
    plain = [
        name
        for name, kind in frame.schema.items()
        if name in SCHEMA and (kind == pl.String or kind.is_integer())
    ]
    found = [(name, frame[name][row]) for name in plain]
    return [(name, None if value is None else str(value)) for name, value in found]


@dataclass(frozen=True)
class Catalogue:
    """All items of a log, numbered in byte order.

    Attributes:
        items: ``doc_id`` and ``item``, its place.
        size: how many there are.
        kept: what is kept on executors, as another run would give other numbers.
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
        unit: what its times are written in.
        repeated: rows that were left out, as equal to another.
        before: for each stretch the rows and users of those before it.
        size: all rows.
        users: all users.
        span: the first and the last time.
        orders: of all times.
        catalogue: all items, if asked for.
        cells: over which items are spread.
    """

    frame: DataFrame
    rows: Rows
    unit: Unit
    repeated: int
    before: Mapping[int, tuple[int, int]]
    size: int
    users: int
    span: tuple[int, int]
    orders: tuple[TimeOrder, ...]
    catalogue: Catalogue | None
    cells: Cells


def sorted_log(
    spark: SparkSession,
    rows: Rows,
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
        unit: as of `Sorting`, like what follows.
        same: as there.
        rule: how interactions become judgments; its kinds have to be there.
        partitions: how many.
        items: whether items are numbered.
        lengths: whether the number of rows of each user is wanted.

    Raises:
        InputError: as `interactions_of`, with file and line.
        UsageError: the rule names a kind that is not there.
    """
    numbered = None
    cells = Cells.of(spark, partitions, partitions)
    task = Sorting(rows.label, unit, same, (*rule.weights, *rule.least), lengths)
    if rows.files is not None and not items:
        by_user = by_range(spark, rows.files, rows.files.known, cells.keys)
        task = replace(task, packed=True)
    else:
        by_user, numbered = _by_spark(rows, partitions, items=items)
    frame = carried_out(by_user, task).persist()
    try:
        found = sorted(totals_of(frame, rows), key=lambda each: int(each["stretch"]))
        return _log(frame, rows, found, rule, numbered, cells)
    except Exception:
        for kept in (frame, *([numbered.kept] if numbered else [])):
            kept.unpersist()
        raise


def _by_spark(rows: Rows, partitions: int, *, items: bool) -> tuple[DataFrame, Catalogue | None]:
    """The rows that Spark reads, by user, and all items if they are numbered."""
    from pyspark.sql import functions as F

    whole = rows.numbered().drop("_metadata")
    order = [name for name in whole.columns if name.startswith(ORDER)]
    numbered = None
    if items:
        ids = whole.select("doc_id").where(F.col("doc_id").isNotNull()).distinct()
        numbered = _numbered(ids, partitions)
        whole = whole.join(numbered.items, "doc_id", "left")
    by_user = whole.repartitionByRange(partitions, "query_id")
    return by_user.sortWithinPartitions("query_id", *order).drop(*order), numbered


def _log(
    frame: DataFrame,
    rows: Rows,
    found: list[dict[str, Any]],
    rule: Truth,
    catalogue: Catalogue | None,
    cells: Cells,
) -> SortedLog:
    """The log of the figures of all partitions, in their order."""
    size, read = (sum(each[name] for each in found) for name in ("rows", "read"))
    if not read:
        raise InputError("no interactions found.", source=rows.label, code="no-interactions")
    unit = _one_unit([each["units"] for each in found], rows)
    refuse_unknown_kinds(rule, {kind for each in found for kind in each["kinds"]})
    ends = accumulate(((each["rows"], each["users"]) for each in found), _plus, initial=(0, 0))
    before = {each["stretch"]: start for each, start in zip(found, ends, strict=False)}
    users = sum(each["users"] for each in found)
    times = [each[name] for each in found for name in ("first", "last") if each[name] is not None]
    span = (min(times), max(times)) if times else (0, 0)
    orders = tuple(TimeOrder(*order) for each in found for order in each["orders"])
    return SortedLog(
        frame, rows, unit, read - size, before, size, users, span, orders, catalogue, cells
    )


def _plus(one: tuple[int, int], other: tuple[int, int]) -> tuple[int, int]:
    return one[0] + other[0], one[1] + other[1]


def _one_unit(found: list[dict[str, Any]], rows: Rows) -> Unit:
    """The unit of all partitions.

    Raises:
        InputError: there are several.
    """
    first: dict[str, Any] = {}
    for each in found:
        first |= {unit: row for unit, row in each.items() if unit not in first}
    unit: Unit
    unit, *others = first  # type: ignore[assignment]
    if others:
        file, line = row_place(rows, dict(first[others[0]]))
        problem = f"times are in '{others[0]}' here and in '{unit}' elsewhere; fix them."
        raise InputError(problem, source=file, line=line, code="mixed-times")
    return unit


def _numbered(ids: DataFrame, partitions: int) -> Catalogue:
    """Each item with its place in byte order, by one shuffle by ranges of items."""
    from pyspark.sql import functions as F

    in_order = ids.repartitionByRange(partitions, "doc_id").sortWithinPartitions("doc_id")
    placed = in_order.select("doc_id", F.monotonically_increasing_id().alias("id")).persist()
    part = F.shiftright("id", _BITS)
    sizes = {each.p: each["count"] for each in placed.groupBy(part.alias("p")).count().collect()}
    starts = accumulate((sizes.get(i, 0) for i in range(max(sizes, default=0) + 1)), initial=0)
    offset = F.get(F.array(*(F.lit(start) for start in starts)), part.cast("int"))
    item = offset + F.col("id").bitwiseAND((1 << _BITS) - 1)
    found = placed.select("doc_id", item.cast("int").alias("item"))
    return Catalogue(found, sum(sizes.values()), placed)

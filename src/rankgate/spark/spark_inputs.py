"""Judgments and runs on Spark, with a scoring plan."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import fields, replace
from functools import reduce
from types import MappingProxyType
from typing import TYPE_CHECKING, Any

from rankgate.core.errors import UsageError
from rankgate.core.frozen import dataclass
from rankgate.data.collection import Collection, Items
from rankgate.data.column_map import ColumnMap
from rankgate.data.foreign_frames import require_runs
from rankgate.data.id_match import IdRules
from rankgate.data.score_parts import Need, Supply
from rankgate.data.spark_tables import path_of
from rankgate.measurement.evaluation.metric_selection import find_metrics, refuse_tasks
from rankgate.measurement.metrics.facet_metrics import FACET_METRICS
from rankgate.measurement.metrics.metric_declaration import LISTS, SUBTOPICS
from rankgate.measurement.scoring.alignment.top_documents import compared_names
from rankgate.measurement.scoring.presets import chosen_convention
from rankgate.measurement.scoring.scoring_plan import Plan
from rankgate.spark.file_pieces import TASK_BYTES, PieceReading
from rankgate.spark.partition_scores import JUDGED, UNJUDGED, Scoring
from rankgate.spark.query_shares import plan_shares
from rankgate.spark.sessions import partitions, session
from rankgate.spark.shuffle import PACKED, Cells, Packing, map_partitions, unpack_cells
from rankgate.spark.table_rows import open_rows
from rankgate.spark.task_results import WholeQueries

if TYPE_CHECKING:
    from pyspark.sql import DataFrame, SparkSession

    from rankgate.measurement.metrics.metric_declaration import Metric
    from rankgate.measurement.scoring import Convention
    from rankgate.spark.table_rows import TableRows

_BYTES = 48 << 20  # bytes of input for one partition
_CELL_BYTES = 12 << 20  # bytes of input for one cell, which is scored in one step
_UNKNOWN = 1 << 60  # Spark's size of rows that come from Python or an RDD is 8 exabytes


@dataclass(frozen=True)
class SparkMeasurement:
    """Judgments and runs on Spark, with the metrics and the plan."""

    spark: SparkSession
    qrels: TableRows
    runs: tuple[TableRows, ...]
    names: tuple[str, ...]
    metrics: tuple[tuple[str, Metric], ...]
    plan: Plan
    partitions: int
    accepts_ids: bool

    @property
    def subtopics(self) -> bool:
        """True if a metric looks at subtopics."""
        return any(metric.view == SUBTOPICS for _, metric in self.metrics)

    @property
    def tables(self) -> tuple[TableRows, ...]:
        """The judgments, and the runs."""
        return (self.qrels, *self.runs)

    def scoring(self, *, values: bool) -> Scoring:
        """The work of executors."""
        labels = tuple(table.label for table in self.tables)
        is_ordered = tuple(run.ordered for run in self.runs)
        return Scoring(self.plan, self.names, labels, is_ordered, self.subtopics, values)

    def read_queries(self) -> WholeQueries:
        """The judgments and runs by query: read from files if that is cheaper, else moved."""
        if any(table.files is None for table in self.tables) or self.qrels.unjudged:
            return self.by_cells()
        tables = {i: run.files for i, run in enumerate(self.runs, 1) if run.files}
        tables |= {JUDGED: self.qrels.files} if self.qrels.files else {}
        shares = plan_shares(self.spark, tables, _cores(self.spark))
        if shares is None:
            return self.by_cells()
        count = len(shares.every)
        numbers = self.spark.range(0, count, 1, min(count, self.partitions))
        return WholeQueries(numbers, shares.opened)

    def by_cells(self, further: Mapping[int, DataFrame] = MappingProxyType({})) -> WholeQueries:
        """The judgments and runs, moved so that a hash spreads queries over partitions.

        Args:
            further: other rows with a ``query_id`` to move with them, by part number.
        """
        needs_order = any(
            convention.alignment.tie_order == "file_order"
            or convention.alignment.order == "file"
            or convention.duplicates != "error"
            for convention in self.plan.ways
        )
        size = sum(_size(table) for table in self.tables)
        cells = Cells.for_partitions(self.spark, self.partitions, -(-size // _CELL_BYTES))
        frames = [
            map_partitions(frame, Packing(cells, part_number), PACKED)
            for part_number, frame in (*self._rows(ordered=needs_order), *further.items())
        ]
        files = tuple((i, table.files) for i, table in enumerate(self.tables) if table.files)
        if files:
            reading = PieceReading(files, cells, needs_order)
            work = len(reading.work())
            read = sum(table_pieces.size for _, table_pieces in files)
            tasks = max(_cores(self.spark), -(-read // TASK_BYTES))
            numbers = self.spark.range(0, work, 1, min(work, tasks))
            frames.append(map_partitions(numbers, reading, PACKED))
        all_rows = reduce(lambda first, second: first.union(second), frames)
        frame = all_rows.repartition(self.partitions, "key").sortWithinPartitions("cell")
        return WholeQueries(frame, unpack_cells)

    def _rows(self, *, ordered: bool) -> Iterator[tuple[int, DataFrame]]:
        """The rows that Spark reads, with their part numbers."""
        for i, table in enumerate(self.tables):
            if not table.files:
                frame = table.numbered() if ordered and i else table.frame
                yield i or JUDGED, frame.drop("_metadata", "at")
        if self.qrels.unjudged:
            ids = [(query,) for query in self.qrels.unjudged]
            yield UNJUDGED, self.spark.createDataFrame(ids, "query_id string")


COLLECTION_FIELDS = frozenset({"judgments", "name", "columns", "tags", "ids"})
"""The fields of a collection that metrics of rankings on Spark use."""

LIST_FIELDS = frozenset({"users", "training", "candidates", "reference", "judged_users_only"})
"""Fields that change figures of lists, but no value of rankings."""

_ITEMS = frozenset({"table", "features", "category", "group", "length", "catalogue"})
_RATERS = ("aspects", "rater")


def refuse_others(
    collection: Collection, taker: str, taken_fields: frozenset[str], items: frozenset[str] = _ITEMS
) -> None:
    """Refuse fields of a collection that change values and that Spark does not have.

    Args:
        collection: judgments and their descriptions.
        taker: the name of the verb in errors.
        taken_fields: the fields that the verb takes.
        items: the items with the fields of `Items`.

    Raises:
        UsageError: as `Collection.refuse`; columns of single raters.
    """
    names = [field.name for field in fields(Collection) if field.name not in {*taken_fields, "_", "items"}]
    inner = [f"items.{field.name}" for field in fields(Items) if field.name not in {*items, "_"}]
    collection.refuse(taker, *names, *inner)
    columns = ColumnMap.read(collection.columns)
    raters = [] if columns is None else [name for name in _RATERS if name in columns.theirs]
    if columns is not None and (raters or columns.has_raters):
        name = raters[0] if raters else "grades of several raters"
        raise UsageError(
            f"{taker} takes no columns for {name}; resolve ratings into judgments first.",
            code="conflicting-options",
        )


SUMS = Supply(
    frozenset({"group_sums", "intervals"}),
    "Spark keeps sums over groups of queries only",
    "leave it out, or measure files on one machine",
)
"""The parts that Spark makes."""


def prepare(
    collection: Collection,
    runs: Sequence[tuple[str | None, Any]],
    metrics: str | Metric | Sequence[str | Metric],
    convention: str | Convention,
    *,
    numbered: bool = True,
) -> SparkMeasurement:
    """Prepare judgments, runs and a plan for Spark.

    Args:
        collection: as of ``rankgate.evaluate``.
        runs: the runs with their names; a name is None if the caller gives none.
        metrics: as of ``rankgate.evaluate``.
        convention: as of ``rankgate.evaluate``.
        numbered: True if tables without a name are run1, run2, as `evaluate` names them; else each
            is run, as `compare` names them.

    Raises:
        InputError, UsageError: as of ``rankgate.evaluate``; spellings of ids.
    """
    ids = IdRules.read(collection.ids)
    if ids.query or ids.doc:
        problem = "Spark compares ids as they are; write them alike in one of the tables, and leave ids out."
        raise UsageError(problem, code="conflicting-options")
    scoring_convention = chosen_convention(convention)
    measures = find_metrics(metrics, scoring_convention, FACET_METRICS)
    refuse_tasks(measures)
    for label, metric in measures:
        if metric.view == LISTS:
            _RANKINGS.require(label, [Need("totals")])
    plan = Plan.from_conventions(measures, [scoring_convention])
    active = session()
    require_runs(runs)
    judged = open_rows(active, collection.stated_judgments, "grade", "qrels", collection.columns)
    if collection.name is not None:
        judged = replace(judged, name=collection.name)
    ranked = tuple(
        open_rows(active, run, "score", name or (f"run{i}" if numbered else "run"), collection.columns)
        for i, (name, run) in enumerate(runs, 1)
    )
    stated_names = [str(name or rows.name) for (name, _), rows in zip(runs, ranked, strict=True)]
    names = compared_names(stated_names, [path_of(run) for _, run in runs])
    count = partitions(active) or partitions_for(active, (judged, *ranked))
    return SparkMeasurement(active, judged, ranked, tuple(names), tuple(measures), plan, count, ids.accept)


_RANKINGS = replace(
    SUMS, remedy="take them from scorecard, or measure files on one machine", code="unsupported-metric"
)


def partitions_for(spark: SparkSession, tables: Sequence[TableRows]) -> int:
    """The number of partitions: one for each core, or for large input one for each `_BYTES`."""
    return max(_cores(spark), min(-(-sum(map(_size, tables)) // _BYTES), 100_000))


def _cores(spark: SparkSession) -> int:
    return int(spark.sparkContext.defaultParallelism)


def _size(table: TableRows) -> int:
    """The bytes of a table; if unknown, a guess from the number of partitions."""
    if table.files:
        return table.files.size
    plan = table.frame._jdf.queryExecution().optimizedPlan()  # noqa: SLF001 - no other way to ask
    size = int(plan.stats().sizeInBytes())
    if size < _UNKNOWN:
        return size
    return int(table.frame.sparkSession.conf.get("spark.sql.shuffle.partitions") or 1) * _BYTES

"""What is measured on Spark: judgments and runs, with a plan."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from functools import reduce
from typing import TYPE_CHECKING, Any

from rankgate.core.errors import UsageError
from rankgate.core.frozen import dataclass
from rankgate.measurement.evaluation.evaluate import known_metrics
from rankgate.measurement.evaluation.sequences.asked import refuse_tasks
from rankgate.measurement.metrics.subtopics import FACET_METRICS
from rankgate.measurement.metrics.views import LISTS, SUBTOPICS
from rankgate.measurement.scoring.chosen import chosen_convention
from rankgate.measurement.scoring.plan import Plan
from rankgate.spark.cells import PACKED, Cells, Packing, unpacked
from rankgate.spark.executed import Whole
from rankgate.spark.partition import JUDGED, UNJUDGED, Scoring
from rankgate.spark.pieces import TASK_BYTES, Reading
from rankgate.spark.sessions import session
from rankgate.spark.shares import shares_of
from rankgate.spark.shipping import mapped
from rankgate.spark.tables import rows_of

if TYPE_CHECKING:
    from pyspark.sql import DataFrame, SparkSession

    from rankgate.data.inputs import ColumnsLike
    from rankgate.measurement.metrics.declare import Metric
    from rankgate.measurement.scoring import Convention
    from rankgate.measurement.scoring.overrides import Overrides
    from rankgate.spark.tables import Rows

_BYTES = 48 << 20  # of input for one partition
_CELL_BYTES = 12 << 20  # of input for one cell, which is scored at once
_UNKNOWN = 1 << 60  # Spark's size of rows that come from Python or an RDD is 8 exabytes


@dataclass(frozen=True)
class Prepared:
    """Judgments and runs on Spark, and what is measured of them."""

    spark: SparkSession
    qrels: Rows
    runs: tuple[Rows, ...]
    names: tuple[str, ...]
    metrics: tuple[tuple[str, Metric], ...]
    plan: Plan
    partitions: int

    @property
    def subtopics(self) -> bool:
        """Whether a metric looks at subtopics."""
        return any(each.view == SUBTOPICS for _, each in self.metrics)

    @property
    def tables(self) -> tuple[Rows, ...]:
        """The judgments, and the runs."""
        return (self.qrels, *self.runs)

    def scoring(self, *, values: bool) -> Scoring:
        """What executors do."""
        labels = tuple(each.label for each in self.tables)
        ordered = tuple(run.ordered for run in self.runs)
        return Scoring(self.plan, self.names, labels, ordered, self.subtopics, values)

    def whole(self) -> Whole:
        """Judgments and runs by queries: read where they are if that is cheaper, or moved."""
        if any(each.files is None for each in self.tables) or self.qrels.unjudged:
            return self.by_cells()
        tables = {i: each.files for i, each in enumerate(self.runs, 1) if each.files}
        tables |= {JUDGED: self.qrels.files} if self.qrels.files else {}
        shares = shares_of(self.spark, tables, _cores(self.spark))
        if shares is None:
            return self.by_cells()
        count = len(shares.every)
        numbers = self.spark.range(0, count, 1, min(count, self.partitions))
        return Whole(numbers, shares.opened)

    def by_cells(self) -> Whole:
        """Judgments and runs, moved so that queries are spread by chance over partitions."""
        ordered = any(
            way.alignment.tie_order == "file_order"
            or way.alignment.order == "file"
            or way.duplicates != "error"
            for way in self.plan.ways
        )
        size = sum(_size(each) for each in self.tables)
        cells = Cells.of(self.spark, self.partitions, -(-size // _CELL_BYTES))
        frames = [
            mapped(each, Packing(cells, part), PACKED) for part, each in self._rows(ordered=ordered)
        ]
        files = tuple((i, each.files) for i, each in enumerate(self.tables) if each.files)
        if files:
            reading = Reading(files, cells, ordered)
            work = len(reading.work())
            read = sum(each.size for _, each in files)
            tasks = max(_cores(self.spark), -(-read // TASK_BYTES))
            numbers = self.spark.range(0, work, 1, min(work, tasks))
            frames.append(mapped(numbers, reading, PACKED))
        packed = reduce(lambda one, two: one.union(two), frames)
        frame = packed.repartition(self.partitions, "key").sortWithinPartitions("cell")
        return Whole(frame, unpacked)

    def _rows(self, *, ordered: bool) -> Iterator[tuple[int, DataFrame]]:
        """The rows that Spark reads, with whose they are."""
        for i, each in enumerate(self.tables):
            if not each.files:
                frame = each.numbered() if ordered and i else each.frame
                yield i or JUDGED, frame.drop("_metadata", "at")
        if self.qrels.unjudged:
            ids = [(query,) for query in self.qrels.unjudged]
            yield UNJUDGED, self.spark.createDataFrame(ids, "query_id string")


def prepare(
    qrels: Any,  # noqa: ANN401 - as of evaluate
    runs: Any,  # noqa: ANN401 - as of evaluate
    metrics: str | Metric | Sequence[str | Metric],
    convention: str | Convention,
    overrides: Overrides | Sequence[str],
    extra: Sequence[Metric],
    columns: ColumnsLike | None,
    names: Sequence[str],
    from_: str | None,
    partitions: int | None,
    spark: SparkSession | None,
    *,
    least: int = 1,
) -> Prepared:
    """What is measured of which rows; arguments as of `evaluate`, and the ``least`` partitions.

    Raises:
        InputError, UsageError: as of `evaluate`.
    """
    how = chosen_convention(convention, overrides)
    chosen = known_metrics(metrics, how, (*extra, *FACET_METRICS))
    refuse_tasks(chosen)
    for label, each in chosen:
        if each.view == LISTS:
            problem = f"{label} is of lists as a whole; rankgate.spark.scorecard has it."
            raise UsageError(problem, code="unsupported-metric")
    plan = Plan.of(chosen, [how])
    active = spark or session()
    several = _several(runs)
    if names and len(names) != len(several):
        problem = f"{len(names)} names for {len(several)} runs; give one for each."
        raise UsageError(problem, code="names-differ")
    judged = rows_of(active, qrels, "grade", "qrels", columns, from_)
    ranked = tuple(
        rows_of(active, run, "score", name or f"run{i}", columns, from_)
        for i, (name, run) in enumerate(several, 1)
    )
    own = [name or each.name for (name, _), each in zip(several, ranked, strict=True)]
    distinct = tuple(names) or tuple(_distinct(own))
    count = partitions or max(least, partitions_for(active, (judged, *ranked)))
    return Prepared(active, judged, ranked, distinct, tuple(chosen), plan, count)


def _several(runs: Any) -> list[tuple[str, Any]]:  # noqa: ANN401 - as of evaluate
    """Each run with its name, empty where the caller gives none."""
    if isinstance(runs, Mapping) and not _is_ranking(runs):
        return [(str(name), run) for name, run in runs.items()]
    if isinstance(runs, list | tuple):
        return [("", run) for run in runs]
    return [("", runs)]


def _is_ranking(table: Mapping[Any, Any]) -> bool:
    """Whether a mapping is ``{query: {doc: score}}`` and not ``{name: run}``."""
    first = next(iter(table.values()), None)
    if isinstance(first, Mapping):
        return not isinstance(next(iter(first.values()), 0.0), Mapping | list | tuple)
    return False


def _distinct(names: Sequence[str]) -> list[str]:
    """Names, with a number where one comes again."""
    seen: dict[str, int] = {}
    out = []
    for name in names:
        seen[name] = seen.get(name, 0) + 1
        out.append(name if seen[name] == 1 else f"{name} {seen[name]}")
    return out


def partitions_for(spark: SparkSession, tables: Sequence[Rows]) -> int:
    """One partition for each core, and for much input one for `_BYTES` of it."""
    return max(_cores(spark), min(-(-sum(map(_size, tables)) // _BYTES), 100_000))


def _cores(spark: SparkSession) -> int:
    return int(spark.sparkContext.defaultParallelism)


def _size(table: Rows) -> int:
    """Bytes of a table, as far as they are known."""
    if table.files:
        return table.files.size
    plan = table.frame._jdf.queryExecution().optimizedPlan()  # noqa: SLF001 - no other way to ask
    size = int(plan.stats().sizeInBytes())
    if size < _UNKNOWN:
        return size
    return int(table.frame.sparkSession.conf.get("spark.sql.shuffle.partitions") or 1) * _BYTES

"""Score runs on Spark: the plan of the local engine, on partitions of whole queries."""

from __future__ import annotations

import json
import pickle
import sys
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np
import polars as pl

from rankgate import errors
from rankgate.data.scores import Scores
from rankgate.errors import InputError, UsageError
from rankgate.evaluation.evaluate import known_metrics
from rankgate.evaluation.evaluation import Evaluation
from rankgate.evaluation.sequences.asked import refuse_tasks
from rankgate.metrics.names import DEFAULT_METRICS
from rankgate.metrics.subtopics import FACET_METRICS
from rankgate.metrics.views import LISTS, SUBTOPICS
from rankgate.scoring.chosen import chosen_convention
from rankgate.scoring.plan import Plan
from rankgate.spark.failures import translated
from rankgate.spark.partition import JUDGED, UNJUDGED, Scoring
from rankgate.spark.places import refuse_placed
from rankgate.spark.sessions import session
from rankgate.spark.tables import rows_of
from rankgate.spark.totals import Totals, summed
from rankgate.spark.worker import ERROR, Shipped

if TYPE_CHECKING:
    from pyspark.sql import DataFrame, SparkSession

    from rankgate.data.inputs import ColumnsLike
    from rankgate.metrics.declare import Metric
    from rankgate.scoring import Convention
    from rankgate.scoring.overrides import Overrides
    from rankgate.spark.tables import Rows

INTERVALS: dict[str, Any] = {
    "run": pl.String, "metric": pl.String, "n": pl.Int64, "mean": pl.Float64, "sd": pl.Float64,
    "low": pl.Float64, "high": pl.Float64, "level": pl.Float64,
}  # fmt: skip
"""One row a run and metric: the mean over n queries with the ends of its t interval."""

LEVEL = 0.95
_BYTES = 48 << 20  # of input for one partition


@dataclass(frozen=True)
class SparkEvaluation:
    """Values of runs that were scored on Spark.

    Attributes:
        summary: what ``rankgate.evaluate`` returns, without values of single queries; ``save``
            writes the one small file that other verbs read.
        intervals: the columns of `INTERVALS`.
        values: a Spark DataFrame with ``query_id``, ``run``, a column for each metric (null where
            undefined) and ``why`` (by metric, a place in ``REASONS``); None if not asked for.
    """

    summary: Evaluation
    intervals: pl.DataFrame
    values: DataFrame | None = None

    @property
    def means(self) -> pl.DataFrame:
        """A row a run, a column a metric."""
        return self.summary.means


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

    def scoring(self, *, values: bool) -> Scoring:
        """What executors do."""
        labels = (self.qrels.label, *(run.label for run in self.runs))
        ordered = tuple(run.ordered for run in self.runs)
        return Scoring(self.plan, self.names, labels, ordered, self.subtopics, values)

    def whole_queries(self) -> DataFrame:
        """Judgments and runs with the rows of each query together, in one partition."""
        from pyspark.sql import functions as F

        rows = any(
            way.alignment.tie_order == "file_order"
            or way.alignment.order == "file"
            or way.duplicates != "error"
            for way in self.plan.ways
        )
        every = None
        for i, each in enumerate((self.qrels, *self.runs)):
            part = F.lit(i if i else JUDGED).cast("byte").alias("part")
            frame = each.numbered(part) if rows and i else each.frame.select("*", part)
            frame = frame.drop("_metadata")
            every = frame if every is None else every.unionByName(frame, allowMissingColumns=True)
        assert every is not None
        if self.qrels.unjudged:
            ids = [(query,) for query in self.qrels.unjudged]
            part = F.lit(UNJUDGED).cast("byte").alias("part")
            extra = self.spark.createDataFrame(ids, "query_id string").select("*", part)
            every = every.unionByName(extra, allowMissingColumns=True)
        order = ["query_id", *(["row"] if rows else [])]
        sorted_ = every.repartition(self.partitions, "query_id").sortWithinPartitions(*order)
        return sorted_.drop("row")


def evaluate(
    qrels: Any,  # noqa: ANN401 - as of rows_of
    runs: Any,  # noqa: ANN401 - as of rows_of, several, or {name: run}
    metrics: str | Metric | Sequence[str | Metric] = DEFAULT_METRICS,
    convention: str | Convention = "trec",
    *,
    overrides: Overrides | Sequence[str] = (),
    extra: Sequence[Metric] = (),
    columns: ColumnsLike | None = None,
    names: Sequence[str] = (),
    from_: str | None = None,
    partitions: int | None = None,
    values: bool = True,
    level: float = LEVEL,
    spark: SparkSession | None = None,
) -> SparkEvaluation:
    """Score one run or several against judgments; numbers equal those of ``rankgate.evaluate``.

    Args:
        qrels: judgments: a Spark DataFrame; a path, or a list of paths, of Parquet, Delta, CSV,
            TSV, JSON lines or TREC files; ``table:NAME``; or what ``rankgate.evaluate`` takes.
        runs: a run, as one of these; a list of runs (of paths: each is a run); ``{name: run}``,
            where a run may be a list of paths.
        metrics: as of ``rankgate.evaluate``.
        convention: as there.
        overrides: as there.
        extra: as there; functions of the user's own are sent to executors.
        columns: as there.
        names: of the runs, in their order.
        from_: the format of files: parquet, delta, csv, tsv, json or trec; by their names if not
            given.
        partitions: of the shuffle; one for 48 MB of input if not given.
        values: whether values of single queries are kept, in memory and on the executors' disks.
        level: of the intervals.
        spark: the session; the active one, or a new one on this machine, if not given.

    Raises:
        InputError: data that cannot be read; DuplicateError with both places of a pair.
        UsageError: an unknown metric, convention or choice.
        MissingExtraError: PySpark is not installed.
    """
    work = prepare(
        qrels, runs, metrics, convention, overrides, extra, columns, names, from_, partitions, spark
    )
    frame, totals = measured(work, work.scoring(values=values), len(work.metrics), keep=values)
    summary = summarised(work, totals)
    return SparkEvaluation(summary, _intervals(work, totals, level), _named(work, frame))


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
) -> Prepared:
    """What is measured of which rows; arguments as of `evaluate`.

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
    count = partitions or _partitions(active, (judged, *ranked))
    return Prepared(active, judged, ranked, distinct, tuple(chosen), plan, count)


def _several(runs: Any) -> list[tuple[str, Any]]:  # noqa: ANN401 - as of evaluate
    """Each run with its name, empty where the caller gives none."""
    from collections.abc import Mapping as Table

    if isinstance(runs, Table) and not _is_ranking(runs):
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


def _partitions(spark: SparkSession, tables: Sequence[Rows]) -> int:
    """One partition for each core, and for much input one for `_BYTES` of it."""
    cores = spark.sparkContext.defaultParallelism
    sizes = (
        int(each.frame._jdf.queryExecution().optimizedPlan().stats().sizeInBytes())  # noqa: SLF001 - no other way to ask
        for each in tables
    )
    return max(cores, min(-(-sum(sizes) // _BYTES), 100_000))


def measured(
    work: Prepared, scoring: Any, columns: int, *, keep: bool  # noqa: ANN401 - a task
) -> tuple[DataFrame | None, list[Totals]]:
    """Values as a DataFrame, and the sums of each run.

    Raises:
        InputError, DuplicateError: what is wrong with the data, with file and line.
    """
    from pyspark.sql import functions as F

    frame = work.whole_queries().mapInArrow(shipped(scoring, columns), ddl(columns))
    if keep:
        frame = frame.persist()
    with translated(work.runs[0].label):
        sent = frame.where(F.col("totals").isNotNull()).select("run", "totals").collect()
    try:
        refuse_placed([each.totals for each in sent if ERROR in each.totals[:9]],
                      (work.qrels, *work.runs))  # fmt: skip
        return frame if keep else None, [
            summed(each.totals for each in sent if each.run == i) for i in range(len(work.runs))
        ]
    except errors.RankgateError:
        frame.unpersist()
        raise


def ddl(columns: int) -> str:
    """The columns that come back: values, why they are undefined, and sums as text."""
    values = "".join(f", v{i} double" for i in range(columns))
    why = "".join(f", w{i} tinyint" for i in range(columns))
    return f"query_id string, run int{values}{why}, totals string"


def shipped(task: Any, columns: int) -> Any:  # noqa: ANN401 - a task and a function
    """A function of record batches that executors can load.

    Args:
        task: what is done; metrics of the user's own are sent by value.
        columns: how many metrics there are.
    """
    import pyarrow as pa
    from pyspark import cloudpickle

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
        cloudpickle.register_pickle_by_value(module)
    text = cloudpickle.dumps(task)
    run = Shipped(text, sys.version_info[:2], schema.serialize().to_pybytes())

    def work(batches: Any) -> Any:  # noqa: ANN401 - Spark asks for a plain function
        yield from run(batches)

    return work


def _own_modules(task: Any) -> list[Any]:  # noqa: ANN401 - a task
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


def summarised(work: Prepared, totals: Sequence[Totals]) -> Evaluation:
    """The result of all partitions.

    Raises:
        InputError: no query of a run is judged; the convention refuses missing or unknown queries,
            or queries without relevant documents.
    """
    how, jobs = work.plan.conventions[0], work.plan.jobs[0]
    scored = []
    for name, run, each in zip(work.names, work.runs, totals, strict=True):
        _refuse(run.label, each, how)
        none = np.zeros(0)
        scores = Scores(
            name,
            None,
            pl.Series("query_id", [], dtype=pl.String),
            {job.label: none for job in jobs},
            {job.label: none.astype(np.int8) for job in jobs},
            {job.label: each.value(job) for job in jobs},
            each.known_counts(),
            how.to_dict(),
        )
        scored.append(scores)
    labels = tuple(label for label, _ in work.metrics)
    lower = tuple(label for label, each in work.metrics if not each.higher_is_better)
    return Evaluation(work.qrels.name, how.to_dict(), labels, tuple(scored), lower)


def _refuse(label: str, found: Totals, how: Convention) -> None:
    """As `Facts.refuse`, over all partitions."""
    counts = found.counts
    asked = counts["queries"] + (counts["missing"] if how.missing == "leave_out" else 0)
    if not asked:
        raise InputError("no judgments found.", source=label, code="no-judgments")
    if counts["missing"] == asked:
        problem = "no query of this run has judgments; check that both use the same ids."
        raise InputError(problem, source=label, code="queries-differ")
    if how.missing == "error" and counts["missing"]:
        problem = f"query '{found.missing}' has judgments and no results; {how.name} stops here."
        raise InputError(problem, source=label, code="missing-query")
    if how.no_relevant == "error" and counts["without_relevant"]:
        problem = f"a query has no relevant document; {how.name} stops here."
        raise InputError(problem, source=label, code="no-relevant-document")
    if how.unknown == "error" and counts["unknown_queries"]:
        number = counts["unknown_queries"]
        problem = f"{number} queries have results and no judgments; {how.name} stops here."
        raise InputError(problem, source=label, code="unknown-query")


def _intervals(work: Prepared, totals: Sequence[Totals], level: float) -> pl.DataFrame:
    """The columns of `INTERVALS`; ends are null for metrics that are no plain mean."""
    from scipy.special import stdtrit

    rows = []
    for name, each in zip(work.names, totals, strict=True):
        for job in work.plan.jobs[0]:
            found, _ = each.means.get(job.label, (None, 0))
            mean = each.value(job)
            if found is None or job.metric.aggregate != "mean":
                rows.append((name, job.label, None, mean, None, None, None, level))
                continue
            n, sd = int(found.first.count), found.variance**0.5
            reach = float(stdtrit(n - 1, (1 + level) / 2)) * sd / n**0.5 if n > 1 else np.nan
            rows.append((name, job.label, n, mean, sd, mean - reach, mean + reach, level))
    return pl.DataFrame(rows, schema=INTERVALS, orient="row").fill_nan(None)


def _named(work: Prepared, frame: DataFrame | None) -> DataFrame | None:
    """Values with the names of metrics and runs."""
    if frame is None:
        return None
    from pyspark.sql import functions as F

    labels = [label for label, _ in work.metrics]
    names = F.array(*(F.lit(name) for name in work.names))
    why = [part for i, label in enumerate(labels) for part in (F.lit(label), F.col(f"w{i}"))]
    return frame.where(F.col("totals").isNull()).select(
        "query_id",
        F.get(names, F.col("run")).alias("run"),
        *(F.col(f"v{i}").alias(label) for i, label in enumerate(labels)),
        F.create_map(*why).alias("why"),
    )

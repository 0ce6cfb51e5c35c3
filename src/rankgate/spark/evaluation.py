"""Score runs on Spark: the plan of the local engine, on partitions of whole queries."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import field, replace
from typing import TYPE_CHECKING, Any

import numpy as np
import polars as pl

from rankgate.core.errors import InputError, UsageError
from rankgate.core.frozen import dataclass
from rankgate.data.scores import Scores
from rankgate.measurement.evaluation.evaluation import Evaluation
from rankgate.measurement.evaluation.slices import SCHEMA as SLICES
from rankgate.measurement.evaluation.slices import in_order
from rankgate.measurement.metrics.names import DEFAULT_METRICS
from rankgate.spark.executed import measured
from rankgate.spark.prepared import prepare
from rankgate.spark.totals import summed

if TYPE_CHECKING:
    from pyspark.sql import DataFrame, SparkSession

    from rankgate.data.inputs import ColumnsLike, TagsLike
    from rankgate.measurement.metrics.declare import Metric
    from rankgate.measurement.scoring import Convention
    from rankgate.measurement.scoring.overrides import Overrides
    from rankgate.spark.prepared import Prepared
    from rankgate.spark.totals import Moments, Totals

INTERVALS: dict[str, Any] = {
    "run": pl.String, "metric": pl.String, "n": pl.Int64, "mean": pl.Float64, "sd": pl.Float64,
    "low": pl.Float64, "high": pl.Float64, "level": pl.Float64,
}  # fmt: skip
"""One row a run and metric: the mean over n queries with the ends of its t interval."""

SLICED: dict[str, Any] = {"tag": pl.String, "value": pl.String, **INTERVALS}
LEVEL = 0.95


@dataclass(frozen=True)
class SparkEvaluation:
    """Values of runs that were scored on Spark.

    Attributes:
        summary: what ``rankgate.evaluate`` returns, without values of single queries; its
            JSON is one small file.
        intervals: the columns of `INTERVALS`.
        slices: the same for each value of each tag that was asked for, after ``tag`` and ``value``;
            ``summary.slices`` has the means.
        values: a Spark DataFrame with ``query_id``, ``run``, a column for each metric (null where
            undefined) and ``why`` (by metric, a place in ``REASONS``); None if not asked for.
    """

    summary: Evaluation
    intervals: pl.DataFrame
    values: DataFrame | None = None
    slices: pl.DataFrame = field(default_factory=lambda: pl.DataFrame(schema=SLICED))

    @property
    def means(self) -> pl.DataFrame:
        """A row a run, a column a metric."""
        return self.summary.means


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
    tags: TagsLike | None = None,
    slices: Sequence[str] = (),
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
        partitions: how many tasks score, at most; one for 48 MB of input if not given.
        tags: a table of tags, which is sent to every executor; or ``ids:PATTERN``.
        slices: show means for each value of these tags, too.
        values: whether values of single queries are kept, in memory and on the executors' disks.
        level: of the intervals.
        spark: the session; the active one, or a new one on this machine, if not given.

    Raises:
        InputError: data that cannot be read; DuplicateError with both places of a pair.
        UsageError: an unknown metric, convention or choice; slices without tags.
        MissingExtraError: PySpark is not installed.
    """
    refuse_without_tags(tags, slices)
    work = prepare(
        qrels, runs, metrics, convention, overrides, extra, columns, names, from_, partitions, spark
    )
    scoring = replace(work.scoring(values=values), tags=tags, slices=tuple(slices))
    frame, sent = measured(work.whole(), scoring, work.tables, keep=values)
    totals = [summed(each) for each in sent]
    summary, sliced = summarised(work, totals), _slices(work, totals, slices, level)
    if slices:
        means = sliced.select(pl.col(name).cast(dtype) for name, dtype in SLICES.items())
        summary = replace(summary, slices=means)
    return SparkEvaluation(summary, _intervals(work, totals, level), _named(work, frame), sliced)


def refuse_without_tags(tags: TagsLike | None, slices: Sequence[str]) -> None:
    """Check that slices have tags.

    Raises:
        UsageError: they have none.
    """
    if slices and tags is None:
        problem = "slices need tags; give them with --tags FILE or ids:PATTERN."
        raise UsageError(problem, code="missing-input")


def summarised(work: Prepared, totals: Sequence[Totals]) -> Evaluation:
    """The result of all partitions.

    Raises:
        InputError: no query of a run is judged; the convention refuses missing or unknown queries,
            or queries without relevant documents.
    """
    how, jobs = work.plan.conventions[0], work.plan.jobs[0]
    scored = []
    for name, run, each in zip(work.names, work.runs, totals, strict=True):
        refuse_by_convention(work.qrels.label, run.label, each, how)
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
            groups=each.groups,
        )
        scored.append(scores)
    labels = tuple(label for label, _ in work.metrics)
    lower = tuple(label for label, each in work.metrics if not each.higher_is_better)
    return Evaluation(work.qrels.name, how.to_dict(), labels, tuple(scored), lower)


def refuse_by_convention(judged: str, label: str, found: Totals, how: Convention) -> None:
    """As `Facts.refuse`, over all partitions; of judgments and a run by their labels.

    Raises:
        InputError: no rankings; no query of the run is judged; the convention refuses missing or
            unknown queries, or queries without relevant documents.
    """
    counts = found.counts
    asked = counts["queries"] + (counts["missing"] if how.missing == "leave_out" else 0)
    if not asked:
        raise InputError("no judgments found.", source=judged, code="no-judgments")
    if counts["missing"] == asked and not counts["unknown_queries"]:
        raise InputError("there are no rankings in it.", source=label, code="no-rankings")
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
    rows: list[tuple[Any, ...]] = []
    for name, each in zip(work.names, totals, strict=True):
        for job in work.plan.jobs[0]:
            found, _ = each.means.get(job.label, (None, 0))
            mean = each.value(job)
            if found is None or job.metric.aggregate != "mean":
                rows.append((name, job.label, None, mean, None, None, None, level))
                continue
            rows.append((name, job.label, *_of_mean(found, mean, level)))
    return pl.DataFrame(rows, schema=INTERVALS, orient="row").fill_nan(None)


def _slices(
    work: Prepared, totals: Sequence[Totals], slices: Sequence[str], level: float
) -> pl.DataFrame:
    """The columns of `SLICED`: tags in order of their names, values in order, runs, metrics."""
    rows: list[tuple[Any, ...]] = []
    for tag in sorted(set(slices)):
        known = {value for each in totals for own, value, _ in each.slices if own == tag}
        for value in in_order([*known]):
            for name, each in zip(work.names, totals, strict=True):
                for label, _ in work.metrics:
                    if (found := each.slices.get((tag, value, label))) is not None:
                        own_mean = _of_mean(found, found.first.value, level)
                        rows.append((tag, value, name, label, *own_mean))
    return pl.DataFrame(rows, schema=SLICED, orient="row").fill_nan(None)


def _of_mean(found: Moments, mean: float, level: float) -> tuple[Any, ...]:
    """How many values there are, their mean and spread, and Student's interval."""
    from scipy.special import stdtrit

    n, sd = int(found.first.count), found.variance**0.5
    reach = float(stdtrit(n - 1, (1 + level) / 2)) * sd / n**0.5 if n > 1 else np.nan
    return n, mean, sd, mean - reach, mean + reach, level


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

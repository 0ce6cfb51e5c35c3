"""Score runs on Spark: the plan of the local engine, on partitions of whole queries."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from functools import cached_property
from typing import TYPE_CHECKING, Any

import numpy as np
import polars as pl

from rankgate.core.frozen import dataclass
from rankgate.data.id_match import NO_IDS
from rankgate.data.run_scores import REASONS, RunScores
from rankgate.data.score_parts import Need, Supply
from rankgate.data.table_rows import no_rows_error
from rankgate.measurement.evaluation.query_slices import SCHEMA as SLICES
from rankgate.measurement.evaluation.query_slices import refuse_without_tags, sort_values
from rankgate.measurement.evaluation.sampled_means import interval_of_mean, no_plain_mean, table_of
from rankgate.measurement.evaluation.scores import Scores
from rankgate.measurement.scoring.scoring_facts import no_shared_query_error, refuse_gaps, refuse_misfits
from rankgate.spark.run_totals import sum_totals
from rankgate.spark.sessions import keeps_values
from rankgate.spark.spark_inputs import COLLECTION_FIELDS, LIST_FIELDS, SUMS, prepare, refuse_others
from rankgate.spark.task_results import run_task

if TYPE_CHECKING:
    from pyspark.sql import Column, DataFrame

    from rankgate.data.collection import Collection
    from rankgate.data.run_scores import ScoredRun
    from rankgate.measurement.metrics.metric_declaration import Metric
    from rankgate.measurement.scoring import Convention
    from rankgate.spark.run_totals import Moments, RunTotals
    from rankgate.spark.spark_inputs import SparkMeasurement


def _remedy(need: Need) -> str:
    """Advice on a part of the result that Spark does not compute."""
    if need.part != "values":
        return "measure files on one machine"
    return (
        "take the Spark DataFrame scores.maker.values, keep values in "
        "rankgate.spark.session(keep_values=True), or measure files on one machine"
    )


_SUMS_ONLY = replace(SUMS, remedy=_remedy)
_WITH_VALUES = replace(_SUMS_ONLY, parts=_SUMS_ONLY.parts | {"values"})


@dataclass(frozen=True)
class FromSpark:
    """The judgments and runs on Spark from which scores were made.

    Attributes:
        work: judgments and runs on Spark, with the metrics.
        table: the intervals of means, by `rankgate.measurement.evaluation.sampled_means.INTERVALS`.
        kept: the values of single queries on executors; None if they are computed on request.
    """

    work: SparkMeasurement
    table: pl.DataFrame
    kept: DataFrame | None = None

    @property
    def supply(self) -> Supply:
        """The sums of groups of queries, and intervals; also values if they are kept."""
        return _SUMS_ONLY if self.kept is None else _WITH_VALUES

    def systems(self, depth: int) -> list[ScoredRun]:  # noqa: ARG002 - no depth of lists is there
        """Raise an error: Spark results have no queries and lists of systems.

        Raises:
            UsageError: always.
        """
        raise self.supply.error("lists", Need("lists"))

    def intervals(self, scores: Scores) -> pl.DataFrame:  # noqa: ARG002 - of these scores
        """The means with their intervals, from sums over all queries."""
        return self.table

    @cached_property
    def values(self) -> DataFrame:
        """The values of single queries; they are computed again if they were not kept.

        The columns are ``query_id``, ``run``, one for each metric (null where undefined) and
        ``why`` (by metric, an index into ``REASONS``). They stay on the executors until
        ``values.unpersist()``.
        """
        if self.kept is not None:
            return _with_names(self.work, self.kept)
        frame, _ = run_task(
            self.work.read_queries(), self.work.scoring(values=True), self.work.tables, keep=True
        )
        assert frame is not None
        return _with_names(self.work, frame)

    def collected(self) -> pl.DataFrame:
        """The kept values, on this machine, as `Scores.values`.

        Raises:
            UsageError: the values were not kept.
        """
        self.supply.require("`values`", [Need("values")])
        return self._collected

    @cached_property
    def _collected(self) -> pl.DataFrame:
        labels = [label for label, _ in self.work.metrics]
        wide_values = pl.DataFrame(pl.from_arrow(self.values.drop("why").toArrow()))
        reason_codes = self.values.select("run", "query_id", *_reasons(labels)).toArrow()
        reasons = pl.DataFrame(pl.from_arrow(reason_codes))
        keys = ["run", "query_id"]
        values = wide_values.unpivot(labels, index=keys, variable_name="metric", value_name="value")
        reasons = reasons.unpivot(labels, index=keys, variable_name="metric", value_name="why")
        titles = {code: reason or None for code, reason in enumerate(REASONS)}
        reasons = reasons.with_columns(
            pl.col("why").replace_strict(titles, return_dtype=pl.String, default=None)
        )
        return values.join(reasons, on=[*keys, "metric"], how="left").sort("run", "metric", *keys)


def make_scores(
    collection: Collection,
    runs: Sequence[tuple[str | None, Any]],
    metrics: str | Metric | Sequence[str | Metric],
    convention: Convention,
    *,
    bounds: bool,
    slices: Sequence[str],
) -> Scores:
    """Score runs by their names on Spark; arguments and errors as of ``rankgate.evaluate``.

    Paths are also read by Spark; custom functions and tags are sent to executors.

    Raises:
        InputError: data that cannot be read; DuplicateError with both places of a pair.
        UsageError: a part or a field of the collection that Spark does not have.
        MissingExtraError: PySpark is not installed.
    """
    refuse_others(collection, "evaluate on Spark", COLLECTION_FIELDS | LIST_FIELDS | {"selection"})
    if bounds:
        raise _SUMS_ONLY.error("bounds", Need("bounds"))
    refuse_without_tags(collection.tags, slices)
    work = prepare(collection, runs, metrics, convention)
    if work.subtopics:
        collection.refuse("evaluate by subtopics on Spark", "items.category")
    keep = keeps_values(work.spark)
    scoring = replace(work.scoring(values=keep), tags=collection.tags, slices=tuple(slices))
    frame, texts_by_run = run_task(work.read_queries(), scoring, work.tables, keep=keep)
    totals = [sum_totals(texts) for texts in texts_by_run]
    summary, sliced = summarise(work, totals), _slices(work, totals, slices)
    table = table_of([*_intervals(work, totals), *sliced])
    means = None
    if slices:
        means = table.filter(pl.col("tag").is_not_null()).select(
            pl.col(name).cast(dtype) for name, dtype in SLICES.items()
        )
    return replace(summary, slices=means, maker=FromSpark(work, table, frame))


def summarise(work: SparkMeasurement, totals: Sequence[RunTotals]) -> Scores:
    """The result of all partitions.

    Raises:
        InputError: no query of a run is judged; the convention refuses missing or unknown queries,
            or queries without relevant documents.
    """
    convention, jobs = work.plan.conventions[0], work.plan.jobs[0]
    scores_of_runs = []
    for name, run, run_totals in zip(work.names, work.runs, totals, strict=True):
        refuse_run(work, run.label, run_totals)
        empty_array = np.zeros(0)
        scores = RunScores(
            name,
            None,
            pl.Series("query_id", [], dtype=pl.String),
            {job.label: empty_array for job in jobs},
            {job.label: empty_array.astype(np.int8) for job in jobs},
            {job.label: run_totals.value(job) for job in jobs},
            run_totals.known_counts(),
            convention.to_dict(),
            groups=run_totals.groups,
        )
        scores_of_runs.append(scores)
    labels = tuple(label for label, _ in work.metrics)
    lower = tuple(label for label, metric in work.metrics if not metric.higher_is_better)
    return Scores(work.qrels.name, convention.to_dict(), labels, tuple(scores_of_runs), lower)


def refuse_run(work: SparkMeasurement, label: str, totals: RunTotals) -> None:
    """Do the checks of `Facts` over all partitions; errors name judgments and runs by label.

    Raises:
        InputError: a run without rankings, or without a judged query; query ids that do not fit; the
            convention refuses missing or unknown queries, or queries without relevant documents.
    """
    counts, how = totals.counts, work.plan.conventions[0]
    query_count = counts["queries"] + (counts["missing"] if how.missing == "leave_out" else 0)
    if not query_count:
        raise no_rows_error("grade", work.qrels.label)
    if counts["missing"] == query_count and not counts["unknown_queries"]:
        raise no_rows_error("score", label)
    refuse_misfits({"query": totals.match}, label, accepts_ids=work.accepts_ids)
    missing, unknown = (pl.Series(ids, dtype=pl.String) for ids in totals.unmatched_queries)
    if counts["missing"] == query_count:
        raise no_shared_query_error(label, unknown, missing)
    gaps = {
        "missing": (counts["missing"], missing),
        "no_relevant": (counts["without_relevant"], NO_IDS),
        "unknown": (counts["unknown_queries"], unknown),
    }
    refuse_gaps(how, label, gaps)


def _intervals(work: SparkMeasurement, totals: Sequence[RunTotals]) -> list[tuple[object, ...]]:
    """The intervals over all queries; ends are null for metrics that are not plain means."""
    rows: list[tuple[object, ...]] = []
    for name, run_totals in zip(work.names, totals, strict=True):
        for job in work.plan.jobs[0]:
            moments, _ = run_totals.means.get(job.label, (None, 0))
            mean = run_totals.value(job)
            if moments is None or job.metric.aggregate != "mean":
                rows.append((None, None, name, job.label, *no_plain_mean(mean)))
                continue
            rows.append((None, None, name, job.label, *_mean_row(moments, mean)))
    return rows


def _slices(
    work: SparkMeasurement, totals: Sequence[RunTotals], slices: Sequence[str]
) -> list[tuple[object, ...]]:
    """The intervals of slices: tags in order of their names, values in order, runs, metrics."""
    rows: list[tuple[object, ...]] = []
    for tag in sorted(set(slices)):
        tag_values = {
            value for run_totals in totals for slice_tag, value, _ in run_totals.slices if slice_tag == tag
        }
        for value in sort_values([*tag_values]):
            for name, run_totals in zip(work.names, totals, strict=True):
                for label, _ in work.metrics:
                    if (moments := run_totals.slices.get((tag, value, label))) is not None:
                        rows.append((tag, value, name, label, *_mean_row(moments, moments.first.value)))
    return rows


def _mean_row(moments: Moments, mean: float) -> tuple[object, ...]:
    """The number of values, their mean and standard deviation, and Student's interval."""
    return interval_of_mean(int(moments.first.count), mean, moments.variance**0.5)


def _with_names(work: SparkMeasurement, frame: DataFrame) -> DataFrame:
    """The values with columns named after metrics, and the names of runs."""
    from pyspark.sql import functions as F

    labels = [label for label, _ in work.metrics]
    names = F.array(*(F.lit(name) for name in work.names))
    reasons = [column for i, label in enumerate(labels) for column in (F.lit(label), F.col(f"w{i}"))]
    return frame.where(F.col("totals").isNull()).select(
        "query_id",
        F.get(names, F.col("run")).alias("run"),
        *(F.col(f"v{i}").alias(label) for i, label in enumerate(labels)),
        F.create_map(*reasons).alias("why"),
    )


def _reasons(labels: Sequence[str]) -> list[Column]:
    """A column for each metric: the reason why its value is undefined."""
    from pyspark.sql import functions as F

    return [F.col("why").getItem(label).alias(label) for label in labels]

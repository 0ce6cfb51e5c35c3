"""Score a run task by task: metrics on sequences, and metrics of rankings as means over a task."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from functools import cache
from typing import TYPE_CHECKING

import numpy as np
import polars as pl

from rankgate.core.errors import InputError, UsageError
from rankgate.core.frozen import dataclass
from rankgate.data import read_qrels
from rankgate.data.run_scores import Counts, RunScores
from rankgate.data.table_rows import in_row_order
from rankgate.measurement.evaluation.metric_selection import SEQUENCE
from rankgate.measurement.evaluation.sequences.task_rankings import Passages, TaskRows, Tasks
from rankgate.measurement.evaluation.sequences.tool_calls import match_calls
from rankgate.measurement.metrics.metric_name_parser import parse
from rankgate.measurement.metrics.sequences.sequence import SequenceMetric, Sequences, count
from rankgate.measurement.scoring.alignment.kernel_inputs import RankingMode
from rankgate.measurement.scoring.alignment.top_documents import top_rows_with_scores
from rankgate.measurement.scoring.run_sources import score
from rankgate.measurement.scoring.scoring_job import (
    MISSING,
    NO_RELEVANT,
    NOTHING_JUDGED,
    Job,
    fill_undefined,
    mean,
)

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from rankgate.core.arrays import Floats
    from rankgate.data.collection import Collection
    from rankgate.data.run import Run
    from rankgate.measurement.metrics.metric_declaration import Metric
    from rankgate.measurement.scoring.alignment.judgment_index import JudgmentIndex
    from rankgate.measurement.scoring.convention import Convention

    Found = tuple[Floats, NDArray[np.int8], float]
    """Values of tasks, why they are empty, and the mean."""


@dataclass(frozen=True)
class TaskScores:
    """The scores of a run by task.

    Attributes:
        scores: one value per task and metric.
        lists: the columns of ``tops``: the documents of each task in the order of their first
            appearance.
    """

    scores: RunScores
    lists: pl.DataFrame


def score_tasks(
    judgments: JudgmentIndex,
    run: Run,
    metrics: Sequence[tuple[str, Metric]],
    how: Convention,
    collection: Collection,
) -> TaskScores:
    """Score a run by task; a metric of rankings is the mean over the rankings of a task.

    Raises:
        InputError: a run or a table cannot be read.
        UsageError: a metric needs lengths or a table that are missing.
    """
    qrels, run = read_qrels(judgments.qrels), run.in_memory(how.duplicates)
    run = match_calls(qrels, run)
    passages = Passages.from_collection(collection, qrels)
    judged = qrels if passages is None else passages.judged(qrels)
    tasks = Tasks.from_run(judged, run, collection.sequences)
    sequence_metrics = {label: metric for label, metric in metrics if isinstance(metric, SequenceMetric)}
    plain = [pair for pair in metrics if pair[0] not in sequence_metrics]
    jobs = [Job.from_convention(label, metric, how) for label, metric in sequence_metrics.items()]
    for job in jobs:
        _refuse_unknown(job, run, tasks, collection)
    inner = {_inner_metric_name(metric) for metric in sequence_metrics.values() if "of" in metric.parameters}
    ranking_metrics = [*plain, *((f" {name}", _ranking(name)) for name in sorted(inner))]
    ranked = run if passages is None else passages.ranked(run, how.duplicates)
    base = score(tasks.index, ranked, ranking_metrics, how)
    values = {
        name: {
            query: np.nan if value is None else value for query, value in base.per_query(f" {name}").items()
        }
        for name in sorted(inner)
    }
    depth = _depth(sequence_metrics)

    @cache
    def lay_out(mode: RankingMode) -> _TaskBlocks:
        rows = _rows(tasks, run, mode, depth, passages)
        blocks = list(TaskRows(tasks, rows, values).blocks())
        return _TaskBlocks(rows, blocks, _TaskFacts.from_tasks(tasks, run, blocks))

    results = {label: _ranking_means(label, base, tasks) for label, _ in plain}
    for job in jobs:
        task_blocks = lay_out(RankingMode(job.how.duplicates, job.how.alignment))
        results[job.label] = _sequence_values(job, task_blocks, tasks)
    base_blocks = lay_out(RankingMode(how.duplicates, how.alignment))
    labels = [label for label, _ in metrics]
    scores = RunScores(
        run.name,
        run.tag,
        tasks.names.alias("query_id"),
        {label: results[label][0] for label in labels},
        {label: results[label][1] for label in labels},
        {label: results[label][2] for label in labels},
        base_blocks.facts.counts(base.counts),
        how.to_dict(),
    )
    return TaskScores(scores, _lists(base_blocks.rows, tasks))


@dataclass(frozen=True)
class _TaskFacts:
    """Facts of tasks, ``(G,)`` each: True if in the run, documents shown, relevant documents."""

    present: NDArray[np.bool_]
    retrieved: NDArray[np.int64]
    relevant: NDArray[np.int64]

    @classmethod
    def from_tasks(cls, tasks: Tasks, run: Run, blocks: Sequence[tuple[slice, Sequences]]) -> _TaskFacts:
        run_queries = set(run.query_ids)
        if run.queries is not None:
            run_queries |= set(run.queries.filter(pl.col("state").is_in(["ok", "zero"]))["query_id"])
        run_tasks = tasks.table.filter(pl.col("query_id").is_in(run_queries))[SEQUENCE]
        return cls(
            tasks.names.is_in(run_tasks.implode()).to_numpy(),
            np.concatenate([count(sequences.is_filled) for _, sequences in blocks]),
            np.concatenate([sequences.relevant(1) for _, sequences in blocks]),
        )

    def counts(self, base: Counts) -> Counts:
        """The counts for means over tasks."""
        return replace(
            base,
            queries=len(self.present),
            missing=int((~self.present).sum()),
            zero_result=int((self.present & (self.retrieved == 0)).sum()),
            without_relevant=int((self.relevant == 0).sum()),
        )


@dataclass(frozen=True, eq=False)
class _TaskBlocks:
    """The rankings of tasks, formed by one ranking mode."""

    rows: pl.DataFrame
    blocks: list[tuple[slice, Sequences]]
    facts: _TaskFacts


def _inner_metric_name(metric: SequenceMetric) -> str:
    """The name of the metric of rankings inside a metric."""
    return str(dict(metric.given).get("of", metric.parameters["of"].default))


def _ranking(name: str) -> Metric:
    """Return a metric of rankings by its name.

    Raises:
        UsageError: the metric is unknown, or lacks a parameter.
    """
    metric = parse(name)
    if metric.missing:
        raise UsageError(metric.incomplete(), code="incomplete-metric")
    return metric


def _depth(metrics: dict[str, SequenceMetric]) -> int | None:
    """The depth of rankings that is needed; None is the complete ranking."""
    cuts = [dict(metric.given).get("cutoff") for metric in metrics.values()]
    return max((int(cutoff) for cutoff in cuts if cutoff), default=1) if all(cuts) else None


def _rows(
    tasks: Tasks, run: Run, mode: RankingMode, depth: int | None, passages: Passages | None
) -> pl.DataFrame:
    """The rows of `TaskRows`; a document that only fills its position has no grade."""
    rows = top_rows_with_scores(run, tasks.index, mode, depth)
    is_placeholder = rows["doc_id"].str.ends_with("\0")
    rows = rows.with_columns(pl.col("doc_id").str.strip_suffix("\0"))
    if passages is None:
        return rows.with_columns(pl.col("doc_id").alias("source"))
    rows = passages.described(rows)
    if not passages.whole:
        return rows
    grades = tasks.judgments.table.rename({"doc_id": "source"})
    graded = rows.drop("grade").join(grades, on=["query_id", "source"], how="left", maintain_order="left")
    return graded.with_columns(pl.when(~is_placeholder).then("grade").alias("grade"))


def _ranking_means(label: str, base: RunScores, tasks: Tasks) -> Found:
    """Compute a metric of rankings: the mean over the rankings of a task with a value."""
    value, reason_codes = base.values[label], base.why[label]
    table = pl.DataFrame(
        {"query_id": base.query_ids, "value": value, "why": reason_codes.astype(np.int64)}
    ).with_columns(pl.col("value").fill_nan(None))
    by_task = tasks.table.select("query_id", SEQUENCE).join(
        table, on="query_id", how="left", maintain_order="left"
    )
    means_by_task = by_task.group_by(SEQUENCE).agg(
        in_row_order(pl.col("value")).mean(), pl.col("why").min().fill_null(MISSING)
    )
    joined = pl.DataFrame({SEQUENCE: tasks.names}).join(
        means_by_task, on=SEQUENCE, how="left", maintain_order="left"
    )
    values = joined["value"].cast(pl.Float64).fill_null(np.nan).to_numpy()
    if tasks.table[SEQUENCE].is_unique().all():  # equals the mean over queries, to the last bit
        return values, joined["why"].to_numpy().astype(np.int8), base.means[label]
    return values, joined["why"].to_numpy().astype(np.int8), _mean(values)


def _refuse_unknown(job: Job, run: Run, tasks: Tasks, collection: Collection) -> None:
    """Check that the data that a metric counts are known for all passages and calls.

    Raises:
        UsageError: documents are counted, but no table has the document of each passage.
        InputError: only some calls have a cost.
    """
    bound = job.metric.bound(job.defaults)
    if bound.get("by") == "documents" and collection.items.document is None:
        raise UsageError(
            f"{job.label} needs the document of each passage; give a table of them and its column, as "
            "--items passages.csv --document doc.",
            code="missing-input",
        )
    relevant = tasks.judgments.table.filter(pl.col("grade") >= max(job.level, 0))
    of_calls = "calls" in job.metric.parameters
    for cost, column in (("tokens", "tokens"), ("seconds", "latency_ms")):
        counts = bound.get("per") == cost or (of_calls and bound.get(cost) is not None)
        if not counts or run.queries is None or tasks.table[column].null_count() == len(tasks.table):
            continue
        calls = tasks.table.filter(
            pl.col("query_id").is_in(run.queries["query_id"].implode()),
            pl.col("query_id").is_in(relevant["query_id"].implode()),
        )
        unknown = calls.filter(pl.col(column).is_null())
        if len(unknown):
            call, task = unknown.select("query_id", SEQUENCE).row(0)
            task_calls = calls.filter(pl.col(SEQUENCE) == task)["query_id"]
            rows = run.whole("each").frame["query_id"].is_in(task_calls.implode())
            raise InputError(
                f"call '{call}' has no {cost}, and other calls have; add {cost} to each call.",
                source=run.place.label,
                line=run.place.line(int(rows.arg_max() or 0)) if rows.any() else None,
                code="missing-lengths",
            )


def _sequence_values(job: Job, task_blocks: _TaskBlocks, tasks: Tasks) -> Found:
    """Compute a metric on sequences.

    Raises:
        InputError: a grade, a length, tokens or seconds make a value infinite.
    """
    try:
        with np.errstate(over="raise"):
            result = _measure(job, task_blocks)
    except (FloatingPointError, OverflowError):
        raise _too_great(job, task_blocks, tasks) from None
    if np.isinf(result[0]).any():
        raise _too_great(job, task_blocks, tasks)
    return result


def _too_great(job: Job, task_blocks: _TaskBlocks, tasks: Tasks) -> InputError:
    """The error for values that overflow; it names the number farthest from 0."""
    greatest, task, name = 0.0, "", "grade"
    for rows, block in task_blocks.blocks:
        numbers = {
            "grade": block.ideal,
            "length": block.tokens,
            "tokens": block.spent,
            "seconds": block.seconds,
        }
        for cost, table in numbers.items():
            if table is None or not table.size:
                continue
            by_task = np.nan_to_num(np.abs(table)).reshape(len(table), -1).max(axis=1)
            if by_task.max() > greatest:
                greatest, name = float(by_task.max()), cost
                task = tasks.names[rows][int(by_task.argmax())]
    problem = (
        f"{job.label}: {name} {greatest:g} of query '{task}' makes the value infinite; bring these numbers "
        "to a smaller scale."
    )
    return InputError(problem, source=tasks.judgments.name, code="grade-outside-scale")


def _measure(job: Job, task_blocks: _TaskBlocks) -> Found:
    """The values of a metric on sequences, with the convention's treatment of empty cases."""
    metric, blocks, facts = job.metric, task_blocks.blocks, task_blocks.facts
    bound = metric.bound(job.defaults)
    values = np.concatenate([metric.kernel(sequences, **bound) for _, sequences in blocks])
    has_no_relevant = np.concatenate([sequences.relevant(job.level) == 0 for _, sequences in blocks])
    if isinstance(metric, SequenceMetric) and metric.undefined:
        if job.how.missing == "leave_out":
            values = np.where(facts.present, values, np.nan)
        reason_codes = np.where(np.isnan(values), np.where(has_no_relevant, NO_RELEVANT, NOTHING_JUDGED), 0)
        return values, np.where(facts.present, reason_codes, MISSING).astype(np.int8), _mean(values)
    values = np.where(facts.present, values, np.nan)
    out, kinds = fill_undefined(
        values, has_no_relevant, present=facts.present, retrieved=facts.retrieved, job=job
    )
    return out, kinds, mean(out, kinds, job)


def _mean(values: Floats) -> float:
    defined = values[~np.isnan(values)]
    return float(np.cumsum(defined)[-1] / len(defined)) if len(defined) else float("nan")


def _lists(rows: pl.DataFrame, tasks: Tasks) -> pl.DataFrame:
    """The documents of each task in the order of their first appearance."""
    rows_by_task = rows.join(tasks.table.select("query_id", SEQUENCE, "position"), on="query_id")
    first = rows_by_task.sort(SEQUENCE, "position", "rank").unique(
        [SEQUENCE, "doc_id"], keep="first", maintain_order=True
    )
    rank = pl.int_range(1, pl.len() + 1).over(SEQUENCE).alias("rank")
    grade = pl.when(pl.col("grade") >= 0).then("grade").alias("grade")
    retrieved = pl.len().over(SEQUENCE).cast(pl.Int64).alias("retrieved")
    return first.select(pl.col(SEQUENCE).alias("query_id"), rank.cast(pl.Int64), "doc_id", grade, retrieved)

"""Score a run task by task: metrics on sequences, and metrics of rankings as means over a task."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from typing import TYPE_CHECKING

import numpy as np
import polars as pl

from rankgate.data import read_qrels
from rankgate.data.scores import Counts, Scores
from rankgate.errors import UsageError
from rankgate.evaluation.sequences.asked import SEQUENCE
from rankgate.evaluation.sequences.build import TaskRows
from rankgate.evaluation.sequences.passages import Passages
from rankgate.evaluation.sequences.tasks import Tasks
from rankgate.frozen import dataclass
from rankgate.metrics.names import parse
from rankgate.metrics.sequences.declare import SequenceMetric
from rankgate.metrics.sequences.sequence import Sequences, count
from rankgate.scoring.alignment.tops import shown
from rankgate.scoring.job import Job
from rankgate.scoring.mean import MISSING, NO_RELEVANT, NOTHING_JUDGED, filled, mean
from rankgate.scoring.score import score

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from rankgate.data.run import Run
    from rankgate.evaluation.context import Context
    from rankgate.metrics.declare import Metric
    from rankgate.scoring.alignment.judgments import JudgmentIndex
    from rankgate.scoring.convention import Convention

    Floats = NDArray[np.float64]
    Found = tuple[Floats, NDArray[np.int8], float]
    """Values of tasks, why they are empty, and the mean."""


@dataclass(frozen=True)
class TaskScores:
    """The scores of a run by task.

    Attributes:
        scores: one value a task and metric.
        lists: the columns of ``tops``: the documents of each task in the order in which they are
            first shown.
    """

    scores: Scores
    lists: pl.DataFrame


def score_tasks(
    judgments: JudgmentIndex,
    run: Run,
    metrics: Sequence[tuple[str, Metric]],
    how: Convention,
    context: Context,
) -> TaskScores:
    """Score a run by task; a metric of rankings is the mean over the rankings of a task.

    Raises:
        InputError: a run or a table that cannot be read.
        UsageError: lengths or a table that a metric needs are not there.
    """
    qrels, run = read_qrels(judgments.qrels), run.in_memory()
    passages = Passages.of(context, qrels)
    judged = qrels if passages is None else passages.judged(qrels)
    tasks = Tasks.of(judged, run, context.sequences)
    own = {label: each for label, each in metrics if isinstance(each, SequenceMetric)}
    plain = [pair for pair in metrics if pair[0] not in own]
    inner = {_inner(each) for each in own.values() if "of" in each.parameters}
    asked = [*plain, *((f" {name}", _ranking(name)) for name in sorted(inner))]
    ranked = run if passages is None else passages.ranked(run)
    base = score(tasks.index, ranked, asked, how)
    rows = _rows(tasks, run, how, _depth(own), passages)
    laid = TaskRows(
        tasks,
        rows,
        {name: _known(base.per_query(f" {name}")) for name in sorted(inner)},
    )
    blocks = list(laid.blocks())
    facts = _Facts.of(tasks, run, blocks)
    found = {label: _of_rankings(label, base, tasks) for label, _ in plain}
    found |= {label: _of_sequences(Job.of(label, each, how), blocks, facts)
              for label, each in own.items()}  # fmt: skip
    labels = [label for label, _ in metrics]
    scores = Scores(
        run.name,
        run.tag,
        tasks.names.alias("query_id"),
        {label: found[label][0] for label in labels},
        {label: found[label][1] for label in labels},
        {label: found[label][2] for label in labels},
        facts.counts(base.counts),
        how.to_dict(),
    )
    return TaskScores(scores, _lists(rows, tasks))


@dataclass(frozen=True)
class _Facts:
    """What is known of tasks, ``(G,)`` each: in the run, documents shown, relevant documents."""

    present: NDArray[np.bool_]
    retrieved: NDArray[np.int64]
    relevant: NDArray[np.int64]

    @classmethod
    def of(cls, tasks: Tasks, run: Run, blocks: Sequence[tuple[slice, Sequences]]) -> _Facts:
        ran = set(run.table["query_id"].unique())
        if run.queries is not None:
            ran |= set(run.queries.filter(pl.col("state").is_in(["ok", "zero"]))["query_id"])
        some = tasks.table.filter(pl.col("query_id").is_in(ran))[SEQUENCE]
        return cls(
            tasks.names.is_in(some.implode()).to_numpy(),
            np.concatenate([count(each.shown) for _, each in blocks]),
            np.concatenate([each.relevant(1) for _, each in blocks]),
        )

    def counts(self, base: Counts) -> Counts:
        """The counts behind means over tasks."""
        return replace(
            base,
            queries=len(self.present),
            missing=int((~self.present).sum()),
            zero_result=int((self.present & (self.retrieved == 0)).sum()),
            without_relevant=int((self.relevant == 0).sum()),
        )


def _inner(metric: SequenceMetric) -> str:
    """The name of the metric of rankings that a metric is over."""
    return str(dict(metric.given).get("of", metric.parameters["of"].default))


def _ranking(name: str) -> Metric:
    """A metric of rankings, by its name.

    Raises:
        UsageError: no such metric, or one that lacks a parameter.
    """
    metric = parse(name)
    if metric.missing:
        raise UsageError(metric.incomplete(), code="incomplete-metric")
    return metric


def _known(values: dict[str, float | None]) -> dict[str, float]:
    return {query: np.nan if value is None else value for query, value in values.items()}


def _depth(metrics: dict[str, SequenceMetric]) -> int | None:
    """How far rankings have to be looked at; None is to their end."""
    cuts = [dict(each.given).get("cutoff") for each in metrics.values()]
    return max((int(cut) for cut in cuts if cut), default=1) if all(cuts) else None


def _rows(
    tasks: Tasks,
    run: Run,
    how: Convention,
    depth: int | None,
    passages: Passages | None,
) -> pl.DataFrame:
    """The rows of `TaskRows`."""
    rows = shown(run, tasks.index, how, depth)
    if passages is None:
        return rows.with_columns(pl.col("doc_id").alias("source"))
    rows = passages.described(rows)
    if not passages.whole:
        return rows
    grades = tasks.judgments.table.rename({"doc_id": "source"})
    return rows.drop("grade").join(
        grades, on=["query_id", "source"], how="left", maintain_order="left"
    )


def _of_rankings(label: str, base: Scores, tasks: Tasks) -> Found:
    """A metric of rankings: the mean over the rankings of a task that have a value."""
    value, why = base.values[label], base.why[label]
    table = pl.DataFrame(
        {"query_id": base.query_ids, "value": value, "why": why.astype(np.int64)}
    ).with_columns(pl.col("value").fill_nan(None))
    by_task = tasks.table.select("query_id", SEQUENCE).join(table, on="query_id", how="left")
    found = by_task.group_by(SEQUENCE).agg(
        pl.col("value").mean(), pl.col("why").min().fill_null(MISSING)
    )
    ordered = pl.DataFrame({SEQUENCE: tasks.names}).join(
        found, on=SEQUENCE, how="left", maintain_order="left"
    )
    values = ordered["value"].cast(pl.Float64).fill_null(np.nan).to_numpy()
    if tasks.table[SEQUENCE].is_unique().all():  # the mean as it is over queries, to the bit
        return values, ordered["why"].to_numpy().astype(np.int8), base.means[label]
    return values, ordered["why"].to_numpy().astype(np.int8), _mean(values)


def _of_sequences(job: Job, blocks: Sequence[tuple[slice, Sequences]], facts: _Facts) -> Found:
    """A metric on sequences; kinds of empty as the convention has them."""
    metric = job.metric
    bound = metric.bound(job.defaults)
    values = np.concatenate([metric.kernel(each, **bound) for _, each in blocks])
    lacking = np.concatenate([each.relevant(job.level) == 0 for _, each in blocks])
    if isinstance(metric, SequenceMetric) and metric.undefined:
        if job.how.missing == "leave_out":
            values = np.where(facts.present, values, np.nan)
        why = np.where(np.isnan(values), np.where(lacking, NO_RELEVANT, NOTHING_JUDGED), 0)
        return values, np.where(facts.present, why, MISSING).astype(np.int8), _mean(values)
    values = np.where(facts.present, values, np.nan)
    out, kinds = filled(
        values, lacking, present=facts.present, retrieved=facts.retrieved, job=job
    )  # fmt: skip
    return out, kinds, mean(out, kinds, job)


def _mean(values: Floats) -> float:
    known = values[~np.isnan(values)]
    return float(np.cumsum(known)[-1] / len(known)) if len(known) else float("nan")


def _lists(rows: pl.DataFrame, tasks: Tasks) -> pl.DataFrame:
    """The documents of each task in the order in which they are first shown."""
    placed = rows.join(tasks.table.select("query_id", SEQUENCE, "position"), on="query_id")
    first = placed.sort(SEQUENCE, "position", "rank").unique(
        [SEQUENCE, "doc_id"], keep="first", maintain_order=True
    )
    rank = pl.int_range(1, pl.len() + 1).over(SEQUENCE).alias("rank")
    grade = pl.when(pl.col("grade") >= 0).then("grade").alias("grade")
    retrieved = pl.len().over(SEQUENCE).cast(pl.Int64).alias("retrieved")
    return first.select(
        pl.col(SEQUENCE).alias("query_id"), rank.cast(pl.Int64), "doc_id", grade, retrieved
    )

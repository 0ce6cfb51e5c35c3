"""Score runs against judgments, and keep the judgments and runs behind the scores."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import TYPE_CHECKING, Any, ClassVar

from rankgate.core.frozen import dataclass
from rankgate.core.progress import step
from rankgate.data.collection import Collection
from rankgate.data.foreign_frames import named_runs, require_runs
from rankgate.data.score_parts import EVERYTHING, Supply
from rankgate.data.spark_tables import any_on_spark, run_on_spark
from rankgate.measurement.evaluation.metric_selection import (
    find_metrics,
    is_of_lists,
    is_scored_by_task,
    list_builder,
    metrics_as_list,
    refuse_with_tasks,
    subtopic_metrics,
)
from rankgate.measurement.evaluation.query_slices import slice_means, with_states
from rankgate.measurement.evaluation.rankings import measure_run, read_named_rankings, run_by_ids
from rankgate.measurement.evaluation.scores import Scores
from rankgate.measurement.metrics.metric_declaration import RANKING, SUBTOPICS
from rankgate.measurement.metrics.metric_name_parser import DEFAULT_METRICS
from rankgate.measurement.scoring.alignment.judgment_index import JudgmentIndex
from rankgate.measurement.scoring.presets import chosen_convention
from rankgate.measurement.scoring.run_sources import RunSource
from rankgate.measurement.scoring.scoring_plan import Plan

if TYPE_CHECKING:
    import polars as pl

    from rankgate.data import Qrels
    from rankgate.data.input_types import QrelsLike, RunsLike, TableLike
    from rankgate.data.logs.item_tables import DescribedTable
    from rankgate.data.query_sample import Sample
    from rankgate.data.run_scores import ScoredRun
    from rankgate.measurement.metrics.metric_declaration import Metric
    from rankgate.measurement.scoring import Convention


@dataclass(frozen=True)
class FromRuns:
    """The judgments and runs that scores were computed from.

    Attributes:
        collection: the collection that runs are measured against.
        runs: the runs by name.
        metrics: names or metrics.
        convention: the convention of the scores.
    """

    collection: Collection
    runs: Mapping[str, Any]
    metrics: Sequence[str | Metric]
    convention: Convention

    supply: ClassVar[Supply] = EVERYTHING

    def systems(self, depth: int) -> list[ScoredRun]:
        """Score the runs, and keep the first documents of each list."""
        from rankgate.measurement.evaluation.scored_system import Scorer  # few ask for parts

        scorer = Scorer.from_metrics(
            self.collection, list(self.metrics), self.convention, depth=depth, every_kind=True
        )
        return [scorer.scored(run, name) for name, run in self.runs.items()]

    def intervals(self, scores: Scores) -> pl.DataFrame:
        """Means with their intervals, from values of queries.

        Raises:
            UsageError: the collection has a sample design of its queries.
        """
        from rankgate.measurement.evaluation.sampled_means import intervals_of  # few ask for it

        return intervals_of(
            scores.runs,
            scores.metrics,
            scores.slices,
            self.collection.tags,
            self.collection.sample,
            self.collection.ids,
        )


def evaluate(
    collection: Collection | QrelsLike,
    runs: RunsLike,
    metrics: str | Metric | Sequence[str | Metric] = DEFAULT_METRICS,
    convention: str | Convention = "trec",
    *,
    bounds: bool = False,
    slices: Sequence[str] = (),
) -> Scores:
    """Score one run or several against judgments, by rankings and by what lists are like.

    Args:
        collection: judgments, or a `Collection` of them with what is known of queries, items and
            users; a path, a frame (Polars, pandas, Arrow), ``{query: {doc: grade}}``, a matrix of
            grades with a row a query, or the TOML file of a collection. If judgments or a run
            are on Spark (`rankgate.spark.table`, a Spark DataFrame), all is measured there.
        runs: a run: a path, a frame, ``{query: {doc: score}}``, a matrix of scores, or
            ``{query: [doc, …]}`` the best first; a list of runs; ``{name: run}``.
        metrics: names such as ``"nDCG@10"`` or ``"Coverage@10"``, or metrics such as
            ``nDCG(gain="exp") @ 10``.
        convention: the rules that the numbers follow: a name, a TOML file, or what
            ``rankgate.convention`` gives.
        bounds: also the least and greatest value that any grades of the unjudged documents give
            (``low``, ``high``), and the values if they were all irrelevant, and all best.
        slices: show results for each value of these tags, too.

    Raises:
        InputError: data that cannot be read, with file and line.
        UsageError: an unknown metric, convention, axis or choice; a metric of lists that needs
            what the collection lacks.

    >>> result = evaluate({"q": {"a": 1}}, {"q": {"b": 2.0, "a": 1.0}}, ["RR", "P@1"])
    >>> result.means.row(0)
    ('run1', 0.5, 0.0)
    >>> result = evaluate({"q": {"a": 1}}, {"q": {"b": 2.0, "a": 1.0}}, ["RR"], bounds=True)
    >>> result.bounds.row(0)
    ('run1', 'RR', 0.5, 0.5, 1.0)
    """
    collection, rules = Collection.of(collection), chosen_convention(convention)
    if any_on_spark(collection.judgments, runs):
        spark_scores: Scores = run_on_spark(
            "evaluate", collection, named_runs(runs), metrics, rules, bounds=bounds, slices=slices
        )
        return spark_scores
    all_metrics = find_metrics(metrics, rules, subtopic_metrics(metrics))
    list_metrics = [(label, metric) for label, metric in all_metrics if is_of_lists(metric)]
    ranking_metrics = [(label, metric) for label, metric in all_metrics if not is_of_lists(metric)]
    subtopics = any(metric.view == SUBTOPICS for _, metric in ranking_metrics)
    readable = read_named_rankings(collection.run_source(runs))
    require_runs(readable)
    judgments = JudgmentIndex.read(collection.judgments_source, subtopics=subtopics)
    if subtopics:
        judgments = with_subtopics(judgments, collection)
    plan = Plan.from_conventions(all_metrics, [rules])
    lists = list_builder(dict(list_metrics), rules, collection)
    seen_training = lists.leaving if lists else None
    scored, readable = [], [judgments.ranked(run) for run in readable]
    for run in readable:
        step(run.name)
        if is_scored_by_task(ranking_metrics, collection, run):
            refuse_with_tasks(list_metrics, bounds=bounds)
            from rankgate.measurement.evaluation.sequences.task_scores import score_tasks

            scored.append(score_tasks(judgments, run_by_ids(run), ranking_metrics, rules, collection).scores)
            continue
        total, source = measure_run(judgments, run, plan, seen_training)
        query_states = getattr(run, "queries", None)
        scores = with_states(total.score(0, source), query_states, judgments.query_ids)
        if bounds:
            plain = [(label, metric) for label, metric in ranking_metrics if metric.view == RANKING]
            from rankgate.measurement.scoring.score_bounds import with_bounds

            source_by_ids = RunSource(run_by_ids(run, seen_training), judgments)
            scores = with_bounds(source_by_ids, plain, rules, scores)
        if collection.grades:
            from rankgate.measurement.evaluation.labelled_gains import with_other_gain  # few have labels

            scores = with_other_gain(
                judgments, run_by_ids(run, seen_training), ranking_metrics, rules, scores
            )
        scored.append(scores)
    if lists and list_metrics:
        scored = lists.with_lists(plan, judgments, readable, scored)
    labels = tuple(label for label, _ in all_metrics)
    lower = tuple(label for label, metric in all_metrics if not metric.higher_is_better)
    design = _read_sample(collection)
    means = slice_means(scored, collection.tags, slices, design, collection.ids)
    result = Scores(
        collection.name or judgments.name,
        rules.to_dict(),
        labels,
        tuple(scored),
        lower,
        means,
        maker=FromRuns(collection, {run.name: run for run in readable}, metrics_as_list(metrics), rules),
    )
    if design is None:
        return result
    from rankgate.measurement.evaluation.sampled_means import weight_scores  # few ask for it

    runs_of_all, table = weight_scores(scored, all_metrics, design)
    return replace(result, runs=runs_of_all, weighted=table)


def _read_sample(collection: Collection) -> Sample | None:
    if collection.sample is None:
        return None
    from rankgate.data.query_sample import Sample  # few evaluations have one

    return Sample.read(collection.sample, collection.ids)


def with_subtopics(judgments: JudgmentIndex, collection: Collection | None = None) -> JudgmentIndex:
    """Add subtopics to judgments: the judged ones, or the categories of items."""
    from rankgate.measurement.scoring.alignment.kernel_inputs import with_subtopics as laid_out

    topics = judgments.by_subtopic
    item_columns = None if collection is None else collection.items
    if not topics.by_subtopic and item_columns is not None and item_columns.table is not None:
        topics = _by_category(judgments, item_columns.table, item_columns.category) or topics
    return laid_out(judgments, topics)


def _by_category(
    judgments: JudgmentIndex, items: TableLike | DescribedTable, column: str | None
) -> Qrels | None:
    """Judgments by the categories of items; None without a column of categories."""
    if not column:
        return None
    from rankgate.data.logs.item_tables import read_described_table
    from rankgate.measurement.scoring.alignment.kernel_inputs import judge_by_category

    described = read_described_table(items)
    return judge_by_category(judgments.qrels, described.ids, described.description(column))

"""Score a system and keep what comparisons need, so that its run can be closed."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import replace
from typing import TYPE_CHECKING, Any

import numpy as np
import polars as pl

from rankgate.core.errors import UsageError
from rankgate.core.frozen import dataclass
from rankgate.core.progress import step
from rankgate.data import Run
from rankgate.data.collection import Collection
from rankgate.data.formats.run_companions import REQUEST_COLUMNS
from rankgate.data.query_tags import matching_tags, with_clusters
from rankgate.data.run_scores import LISTS, QUERIES, ScoredRun
from rankgate.data.table_rows import no_rows_error
from rankgate.measurement.evaluation.metric_selection import (
    find_metrics,
    find_ranking_metrics,
    is_of_lists,
    is_scored_by_task,
    list_builder,
    refuse_with_tasks,
)
from rankgate.measurement.metrics.metric_declaration import NO_MEANS
from rankgate.measurement.metrics.metric_name_parser import DEFAULT_METRICS
from rankgate.measurement.scoring.alignment.judgment_index import JudgmentIndex
from rankgate.measurement.scoring.alignment.top_documents import rename_duplicates, tops_of_aligned
from rankgate.measurement.scoring.presets import chosen_convention
from rankgate.measurement.scoring.run_sources import RunSource, measure
from rankgate.measurement.scoring.scoring_plan import Plan

if TYPE_CHECKING:
    from rankgate.data import Qrels, RunScores
    from rankgate.data.input_types import QrelsLike, RunLike
    from rankgate.measurement.evaluation.lists.list_builder import ListBuilder
    from rankgate.measurement.metrics.metric_declaration import Metric
    from rankgate.measurement.scoring import Convention

DEPTH = 10
"""The default depth of the lists that are kept."""


@dataclass(frozen=True)
class Scorer:
    """Scores several runs by the same judgments, metrics and convention.

    Attributes:
        qrels: the judgments.
        index: the index of the judgments.
        metrics: the metrics with their labels.
        how: the convention.
        depth: the last rank of the lists that are kept.
        tags: ``query_id`` and a column for each known tag, or None.
        builder: the reader of lists, if metrics of lists are used or items are removed.
        asked: True if metrics of rankings were requested; otherwise the usual metrics are scored,
            and left out if metrics of lists have values of users.
        collection: the data that metrics need besides judgments and runs.
        every_kind: True if metrics of lists and of tasks are scored too.
    """

    qrels: Qrels
    index: JudgmentIndex
    metrics: tuple[tuple[str, Metric], ...]
    how: Convention
    depth: int = DEPTH
    tags: pl.DataFrame | None = None
    builder: ListBuilder | None = None
    asked: bool = True
    collection: Collection = Collection()
    every_kind: bool = False

    @classmethod
    def from_metrics(
        cls,
        collection: Collection | QrelsLike,
        metrics: str | Metric | Sequence[str | Metric],
        how: str | Convention = "trec",
        *,
        depth: int = DEPTH,
        slices: Sequence[str] = (),
        every_kind: bool = False,
    ) -> Scorer:
        """Make a scorer; it scores metrics of lists and of tasks only with ``every_kind``.

        If only metrics of lists are given, the usual metrics of rankings are scored too.
        ``slices`` are the tags to read if the file has more tags.

        Raises:
            InputError: the judgments cannot be read.
            UsageError: a metric or convention is unknown.
        """
        collection, rules = Collection.of(collection), chosen_convention(how)
        builder, has_ranking_metrics = None, True
        if not every_kind:
            ranking_metrics = tuple(find_ranking_metrics(metrics, rules))
            builder = list_builder({}, rules, collection)
        else:
            all_metrics = find_metrics(metrics, rules)
            lists = dict(pair for pair in all_metrics if is_of_lists(pair[1]))
            ranking_metrics = tuple(pair for pair in all_metrics if pair[0] not in lists)
            has_ranking_metrics = bool(ranking_metrics)
            ranking_metrics = ranking_metrics or tuple(find_ranking_metrics(DEFAULT_METRICS, rules))
            builder = list_builder(lists, rules, collection)
        if builder is not None and builder.metrics:
            depth = max(depth, builder.depth or 1)
        _refuse_no_means(ranking_metrics)
        judgments = collection.qrels()
        if judgments.table.is_empty():
            raise no_rows_error("grade", judgments.place.label)
        index = JudgmentIndex.from_judgments(judgments)
        tags = collection.tags
        tagged = (
            None
            if tags is None
            else with_clusters(matching_tags(tags, index.query_ids, slices, collection.ids))
        )
        return cls(
            judgments,
            index,
            ranking_metrics,
            rules,
            depth,
            tagged,
            builder,
            has_ranking_metrics,
            collection,
            every_kind,
        )

    @property
    def all_metrics(self) -> tuple[tuple[str, Metric], ...]:
        """The metrics of rankings, then those of lists, with their labels."""
        return (*self.metrics, *(self.builder.metrics.items() if self.builder else ()))

    def ranked(self, run: RunLike | Mapping[str, RunLike]) -> Run:
        """The rankings of a run for scoring, without items that users had in training.

        Raises:
            InputError: the run cannot be read, or has no judged query.
        """
        ranked = self.index.ranked(self.collection.run(run))
        return ranked if self.builder is None else self.builder.ranked(ranked)

    def scored(self, run: RunLike | Mapping[str, RunLike], name: str | None = None) -> ScoredRun:
        """Score a run.

        Raises:
            InputError: the run cannot be read, or has no judged query.
        """
        input_run = self.collection.run(run, name)
        in_memory_run = self.index.ranked(input_run).in_memory()
        ranked = in_memory_run if self.builder is None else self.builder.ranked(in_memory_run)
        if self.every_kind and is_scored_by_task(self.metrics, self.collection, in_memory_run):
            scores, lists, ranked = self._of_tasks(in_memory_run)
        else:
            source = RunSource.of_checked(ranked, self.index)
            plan = Plan.from_conventions(self.metrics, [self.how], source.duplicates)
            scores = measure(plan, source).score(0, source)
            aligned_runs = source.aligned_batches(self.how.duplicates)
            lists = tops_of_aligned(aligned_runs, self.index, self.how, self.depth)
        return ScoredRun(
            name=name or ranked.name,
            tag=ranked.tag,
            sha256=in_memory_run.sha256,
            qrels=self.qrels.name,
            qrels_sha256=self.qrels.sha256,
            convention=scores.convention,
            metrics=tuple(label for label, _ in self.metrics),
            depth=self.depth,
            scores=scores.table,
            lists=lists.select(*LISTS),
            queries=_queries(ranked, scores, lists, self.tags),
            lower=tuple(label for label, metric in self.metrics if not metric.higher_is_better),
            served=self._served(ranked),
            zeros_relevant=scores.counts.zeros_relevant,
            cautions=scores.counts.cautions,
            without_seen=self.collection.drop_seen,
            load=_load(ranked.queries),
            earlier=input_run.earlier,
            repeats=input_run.repeats,
        )

    def scored_seeds(self, run: RunLike | Mapping[str, RunLike], name: str | None = None) -> ScoredRun:
        """Score a run, or the mean over the seeds of a system.

        Raises:
            InputError: as `scored`.
            UsageError: as `ScoredRun.from_seeds`.
        """
        if not isinstance(run, Run) or not run.seeds:
            return self.scored(run, name)
        system = replace(self.collection.run(run), name=name or run.name)
        return ScoredRun.from_seeds(system.name, list(map(self.scored, self.collection.seed_runs(system))))

    def scored_systems(
        self, named_runs: Iterable[tuple[str | None, Any]], sources: Sequence[object] | None = None
    ) -> list[ScoredRun]:
        """Score several systems, which then have different names.

        Args:
            named_runs: the runs with their names, which may be None; a system that is scored already
                is taken as it is.
            sources: the paths or objects that names are made from; by default the runs.

        Raises:
            InputError, UsageError: as `scored_seeds`.
        """
        systems, runs = [], []
        for name, run in named_runs:
            label = run.name if isinstance(run, Run | ScoredRun) else run if isinstance(run, str) else "a run"
            step(f"scoring {name or label}")
            systems.append(run if isinstance(run, ScoredRun) else self.scored_seeds(run, name))
            runs.append(run)
        return rename_duplicates(systems, runs if sources is None else sources)

    def _of_tasks(self, run: Run) -> tuple[RunScores, pl.DataFrame, Run]:
        """Scores and lists by task; the run's data on queries do not apply to tasks."""
        from rankgate.measurement.evaluation.sequences.task_scores import score_tasks  # few need it

        refuse_with_tasks(self.metrics)
        task_scores = score_tasks(self.index, run, self.metrics, self.how, self.collection)
        lists = task_scores.lists.filter(pl.col("rank") <= self.depth)
        return task_scores.scores, lists, replace(run, queries=None)

    def _served(self, run: Run) -> pl.DataFrame | None:
        """The lists of users without judgments, if metrics of lists count them."""
        if self.builder is None or not self.builder.metrics:
            return None
        from rankgate.measurement.scoring.first_items import top_items  # few need it

        judged = self.index.query_ids
        include_unjudged = not self.builder.collection.judged_users_only
        names, codes, users = top_items(run, self.how, self.depth, judged, everyone=include_unjudged)
        codes = codes[len(judged) :]
        owner, position = np.nonzero(codes >= 0)
        users = users.alias("query_id")
        rows = {"query_id": users.gather(owner), "doc_ids": names.gather(codes[owner, position])}
        lists = pl.DataFrame(rows).group_by("query_id", maintain_order=True).agg("doc_ids")
        joined = pl.DataFrame([users]).join(lists, "query_id", how="left", maintain_order="left")
        return _with_tags(joined.with_columns(pl.col("doc_ids").fill_null([])), self.tags)


def _refuse_no_means(metrics: Sequence[tuple[str, Metric]]) -> None:
    """Check that metrics are plain means, which comparisons need.

    Raises:
        UsageError: a metric has another aggregate than the plain mean.
    """
    for label, metric in metrics:
        if metric.aggregate in NO_MEANS:
            raise UsageError(
                f"{label} is {NO_MEANS[metric.aggregate]} over queries, and only plain means are compared "
                "query by query; leave it out, and see it with rankgate eval.",
                code="unsupported-metric",
            )


def _load(queries: pl.DataFrame | None) -> str:
    """How a snapshot measured its latencies, and under which load; empty for other runs."""
    if queries is None or "concurrency" not in queries.columns:
        return ""
    measured = {
        name: " and ".join(sorted(set(queries[name].drop_nulls().cast(pl.String)))) if name in queries else ""
        for name in ("latency_from", "concurrency", "rate", "arrival_rate")
    }
    parts = [
        f"from the {measured['latency_from'] or 'last attempt'}",
        f"with {measured['concurrency']} at the same time",
        *([f"at most {measured['rate']} a second"] if measured["rate"] else []),
        *([f"{measured['arrival_rate']} arriving in a second"] if measured["arrival_rate"] else []),
    ]
    return ", ".join(parts)


def _queries(run: Run, scores: RunScores, lists: pl.DataFrame, tags: pl.DataFrame | None) -> pl.DataFrame:
    """The data on each query that counts, with the columns of ``QUERIES``."""
    list_stats = lists.group_by("query_id").agg(
        pl.col("retrieved").first(), pl.col("grade").is_not_null().mean().alias("judged")
    )
    missing = pl.Series("missing", _is_missing(scores))
    table = pl.DataFrame({"query_id": scores.query_ids, "missing": missing}).join(
        list_stats, on="query_id", how="left", maintain_order="left"
    )
    result = run.queries
    if result is not None:
        table = table.join(result, on="query_id", how="left", maintain_order="left")
    for name, dtype in QUERIES.items():
        if name not in table.columns:
            table = table.with_columns(pl.lit(None, dtype=dtype).alias(name))
    state = (
        pl.when(pl.col("state").is_not_null() & (pl.col("state") != "ok"))
        .then("state")
        .when("missing")
        .then(pl.lit("not_run"))
        .when(pl.col("retrieved").fill_null(0) == 0)
        .then(pl.lit("zero"))
        .otherwise(pl.lit("ok"))
    )
    table = table.with_columns(
        state.alias("state"),
        pl.col("retrieved").fill_null(0),
        censored=pl.when("censored").then(pl.lit(value=True)),  # null otherwise, as few queries fail
    )
    tag_columns = [name for name in table.columns if name not in {*QUERIES, *REQUEST_COLUMNS, "missing"}]
    table = table.select(*QUERIES, *tag_columns)
    return _with_tags(table, tags)


def _with_tags(table: pl.DataFrame, tags: pl.DataFrame | None) -> pl.DataFrame:
    """Add tags that are not yet in the table."""
    if tags is None:
        return table
    new_columns = [name for name in tags.columns if name == "query_id" or name not in table.columns]
    return table.join(tags.select(new_columns), on="query_id", how="left", maintain_order="left")


def _is_missing(scores: RunScores) -> list[bool]:
    """True for each query that is missing in the run, equal for all metrics."""
    reason_codes = next(iter(scores.why.values()))
    return [int(code) == 1 for code in reason_codes]

"""Score a system and keep what comparisons need, so that its run can be closed."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import TYPE_CHECKING

import numpy as np
import polars as pl

from rankgate.core.errors import UsageError
from rankgate.core.frozen import dataclass
from rankgate.data.clusters import with_clusters
from rankgate.data.collection import Collection
from rankgate.data.comparison import LISTS, QUERIES, ScoredRun
from rankgate.data.formats.run_meta import ASKED
from rankgate.data.formats.tags import matching_tags
from rankgate.measurement.evaluation.evaluate import chosen_metrics, is_of_lists, known_metrics
from rankgate.measurement.evaluation.sequences.asked import in_tasks, refuse_with_tasks
from rankgate.measurement.metrics.declare import NO_MEANS
from rankgate.measurement.metrics.names import DEFAULT_METRICS
from rankgate.measurement.scoring.alignment.judgments import JudgmentIndex
from rankgate.measurement.scoring.alignment.tops import tops
from rankgate.measurement.scoring.chosen import chosen_convention
from rankgate.measurement.scoring.score import score

if TYPE_CHECKING:
    from rankgate.data import Qrels, Run, Scores
    from rankgate.data.inputs import QrelsLike, RunLike
    from rankgate.measurement.evaluation.lists.builder import ListBuilder
    from rankgate.measurement.metrics.declare import Metric
    from rankgate.measurement.scoring import Convention

DEPTH = 10
"""How far lists are kept when nothing is said."""


@dataclass(frozen=True)
class Scorer:
    """Scores one run after another by the same judgments, metrics and convention.

    Attributes:
        qrels: the judgments.
        index: the same, laid out.
        metrics: each with its label.
        how: the convention.
        depth: the last rank of the lists that are kept.
        tags: ``query_id`` and columns of tags that are known of queries, or None.
        builder: how lists are read, where metrics of lists are asked for or items leave.
        asked: whether metrics of rankings were asked for; else the usual ones are scored, and
            are left out where metrics of lists have values of users.
        collection: what metrics need besides judgments and runs.
        every_kind: whether metrics of lists and of tasks are scored too.
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
    def of(
        cls,
        collection: Collection | QrelsLike,
        metrics: str | Metric | Sequence[str | Metric],
        how: str | Convention = "trec",
        *,
        depth: int = DEPTH,
        slices: Sequence[str] = (),
        every_kind: bool = False,
    ) -> Scorer:
        """From what ``evaluate`` takes; metrics of lists and of tasks only with ``every_kind``.

        Where metrics of lists are asked for and none of rankings, the usual ones are scored too.
        ``slices`` are the tags that are needed, where a file has more.

        Raises:
            InputError: judgments that cannot be read.
            UsageError: an unknown metric or convention.
        """
        collection, rules = Collection.of(collection), chosen_convention(how)
        builder, asked = None, True
        if not every_kind:
            chosen = tuple(chosen_metrics(metrics, rules))
            builder = _builder({}, rules, collection)
        else:
            every = known_metrics(metrics, rules)
            lists = dict(pair for pair in every if is_of_lists(pair[1]))
            chosen = tuple(pair for pair in every if pair[0] not in lists)
            asked = bool(chosen)
            chosen = chosen or tuple(chosen_metrics(DEFAULT_METRICS, rules))
            builder = _builder(lists, rules, collection)
        if builder is not None and builder.metrics:
            depth = max(depth, builder.depth or 1)
        _refuse_no_means(chosen)
        judgments = collection.qrels()
        index = JudgmentIndex.of(judgments)
        tags = collection.tags
        tagged = (
            None if tags is None else with_clusters(matching_tags(tags, index.query_ids, slices))
        )
        return cls(
            judgments, index, chosen, rules, depth, tagged, builder, asked, collection, every_kind
        )

    def ranked(self, run: RunLike | Mapping[str, RunLike]) -> Run:
        """The rankings of a run as they are scored: without what users had, where that leaves.

        Raises:
            InputError: a run that cannot be read, or has no judged query.
        """
        ranked = self.index.ranked(self.collection.run(run))
        return ranked if self.builder is None else self.builder.ranked(ranked)

    def scored(self, run: RunLike | Mapping[str, RunLike], name: str | None = None) -> ScoredRun:
        """Score a run.

        Raises:
            InputError: a run that cannot be read, or has no judged query.
        """
        opened = self.collection.run(run, name)
        given = self.index.ranked(opened).in_memory()
        ranked = given if self.builder is None else self.builder.ranked(given)
        if self.every_kind and in_tasks(self.metrics, self.collection, given):
            scores, lists, ranked = self._of_tasks(given)
        else:
            scores = score(self.index, ranked, list(self.metrics), self.how)
            lists = tops(ranked, self.index, self.how, self.depth)
        return ScoredRun(
            name=name or ranked.name,
            tag=ranked.tag,
            sha256=given.sha256,
            qrels=self.qrels.name,
            qrels_sha256=self.qrels.sha256,
            convention=scores.convention,
            metrics=tuple(label for label, _ in self.metrics),
            depth=self.depth,
            scores=scores.table,
            lists=lists.select(*LISTS),
            queries=_queries(ranked, scores, lists, self.tags),
            lower=tuple(label for label, each in self.metrics if not each.higher_is_better),
            served=self._served(ranked),
            zeros_relevant=scores.counts.zeros_relevant,
            cautions=scores.counts.cautions,
            concurrency=_concurrency(ranked),
            earlier=opened.earlier,
            repeats=opened.repeats,
        )

    def _of_tasks(self, run: Run) -> tuple[Scores, pl.DataFrame, Run]:
        """Scores and lists by task; what a run says of its queries is not of tasks."""
        from rankgate.measurement.evaluation.sequences.scored import score_tasks  # few need it

        refuse_with_tasks(self.metrics)
        found = score_tasks(self.index, run, self.metrics, self.how, self.collection)
        lists = found.lists.filter(pl.col("rank") <= self.depth)
        return found.scores, lists, replace(run, queries=None)

    def _served(self, run: Run) -> pl.DataFrame | None:
        """The lists of users without judgments, where metrics of lists count them."""
        if self.builder is None or not self.builder.metrics:
            return None
        from rankgate.measurement.scoring.lists import firsts  # few need it

        judged = self.index.query_ids
        every = not self.builder.collection.judged_users_only
        names, codes, users = firsts(run, self.how, self.depth, judged, everyone=every)
        codes = codes[len(judged) :]
        owner, place = np.nonzero(codes >= 0)
        users = users.alias("query_id")
        rows = {"query_id": users.gather(owner), "doc_ids": names.gather(codes[owner, place])}
        lists = pl.DataFrame(rows).group_by("query_id", maintain_order=True).agg("doc_ids")
        found = pl.DataFrame([users]).join(lists, "query_id", how="left", maintain_order="left")
        return _tagged(found.with_columns(pl.col("doc_ids").fill_null([])), self.tags)


def _builder(
    lists: Mapping[str, Metric], how: Convention, collection: Collection
) -> ListBuilder | None:
    """How lists are read; None where nothing asks for it."""
    if not lists and not collection.drop_seen:
        return None
    from rankgate.measurement.evaluation.lists.builder import ListBuilder  # few ask for them

    return ListBuilder.of(lists, how, collection)


def _refuse_no_means(metrics: Sequence[tuple[str, Metric]]) -> None:
    """A comparison is of means; a number made otherwise would be another one here than in eval.

    Raises:
        UsageError: a metric whose number for many queries is no plain mean.
    """
    for label, metric in metrics:
        if metric.aggregate in NO_MEANS:
            raise UsageError(
                f"{label} is {NO_MEANS[metric.aggregate]} over queries, and only plain means are "
                "compared query by query; leave it out, and see it with rankgate eval.",
                code="unsupported-metric",
            )


def _concurrency(run: Run) -> str:
    """How many queries were asked at the same time, as the run's metadata say."""
    if run.queries is None or "concurrency" not in run.queries.columns:
        return ""
    counts = run.queries["concurrency"].drop_nulls().unique().sort()
    return " and ".join(map(str, counts))


def _queries(
    run: Run, scores: Scores, lists: pl.DataFrame, tags: pl.DataFrame | None
) -> pl.DataFrame:
    """What is known of each query that counts, by ``QUERIES``."""
    seen = lists.group_by("query_id").agg(
        pl.col("retrieved").first(), pl.col("grade").is_not_null().mean().alias("judged")
    )
    missing = pl.Series("missing", _missing(scores))
    table = pl.DataFrame({"query_id": scores.query_ids, "missing": missing}).join(
        seen, on="query_id", how="left", maintain_order="left"
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
    table = table.with_columns(state.alias("state"), pl.col("retrieved").fill_null(0))
    others = [name for name in table.columns if name not in {*QUERIES, *ASKED, "missing"}]
    table = table.select(*QUERIES, *others)
    return _tagged(table, tags)


def _tagged(table: pl.DataFrame, tags: pl.DataFrame | None) -> pl.DataFrame:
    """Queries with the tags of theirs that they do not have yet."""
    if tags is None:
        return table
    fresh = [name for name in tags.columns if name == "query_id" or name not in table.columns]
    return table.join(tags.select(fresh), on="query_id", how="left", maintain_order="left")


def _missing(scores: Scores) -> list[bool]:
    """Whether the run lacks a query; every metric says the same."""
    why = next(iter(scores.why.values()))
    return [int(each) == 1 for each in why]

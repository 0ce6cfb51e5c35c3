"""One system, scored: all that a comparison needs, so that its run can be closed."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import polars as pl

from rankgate.data import read_qrels, read_run
from rankgate.data.comparison import LISTS, QUERIES, ScoredRun
from rankgate.data.dataframes import polars_frame
from rankgate.errors import UsageError
from rankgate.evaluation.evaluate import chosen_metrics
from rankgate.scoring.alignment.judgments import JudgmentIndex
from rankgate.scoring.alignment.tops import tops
from rankgate.scoring.chosen import chosen_convention
from rankgate.scoring.score import score

if TYPE_CHECKING:
    from collections.abc import Sequence

    from rankgate.data import Qrels, Run, Scores
    from rankgate.data.inputs import QrelsLike, RunLike
    from rankgate.metrics.declare import Metric
    from rankgate.scoring import Convention
    from rankgate.scoring.overrides import Overrides

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
    """

    qrels: Qrels
    index: JudgmentIndex
    metrics: tuple[tuple[str, Metric], ...]
    how: Convention
    depth: int = DEPTH
    tags: pl.DataFrame | None = None

    @classmethod
    def of(
        cls,
        qrels: QrelsLike,
        metrics: str | Metric | Sequence[str | Metric],
        how: str | Convention = "trec",
        *,
        overrides: Overrides | Sequence[str] = (),
        extra: Sequence[Metric] = (),
        depth: int = DEPTH,
        tags: Any = None,  # noqa: ANN401 - a frame
    ) -> Scorer:
        """From what ``evaluate`` takes.

        Raises:
            InputError: judgments that cannot be read.
            UsageError: an unknown metric or convention.
        """
        rules = chosen_convention(how, overrides)
        chosen = tuple(chosen_metrics(metrics, rules, extra))
        _refuse_no_means(chosen)
        judgments = read_qrels(qrels)
        known = None if tags is None else polars_frame(tags, "tags")
        return cls(judgments, JudgmentIndex.of(judgments), chosen, rules, depth, known)

    def scored(self, run: RunLike, name: str | None = None) -> ScoredRun:
        """Score a run.

        Raises:
            InputError: a run that cannot be read, or has no judged query.
        """
        ranked = read_run(run, name).held()
        scores = score(self.index, ranked, list(self.metrics), self.how)
        lists = tops(ranked, self.index, self.how, self.depth)
        return ScoredRun(
            name=name or ranked.name,
            tag=ranked.tag,
            sha256=ranked.sha256,
            qrels=self.qrels.name,
            qrels_sha256=self.qrels.sha256,
            convention=scores.convention,
            metrics=tuple(label for label, _ in self.metrics),
            depth=self.depth,
            scores=scores.table,
            lists=lists.select(*LISTS),
            queries=_queries(ranked, scores, lists, self.tags),
            lower=tuple(label for label, each in self.metrics if not each.higher_is_better),
        )


_NO_MEANS = {"sum": "a sum", "geometric": "a geometric mean", "weighted": "a weighted mean"}


def _refuse_no_means(metrics: Sequence[tuple[str, Metric]]) -> None:
    """A comparison is of means; a number made otherwise would be another one here than in eval.

    Raises:
        UsageError: a metric whose number for many queries is no plain mean.
    """
    for label, metric in metrics:
        if metric.aggregate in _NO_MEANS:
            raise UsageError(
                f"{label} is {_NO_MEANS[metric.aggregate]} over queries, and only plain means are "
                "compared query by query; leave it out, and see it with rankgate eval.",
                code="unsupported-metric",
            )


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
    others = [name for name in table.columns if name not in {*QUERIES, "missing"}]
    table = table.select(*QUERIES, *others)
    if tags is None:
        return table
    fresh = [name for name in tags.columns if name == "query_id" or name not in table.columns]
    return table.join(tags.select(fresh), on="query_id", how="left", maintain_order="left")


def _missing(scores: Scores) -> list[bool]:
    """Whether the run lacks a query; every metric says the same."""
    why = next(iter(scores.why.values()))
    return [int(each) == 1 for each in why]

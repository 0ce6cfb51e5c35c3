"""Leave-one-run-out analysis: the loss of a system that was not pooled."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import TYPE_CHECKING, ClassVar

import numpy as np
import polars as pl

from rankgate.core.declare import Count
from rankgate.core.errors import UsageError
from rankgate.core.frozen import dataclass
from rankgate.core.present.base_result import Notice, Result, run_notices
from rankgate.core.present.columns import Column, Columns
from rankgate.core.present.common_columns import METRIC, RUN
from rankgate.core.present.layout import NOTICES, Sentence, View
from rankgate.core.present.number_formats import count_noun
from rankgate.core.progress import progress, step
from rankgate.core.value_types import JsonObject
from rankgate.data.collection import SAMPLE_FIELDS, TASK_FIELDS, Collection
from rankgate.data.table_rows import in_row_order
from rankgate.judging.counting_ratings import PAIR
from rankgate.judging.pooling.pool_sampling import DEPTH
from rankgate.measurement.evaluation.metric_selection import find_ranking_metrics
from rankgate.measurement.metrics.metric_name_parser import DEFAULT_METRICS
from rankgate.measurement.scoring.alignment.judgment_index import JudgmentIndex
from rankgate.measurement.scoring.alignment.top_documents import rank_runs, read_named_runs
from rankgate.measurement.scoring.presets import chosen_convention
from rankgate.measurement.scoring.run_sources import score
from rankgate.measurement.stats.rank_correlation import tau

if TYPE_CHECKING:
    from rankgate.data import Qrels, Run
    from rankgate.data.input_types import QrelsLike, RunsLike
    from rankgate.data.run_scores import RunScores
    from rankgate.measurement.metrics.metric_declaration import Metric
    from rankgate.measurement.scoring import Convention

_MIN_RUNS = 2
_NO_DOCUMENT = "\x00"  # an id that is in no run


LOSSES = Columns(
    "One row per run and metric.",
    RUN,
    METRIC,
    Column(
        "unique",
        pl.Int64,
        "judged documents that only this run brought",
        unit="documents",
        header="unique\ndocuments",
    ),
    Column(
        "unique_relevant",
        pl.Int64,
        "relevant documents of these",
        unit="documents",
        header="of these\nrelevant",
    ),
    Column("value", pl.Float64, "the value by all judgments"),
    Column("without", pl.Float64, "the value without the judgments of its unique documents"),
    Column("loss", pl.Float64, "value − without", "signed"),
    Column("rank", pl.Int64, "its rank among all runs by all judgments; 1 is the best"),
    Column("rank_without", pl.Int64, "its rank among all runs without these judgments"),
    Column(
        "tau", pl.Float64, "Kendall's tau b of the order of all runs with and without these judgments", ".3f"
    ),
)


MEANS = Columns(
    "One row per metric.",
    METRIC,
    Column("mean_loss", pl.Float64, "the mean loss of a run", "signed", header="mean loss"),
    Column("largest_loss", pl.Float64, "the largest loss of a run", "signed", header="largest loss"),
    Column("run", pl.String, "the run that loses most", header="run that\nloses most"),
)


@dataclass(frozen=True)
class Reusability(Result):
    """The effect on each run's values of leaving it out of the pool.

    Attributes:
        qrels: the name of the judgments.
        convention: name, axes and hash.
        depth: how far each run went into the pool.
        table: the columns of `LOSSES`.
        means: the columns of `MEANS`.
        notices: remarks on the judgments and the runs.
    """

    kind = "reusability"
    label = "The loss of runs outside the pool"
    SCHEMAS: ClassVar = {"table": LOSSES, "means": MEANS}
    headline_text = (
        "leaving each run out of the pool of depth {depth}, judgments {qrels}, convention "
        "{convention[name]} ({convention[hash]})"
    )
    layout = (
        View("means"),
        View(
            "losses",
            "{metric}",
            (
                *("run", "unique", "unique_relevant", "value", "without", "loss"),
                ("rank", " → ", "rank_without"),
                "tau",
            ),
            LOSSES,
            table_key="metric",
        ),
        NOTICES,
        Sentence(
            "unique: judged documents that no other run has down to the depth. without: the value when those"
            " judgments are missing, as they would be if the run had never been pooled. tau: the order of "
            "all runs with and without them."
        ),
    )

    KEYS: ClassVar[Mapping[str, str]] = {"table": "runs"}

    qrels: str
    convention: JsonObject
    depth: int
    table: pl.DataFrame
    means: pl.DataFrame
    notices: tuple[Notice, ...] = ()

    @property
    def losses(self) -> pl.DataFrame:
        """The columns of `LOSSES`, by metric, the largest loss first."""
        metric = pl.col("metric").cast(pl.Enum(self.means["metric"]))
        return self.table.sort(metric, "loss", "run", descending=[False, True, False])


def reusability(
    collection: Collection | QrelsLike,
    runs: RunsLike,
    metrics: str | Metric | Sequence[str | Metric] = DEFAULT_METRICS,
    convention: str | Convention = "trec",
    *,
    depth: Count = DEPTH,
    rel: float = 1.0,
) -> Reusability:
    """Score each run as if it had not been in the pool that was judged.

    The judgments of documents that no other run has down to the depth are removed, and all runs
    are scored again (Zobel, SIGIR 1998, doi:10.1145/290941.291014). The losses estimate how much a
    new system that was never pooled may lose with these judgments.

    Both means are over the same queries. A query that loses all its judgments stays, as one without
    a relevant document; if the convention leaves such queries out, both means do. A notice has the
    number of queries that lose all their relevant documents.

    Args:
        collection: judgments, or a `Collection`, as ``evaluate`` takes them.
        runs: the runs that were pooled, two or more, or ``{name: run}``.
        metrics: names or metrics.
        convention: the convention of the metrics.
        depth: the depth to which the runs were judged.
        rel: the smallest relevant grade.

    Raises:
        InputError: data that cannot be read.
        UsageError: fewer than two runs, an unknown metric.

    >>> runs = [{"q": {"a": 2.0, "b": 1.0}}, {"q": {"b": 2.0}}]
    >>> result = reusability({"q": {"a": 1, "b": 1}}, runs, ["RR"], depth=2)
    >>> result.table.select("run", "value", "without").rows()
    [('run1', 1.0, 0.5), ('run2', 1.0, 1.0)]
    """
    rules = chosen_convention(convention)
    labelled_metrics = find_ranking_metrics(metrics, rules)
    collection = Collection.of(collection)
    collection.refuse("reusability", *TASK_FIELDS, *SAMPLE_FIELDS, "drop_seen")
    qrels = collection.qrels()
    source = collection.run_source(runs)
    systems = (
        [collection.run({name: run}) for name, run in source.items()]
        if isinstance(source, Mapping)
        else read_named_runs(list(source))
    )
    if len(systems) < _MIN_RUNS:
        raise UsageError("leaving one run out needs two runs or more.", code="missing-input")
    with progress(None):
        unique_documents = _unique_documents(rank_runs(systems, depth, rules), qrels)
    all_scores = _score_runs(qrels, systems, labelled_metrics, rules)
    rows, emptied_notices = [], []
    for run in systems:
        step(run.name)
        run_documents = unique_documents.filter(pl.col("system") == run.name)
        remaining = _without_documents(qrels, run_documents)
        scores_without = (
            _score_runs(remaining, systems, labelled_metrics, rules) if len(run_documents) else all_scores
        )
        relevant = int((run_documents["grade"] >= rel).sum())
        emptied_notices += _emptied_notices(run.name, qrels, remaining, rel)
        for label, _ in labelled_metrics:
            values, without = _means_of_same_queries(all_scores, scores_without, label)
            rows.append(
                {
                    "run": run.name,
                    "metric": label,
                    "unique": len(run_documents),
                    "unique_relevant": relevant,
                    "value": values[run.name],
                    "without": without[run.name],
                    "loss": values[run.name] - without[run.name],
                    "rank": _rank(values, run.name),
                    "rank_without": _rank(without, run.name),
                    "tau": _tau(values, without),
                }
            )
    table = pl.DataFrame(rows, schema=Reusability.SCHEMAS["table"])
    cautions = [
        notice for run in systems for notice in run_notices(run.name, all_scores[run.name].counts.cautions)
    ]
    notices = (*cautions, *emptied_notices)
    return Reusability(qrels.name, rules.to_dict(), depth, table, _summary(table), notices)


def _unique_documents(ranks: pl.DataFrame, qrels: Qrels) -> pl.DataFrame:
    """Judged documents that only one run has, with the name of the run."""
    unique_ranks = ranks.filter(pl.len().over(PAIR) == 1)
    return unique_ranks.join(qrels.table, on=PAIR).filter(pl.col("grade") >= 0)


def _without_documents(qrels: Qrels, run_documents: pl.DataFrame) -> Qrels:
    """The judgments without some documents; an empty query keeps one without a document."""
    remaining = qrels.table.join(run_documents, on=PAIR, how="anti")
    lost_rows = qrels.table.join(remaining, on="query_id", how="anti")
    placeholder_rows = lost_rows.unique("query_id", maintain_order=True).with_columns(
        pl.lit(_NO_DOCUMENT, remaining.schema["doc_id"]).alias("doc_id"),
        pl.lit(0, remaining.schema["grade"]).alias("grade"),
    )
    return replace(qrels, table=pl.concat([remaining, placeholder_rows]))


def _emptied_notices(name: str, qrels: Qrels, remaining: Qrels, rel: float) -> list[Notice]:
    """The notice about queries that lose all their relevant documents without a run."""
    relevant = pl.col("grade") >= rel
    count = qrels.table.filter(relevant)["query_id"].n_unique()
    lost_count = count - remaining.table.filter(relevant)["query_id"].n_unique()
    if not lost_count:
        return []
    text = (
        f"{name}: {lost_count} of {count_noun(count, 'query')} "
        f"{'has' if lost_count == 1 else 'have'} no relevant document left without those that only this run "
        "brought. The convention defines the value of such a query; where it leaves the query out, both "
        "means leave it out, and the loss is understated."
    )
    return [Notice("emptied-queries", text, name)]


def _score_runs(
    qrels: Qrels, systems: Sequence[Run], chosen: list[tuple[str, Metric]], rules: Convention
) -> dict[str, RunScores]:
    """The values of all metrics, by run."""
    index = JudgmentIndex.from_judgments(qrels)
    return {run.name: score(index, run, chosen, rules) for run in systems}


def _means_of_same_queries(
    all_scores: Mapping[str, RunScores], scores_without: Mapping[str, RunScores], label: str
) -> tuple[dict[str, float], dict[str, float]]:
    """Means by run with all judgments and without some, over queries with a value in both cases."""
    values, without = {}, {}
    for name, scores in all_scores.items():
        scores_after = scores_without[name]
        values[name], without[name] = float(scores.means[label]), float(scores_after.means[label])
        if label not in scores.values:
            continue
        pair = np.array([scores.values[label], scores_after.values[label]])
        defined = ~np.isnan(pair)
        if (defined[0] != defined[1]).any():
            common_values = pair[:, defined.all(axis=0)]
            values[name], without[name] = common_values.mean(axis=1).tolist()
    return values, without


def _rank(values: Mapping[str, float], name: str) -> int:
    return 1 + sum(value > values[name] for value in values.values())


def _tau(all_means: Mapping[str, float], means_without: Mapping[str, float]) -> float | None:

    result = tau(np.array(list(all_means.values())), np.array([means_without[name] for name in all_means]))
    return None if np.isnan(result) else float(result)


def _summary(table: pl.DataFrame) -> pl.DataFrame:
    loss = pl.col("loss")
    return table.group_by("metric", maintain_order=True).agg(
        in_row_order(loss).mean().alias("mean_loss"),
        loss.max().alias("largest_loss"),
        pl.col("run").sort_by("loss", "run", descending=[True, False]).first(),
    )

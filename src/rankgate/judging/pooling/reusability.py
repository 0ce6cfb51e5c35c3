"""Leave-one-run-out: the loss of a system that was not pooled."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from typing import TYPE_CHECKING, Any, ClassVar

import numpy as np
import polars as pl

from rankgate.data import read_qrels
from rankgate.declare import Count
from rankgate.errors import UsageError
from rankgate.evaluation.evaluate import chosen_metrics
from rankgate.frozen import dataclass
from rankgate.judging.pooling.pool import DEPTH
from rankgate.judging.standing import PAIR
from rankgate.metrics.names import DEFAULT_METRICS
from rankgate.present.result import Notice, Result, run_notices
from rankgate.scoring.alignment.judgments import JudgmentIndex
from rankgate.scoring.alignment.ranked import ranked, systems_of
from rankgate.scoring.chosen import chosen_convention
from rankgate.scoring.score import score
from rankgate.stats.ranks.order import tau

if TYPE_CHECKING:
    from rankgate.data import Qrels, Run
    from rankgate.data.inputs import QrelsLike
    from rankgate.metrics.declare import Metric
    from rankgate.scoring import Convention

_TWO = 2


@dataclass(frozen=True)
class Reusability(Result):
    """What leaving each run out of the pool does to its values.

    Attributes:
        qrels: the name of the judgments.
        convention: name, axes and hash.
        depth: how far each run went into the pool.
        table: ``run``, ``metric``, ``unique`` (judged documents that only this run brought),
            ``unique_relevant``, ``value`` (all judgments), ``without`` (without its unique ones),
            ``loss``, ``rank``, ``rank_without`` (among all runs, 1 is best) and ``tau`` (Kendall's
            tau-b of the order of all runs with and without those judgments).
        means: ``metric``, ``mean_loss``, ``largest_loss``, ``run`` (that loses most).
        notices: what the reader should know of the judgments and the runs.
    """

    kind: ClassVar[str] = "reusability"
    label: ClassVar[str] = "What runs lose outside the pool"
    document_from: ClassVar[str] = "rankgate.judging.pooling.reusability_document:document"
    SCHEMAS: ClassVar[Mapping[str, Mapping[str, type[pl.DataType]]]] = {
        "table": {
            "run": pl.String, "metric": pl.String, "unique": pl.Int64, "unique_relevant": pl.Int64,
            "value": pl.Float64, "without": pl.Float64, "loss": pl.Float64, "rank": pl.Int64,
            "rank_without": pl.Int64, "tau": pl.Float64,
        },
        "means": {"metric": pl.String, "mean_loss": pl.Float64, "largest_loss": pl.Float64,
                  "run": pl.String},
    }  # fmt: skip

    KEYS: ClassVar[Mapping[str, str]] = {"table": "runs"}

    qrels: str
    convention: Mapping[str, Any]
    depth: int
    table: pl.DataFrame
    means: pl.DataFrame
    notices: tuple[Notice, ...] = ()

    def _table(self) -> pl.DataFrame:
        return self.table


def reusability(
    qrels: QrelsLike,
    runs: Sequence[Any],
    metrics: str | Metric | Sequence[str | Metric] = DEFAULT_METRICS,
    convention: str | Convention = "trec",
    *,
    depth: Count = DEPTH,
    rel: float = 1.0,
    on_progress: Callable[[str], None] | None = None,
) -> Reusability:
    """Score each run as if it had not been in the pool that was judged.

    The judgments of documents that no other run has down to the depth are removed, and all runs
    are scored again (Zobel, SIGIR 1998, doi:10.1145/290941.291014). The losses estimate what a new
    system that was never pooled may lose by these judgments.

    Args:
        qrels: judgments, as ``evaluate`` takes them.
        runs: the runs that were pooled, two or more.
        metrics: names or metrics.
        convention: whose rules the numbers follow.
        depth: the depth to which the runs were judged.
        rel: the smallest relevant grade.
        on_progress: called with the name of each run before it is left out.

    Raises:
        InputError: data that cannot be read.
        UsageError: fewer than two runs, an unknown metric.

    >>> runs = [{"q": {"a": 2.0, "b": 1.0}}, {"q": {"b": 2.0}}]
    >>> result = reusability({"q": {"a": 1, "b": 1}}, runs, ["RR"], depth=2)
    >>> result.table.select("run", "value", "without").rows()
    [('run1', 1.0, 0.5), ('run2', 1.0, 1.0)]
    """
    rules = chosen_convention(convention)
    chosen = chosen_metrics(metrics, rules)
    judged = read_qrels(qrels)
    systems = systems_of(runs)
    if len(systems) < _TWO:
        raise UsageError("leaving one run out needs two runs or more.", code="missing-input")
    own = _only(ranked(systems, depth, rules), judged)
    before, cautions = _means(judged, systems, chosen, rules)
    rows = []
    for run in systems:
        if on_progress:
            on_progress(run.name)
        unique = own.filter(pl.col("system") == run.name)
        left = replace(judged, table=judged.table.join(unique, on=PAIR, how="anti"))
        after = _means(left, systems, chosen, rules)[0] if len(unique) else before
        relevant = int((unique["grade"] >= rel).sum())
        rows += [
            {
                "run": run.name,
                "metric": label,
                "unique": len(unique),
                "unique_relevant": relevant,
                "value": before[label][run.name],
                "without": after[label][run.name],
                "loss": before[label][run.name] - after[label][run.name],
                "rank": _rank(before[label], run.name),
                "rank_without": _rank(after[label], run.name),
                "tau": _tau(before[label], after[label]),
            }
            for label, _ in chosen
        ]
    table = pl.DataFrame(rows, schema=Reusability.SCHEMAS["table"])
    notices = [notice for run in systems for notice in run_notices(run.name, cautions[run.name])]
    return Reusability(judged.name, rules.to_dict(), depth, table, _summary(table), tuple(notices))


def _only(ranks: pl.DataFrame, judged: Qrels) -> pl.DataFrame:
    """Judged documents that one run alone has, with the run."""
    alone = ranks.filter(pl.len().over(PAIR) == 1)
    return alone.join(judged.table, on=PAIR).filter(pl.col("grade") >= 0)


def _means(
    judged: Qrels, systems: Sequence[Run], chosen: list[tuple[str, Metric]], rules: Convention
) -> tuple[dict[str, dict[str, float]], dict[str, Mapping[str, str]]]:
    """The means by metric and run, and the cautions by run."""
    index = JudgmentIndex.of(judged)
    scored = {run.name: score(index, run, chosen, rules) for run in systems}
    means = {
        label: {name: float(scores.means[label]) for name, scores in scored.items()}
        for label, _ in chosen
    }
    return means, {name: scores.counts.cautions for name, scores in scored.items()}


def _rank(values: Mapping[str, float], name: str) -> int:
    return 1 + sum(value > values[name] for value in values.values())


def _tau(before: Mapping[str, float], after: Mapping[str, float]) -> float | None:

    result = tau(np.array(list(before.values())), np.array([after[name] for name in before]))
    return None if np.isnan(result) else float(result)


def _summary(table: pl.DataFrame) -> pl.DataFrame:
    loss = pl.col("loss")
    return table.group_by("metric", maintain_order=True).agg(
        loss.mean().alias("mean_loss"),
        loss.max().alias("largest_loss"),
        pl.col("run").sort_by("loss", "run", descending=[True, False]).first(),
    )

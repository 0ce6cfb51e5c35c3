"""The verbs ``pool`` and ``reusability``, whose results show themselves in a notebook."""

from __future__ import annotations

from dataclasses import dataclass, fields
from typing import TYPE_CHECKING, Any

from rankgate.judging.pooling import document as pool_report
from rankgate.judging.pooling import pool as pool_service
from rankgate.judging.pooling import pool_grid
from rankgate.judging.pooling import reusability as reusability_service
from rankgate.judging.pooling import reusability_document as reusability_report
from rankgate.metrics.names import DEFAULT_METRICS
from rankgate.present import as_html

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence
    from pathlib import Path

    from rankgate.metrics.declare import Metric
    from rankgate.scoring import Convention


@dataclass(frozen=True)
class Pool(pool_service.Pool):
    """Documents to judge, in order; shows the first of them."""

    def _repr_html_(self) -> str:
        head = as_html.paragraph(pool_report.summary(self))
        return head + as_html.table(pool_grid.grid(self))


@dataclass(frozen=True)
class Reusability(reusability_service.Reusability):
    """What leaving each run out of the pool does to its values; shows itself as tables."""

    def _repr_html_(self) -> str:
        return "".join(as_html.table(grid) for grid in reusability_report.grids(self))


def pool(
    runs: Sequence[Any],
    *,
    depth: int = pool_service.DEPTH,
    order: str = "rank",
    qrels: Any = None,  # noqa: ANN401 - a path, a frame, a dict of dicts
    metric: str = "nDCG@10",
    rel: float = 1.0,
    strata: str | None = None,
    queries: int | None = None,
    query_sampling: pool_service.QuerySampling = "random",
    sizes: Mapping[str, float] | str | Path | None = None,
    batch: int | None = None,
    shuffle: bool = False,
    seed: int = 0,
    convention: str | Convention = "trec",
) -> Pool:
    """The documents that several systems put first, and that nobody has judged.

    Args:
        runs: paths, frames, dicts of dicts.
        depth: how far each list goes into the pool; with strata, their last rank.
        order: rank, disagreement, move-to-front or influence.
        qrels: judgments that there are; their documents are left out, and teach move-to-front and
            influence what to ask next.
        metric: whose difference influence is about; the first two runs are compared.
        rel: the smallest relevant grade, for move-to-front.
        strata: draw a sample: ``10:1,50:0.3`` takes all of the first ten ranks and 30 % of the
            others down to rank 50.
        queries: draw so many queries.
        query_sampling: random, stratified (by frequency) or pps (in proportion to frequency).
        sizes: how often each query is asked: a mapping, or a file.
        batch: how many documents a batch has; one batch without it.
        shuffle: within each batch in random order, the documents of a query together.
        seed: of everything that is drawn.
        convention: whose rules break ties of scores.

    Raises:
        InputError: a file that cannot be read.
        UsageError: an unknown order, strata or samples that cannot be.

    >>> told = pool([{"q": {"a": 2.0, "b": 1.0}}, {"q": {"b": 2.0, "c": 1.0}}], depth=2)
    >>> told.table["doc_id"].to_list()
    ['b', 'a', 'c']
    """
    told = pool_service.pool(
        runs, depth=depth, order=order, qrels=qrels, metric=metric, rel=rel, strata=strata,
        queries=queries, query_sampling=query_sampling, sizes=sizes, batch=batch, shuffle=shuffle,
        seed=seed, how=convention,
    )  # fmt: skip
    return Pool(**{each.name: getattr(told, each.name) for each in fields(told)})


def reusability(
    qrels: Any,  # noqa: ANN401 - a path, a frame, a dict of dicts
    runs: Sequence[Any],
    metrics: str | Metric | Sequence[str | Metric] = DEFAULT_METRICS,
    convention: str | Convention = "trec",
    *,
    depth: int = pool_service.DEPTH,
    rel: float = 1.0,
) -> Reusability:
    """Score each run as if it had not been in the pool that was judged.

    Args:
        qrels: judgments.
        runs: the runs that were pooled, two or more.
        metrics: names or metrics.
        convention: whose rules the numbers follow.
        depth: how far each run was judged.
        rel: the smallest relevant grade.

    Raises:
        InputError: data that cannot be read.
        UsageError: fewer than two runs, an unknown metric.

    >>> runs = [{"q": {"a": 2.0, "b": 1.0}}, {"q": {"b": 2.0}}]
    >>> told = reusability({"q": {"a": 1, "b": 1}}, runs, ["RR"], depth=2)
    >>> told.table.select("run", "value", "without").rows()
    [('run1', 1.0, 0.5), ('run2', 1.0, 1.0)]
    """
    told = reusability_service.reusability(
        qrels, runs, metrics, convention, depth=depth, rel=rel
    )  # fmt: skip
    return Reusability(**{each.name: getattr(told, each.name) for each in fields(told)})

"""Pools of several runs: ordered, sampled, in batches."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any, ClassVar

import polars as pl

from rankgate.core.declare import Count
from rankgate.core.errors import UsageError
from rankgate.core.frozen import dataclass
from rankgate.core.present.result import Result
from rankgate.core.progress import progress
from rankgate.data import read_qrels
from rankgate.data.formats.tags import tags_from
from rankgate.decisions.unjudged.holes import holes
from rankgate.judging.pooling.candidates import ORDERS, in_order, pooled, shuffled
from rankgate.judging.pooling.sampling import QuerySampling, queries_drawn, sampled
from rankgate.judging.pooling.sampling import strata_of as strata_in
from rankgate.measurement.scoring.alignment.ranked import ranked, systems_of
from rankgate.measurement.scoring.chosen import chosen_convention

if TYPE_CHECKING:
    from rankgate.data import Qrels
    from rankgate.data.inputs import QrelsLike
    from rankgate.measurement.scoring import Convention

DEPTH = 10
"""How far each list goes into the pool when nothing is said."""

INFLUENCE = "influence"
ORDER_NAMES = (*ORDERS, INFLUENCE)
"""Every order; influence is that of ``holes``, on the comparison of the first two runs."""

_PAIR = ("query_id", "doc_id")


@dataclass(frozen=True)
class Pool(Result):
    """Documents to judge, in order.

    Attributes:
        systems: the names of the runs.
        counts: pool (documents of all lists), judged (of them, left out), sampled, queries.
        made_by: depth, order, strata, seed and anything else that made it.
        table: ``query_id``, ``doc_id``, ``why``, ``best_rank``, ``systems``, ``stratum``,
            ``inclusion``, ``query_inclusion`` and ``batch``, in the order in which to judge.
        rest: ``query_id``, ``doc_id`` of the pool that were not drawn into the sample.
    """

    kind: ClassVar[str] = "pool"
    label: ClassVar[str] = "What to judge next"
    document_from: ClassVar[str] = "rankgate.judging.pooling.document:document"
    SCHEMAS: ClassVar[Mapping[str, Mapping[str, type[pl.DataType]]]] = {
        "table": {
            "query_id": pl.String,
            "doc_id": pl.String,
            "why": pl.String,
            "best_rank": pl.Int64,
            "systems": pl.Int64,
            "stratum": pl.String,
            "inclusion": pl.Float64,
            "query_inclusion": pl.Float64,
            "batch": pl.Int64,
        },
        "rest": {"query_id": pl.String, "doc_id": pl.String},
    }

    KEYS: ClassVar[Mapping[str, str]] = {"table": "documents"}

    systems: tuple[str, ...]
    counts: Mapping[str, int]
    made_by: Mapping[str, Any]
    table: pl.DataFrame
    rest: pl.DataFrame

    def _table(self) -> pl.DataFrame:
        return self.table


def order_facts() -> tuple[tuple[str, str], ...]:
    """Each order with what comes first."""
    own = [(order.name, order.title) for order in ORDERS.values()]
    return (*own, (INFLUENCE, "what could move the difference of the first two runs most"))


def pool(
    runs: Sequence[Any],
    *,
    depth: Count = DEPTH,
    order: str = "rank",
    qrels: QrelsLike | None = None,
    metric: str = "nDCG@10",
    rel: float = 1.0,
    strata: str | None = None,
    queries: Count | None = None,
    query_sampling: QuerySampling = "random",
    sizes: Mapping[str, float] | str | Path | None = None,
    batch: Count | None = None,
    blind: bool = False,
    seed: int = 0,
    convention: str | Convention = "trec",
) -> Pool:
    """The documents that several systems put first, and that nobody has judged.

    Args:
        runs: paths, frames, dicts of dicts.
        depth: the depth of the pool: how many documents of each list; with strata, their last rank.
        order: what is judged first: rank, disagreement, move-to-front or influence.
        qrels: existing judgments: their documents are left out, and guide move-to-front and
            influence.
        metric: the metric for --order influence, which compares the first two runs.
        rel: the smallest relevant grade, for move-to-front.
        strata: draw a sample: ``10:1,50:0.3`` takes all of the first ten ranks and 30 % of the
            others down to rank 50. Each document has its probability in the column inclusion.
        queries: sample this many queries.
        query_sampling: how to sample queries: random, stratified by head, torso and tail, or in
            proportion to frequency (pps).
        sizes: a table of ``query_id`` and ``frequency`` (or count, size, weight), for
            ``query_sampling`` stratified and pps.
        batch: the number of documents per batch; without it one batch.
        blind: shuffle within each batch and leave out ranks and systems, so that raters cannot
            see them.
        seed: of everything that is drawn.
        convention: whose rules break ties of scores.

    Raises:
        InputError: a file that cannot be read; nothing left to judge.
        UsageError: an unknown order, strata or samples that cannot be.

    >>> answer = pool([{"q": {"a": 2.0, "b": 1.0}}, {"q": {"b": 2.0, "c": 1.0}}], depth=2)
    >>> answer.table["doc_id"].to_list()
    ['b', 'a', 'c']
    """
    if order not in ORDER_NAMES:
        raise UsageError(
            f"no order is called {order!r}; the orders are {', '.join(ORDER_NAMES)}.",
            code="unknown-choice",
        )
    steps = strata_in(strata) if strata else ()
    deep = steps[-1][0] if steps else depth
    systems = systems_of(runs)
    names = [run.name for run in systems]
    ranks = ranked(systems, deep, chosen_convention(convention))
    judged = read_qrels(qrels) if qrels is not None else None
    drawn = _queries(ranks, queries, query_sampling, _sizes(sizes), seed)
    ranks = ranks.join(drawn, on="query_id", how="semi")
    whole = pooled(ranks, names)
    kept, rest = sampled(whole, steps, seed) if steps else (whole, whole.select(_PAIR).clear())
    known = _known(judged)
    if order == INFLUENCE:
        placed = _by_influence(kept, systems, judged, metric, how=convention, seed=seed)
    else:
        placed = ORDERS[order].place(ranks, kept, names, known, rel)
    done = _judged(kept, judged)
    left = in_order(placed.join(done, on=_PAIR, how="anti", maintain_order="left"))
    left = _in_batches(left, batch).join(drawn, on="query_id", how="left", maintain_order="left")
    result = shuffled(left, seed) if blind else left
    made_by = {
        "depth": deep,
        "order": order,
        "seed": seed,
        "shuffled": blind,
        "batch": batch,
        "strata": strata,
        "convention": chosen_convention(convention).name,
        **({"queries": queries, "query_sampling": query_sampling} if queries else {}),
        **({"qrels": judged.name, "qrels_sha256": judged.sha256} if judged else {}),
        **({"metric": metric} if order == INFLUENCE else {}),
    }
    counts = {
        "pool": len(whole),
        "sampled": len(kept),
        "judged": len(done),
        "to_judge": len(result),
        "queries": result["query_id"].n_unique(),
    }
    return Pool(tuple(names), counts, made_by, _columns(result), rest)


def _in_batches(result: pl.DataFrame, size: int | None) -> pl.DataFrame:
    size = size or max(len(result), 1)
    return result.with_columns((pl.int_range(pl.len()) // size + 1).alias("batch"))


def _columns(result: pl.DataFrame) -> pl.DataFrame:
    for name, dtype in (("stratum", pl.String), ("inclusion", pl.Float64)):
        if name not in result.columns:
            result = result.with_columns(pl.lit(None, dtype=dtype).alias(name))
    return result.select(
        *_PAIR,
        "why",
        "best_rank",
        "systems",
        "stratum",
        pl.col("inclusion").fill_null(1.0),
        "query_inclusion",
        "batch",
    )


def _queries(
    ranks: pl.DataFrame,
    count: int | None,
    kind: QuerySampling,
    sizes: Mapping[str, float] | None,
    seed: int,
) -> pl.DataFrame:
    names = ranks["query_id"].unique().sort()
    if count is None:
        return pl.DataFrame(
            {"query_id": names, "query_inclusion": 1.0}, schema_overrides={"query_id": pl.String}
        )
    result = queries_drawn(names.to_list(), count, kind, dict(sizes) if sizes else None, seed)
    return result.select("query_id", "query_inclusion")


def _sizes(given: Mapping[str, float] | str | Path | None) -> Mapping[str, float] | None:
    if given is None or isinstance(given, Mapping):
        return given
    table = tags_from(given)
    named = {name.lower(): name for name in table.columns}
    found = next((named[n] for n in ("frequency", "count", "size", "weight") if n in named), None)
    if found is None:
        raise UsageError(
            f"{given}: no column frequency, count, size or weight; name one so.",
            code="missing-column",
        )
    numbers = table[found].cast(pl.Float64, strict=False)
    return {q: n for q, n in zip(table["query_id"], numbers, strict=True) if n is not None}


def _known(judged: Qrels | None) -> dict[tuple[str, str], float]:
    if judged is None:
        return {}
    rows = judged.table.filter(pl.col("grade") >= 0).select(*_PAIR, "grade")
    return {(query, document): grade for query, document, grade in rows.iter_rows()}


def _judged(kept: pl.DataFrame, judged: Qrels | None) -> pl.DataFrame:
    """The documents of the pool that have a grade; −1 says that they have none."""
    if judged is None:
        return kept.select(_PAIR).clear()
    graded = judged.table.filter(pl.col("grade") >= 0)
    return kept.select(_PAIR).join(graded, on=_PAIR, how="semi")


def _by_influence(
    kept: pl.DataFrame,
    systems: Sequence[Any],
    judged: Qrels | None,
    metric: str,
    *,
    how: str | Convention,
    seed: int,
) -> pl.DataFrame:
    """Holes of the first two runs first, by their influence; then the others by rank."""
    if judged is None or len(systems) < 2:  # a comparison is of two
        raise UsageError(
            "the order influence needs the judgments so far and two runs, the baseline first; "
            "give --qrels, or another order.",
            code="missing-input",
        )
    with progress(None):
        result = holes(judged, systems[0], systems[1], [metric], how, seed=seed)
    found = result.judge_next.select(
        *_PAIR,
        pl.int_range(pl.len()).cast(pl.Float64).alias("key"),
        pl.format("influence {}; {}", pl.col("influence").round(6), "why").alias("reason"),
    )
    joined = kept.join(found, on=_PAIR, how="left", maintain_order="left")
    after = pl.lit(float(len(found))) + pl.col("best_rank")
    return joined.with_columns(
        pl.coalesce("key", after).alias("key"), pl.coalesce("reason", "why").alias("why")
    ).drop("reason")

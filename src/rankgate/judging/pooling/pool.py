"""Pool the top documents of several systems: ordered, sampled and split into batches.

Each candidate document of the pool has a reason.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import TYPE_CHECKING, Any, ClassVar

import numpy as np
import polars as pl

from rankgate.core.declare import Count
from rankgate.core.errors import UsageError
from rankgate.core.frozen import dataclass
from rankgate.core.present.base_result import Result
from rankgate.core.present.columns import Column, Columns
from rankgate.core.present.common_columns import DOC_ID, QUERY_ID
from rankgate.core.present.document_model import PlainRows
from rankgate.core.present.layout import Sentence, View
from rankgate.core.progress import progress
from rankgate.core.value_types import JsonObject
from rankgate.data.collection import Collection
from rankgate.data.table_rows import in_row_order
from rankgate.decisions.comparison.inference import Test
from rankgate.decisions.unjudged.holes import holes
from rankgate.judging.counting_ratings import PAIR
from rankgate.judging.pooling.pool_sampling import PoolDesign, sample_pool, sample_queries
from rankgate.judging.trec_lines import trec_lines
from rankgate.measurement.scoring.alignment.top_documents import rank_runs, read_named_runs
from rankgate.measurement.scoring.presets import chosen_convention

if TYPE_CHECKING:
    from rankgate.data import Qrels
    from rankgate.data.input_types import QrelsLike
    from rankgate.measurement.scoring import Convention

    Known = Mapping[tuple[str, str], float]


@dataclass(frozen=True)
class PoolOrder:
    """An order of a pool's documents.

    Attributes:
        name: the name of the order.
        title: the order, in words.
        source: the publication.
        place: a function of the lists, the pool from `pool_lists`, the systems in order, known
            grades and the smallest relevant grade; it returns the pool with a column ``key``, in
            which smaller values come first.
    """

    name: str
    title: str
    source: str
    place: Callable[[pl.DataFrame, pl.DataFrame, Sequence[str], Known, float], pl.DataFrame]


def pool_lists(ranks: pl.DataFrame, systems: Sequence[str]) -> pl.DataFrame:
    """The documents of all lists, each once per query.

    Args:
        ranks: the columns of `scoring.ranked.RANKS`, cut at the depth of the pool.
        systems: all systems, including systems without results.

    Returns:
        ``query_id``, ``doc_id``, ``best_rank``, ``systems`` (the number of systems with the
        document), ``disagreement`` and ``why``, by query and document. The disagreement is the
        standard deviation, over all systems, of 1/log₂(rank + 1), which is 0 where a system lacks
        the document.
    """
    worth = 1 / (pl.col("rank") + 1).cast(pl.Float64).log(2)
    count = max(len(systems), 1)
    mean = pl.col("total") / count
    deviation = (pl.col("squares") / count - mean**2).clip(lower_bound=0).sqrt()
    best = pl.col("system").sort_by("rank", "system").first()
    return (
        ranks.group_by(PAIR)
        .agg(
            pl.col("rank").min().alias("best_rank"),
            pl.len().cast(pl.Int64).alias("systems"),
            best.alias("first"),
            in_row_order(worth).sum().alias("total"),
            in_row_order(worth**2).sum().alias("squares"),
        )
        .with_columns(
            deviation.alias("disagreement"),
            pl.format(
                "rank {} of {}; in {} of {} systems", "best_rank", "first", "systems", pl.lit(count)
            ).alias("why"),
        )
        .select(*PAIR, "best_rank", "systems", "disagreement", "why")
        .sort(PAIR)
    )


def _by_rank(
    _ranks: pl.DataFrame, pool: pl.DataFrame, _systems: Sequence[str], _known: Known, _rel: float
) -> pl.DataFrame:
    """The best rank first; for equal ranks, the document of more systems first."""
    return pool.with_columns(
        (pl.col("best_rank") - pl.col("systems") / (pl.col("systems").max() + 1)).alias("key")
    )


def _by_disagreement(
    _ranks: pl.DataFrame, pool: pl.DataFrame, _systems: Sequence[str], _known: Known, _rel: float
) -> pl.DataFrame:
    return pool.with_columns((-pl.col("disagreement")).alias("key"))


def _move_to_front(
    ranks: pl.DataFrame, pool: pl.DataFrame, systems: Sequence[str], known_grades: Known, rel: float
) -> pl.DataFrame:
    """Order the documents query by query; the key is the step of move-to-front pooling."""
    index_of_system = {system: i for i, system in enumerate(systems)}
    rows = []
    sorted_ranks = ranks.sort("query_id", "system", "rank")
    for (query,), query_ranks in sorted_ranks.group_by("query_id", maintain_order=True):
        lists: list[list[str]] = [[] for _ in systems]
        for system, document in query_ranks.select("system", "doc_id").iter_rows():
            lists[index_of_system[system]].append(document)
        grades = {doc: known_grades.get((str(query), doc)) for doc in query_ranks["doc_id"].unique()}
        result = move_to_front_order(lists, grades, rel)
        rows += [(str(query), doc, float(step)) for step, doc in enumerate(result)]
    schema = {"query_id": pl.String, "doc_id": pl.String, "key": pl.Float64}
    steps = pl.DataFrame(rows, schema=schema, orient="row")
    return pool.join(steps, on=PAIR, how="left", maintain_order="left")


def move_to_front_order(
    lists: Sequence[Sequence[str]], grades: Mapping[str, float | None], rel: float = 1
) -> list[str]:
    """The documents of one query, in the order of move-to-front pooling.

    The system with the highest priority contributes its next document. Its priority falls by 1 for
    each document that is not relevant. Between equal priorities, the system named first comes
    first. A document without a grade counts as not relevant, so the order improves with every batch
    of ratings.

    Source: Cormack, Palmer and Clarke, SIGIR 1998, doi:10.1145/290941.291009 (local form).

    >>> move_to_front_order([["a", "b", "c"], ["x", "y"]], {"a": 1, "b": 0})
    ['a', 'b', 'x', 'c', 'y']
    """
    priority, positions, pooled_documents = [0] * len(lists), [0] * len(lists), dict[str, None]()
    while open_lists := [i for i, documents in enumerate(lists) if positions[i] < len(documents)]:
        system = max(open_lists, key=lambda i: (priority[i], -i))
        document = lists[system][positions[system]]
        positions[system] += 1
        if document in pooled_documents:
            continue
        pooled_documents[document] = None
        grade = grades.get(document)
        if grade is None or grade < rel:
            priority[system] -= 1
    return list(pooled_documents)


ORDERS = {
    order.name: order
    for order in (
        PoolOrder("rank", "the best rank that any system gives", "depth-k pooling, TREC", _by_rank),
        PoolOrder(
            "disagreement",
            "the documents that the systems rank most differently",
            "standard deviation of 1/log2(rank + 1) over the systems",
            _by_disagreement,
        ),
        PoolOrder(
            "move-to-front",
            "systems that have returned relevant documents so far",
            "Cormack, Palmer and Clarke 1998, one query at a time",
            _move_to_front,
        ),
    )
}
"""Every order that works without a comparison, by name; the order by influence needs the holes of a
comparison."""


def sort_by_key(pool: pl.DataFrame) -> pl.DataFrame:
    """Sort by ``key``: first documents of all queries, then second ones; ties by query and id."""
    return pool.sort("key", *PAIR, nulls_last=True).drop("key")


def shuffle_batches(pool: pl.DataFrame, seed: int) -> pl.DataFrame:
    """Keep the batches, with random orders of the queries and of each query's documents.

    The documents of a query stay together, because a rater has to understand each query.
    """
    rng = np.random.default_rng(seed)
    sorted_pool = pool.sort("batch", *PAIR)
    queries = sorted_pool["query_id"].unique(maintain_order=True).sort()
    turn = pl.DataFrame({"query_id": queries, "turn": rng.permutation(len(queries))})
    return (
        sorted_pool.join(turn, on="query_id", how="left", maintain_order="left")
        .with_columns(pl.Series("chance", rng.random(len(sorted_pool))))
        .sort("batch", "turn", "chance")
        .drop("turn", "chance")
    )


DESIGN = PoolDesign()
"""The pool of the first documents of each list, by rank."""

_PAIR = ("query_id", "doc_id")


POOL = Columns(
    "One row per document, in the order in which to judge.",
    QUERY_ID,
    DOC_ID,
    Column("why", pl.String, "why it is in the pool"),
    Column("best_rank", pl.Int64, "the best of its ranks", header="best rank"),
    Column("systems", pl.Int64, "systems that have it", unit="systems"),
    Column("stratum", pl.String, "the stratum that it was drawn from; null without strata"),
    Column("inclusion", pl.Float64, "the probability that the document was drawn, given its query"),
    Column("query_inclusion", pl.Float64, "the probability that the query was drawn"),
    Column("batch", pl.Int64, "the number of the batch"),
)


UNSAMPLED_PAIRS = Columns(
    "One row per document of the pool that was not drawn into the sample.", QUERY_ID, DOC_ID
)


@dataclass(frozen=True)
class Pool(Result):
    """Documents to judge, in order.

    Attributes:
        systems: the names of the runs.
        counts: pool (documents of all lists), judged (of them, left out), sampled, queries.
        made_by: depth, order, strata, seed and anything else that made it.
        table: the columns of `POOL`.
        rest: the columns of `UNSAMPLED_PAIRS`.
    """

    kind = "pool"
    label = "What to judge next"
    SCHEMAS: ClassVar = {"table": POOL, "rest": UNSAMPLED_PAIRS}
    headline_text = (
        "pool of {systems:n run}, depth {made_by[depth]}: {counts[pool]:n document}; {counts[judged]:,} of "
        "them judged already; {counts[to_judge]:,} to judge, of {counts[queries]:n query}, by "
        "{made_by[order]}, seed {made_by[seed]:d}"
    )
    lead = (
        Sentence(
            "sampled {counts[sampled]:,} by strata {made_by[strata]}; weigh each by 1/inclusion", "is_sampled"
        ),
        Sentence("queries drawn: {made_by[queries]}, {made_by[query_sampling]}", "has_drawn_queries"),
    )
    layout = (View("table", "documents to judge", ("query_id", "doc_id", "why", "batch"), keys=2, first=20),)
    blind: ClassVar[bool] = False
    """An option of its document: leave ranks and systems out of the CSV."""

    KEYS: ClassVar[Mapping[str, str]] = {"table": "documents"}

    systems: tuple[str, ...]
    counts: Mapping[str, int]
    made_by: JsonObject
    table: pl.DataFrame
    rest: pl.DataFrame

    @property
    def is_sampled(self) -> bool:
        """True if only some documents of the pool were drawn."""
        return self.counts["sampled"] < self.counts["pool"]

    @property
    def has_drawn_queries(self) -> bool:
        """True if only some queries were drawn."""
        return "query_sampling" in self.made_by

    def csv_rows(self) -> PlainRows:
        """The documents to judge."""
        names = ("batch",) if self.blind else tuple(POOL)[2:]
        rows = self.table.select("query_id", "doc_id", *names).rows()
        return PlainRows(("query", "document", *names), rows)


def undrawn_judgments(result: Pool) -> str:
    """The pool's documents that were not drawn, graded −1, as estimates from samples need them.

    Raises:
        UsageError: an id is not possible in TREC's format.
    """
    return trec_lines(result.rest, "-1", "the other rows are in --format json")


def order_facts() -> tuple[tuple[str, str], ...]:
    """The name, title and source of each order."""
    orders = [(order.name, order.title) for order in ORDERS.values()]
    return (*orders, ("influence", "what could move the difference of the first two runs most"))


def pool(
    runs: Sequence[Any],
    design: PoolDesign = DESIGN,
    *,
    collection: Collection | QrelsLike | None = None,
    convention: str | Convention = "trec",
    batch: Count | None = None,
    blind: bool = False,
) -> Pool:
    """The documents that several systems rank first, and that are not judged.

    Args:
        runs: paths, frames, dicts of dicts.
        design: the sampling of documents and queries, and the order of judging.
        collection: existing judgments, or a `Collection` of them: their documents are left out,
            and guide move-to-front and influence.
        convention: its rules break ties of scores.
        batch: the number of documents per batch; without it one batch.
        blind: shuffle within each batch and leave out ranks and systems, so that raters cannot
            see them.

    Raises:
        InputError: a file that cannot be read; nothing left to judge.
        UsageError: samples that cannot be.

    >>> runs = [{"q": {"a": 2.0, "b": 1.0}}, {"q": {"b": 2.0, "c": 1.0}}]
    >>> pool(runs, PoolDesign(depth=2)).table["doc_id"].to_list()
    ['b', 'a', 'c']
    """
    measured = Collection.of(collection)
    qrels = measured.qrels() if measured.judgments is not None else None
    systems = read_named_runs(measured.run_source(list(runs)))
    names = [run.name for run in systems]
    seed = design.seed
    ranks = rank_runs(systems, design.last_rank, chosen_convention(convention))
    sampled_queries = _sampled_queries(ranks, design)
    ranks = ranks.join(sampled_queries, on="query_id", how="semi")
    full_pool = pool_lists(ranks, names)
    strata = design.ranks
    sample, rest = (
        sample_pool(full_pool, strata, seed) if strata else (full_pool, full_pool.select(_PAIR).clear())
    )
    if design.order == "influence":
        keyed_pool = _by_influence(sample, systems, qrels, design, how=convention)
    else:
        add_key = ORDERS[design.order].place
        keyed_pool = add_key(ranks, sample, names, _known_grades(qrels), design.rel)
    judged_pairs = _judged_documents(sample, qrels)
    to_judge = sort_by_key(keyed_pool.join(judged_pairs, on=_PAIR, how="anti", maintain_order="left"))
    batch_size = batch or max(len(to_judge), 1)
    to_judge = to_judge.with_columns((pl.int_range(pl.len()) // batch_size + 1).alias("batch")).join(
        sampled_queries, on="query_id", how="left", maintain_order="left"
    )
    result = shuffle_batches(to_judge, seed) if blind else to_judge
    made_by = {
        "depth": design.last_rank,
        "order": design.order,
        "seed": seed,
        "shuffled": blind,
        "batch": batch,
        "strata": design.strata,
        "convention": chosen_convention(convention).name,
        **({"queries": design.queries, "query_sampling": design.query_sampling} if design.queries else {}),
        **({"qrels": qrels.name, "qrels_sha256": qrels.sha256} if qrels else {}),
        **({"metric": design.metric} if design.order == "influence" else {}),
    }
    counts = {
        "pool": len(full_pool),
        "sampled": len(sample),
        "judged": len(judged_pairs),
        "to_judge": len(result),
        "queries": result["query_id"].n_unique(),
    }
    return Pool(tuple(names), counts, made_by, _select_columns(result), rest)


def _select_columns(result: pl.DataFrame) -> pl.DataFrame:
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


def _sampled_queries(ranks: pl.DataFrame, design: PoolDesign) -> pl.DataFrame:
    names = ranks["query_id"].unique().sort()
    if design.queries is None:
        return pl.DataFrame(
            {"query_id": names, "query_inclusion": 1.0}, schema_overrides={"query_id": pl.String}
        )
    if design.query_sampling == "changed":
        # the queries whose lists differ between runs, in the depth of the pool
        lists = ranks.sort("query_id", "system", "rank").group_by("query_id", "system").agg(pl.col("doc_id"))
        runs = ranks["system"].n_unique()
        variants = lists.group_by("query_id").agg(pl.col("doc_id").n_unique().alias("lists"), pl.len())
        changed = variants.filter((pl.col("lists") > 1) | (pl.col("len") < runs))
        if changed.is_empty():
            problem = "all lists are the same; no judgment can separate these runs."
            raise UsageError(problem, code="nothing-to-rate")
        names = changed["query_id"].sort()
    result = sample_queries(
        names.to_list(), design.queries, design.query_sampling, design.frequencies(), design.seed
    )
    return result.select("query_id", "query_inclusion")


def _known_grades(qrels: Qrels | None) -> dict[tuple[str, str], float]:
    if qrels is None:
        return {}
    rows = qrels.table.filter(pl.col("grade") >= 0).select(*_PAIR, "grade")
    return {(query, document): grade for query, document, grade in rows.iter_rows()}


def _judged_documents(sample: pl.DataFrame, qrels: Qrels | None) -> pl.DataFrame:
    """The graded documents of the pool; −1 is not a grade."""
    if qrels is None:
        return sample.select(_PAIR).clear()
    graded_rows = qrels.table.filter(pl.col("grade") >= 0)
    return sample.select(_PAIR).join(graded_rows, on=_PAIR, how="semi")


def _by_influence(
    sample: pl.DataFrame,
    systems: Sequence[Any],
    qrels: Qrels | None,
    design: PoolDesign,
    *,
    how: str | Convention,
) -> pl.DataFrame:
    """The holes of the first two runs by influence, then the other documents by rank."""
    if qrels is None or len(systems) < 2:  # a comparison needs two runs
        raise UsageError(
            "the order influence needs the judgments so far and two runs, the baseline first; give --qrels, "
            "or another order.",
            code="missing-input",
        )
    with progress(None):
        test = Test(seed=design.seed)
        result = holes(qrels, systems[0], systems[1], [design.metric], how, test=test)
    influence = result.judge_next.select(
        *_PAIR,
        pl.int_range(pl.len()).cast(pl.Float64).alias("key"),
        pl.format("influence {}; {}", pl.col("influence").round(6), "why").alias("reason"),
    )
    joined = sample.join(influence, on=_PAIR, how="left", maintain_order="left")
    rank_key = pl.lit(float(len(influence))) + pl.col("best_rank")
    return joined.with_columns(
        pl.coalesce("key", rank_key).alias("key"), pl.coalesce("reason", "why").alias("why")
    ).drop("reason")

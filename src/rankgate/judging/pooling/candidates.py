"""Pool the top documents of several systems, each with a reason."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import TYPE_CHECKING

import numpy as np
import polars as pl

from rankgate.core.frozen import dataclass
from rankgate.judging.standing import PAIR

if TYPE_CHECKING:
    Known = Mapping[tuple[str, str], float]


@dataclass(frozen=True)
class PoolOrder:
    """An order of a pool's documents.

    Attributes:
        name: how it is called.
        title: what comes first, in words.
        source: where it comes from.
        place: from the lists, the pool of `pool_lists`, the systems in order, known grades and the
            smallest relevant grade to the pool with a column ``key``, the smaller the earlier.
    """

    name: str
    title: str
    source: str
    place: Callable[[pl.DataFrame, pl.DataFrame, Sequence[str], Known, float], pl.DataFrame]


def pool_lists(ranks: pl.DataFrame, systems: Sequence[str]) -> pl.DataFrame:
    """The documents of all lists, each once a query.

    Args:
        ranks: the columns of `scoring.ranked.RANKS`, cut at the depth of the pool.
        systems: all systems, also those that found nothing.

    Returns:
        ``query_id``, ``doc_id``, ``best_rank``, ``systems`` (how many have it), ``disagreement``
        and ``why``, by query and document. The disagreement is the standard deviation, over all
        systems, of 1/log₂(rank + 1), which is 0 where a system lacks the document.
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
            worth.sum().alias("total"),
            (worth**2).sum().alias("squares"),
        )
        .with_columns(
            deviation.alias("disagreement"),
            pl.format(
                "rank {} of {}; in {} of {} systems",
                "best_rank",
                "first",
                "systems",
                pl.lit(count),
            ).alias("why"),
        )
        .select(*PAIR, "best_rank", "systems", "disagreement", "why")
        .sort(PAIR)
    )


def _by_rank(
    _ranks: pl.DataFrame, pool: pl.DataFrame, _systems: Sequence[str], _known: Known, _rel: float
) -> pl.DataFrame:
    """Best rank first; of equal ranks the document that more systems have."""
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
        grades = {
            doc: known_grades.get((str(query), doc)) for doc in query_ranks["doc_id"].unique()
        }
        result = move_to_front_order(lists, grades, rel)
        rows += [(str(query), doc, float(step)) for step, doc in enumerate(result)]
    schema = {"query_id": pl.String, "doc_id": pl.String, "key": pl.Float64}
    steps = pl.DataFrame(rows, schema=schema, orient="row")
    return pool.join(steps, on=PAIR, how="left", maintain_order="left")


def move_to_front_order(
    lists: Sequence[Sequence[str]], grades: Mapping[str, float | None], rel: float = 1
) -> list[str]:
    """The documents of one query in the order of move-to-front pooling.

    The system of the highest priority gives its next document; it keeps its priority as long as
    its documents are relevant, and loses 1 for each that is not. Of equal priorities the system
    that is named first has the turn. A document whose grade is not known yet counts as not
    relevant, so that the order improves with every batch of ratings.

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
            "the documents on whose ranks the systems differ most",
            "standard deviation of 1/log2(rank + 1) over the systems",
            _by_disagreement,
        ),
        PoolOrder(
            "move-to-front",
            "systems whose documents have proved relevant so far",
            "Cormack, Palmer and Clarke 1998, one query at a time",
            _move_to_front,
        ),
    )
}
"""Every order that needs no comparison, by name; influence comes from the holes of one."""


def sort_by_key(pool: pl.DataFrame) -> pl.DataFrame:
    """Sorted by ``key``: the first of every query, then the second, ties by query and document."""
    return pool.sort("key", *PAIR, nulls_last=True).drop("key")


def shuffle_batches(pool: pl.DataFrame, seed: int) -> pl.DataFrame:
    """Batches as they are; in each the queries, and the documents of a query, in random order.

    The documents of a query stay together, as a rater has to think into each query.
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

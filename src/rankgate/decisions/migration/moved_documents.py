"""Documents that two lists of a query rank differently, and the pairs that replace each other.

A document's weight is its discount in the new list less that in the old one. What documents lose in
weight, others gain (or empty ranks do), so that the difference of DCG is a sum over pairs of a
document that lost and one that gained: Σ mass · (gain of the one that gained − gain of the other).
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np
import polars as pl

if TYPE_CHECKING:
    from rankgate.core.arrays import Floats

PAIR = ["query_id", "doc_id"]
_TINY = 1e-9
_BY_QUERY = pl.col("gain").rank("ordinal", descending=True).over("query_id")


def join_lists(old: pl.DataFrame, new: pl.DataFrame) -> pl.DataFrame:
    """Each document of either list: ``query_id, doc_id, old_rank, new_rank, weight, best_rank``.

    Args:
        old: ``query_id``, ``doc_id`` and ``rank`` of the first documents.
        new: the same of the new run.
    """
    lists = old.rename({"rank": "old_rank"}).join(
        new.rename({"rank": "new_rank"}), on=PAIR, how="full", coalesce=True
    )
    old_discount, new_discount = (_discount(pl.col(name)).fill_null(0.0) for name in ("old_rank", "new_rank"))
    return lists.with_columns(
        weight=new_discount - old_discount, best_rank=pl.min_horizontal("old_rank", "new_rank")
    ).sort("query_id", "best_rank", "doc_id")


def pair_documents(documents: pl.DataFrame) -> pl.DataFrame:
    """Pairs of documents: ``query_id, lost, gained, mass``; null stands for an empty rank.

    Args:
        documents: the table of `join_lists`.
    """
    empty_ranks = documents.group_by("query_id").agg(weight=-pl.col("weight").sum())
    empty_ranks = empty_ranks.with_columns(pl.lit(None, pl.String).alias("doc_id"))
    rows = pl.concat([documents, empty_ranks], how="diagonal_relaxed").filter(pl.col("weight").abs() > _TINY)
    lost, gained = (
        rows.filter(pl.col("weight") * sign > 0).sort("query_id", rank, nulls_last=True)
        for sign, rank in ((-1, "old_rank"), (1, "new_rank"))
    )
    lost_ends, gained_ends = (np.cumsum(np.abs(table["weight"].to_numpy())) for table in (lost, gained))
    ends = np.sort(np.concatenate([lost_ends, gained_ends]))
    mass = np.diff(ends, prepend=0.0)
    is_pair = mass > _TINY  # thinner slices are rounding at the borders of queries
    middle = (ends - mass / 2)[is_pair]
    lost_row, gained_row = (np.searchsorted(table_ends, middle) for table_ends in (lost_ends, gained_ends))
    return pl.DataFrame(
        {
            "query_id": lost["query_id"].gather(lost_row),
            "lost": lost["doc_id"].gather(lost_row),
            "gained": gained["doc_id"].gather(gained_row),
            "mass": mass[is_pair],
        }
    )


def ideal_gains(gains: pl.DataFrame, k: int, *, pushed: int = 0) -> pl.DataFrame:
    """``query_id`` and ``ideal``: Σ gain / log₂(rank + 1 + pushed) of the best k − pushed documents.

    Args:
        gains: ``query_id`` and ``gain`` of documents.
        k: the cutoff.
        pushed: the number of further documents that stand above.
    """
    rank = _BY_QUERY
    return (
        gains.with_columns(rank=rank)
        .filter(pl.col("rank") <= k - pushed)
        .group_by("query_id")
        .agg(ideal=(pl.col("gain") * _discount(pl.col("rank") + pushed)).sum())
    )


def _discount(rank: pl.Expr) -> pl.Expr:
    return 1 / (rank + 1).log(2)


def look_up(pairs: pl.DataFrame, side: str, table: pl.DataFrame, value: str) -> Floats:
    """(n,) a value of the lost or the gained document of each pair; NaN where there is none."""
    keys = pairs.select("query_id", doc_id=side)
    joined = keys.join(table.select(*PAIR, value), on=PAIR, how="left", maintain_order="left")
    return joined[value].cast(pl.Float64).fill_null(np.nan).to_numpy()

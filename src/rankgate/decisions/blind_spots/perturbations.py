"""Changes that rankings undergo in practice, each a small pure function over all lists at once.

A list is rows of ``query_id``, ``rank``, ``doc_id``, ``grade`` (null where unjudged) and
``relevant``. A change gives the same columns; only the order of ``rank`` within a query counts.
"""

from __future__ import annotations

from collections.abc import Callable

import polars as pl

from rankgate.core.frozen import dataclass

UNJUDGED_PREFIX = "\x1f"
"""Prefix of the ids of documents that no judgments contain."""

_RANK, _QUERY = pl.col("rank"), "query_id"


@dataclass(frozen=True)
class Perturbation:
    """One change.

    Attributes:
        name: a short name.
        about: a description of the change.
        apply: takes lists, and the cutoff of the metrics, gives the changed lists.
    """

    name: str
    about: str
    apply: Callable[[pl.DataFrame, int], pl.DataFrame]


def _swap_ranks(rank: int) -> Callable[[pl.DataFrame, int], pl.DataFrame]:
    def apply(lists: pl.DataFrame, k: int) -> pl.DataFrame:
        new_rank = (
            pl.when(rank == _RANK)
            .then(rank + 1)
            .when(rank + 1 == _RANK)
            .then(rank)
            .otherwise(_RANK)
        )
        return lists.with_columns(new_rank.alias("rank"))

    return apply


def _is_first_relevant() -> pl.Expr:
    """The row of the first relevant document of each query."""
    return pl.col("relevant") & (_RANK.filter(pl.col("relevant")).min().over(_QUERY) == _RANK)


def _is_first_best() -> pl.Expr:
    """The row of the first document with the highest grade of each query."""
    has_top_grade = pl.col("relevant") & (pl.col("grade") == pl.col("grade").max())  # of its query
    return has_top_grade.over(_QUERY) & (_RANK.filter(has_top_grade).min().over(_QUERY) == _RANK)


def _lose_first(lists: pl.DataFrame, k: int) -> pl.DataFrame:
    return lists.filter(~_is_first_relevant().fill_null(value=False))


def _lose_best(lists: pl.DataFrame, k: int) -> pl.DataFrame:
    return lists.filter(~_is_first_best().fill_null(value=False))


def _unjudge_first(lists: pl.DataFrame, k: int) -> pl.DataFrame:
    is_first_relevant = _is_first_relevant().fill_null(value=False)
    unjudged_id = (
        pl.when(is_first_relevant)
        .then(pl.lit(UNJUDGED_PREFIX) + pl.col("doc_id"))
        .otherwise("doc_id")
    )
    grade = pl.when(~is_first_relevant).then("grade")
    return lists.with_columns(unjudged_id.alias("doc_id"), grade.alias("grade"))


def _push_down(lists: pl.DataFrame, k: int) -> pl.DataFrame:
    top_rows = (
        lists.select(_QUERY)
        .unique(maintain_order=True)
        .with_columns(
            pl.lit(0, dtype=pl.Int64).alias("rank"),
            pl.lit(f"{UNJUDGED_PREFIX}top").alias("doc_id"),
            pl.lit(None, dtype=pl.Float64).alias("grade"),
            pl.lit(value=False).alias("relevant"),
        )
    )
    return pl.concat([top_rows.select(lists.columns), lists])


def _move_best_down(lists: pl.DataFrame, k: int) -> pl.DataFrame:
    new_rank = (
        pl.when(_is_first_best().fill_null(value=False) & (k > _RANK))
        .then(k + 0.5)
        .otherwise(_RANK)
    )
    return lists.with_columns(new_rank.alias("rank"))


def _reverse_page(lists: pl.DataFrame, k: int) -> pl.DataFrame:
    depth = pl.min_horizontal(pl.lit(k), _RANK.max().over(_QUERY))
    return lists.with_columns(
        pl.when(depth >= _RANK).then(depth + 1 - _RANK).otherwise(_RANK).alias("rank")
    )


def _drop_tail(lists: pl.DataFrame, k: int) -> pl.DataFrame:
    return lists.filter(k >= _RANK)


def _cut_half(lists: pl.DataFrame, k: int) -> pl.DataFrame:
    return lists.filter(max(1, k // 2) >= _RANK)


def _lower_later_relevant(lists: pl.DataFrame, k: int) -> pl.DataFrame:
    """Relevant documents below the first one change places with those that follow them."""
    is_later_relevant = pl.col("relevant") & ~_is_first_relevant().fill_null(value=False)
    return lists.with_columns(
        pl.when(is_later_relevant).then(_RANK + 1.5).otherwise(_RANK).alias("rank")
    )


PERTURBATIONS = (
    Perturbation("swap ranks 1 and 2", "the two first change places", _swap_ranks(1)),
    Perturbation("swap ranks 2 and 3", "the second and third change places", _swap_ranks(2)),
    Perturbation("swap ranks 3 and 4", "the third and fourth change places", _swap_ranks(3)),
    Perturbation("swap ranks 9 and 10", "at the end of the first page", _swap_ranks(9)),
    Perturbation("swap ranks 10 and 11", "over the end of the first page", _swap_ranks(10)),
    Perturbation("lose the first relevant", "it is not returned any more", _lose_first),
    Perturbation("lose the best", "the document of the highest grade is gone", _lose_best),
    Perturbation("first relevant unjudged", "a new document is in its place", _unjudge_first),
    Perturbation("push all down by one", "an unjudged document comes first", _push_down),
    Perturbation("best down to rank k", "the best is at the end of the page", _move_best_down),
    Perturbation("later relevant fall by one", "all but the first relevant", _lower_later_relevant),
    Perturbation("turn the first k round", "the page is reversed", _reverse_page),
    Perturbation("cut after k", "nothing behind the first page", _drop_tail),
    Perturbation("cut after k/2", "half of the page is gone", _cut_half),
)
"""The perturbations, from small to large."""

"""Checks for judgments that look as if they were copied."""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING

import polars as pl

from rankgate.data.clusters import CLUSTER, near_copies
from rankgate.data.files.checks.declare import Found, check, counted, some
from rankgate.data.files.checks.subject import PAIR

if TYPE_CHECKING:
    from rankgate.data.files.checks.subject import RawQrels
    from rankgate.data.ratings import Ratings

_ENOUGH = 3  # documents of a query, below which two queries may share them by right
_CHANCE = 0.001
_PAIRS = 20
_WHOLE = pl.struct("doc_id", "grade").sort_by("doc_id").hash().implode()


@check(
    "copied-judgments", "warning", "qrels", "Queries have the same documents with the same grades."
)
def _same(found: RawQrels) -> Iterator[Found]:
    """Queries with the same documents and the same grades."""
    listed = _lists(found, _WHOLE).filter(pl.col("n") >= _ENOUGH)
    yield from _findings(
        listed.filter(pl.col("key").is_duplicated()),
        "the very documents and grades of another: copied, or one question twice",
        "judge each for itself, or make one query of them: each counts as one more",
    )


@check(
    "copied-grades",
    "note",
    "qrels",
    "Queries have the same grades in the same order, beyond chance.",
)
def _vectors(found: RawQrels) -> Iterator[Found]:
    """Queries with the same grades, in the same order, for other documents, beyond chance.

    The chance is that of any two queries having one list, if grades were drawn one by one as
    often as they occur. Lists in the order of their grades are expected to be equal.
    """
    total = int(found.grades["len"].sum())
    likely = found.grades.select("grade", chance=(pl.col("len") / max(total, 1)).log())
    steps = pl.col("grade").diff()
    mixed = (steps > 0).any() & (steps < 0).any()
    listed = _lists(found, pl.col("grade").implode(), mixed=mixed)
    sums = found.graded.join(likely, on="grade").group_by("query_id").agg(pl.col("chance").sum())
    pairs = len(listed) * (len(listed) - 1) / 2
    rare = listed.join(sums, on="query_id").filter(
        pl.col("mixed") & (pairs * pl.col("chance").exp() < _CHANCE)
    )
    whole = _lists(found, _WHOLE).select("query_id", whole="key")
    rare = rare.join(whole, on="query_id").sort("row").unique("whole", maintain_order=True)
    yield from _findings(
        rare.filter(pl.col("key").is_duplicated()),
        "the grades of another in the same order, for other documents",
        "see whether a column of grades was pasted twice",
    )


@check(
    "near-copies",
    "warning",
    "texts",
    "Queries have the same words: they count as one unit in errors and tests.",
)
def _texts(found: pl.DataFrame) -> Iterator[Found]:
    """Queries whose texts differ by case, marks or the order of words alone."""
    if CLUSTER in found.columns:
        return
    copies = near_copies(dict(found.select("query_id", "text").drop_nulls().iter_rows()))
    if not copies:
        return
    groups = len(set(copies.values()))
    query, first = next(pair for pair in copies.items() if pair[0] != pair[1])
    yield Found(
        f"{counted(len(copies), 'query is a near-copy', 'queries are near-copies')} of another by "
        f"the words of their texts, in {counted(groups, 'cluster')}",
        len(copies),
        "leave out copies, or name their clusters in a column cluster of the queries' table "
        "(--tags), so that errors and tests count clusters",
        f"queries {first} and {query}",
    )


def _findings(twins: pl.DataFrame, what: str, mend: str) -> Iterator[Found]:
    """One finding of all queries that have the key of another."""
    if twins.is_empty():
        return
    group = twins.filter(pl.col("key") == twins["key"][0])
    yield Found(
        f"{counted(len(twins), 'query', 'queries')} with {what}",
        len(twins),
        mend,
        f"queries {some(group['query_id'])} with {group['n'][0]:,} documents",
        row=int(group["row"][1]),
    )


def _lists(found: RawQrels, key: pl.Expr, **more: pl.Expr) -> pl.DataFrame:
    """``query_id``, ``n``, ``row``, ``key``: a hash of what each query's judgments are."""
    table = found.graded.group_by("query_id", maintain_order=True).agg(
        n=pl.len(), row=pl.col("row").first(), key=key, **more
    )
    return table.with_columns(pl.col("key").hash() if len(table) else pl.lit(0, pl.UInt64))


@check(
    "copied-ratings",
    "warning",
    "ratings",
    "Several people gave the same grades wherever they rated the same.",
)
def _agreeing(found: Ratings) -> Iterator[Found]:
    """Two people never agree on everything."""
    graded = found.table.filter(pl.col("grade").is_not_null())
    pairs = graded.group_by(PAIR, maintain_order=True).agg(
        raters=pl.col("rater").n_unique(), grades=pl.col("grade").n_unique()
    )
    shared = pairs.filter(pl.col("raters") > 1)
    if len(shared) >= _PAIRS and (shared["grades"] == 1).all():
        yield Found(
            f"all {counted(len(shared), 'pair')} with grades of two people or more have one grade: "
            "people never agree on everything, so they look copied",
            len(shared),
            "ask how the second grades came about; see rankgate agree",
            "query {}, document {}".format(*shared.row(0)[:2]),
        )

"""Checks for judgments that look as if they were copied."""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING

import polars as pl

from rankgate.data.clusters import CLUSTER, find_near_copies
from rankgate.data.files.checks.declare import Found, check, count_noun, first_few
from rankgate.data.files.checks.subject import PAIR

if TYPE_CHECKING:
    from rankgate.data.files.checks.subject import RawQrels
    from rankgate.data.ratings import Ratings

_MIN_DOCUMENTS = 3  # documents of a query, below which two queries may share them by right
_MAX_CHANCE = 0.001
_MIN_PAIRS = 20
_JUDGMENTS_HASH = pl.struct("doc_id", "grade").sort_by("doc_id").hash().implode()


@check(
    "copied-judgments", "warning", "qrels", "Queries have the same documents with the same grades."
)
def _find_copied_judgments(qrels: RawQrels) -> Iterator[Found]:
    """Queries with the same documents and the same grades."""
    query_lists = _hash_queries(qrels, _JUDGMENTS_HASH).filter(pl.col("n") >= _MIN_DOCUMENTS)
    yield from _find_same_key(
        query_lists.filter(pl.col("key").is_duplicated()),
        "the very documents and grades of another: copied, or one question twice",
        "judge each for itself, or make one query of them: each counts as one more",
    )


@check(
    "copied-grades",
    "note",
    "qrels",
    "Queries have the same grades in the same order, beyond chance.",
)
def _find_copied_grades(qrels: RawQrels) -> Iterator[Found]:
    """Queries with the same grades, in the same order, for other documents, beyond chance.

    The chance is that of any two queries having one list, if grades were drawn one by one as
    often as they occur. Lists in the order of their grades are expected to be equal.
    """
    total = int(qrels.grades["len"].sum())
    log_chances = qrels.grades.select("grade", chance=(pl.col("len") / max(total, 1)).log())
    steps = pl.col("grade").diff()
    is_mixed = (steps > 0).any() & (steps < 0).any()
    query_lists = _hash_queries(qrels, pl.col("grade").implode(), mixed=is_mixed)
    sums = (
        qrels.graded.join(log_chances, on="grade").group_by("query_id").agg(pl.col("chance").sum())
    )
    pairs = len(query_lists) * (len(query_lists) - 1) / 2
    rare_lists = query_lists.join(sums, on="query_id").filter(
        pl.col("mixed") & (pairs * pl.col("chance").exp() < _MAX_CHANCE)
    )
    full_lists = _hash_queries(qrels, _JUDGMENTS_HASH).select("query_id", whole="key")
    rare_lists = (
        rare_lists.join(full_lists, on="query_id").sort("row").unique("whole", maintain_order=True)
    )
    yield from _find_same_key(
        rare_lists.filter(pl.col("key").is_duplicated()),
        "the grades of another in the same order, for other documents",
        "see whether a column of grades was pasted twice",
    )


@check(
    "near-copies",
    "warning",
    "texts",
    "Queries have the same words: they count as one unit in errors and tests.",
)
def _find_near_copies(queries: pl.DataFrame) -> Iterator[Found]:
    """Queries whose texts differ by case, marks or the order of words alone."""
    if CLUSTER in queries.columns:
        return
    copies = find_near_copies(dict(queries.select("query_id", "text").drop_nulls().iter_rows()))
    if not copies:
        return
    groups = len(set(copies.values()))
    query, first = next(pair for pair in copies.items() if pair[0] != pair[1])
    yield Found(
        f"{count_noun(len(copies), 'query is a near-copy', 'queries are near-copies')} of "
        "another by "
        f"the words of their texts, in {count_noun(groups, 'cluster')}",
        len(copies),
        "leave out copies, or name their clusters in a column cluster of the queries' table "
        "(--tags), so that errors and tests count clusters",
        f"queries {first} and {query}",
    )


def _find_same_key(same_key: pl.DataFrame, problem: str, mend: str) -> Iterator[Found]:
    """One finding of all queries that share the key of another."""
    if same_key.is_empty():
        return
    first_group = same_key.filter(pl.col("key") == same_key["key"][0])
    yield Found(
        f"{count_noun(len(same_key), 'query', 'queries')} with {problem}",
        len(same_key),
        mend,
        f"queries {first_few(first_group['query_id'])} with {first_group['n'][0]:,} documents",
        row=int(first_group["row"][1]),
    )


def _hash_queries(qrels: RawQrels, key: pl.Expr, **expressions: pl.Expr) -> pl.DataFrame:
    """``query_id``, ``n``, ``row``, ``key``: a hash of each query's judgments."""
    table = qrels.graded.group_by("query_id", maintain_order=True).agg(
        n=pl.len(), row=pl.col("row").first(), key=key, **expressions
    )
    return table.with_columns(pl.col("key").hash() if len(table) else pl.lit(0, pl.UInt64))


@check(
    "copied-ratings",
    "warning",
    "ratings",
    "Several people gave the same grades wherever they rated the same.",
)
def _find_copied_ratings(ratings: Ratings) -> Iterator[Found]:
    """Find ratings that always agree, which people's ratings never do."""
    graded = ratings.table.filter(pl.col("grade").is_not_null())
    pairs = graded.group_by(PAIR, maintain_order=True).agg(
        raters=pl.col("rater").n_unique(), grades=pl.col("grade").n_unique()
    )
    shared = pairs.filter(pl.col("raters") > 1)
    if len(shared) >= _MIN_PAIRS and (shared["grades"] == 1).all():
        yield Found(
            f"all {count_noun(len(shared), 'pair')} with grades of two people or more have one "
            "grade: people never agree on everything, so they look copied",
            len(shared),
            "ask how the second grades came about; see rankgate agree",
            "query {}, document {}".format(*shared.row(0)[:2]),
        )

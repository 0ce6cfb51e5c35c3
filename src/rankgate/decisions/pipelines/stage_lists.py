"""Changes of lists between stages: added and removed documents, and grades of the first ones."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any

import polars as pl

from rankgate.decisions.comparison.ranks import MOST_GRADES

if TYPE_CHECKING:
    from rankgate.data.comparison import ScoredRun

_MAX_UNJUDGED_DIFFERENCE = 0.05

MOVES: dict[str, Any] = {
    "stage": pl.String,
    "k": pl.Int64,
    "documents": pl.Int64,
    "new": pl.Int64,
    "gone": pl.Int64,
    "relevant": pl.Int64,
    "gained": pl.Int64,
    "lost": pl.Int64,
}
MIX: dict[str, Any] = {
    "stage": pl.String,
    "grade": pl.Float64,
    "label": pl.String,
    "count": pl.Int64,
    "share": pl.Float64,
}


def count_moves(
    systems: Sequence[ScoredRun], cutoffs: Sequence[int], before: Sequence[int | None]
) -> pl.DataFrame:
    """The number of documents, and of relevant ones, that each stage has, added and removed.

    Args:
        systems: the stages, in order.
        cutoffs: the numbers of first documents.
        before: the index of the stage that each is compared with; None for the first.

    Returns:
        ``stage``, ``k``, ``documents``, ``new`` and ``gone`` (against the stage before),
        ``relevant`` (a grade above 0), ``gained`` and ``lost`` of these; over all queries. The
        first stage has nothing before it: null.
    """
    rows = []
    for k in cutoffs:
        lists = [system.lists.filter(pl.col("rank") <= k) for system in systems]
        for system, stage_lists, previous_index in zip(systems, lists, before, strict=True):
            row = {
                "stage": system.name,
                "k": k,
                "documents": len(stage_lists),
                "relevant": _count_relevant(stage_lists),
            }
            if previous_index is not None:
                new = stage_lists.join(lists[previous_index], on=["query_id", "doc_id"], how="anti")
                removed = lists[previous_index].join(
                    stage_lists, on=["query_id", "doc_id"], how="anti"
                )
                row |= {"new": len(new), "gone": len(removed)}
                row |= {"gained": _count_relevant(new), "lost": _count_relevant(removed)}
            rows.append({name: row.get(name) for name in MOVES})
    return pl.DataFrame(rows, schema=MOVES)


def count_grades(systems: Sequence[ScoredRun], k: int, labels: Mapping[float, str]) -> pl.DataFrame:
    """The share of each grade among the first k documents of all queries.

    Args:
        systems: the stages.
        k: the cutoff.
        labels: the names of grades.

    Returns:
        ``stage``, ``grade`` (null: unjudged; above and below 0 only where there are more than
        `MOST_GRADES`), ``label``, ``count``, ``share`` of the documents shown; the best first.
    """
    tops = [system.lists.filter(pl.col("rank") <= k)["grade"] for system in systems]
    grades = sorted({g for top in tops for g in top.drop_nulls().to_list()}, reverse=True)
    has_many_grades = len(grades) > MOST_GRADES
    if has_many_grades:
        tops = [(top > 0).cast(pl.Float64) for top in tops]
        grades = [1.0, 0.0]
        labels = {1.0: "relevant", 0.0: "not relevant"}
    rows = []
    for system, top in zip(systems, tops, strict=True):
        for grade in (*grades, None):
            count = int(top.null_count() if grade is None else (top == grade).sum())
            label = "unjudged" if grade is None else labels.get(grade, f"grade {grade:g}")
            share = count / len(top) if len(top) else None
            rows.append(
                {
                    "stage": system.name,
                    "grade": grade,
                    "label": label,
                    "count": count,
                    "share": share,
                }
            )
    return pl.DataFrame(rows, schema=MIX)


def stage_kinds(moved: pl.DataFrame, depth: int, count: int) -> tuple[str, ...]:
    """The kind of each stage: one with a document that the stage before lacks retrieves."""
    new = moved.filter(pl.col("k") == depth)["new"].fill_null(1).to_list()
    return tuple("retrieves" if new[i] else "reranks" for i in range(count))


def parallel_stages(systems: Sequence[ScoredRun], kinds: Sequence[str]) -> set[int]:
    """The indices of stages that retrieve by themselves, and do not follow the stage above.

    The stage below such a one has documents that it lacks and an earlier stage has: it merges
    both. In a row of stages it could have no document that the stage above took out.
    """
    pairs = [system.lists.select("query_id", "doc_id") for system in systems]
    parallel = set()
    for i in range(1, len(systems) - 1):
        if kinds[i] == "retrieves" and kinds[i + 1] == "retrieves":
            added = pairs[i + 1].join(pairs[i], on=["query_id", "doc_id"], how="anti")
            earlier = pl.concat(pairs[:i]).unique()
            if len(added.join(earlier, on=["query_id", "doc_id"], how="semi")):
                parallel.add(i)
    return parallel


def uneven_warnings(mixed: pl.DataFrame, k: int, before: Sequence[int | None]) -> list[str]:
    """A sentence for each step between lists with very different shares of judged documents."""
    holes = mixed.filter(pl.col("label") == "unjudged").select("stage", "share").rows()
    steps = [(holes[i], holes[index]) for index, i in enumerate(before) if i is not None]
    return [
        f"of the first {k} documents {previous_share:.0%} are unjudged at {previous_name} and "
        f"{share:.0%} at {name}: they count as not relevant, so "
        f"{previous_name if previous_share > share else name} may look worse than it is."
        for (previous_name, previous_share), (name, share) in steps
        if previous_share is not None
        and share is not None
        and abs(previous_share - share) > _MAX_UNJUDGED_DIFFERENCE
    ]


def _count_relevant(lists: pl.DataFrame) -> int:
    return int((lists["grade"] > 0).sum())

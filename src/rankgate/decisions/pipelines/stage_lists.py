"""What the lists of stages hold: documents that came and went, and grades among the first."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any

import polars as pl

from rankgate.decisions.comparison.ranks import MOST_GRADES

if TYPE_CHECKING:
    from rankgate.data.comparison import ScoredRun

_UNEVEN = 0.05

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


def moves(
    systems: Sequence[ScoredRun], cutoffs: Sequence[int], before: Sequence[int | None]
) -> pl.DataFrame:
    """How many documents, and relevant ones, each stage has, brought and lost.

    Args:
        systems: the stages, in order.
        cutoffs: among how many of the first documents.
        before: the place of the stage that each is compared with; None for the first.

    Returns:
        ``stage``, ``k``, ``documents``, ``new`` and ``gone`` (against the stage before),
        ``relevant`` (a grade above 0), ``gained`` and ``lost`` of these; over all queries. The
        first stage has nothing before it: null.
    """
    rows = []
    for k in cutoffs:
        lists = [system.lists.filter(pl.col("rank") <= k) for system in systems]
        for system, own, place in zip(systems, lists, before, strict=True):
            row = {"stage": system.name, "k": k, "documents": len(own), "relevant": _relevant(own)}
            if place is not None:
                new = own.join(lists[place], on=["query_id", "doc_id"], how="anti")
                gone = lists[place].join(own, on=["query_id", "doc_id"], how="anti")
                row |= {"new": len(new), "gone": len(gone)}
                row |= {"gained": _relevant(new), "lost": _relevant(gone)}
            rows.append({name: row.get(name) for name in MOVES})
    return pl.DataFrame(rows, schema=MOVES)


def mix(systems: Sequence[ScoredRun], k: int, labels: Mapping[float, str]) -> pl.DataFrame:
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
    many = len(grades) > MOST_GRADES
    if many:
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


def kinds_of(moved: pl.DataFrame, depth: int, count: int) -> tuple[str, ...]:
    """A stage that has a document that the one before lacks is no mere reranker of it."""
    new = moved.filter(pl.col("k") == depth)["new"].fill_null(1).to_list()
    return tuple("retrieves" if new[i] else "reranks" for i in range(count))


def parallel_of(systems: Sequence[ScoredRun], kinds: Sequence[str]) -> set[int]:
    """The places of stages that retrieve by themselves, and do not follow the stage above.

    The stage below such a one has documents that it lacks and an earlier stage has: it merges
    both. In a row of stages it could have no document that the stage above took out.
    """
    pairs = [system.lists.select("query_id", "doc_id") for system in systems]
    parallel = set()
    for i in range(1, len(systems) - 1):
        if kinds[i] == "retrieves" and kinds[i + 1] == "retrieves":
            merged = pairs[i + 1].join(pairs[i], on=["query_id", "doc_id"], how="anti")
            earlier = pl.concat(pairs[:i]).unique()
            if len(merged.join(earlier, on=["query_id", "doc_id"], how="semi")):
                parallel.add(i)
    return parallel


def uneven(mixed: pl.DataFrame, k: int, before: Sequence[int | None]) -> list[str]:
    """A sentence for each step between lists of which one is judged much less far."""
    holes = mixed.filter(pl.col("label") == "unjudged").select("stage", "share").rows()
    steps = [(holes[i], holes[place]) for place, i in enumerate(before) if i is not None]
    return [
        f"of the first {k} documents {one:.0%} are unjudged at {above} and {two:.0%} at {after}: "
        f"they count as not relevant, so {above if one > two else after} may look worse than it "
        "is."
        for (above, one), (after, two) in steps
        if one is not None and two is not None and abs(one - two) > _UNEVEN
    ]


def _relevant(lists: pl.DataFrame) -> int:
    return int((lists["grade"] > 0).sum())

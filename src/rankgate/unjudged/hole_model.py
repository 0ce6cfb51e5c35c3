"""What an unjudged document's grade may be, from the judged ones that stand where it stands."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np
import polars as pl

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from rankgate.data.comparison import Side

    Floats = NDArray[np.float64]

_BANDS = (1, 3, 5, 10, 20, 50)
_PRIOR = 5.0  # judged documents that the share of all documents weighs as much as
_WEAKEST, _STRONGEST = 1.0, 1000.0  # the same for the query's own share, by how queries differ
_UNKNOWN = 3.0  # where they cannot be told to


@dataclass(frozen=True)
class Holes:
    """The unjudged documents among the first of either list.

    Attributes:
        table: ``query_id``, ``doc_id``, ``rank_baseline``, ``rank_candidate`` (null where the
            list lacks it).
        grades: (G,) the grades that judged documents have.
        chances: (N, G) the probability of each grade for each of them.
    """

    table: pl.DataFrame
    grades: Floats
    chances: Floats


def modelled(baseline: Side, candidate: Side) -> Holes:
    """Every hole with the chances of its grade.

    The chances are the grades' shares among judged documents of the same band of ranks and the
    same number of lists, drawn towards the shares among all judged documents (as many as five of
    those), and then towards the query's own, by as many as `prior_strength` says: queries differ in
    how much is relevant, here more, there less.
    """
    pooled = _pooled(baseline, candidate)
    judged = pooled.filter(pl.col("grade").is_not_null())
    holes = pooled.filter(pl.col("grade").is_null())
    grades = np.unique(judged["grade"].to_numpy()) if len(judged) else np.zeros(1)
    if not len(judged) or not len(holes):
        return Holes(_places(holes), grades, np.full((len(holes), grades.size), 1 / grades.size))
    place = np.searchsorted(grades, judged["grade"].to_numpy())
    whole = np.bincount(place, minlength=grades.size) / len(place)
    cell, own = _coded(judged, holes, ["band", "lists"])
    chances = (_counted(cell, place, own, grades.size) + _PRIOR * whole) / (
        _counted(cell, place, own, grades.size).sum(axis=1, keepdims=True) + _PRIOR
    )
    query, mine = _coded(judged, holes, ["query_id"])
    seen = _counted(query, place, mine, grades.size)
    code = judged["query_id"].rank("dense").to_numpy() - 1
    relevant = np.bincount(code, grades[place] > 0).astype(np.float64)
    prior = prior_strength(np.bincount(code), relevant)
    # the query's own shares, relative to what its documents would have on the whole
    tilt = (seen + prior * whole) / (seen.sum(axis=1, keepdims=True) + prior) / whole
    tilted = chances * tilt
    return Holes(_places(holes), grades, tilted / tilted.sum(axis=1, keepdims=True))


def prior_strength(judged: NDArray[np.int64], relevant: Floats) -> float:
    """As how many judged documents the share of all weighs against a query's own.

    Where y of n documents of a query are relevant by a chance of its own, which varies between
    queries as a beta law of mean p and strength s, y varies by np(1 − p)(1 + (n − 1)ρ) with
    ρ = 1/(s + 1). The sum D of (y − np̂)² over queries, p̂ = Σy/N of N = Σn, is then on average

        p(1 − p)(N − Σn²/N + ρ(Σn(n − 1)(1 − 2n/N) + Σn²Σn(n − 1)/N²)),

    which is solved for ρ: Kleinman (1973), Proportions with extraneous variance, JASA 68. The
    result lies between 1 and 1,000 documents; queries that differ no more than by chance give
    1,000, and where nothing can be told, as of one document each, it is 3.

    Args:
        judged: (Q,) n, the judged documents of each query.
        relevant: (Q,) y, how many of them are relevant.
    """
    n = judged.astype(np.float64)
    total, square, pairs = n.sum(), (n**2).sum(), n * (n - 1)
    share = relevant.sum() / total
    apart = (pairs * (1 - 2 * n / total)).sum() + square * pairs.sum() / total**2
    chance = share * (1 - share)
    if chance <= 0 or apart <= 0:
        return _UNKNOWN
    found = ((relevant - n * share) ** 2).sum() / chance - (total - square / total)
    rho = max(found / apart, 1 / (_STRONGEST + 1))
    return float(np.clip(1 / rho - 1, _WEAKEST, _STRONGEST))


def _pooled(baseline: Side, candidate: Side) -> pl.DataFrame:
    """The documents of both lists, each once, with its ranks, its band and its lists."""
    one = baseline.lists.rename({"rank": "rank_baseline"})
    two = candidate.lists.rename({"rank": "rank_candidate"})
    both = one.join(two, on=["query_id", "doc_id"], how="full", coalesce=True, suffix="_two")
    best = pl.min_horizontal("rank_baseline", "rank_candidate")
    lists = pl.col("rank_baseline").is_not_null() & pl.col("rank_candidate").is_not_null()
    return both.select(
        "query_id", "doc_id", "rank_baseline", "rank_candidate",
        pl.coalesce("grade", "grade_two").alias("grade"),
        pl.sum_horizontal(best > end for end in _BANDS).alias("band"),
        lists.cast(pl.Int64).alias("lists"),
    ).sort("query_id", "doc_id")  # fmt: skip


def _places(table: pl.DataFrame) -> pl.DataFrame:
    return table.select("query_id", "doc_id", "rank_baseline", "rank_candidate")


def _coded(
    judged: pl.DataFrame, holes: pl.DataFrame, by: list[str]
) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
    """The cell of each judged document, and of each hole."""
    cells = pl.concat([judged.select(by), holes.select(by)]).unique(maintain_order=True)
    coded = cells.with_row_index("cell")
    told = [
        table.select(by).join(coded, on=by, how="left", maintain_order="left")["cell"].to_numpy()
        for table in (judged, holes)
    ]
    return told[0].astype(np.int64), told[1].astype(np.int64)


def _counted(
    cell: NDArray[np.int64], place: NDArray[np.int64], own: NDArray[np.int64], grades: int
) -> Floats:
    """(N, G) how many judged documents of each hole's cell have each grade."""
    size = int(max(cell.max(initial=0), own.max(initial=0))) + 1
    counts = np.bincount(cell * grades + place, minlength=size * grades).reshape(size, grades)
    return np.asarray(counts[own], np.float64)

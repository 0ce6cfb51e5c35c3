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
_QUERY = 3.0  # the same for the query's own share


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
    those), and then towards the query's own (as three): queries differ in how much is relevant.
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
    # the query's own shares, relative to what its documents would have on the whole
    tilt = (seen + _QUERY * whole) / (seen.sum(axis=1, keepdims=True) + _QUERY) / whole
    tilted = chances * tilt
    return Holes(_places(holes), grades, tilted / tilted.sum(axis=1, keepdims=True))


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

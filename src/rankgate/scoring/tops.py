"""The first documents of each list, with ranks and grades, as people look at them."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING

import numpy as np
import polars as pl

from rankgate.data.run import ScatteredError
from rankgate.scoring.align import align, meet

if TYPE_CHECKING:
    from collections.abc import Iterable

    from rankgate.data.run import Batch, Run
    from rankgate.scoring.convention import Convention
    from rankgate.scoring.index import Index

SCHEMA = {
    "query_id": pl.String,
    "rank": pl.Int64,
    "doc_id": pl.String,
    "grade": pl.Float64,
    "retrieved": pl.Int64,
}
"""The columns of `tops`."""


def tops(run: Run, index: Index, how: Convention, depth: int) -> pl.DataFrame:
    """The documents down to a rank, in the order in which the convention puts them.

    Args:
        run: the run; it is read once, batch by batch.
        index: judgments; queries without any are left out.
        how: the convention.
        depth: the last rank.

    Returns:
        the columns of `SCHEMA` by query and rank: `grade` is null for a document without a grade
        of 0 or more, `retrieved` is how many documents the list has in all.

    Raises:
        InputError: as ``Run.batches``.
    """

    def over(batches: Iterable[Batch]) -> pl.DataFrame:
        parts = [_of(batch, index, how, depth) for batch in batches]
        return pl.concat([pl.DataFrame(schema=SCHEMA), *parts])

    try:
        found = over(run.batches(how.duplicates))
    except ScatteredError:
        found = over([run.whole(how.duplicates)])
    return found.sort("query_id", "rank")


def _of(batch: Batch, index: Index, how: Convention, depth: int) -> pl.DataFrame:
    met = meet(batch, index)
    size = len(met.scores)
    grades = np.full(size, np.nan)
    grades[met.row] = met.grade
    # as if every document had been judged, so that each has its rank
    placed = align(
        replace(met, row=np.arange(size), grade=np.arange(size, dtype=np.float64)),
        replace(how.alignment, judged_only=False),
    )
    top = placed.take(placed.rank <= depth)
    queries = index.query_ids.gather(placed.codes[top.owner])
    own = grades[top.grade.astype(np.int64)]
    return pl.DataFrame(
        {
            "query_id": queries,
            "rank": top.rank,
            "doc_id": batch.frame["doc_id"].gather(top.row),
            "grade": np.where(own >= 0, own, np.nan),
            "retrieved": placed.retrieved[top.owner],
        },
        schema=SCHEMA,
    ).with_columns(pl.col("grade").fill_nan(None))

"""The first documents of each list, with ranks and grades, as people look at them."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING

import numpy as np
import polars as pl

from rankgate.scoring.align import align, meet

if TYPE_CHECKING:
    from rankgate.data.run import Batch, Batches, Run
    from rankgate.scoring.convention import Convention
    from rankgate.scoring.judgments import JudgmentIndex

SCHEMA = {
    "query_id": pl.String,
    "rank": pl.Int64,
    "doc_id": pl.String,
    "grade": pl.Float64,
    "retrieved": pl.Int64,
}
"""The columns of `tops`."""


def tops(run: Run, index: JudgmentIndex, how: Convention, depth: int) -> pl.DataFrame:
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

    def over(batches: Batches) -> list[pl.DataFrame]:
        return [_of(batch, index, how, depth) for batch in batches(how.duplicates)]

    return pl.concat([pl.DataFrame(schema=SCHEMA), *run.over_queries(over)]).sort(
        "query_id", "rank"
    )


def _of(batch: Batch, index: JudgmentIndex, how: Convention, depth: int) -> pl.DataFrame:
    met = meet(batch, index)
    size = len(met.scores)
    grades = np.full(size, np.nan)
    grades[met.row] = met.grade
    rows = np.arange(size)
    # as if every document had been judged, so that each has its rank
    placed = align(
        replace(met, row=rows, grade=rows.astype(np.float64), judgment=rows),
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

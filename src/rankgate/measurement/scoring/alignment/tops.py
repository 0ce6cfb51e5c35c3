"""The first documents of each list, with ranks and grades."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np
import polars as pl

from rankgate.measurement.scoring.alignment.first import first
from rankgate.measurement.scoring.alignment.met import align_batch

if TYPE_CHECKING:
    from rankgate.data.run import Batch, Batches, Run
    from rankgate.measurement.scoring.alignment.block import RankingMode
    from rankgate.measurement.scoring.alignment.judgments import JudgmentIndex
    from rankgate.measurement.scoring.convention import Convention

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
    grade = pl.when(pl.col("grade") >= 0).then("grade").alias("grade")
    return top_rows_with_scores(run, index, how, depth).with_columns(grade).select(*SCHEMA)


def top_rows_with_scores(
    run: Run, index: JudgmentIndex, how: Convention | RankingMode, depth: int | None
) -> pl.DataFrame:
    """Like `tops`, with ``score`` too, and grades below 0 unchanged; a depth of None is all."""

    def over(batches: Batches) -> list[pl.DataFrame]:
        return [_top_of_batch(batch, index, how, depth) for batch in batches(how.duplicates)]

    schema = {**SCHEMA, "score": pl.Float64}
    return pl.concat([pl.DataFrame(schema=schema), *run.over_queries(over)]).sort(
        "query_id", "rank"
    )


def _top_of_batch(
    batch: Batch, index: JudgmentIndex, how: Convention | RankingMode, depth: int | None
) -> pl.DataFrame:
    aligned_run = align_batch(batch, index)
    top = first(aligned_run, how.alignment, depth)
    grades = np.full(len(aligned_run.scores), np.nan)
    grades[aligned_run.row] = aligned_run.grade
    rows = top.row if aligned_run.rows is None else aligned_run.rows[top.row]
    return pl.DataFrame(
        {
            "query_id": index.query_ids.gather(aligned_run.codes[top.owner]),
            "rank": top.rank,
            "doc_id": batch.frame["doc_id"].gather(rows),
            "grade": grades[top.row],
            "retrieved": top.retrieved[top.owner],
            "score": batch.frame["score"].gather(rows),
        },
        schema={**SCHEMA, "score": pl.Float64},
    ).with_columns(pl.col("grade").fill_nan(None))

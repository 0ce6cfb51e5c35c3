"""The first documents of each list, with ranks and grades."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np
import polars as pl

from rankgate.measurement.scoring.alignment.first import first
from rankgate.measurement.scoring.alignment.met import meet

if TYPE_CHECKING:
    from rankgate.data.run import Batch, Batches, Run
    from rankgate.measurement.scoring.alignment.block import Way
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
    return shown(run, index, how, depth).with_columns(grade).select(*SCHEMA)


def shown(run: Run, index: JudgmentIndex, how: Convention | Way, depth: int | None) -> pl.DataFrame:
    """As `tops`, with ``score`` too, and grades below 0 as they are; a depth of None is all."""

    def over(batches: Batches) -> list[pl.DataFrame]:
        return [_of(batch, index, how, depth) for batch in batches(how.duplicates)]

    schema = {**SCHEMA, "score": pl.Float64}
    return pl.concat([pl.DataFrame(schema=schema), *run.over_queries(over)]).sort(
        "query_id", "rank"
    )


def _of(
    batch: Batch, index: JudgmentIndex, how: Convention | Way, depth: int | None
) -> pl.DataFrame:
    met = meet(batch, index)
    top = first(met, how.alignment, depth)
    grades = np.full(len(met.scores), np.nan)
    grades[met.row] = met.grade
    rows = top.row if met.rows is None else met.rows[top.row]
    return pl.DataFrame(
        {
            "query_id": index.query_ids.gather(met.codes[top.owner]),
            "rank": top.rank,
            "doc_id": batch.frame["doc_id"].gather(rows),
            "grade": grades[top.row],
            "retrieved": top.retrieved[top.owner],
            "score": batch.frame["score"].gather(rows),
        },
        schema={**SCHEMA, "score": pl.Float64},
    ).with_columns(pl.col("grade").fill_nan(None))

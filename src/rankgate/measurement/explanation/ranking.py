"""One query in full: its ranked documents and its kernel input."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING

import numpy as np
import polars as pl

from rankgate.core.frozen import dataclass
from rankgate.data.duplicates import pairs_of
from rankgate.data.qrels import Qrels
from rankgate.data.run import Batch
from rankgate.measurement.scoring.alignment.align import align, condensed, nothing
from rankgate.measurement.scoring.alignment.blocks import blocks
from rankgate.measurement.scoring.alignment.judgments import JudgmentIndex
from rankgate.measurement.scoring.alignment.met import meet

if TYPE_CHECKING:
    from rankgate.measurement.metrics.judged import Judged
    from rankgate.measurement.scoring.alignment.align import Aligned
    from rankgate.measurement.scoring.convention import Convention

_UNJUDGED = -1.0  # as a document of the pool without a judgment; no one else's rank changes


@dataclass(frozen=True)
class QueryRanking:
    """The ranking of one query.

    Attributes:
        doc_ids: by rank, all that count.
        tied: by rank, whether others have the same score.
        grades: the grade of each judged document.
        block: the judged documents, as kernels take them.
        full: the same with the unjudged ones in it, as if in the pool.
        excluded: documents of the run that do not count.
    """

    doc_ids: tuple[str, ...]
    tied: tuple[bool, ...]
    grades: dict[str, float]
    block: Judged
    full: Judged
    excluded: int

    @property
    def found(self) -> dict[str, int]:
        """The rank of each document."""
        return {document: rank for rank, document in enumerate(self.doc_ids, 1)}


def ranking(
    query_id: str, frame: pl.DataFrame, judged: pl.DataFrame, how: Convention, *, judged_only: bool
) -> QueryRanking:
    """Rank the documents of one query.

    Args:
        query_id: the query.
        frame: its rows in the run; none if the run lacks it.
        judged: its judgments.
        how: the convention.
        judged_only: whether the metric looks at judged documents only.
    """
    unjudged = frame.join(judged, on="doc_id", how="anti").select(
        "query_id", "doc_id", pl.lit(_UNJUDGED).alias("grade")
    )
    everything = pl.concat([judged, unjudged])
    _, block = _aligned(query_id, frame, judged, how, judged_only=judged_only)
    all_of_it, full = _aligned(query_id, frame, everything, how, judged_only=judged_only)
    documents = frame["doc_id"].gather(all_of_it.row).to_list()
    grades = dict(zip(judged["doc_id"].to_list(), judged["grade"].to_list(), strict=True))
    return QueryRanking(
        doc_ids=tuple(documents),
        tied=tuple((all_of_it.last > all_of_it.first).tolist()),
        grades=grades,
        block=block,
        full=replace(full, known=full.grade >= 0, ideal=block.ideal, judged=block.judged),
        excluded=len(frame) - len(documents),
    )


def _aligned(
    query_id: str, frame: pl.DataFrame, judged: pl.DataFrame, how: Convention, *, judged_only: bool
) -> tuple[Aligned, Judged]:
    index = JudgmentIndex.of(Qrels(judged, unjudged=(query_id,)))
    if frame.is_empty():
        placed = nothing(np.zeros(1, np.int64))
    else:
        placed = align(meet(Batch(frame, pairs_of(frame)), index), how.alignment)
        if judged_only and not how.judged_only:
            placed = condensed(placed)
    ((_, block),) = blocks(placed, index)
    return placed, block

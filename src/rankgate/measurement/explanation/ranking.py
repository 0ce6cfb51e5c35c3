"""One query in full: its ranked documents and its kernel input."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING

import numpy as np
import polars as pl

from rankgate.core.frozen import dataclass
from rankgate.data.duplicates import hash_pairs
from rankgate.data.qrels import Qrels
from rankgate.data.run import Batch
from rankgate.measurement.scoring.alignment.align import align, empty_ranks, without_unjudged
from rankgate.measurement.scoring.alignment.blocks import blocks
from rankgate.measurement.scoring.alignment.judgments import JudgmentIndex
from rankgate.measurement.scoring.alignment.met import align_batch

if TYPE_CHECKING:
    from rankgate.measurement.metrics.judged import Judged
    from rankgate.measurement.scoring.alignment.align import JudgedRanks
    from rankgate.measurement.scoring.convention import Convention

_UNJUDGED = -1.0  # like a document of the pool without a judgment; no other rank changes


@dataclass(frozen=True)
class QueryRanking:
    """The ranking of one query.

    Attributes:
        doc_ids: by rank, all that count.
        tied: by rank, True if other documents have the same score.
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


def rank_query(
    query_id: str, frame: pl.DataFrame, judged: pl.DataFrame, how: Convention, *, judged_only: bool
) -> QueryRanking:
    """Rank the documents of one query.

    Args:
        query_id: the query.
        frame: its rows in the run; none if the run lacks it.
        judged: its judgments.
        how: the convention.
        judged_only: True if the metric uses judged documents only.
    """
    unjudged = frame.join(judged, on="doc_id", how="anti").select(
        "query_id", "doc_id", pl.lit(_UNJUDGED).alias("grade")
    )
    everything = pl.concat([judged, unjudged])
    _, block = _align_query(query_id, frame, judged, how, judged_only=judged_only)
    all_of_it, full = _align_query(query_id, frame, everything, how, judged_only=judged_only)
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


def _align_query(
    query_id: str, frame: pl.DataFrame, judged: pl.DataFrame, how: Convention, *, judged_only: bool
) -> tuple[JudgedRanks, Judged]:
    index = JudgmentIndex.of(Qrels(judged, unjudged=(query_id,)))
    if frame.is_empty():
        aligned = empty_ranks(np.zeros(1, np.int64))
    else:
        aligned = align(align_batch(Batch(frame, hash_pairs(frame)), index), how.alignment)
        if judged_only and not how.judged_only:
            aligned = without_unjudged(aligned)
    ((_, block),) = blocks(aligned, index)
    return aligned, block

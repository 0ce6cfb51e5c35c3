"""One query in full: its ranking, the contribution of each rank, and its ideal ranking."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import TYPE_CHECKING

import numpy as np
import polars as pl

from rankgate.core.frozen import dataclass
from rankgate.core.present.number_formats import finite_or_none
from rankgate.data.qrels import Qrels
from rankgate.data.run import Batch
from rankgate.data.table_rows import hash_pairs
from rankgate.measurement.explanation.explanation_results import IdealRow, Sum
from rankgate.measurement.metrics.judged_block import PAD, Judged, block
from rankgate.measurement.scoring.alignment.aligned_run import (
    align,
    align_batch,
    empty_ranks,
    without_unjudged,
)
from rankgate.measurement.scoring.alignment.judgment_index import JudgmentIndex
from rankgate.measurement.scoring.alignment.kernel_inputs import blocks

if TYPE_CHECKING:
    from rankgate.core.value_types import JsonObject
    from rankgate.measurement.metrics.judged_block import Steps
    from rankgate.measurement.metrics.metric_declaration import Metric
    from rankgate.measurement.scoring.alignment.aligned_run import JudgedRanks
    from rankgate.measurement.scoring.convention import Convention


_UNJUDGED = -1.0  # as for a pool document without a judgment; other ranks are unchanged


@dataclass(frozen=True)
class QueryRanking:
    """The ranking of one query.

    Attributes:
        doc_ids: the documents by rank.
        tied: True for a rank if other documents have the same score.
        grades: the grades of judged documents.
        block: the judged documents as input of kernels.
        full: the same block with unjudged documents, as if they were in the pool.
        excluded: documents of the run that are not counted.
    """

    doc_ids: tuple[str, ...]
    tied: tuple[bool, ...]
    grades: dict[str, float]
    block: Judged
    full: Judged
    excluded: int

    @property
    def ranks(self) -> dict[str, int]:
        """The rank of each document."""
        return {document: rank for rank, document in enumerate(self.doc_ids, 1)}


def rank_query(
    query_id: str, frame: pl.DataFrame, judged: pl.DataFrame, how: Convention, *, judged_only: bool
) -> QueryRanking:
    """Rank the documents of one query.

    Args:
        query_id: the query.
        frame: its rows in the run; empty if the run lacks the query.
        judged: the judgments of the query.
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
    index = JudgmentIndex.from_judgments(Qrels(judged, unjudged=(query_id,)))
    if frame.is_empty():
        aligned = empty_ranks(np.zeros(1, np.int64))
    else:
        aligned = align(align_batch(Batch(frame, hash_pairs(frame)), index), how.alignment)
        if judged_only and not how.judged_only:
            aligned = without_unjudged(aligned)
    ((_, block),) = blocks(aligned, index)
    return aligned, block


@dataclass(frozen=True)
class Mark:
    """One rank: its ``gain``, ``weight``, ``contribution``, and the ``running`` sum or value."""

    gain: float | None
    weight: float | None
    contribution: float | None
    running: float | None


@dataclass(frozen=True)
class Contributions:
    """The contributions of some ranks, and the totals.

    Attributes:
        marks: the marks by given rank.
        summed: the sum over all ranks; None if the metric is not a sum.
        norm: the divisor.
        weighed: the name of the weight.
        start: the value before the first rank, if the metric is not a sum.
        ideal: the ranks of the ideal ranking, if the norm is the sum over them.
    """

    marks: Mapping[int, Mark]
    summed: Sum | None = None
    norm: Sum | None = None
    weighed: str = ""
    start: float | None = None
    ideal: tuple[Mark, ...] = ()


def contributions(
    metric: Metric, blocks: tuple[Judged, Judged], ranks: Sequence[int], defaults: JsonObject
) -> Contributions:
    """The contribution of each given rank to the value of a metric.

    Args:
        metric: the metric.
        blocks: one query, first with only the judged documents, then also with the unjudged ones.
        ranks: the ranks to explain, ascending.
        defaults: the parameters that the convention sets.
    """
    block, full = blocks
    steps = metric.decompose(block, defaults)
    if steps is None:
        return _from_prefixes(metric, block, ranks, defaults)
    wider = metric.decompose(full, defaults)
    if wider is not None and np.array_equal(wider.value, steps.value, equal_nan=True):
        return _from_steps(wider, full, ranks)
    return _from_steps(steps, block, ranks)  # unjudged documents have no weight here


def _from_steps(steps: Steps, block: Judged, ranks: Sequence[int]) -> Contributions:
    gains, weights = steps.gain[0], steps.weights[0]
    terms = gains * weights
    running = np.cumsum(terms)
    column = {int(rank): j for j, rank in enumerate(block.rank[0]) if rank < PAD}
    marks = {}
    for rank in ranks:
        j = column.get(rank)
        if j is None:
            position = int(np.searchsorted(block.rank[0], rank)) - 1
            marks[rank] = Mark(0.0, None, 0.0, float(running[position]) if position >= 0 else 0.0)
        else:
            marks[rank] = Mark(float(steps.gain[0, j]), float(weights[j]), float(terms[j]), float(running[j]))
    ideal = _ideal(steps)
    return Contributions(
        marks,
        summed=Sum(steps.summed, tuple(float(term) for term in terms if term != 0), float(running[-1])),
        norm=Sum(steps.divisor, tuple(m.contribution or 0.0 for m in ideal), float(np.ravel(steps.norm)[0])),
        weighed=steps.weighed,
        ideal=ideal,
    )


def _ideal(steps: Steps) -> tuple[Mark, ...]:
    """The ranks of the ideal ranking with a gain."""
    if steps.ideal is None:
        return ()
    gains, weights = steps.ideal.gain[0], steps.ideal.weights[0]
    columns = gains, weights, gains * weights, np.cumsum(gains * weights)
    return tuple(Mark(*row) for row in np.stack(columns, axis=-1).tolist() if row[0] > 0)


def _from_prefixes(
    metric: Metric, block: Judged, ranks: Sequence[int], defaults: JsonObject
) -> Contributions:
    """Measure the list cut after each rank, with the kernel itself."""
    cuts = sorted({0, *ranks, *(rank - 1 for rank in ranks)})
    values = metric.compute(_prefixes(block, cuts), defaults)
    value_at = dict(zip(cuts, map(float, values), strict=True))
    marks = {}
    for rank in ranks:
        before = 0.0 if np.isnan(value_at[rank - 1]) else value_at[rank - 1]
        marks[rank] = Mark(
            None, None, finite_or_none(value_at[rank] - before), finite_or_none(value_at[rank])
        )
    return Contributions(marks, start=finite_or_none(value_at[0]))


def _prefixes(block: Judged, cuts: Sequence[int]) -> Judged:
    """Repeat the query of a block, cut after each of these ranks."""
    T = len(cuts)
    end = np.array(cuts, np.int64)
    is_kept = block.rank <= end[:, None]
    return replace(
        block,
        rank=np.where(is_kept, block.rank, np.int32(PAD)),
        grade=np.where(is_kept, block.grade, 0),
        known=is_kept & block.known,
        first=np.where(is_kept, block.first, np.int32(PAD)),
        last=np.where(is_kept, block.last, np.int32(PAD)),
        ideal=np.repeat(block.ideal, T, axis=0),
        retrieved=np.minimum(block.retrieved, end),
        judged=np.repeat(block.judged, T),
        relevant=np.repeat(block.relevant, T),
        relevant_retrieved=np.zeros(T, np.int64),
        level=np.nan,  # makes kernels count relevant documents again
    )


def ideal_rows(
    metric: Metric, ranked: QueryRanking, marks: tuple[Mark, ...], defaults: JsonObject
) -> tuple[list[IdealRow], float | None]:
    """The ideal ranking with the contribution of each document, and its value.

    Args:
        metric: the metric.
        ranked: the ranking of the run, with the judgments.
        marks: the ranks of the ideal, if the metric has its own ideal; else None.
        defaults: the parameters that the convention sets.

    Returns:
        The rows (empty without a relevant document), and the value of a ranking that begins with
        the relevant documents in this order.
    """
    gains = _gains(metric, ranked, defaults)
    rank_of = ranked.ranks
    best = sorted(gains, key=lambda doc: (-gains[doc], rank_of.get(doc, math.inf), doc))
    if not best:
        return [], None
    perfect = block([[ranked.grades[doc] for doc in best]])
    ranks = range(1, len(best) + 1)
    if marks:
        marked_documents = _pair_with_marks(marks, gains, best)
    else:
        added = contributions(metric, (perfect, perfect), ranks, defaults).marks
        marked_documents = [(doc, added[rank]) for rank, doc in zip(ranks, best, strict=True)]
    rows = [
        IdealRow(
            rank=rank,
            doc_id=doc,
            grade=ranked.grades[doc],
            gain=mark.gain,
            weight=mark.weight,
            contribution=mark.contribution,
            running=mark.running,
            found=rank_of.get(doc),
        )
        for rank, (doc, mark) in zip(ranks, marked_documents, strict=True)
    ]
    return rows, finite_or_none(float(metric.compute(perfect, defaults)[0]))


def _gains(metric: Metric, ranked: QueryRanking, defaults: JsonObject) -> dict[str, float]:
    """The gain of each document for the metric, if it is not 0.

    If the metric is not a sum of gains, these are the grades of relevant documents.
    """
    judged = {doc: grade for doc, grade in ranked.grades.items() if grade >= 0}
    steps = metric.decompose(block([list(judged.values())]), defaults)
    if steps is None:
        relevant_grade = metric.bound(defaults).get("rel", metric.rel)
        return {
            doc: grade
            for doc, grade in judged.items()
            if (grade > 0 if relevant_grade is None else grade >= relevant_grade)
        }
    gain_of_document = zip(judged, steps.gain[0].tolist(), strict=False)  # a block is never narrower than 1
    return {doc: gain for doc, gain in gain_of_document if gain > 0}


def _pair_with_marks(
    marks: tuple[Mark, ...], gains: dict[str, float], best: list[str]
) -> list[tuple[str, Mark]]:
    """Pair documents with ranks of the ideal; further documents follow at ranks without weight."""
    remaining = list(best)
    marked_documents = []
    for mark in marks:
        document = next(doc for doc in remaining if gains[doc] == mark.gain)
        remaining.remove(document)
        marked_documents.append((document, mark))
    last = marks[-1].running
    return [*marked_documents, *((doc, Mark(gains[doc], 0.0, 0.0, last)) for doc in remaining)]

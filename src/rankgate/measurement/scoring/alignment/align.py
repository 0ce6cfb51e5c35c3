"""Align rankings with judgments: the ranks of the judged documents."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING

import numpy as np

from rankgate.core.frozen import dataclass
from rankgate.measurement.scoring.alignment.order import rank_rows, sort_rows

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from rankgate.measurement.scoring.alignment.met import AlignedRun
    from rankgate.measurement.scoring.alignment.order import SortedRows
    from rankgate.measurement.scoring.convention import Alignment


@dataclass(frozen=True)
class JudgedRanks:
    """The judged documents that some queries retrieved; rows by query, then by rank.

    Attributes:
        codes: ``(T,)``, each query's place in the index.
        present: ``(T,)``, whether the run has the query.
        retrieved: ``(T,)``, documents retrieved that count.
        owner: ``(m,)``, the query of each row, 0 to T - 1.
        rank: ``(m,)``, 1-based.
        first: ``(m,)``, the first rank of the documents with the same score.
        last: ``(m,)``, the last of them.
        grade: ``(m,)``; negative is in the pool and unjudged.
        row: ``(m,)``, the row of the batch.
        judgment: ``(m,)``, the place of the judgment in the index; -1 for a hypothetical one.
        ties: groups of equal scores among all documents retrieved.
        unknown: queries without judgments, left out.
        against_scores: queries whose rows are not in the order of their scores.
    """

    codes: NDArray[np.int64]
    present: NDArray[np.bool_]
    retrieved: NDArray[np.int64]
    owner: NDArray[np.int64]
    rank: NDArray[np.int64]
    first: NDArray[np.int64]
    last: NDArray[np.int64]
    grade: NDArray[np.float64]
    row: NDArray[np.int64]
    judgment: NDArray[np.int64]
    ties: int = 0
    unknown: int = 0
    against_scores: int = 0

    def take(self, rows: NDArray[np.bool_]) -> JudgedRanks:
        """Select some of the rows; the queries stay."""
        columns = {
            name: getattr(self, name)[rows]
            for name in ("owner", "rank", "first", "last", "grade", "row", "judgment")
        }
        return replace(self, **columns)


def sort_retrieved(aligned_run: AlignedRun, how: Alignment) -> tuple[AlignedRun, SortedRows]:
    """The rows that count as retrieved, and their order."""
    if how.above is not None:
        aligned_run = _select_rows(aligned_run, aligned_run.scores > how.above)
    if how.absent is not None:
        aligned_run = _select_rows(aligned_run, aligned_run.scores != how.absent)
    if how.own_id == "dropped":
        aligned_run = _select_rows(aligned_run, ~aligned_run.own_ids)
    scores: NDArray[np.floating] = aligned_run.scores
    if how.order == "file" and aligned_run.ordered:
        scores = -np.arange(len(scores), dtype=np.float64)
    elif how.precision == "float32":
        with np.errstate(over="ignore"):  # as in C, what is too great becomes infinite
            scores = scores.astype(np.float32)
    return aligned_run, sort_rows(
        aligned_run.owner, scores, len(aligned_run.codes), aligned_run.counts
    )


def align(aligned_run: AlignedRun, how: Alignment) -> JudgedRanks:
    """Give the judged documents of a batch their ranks."""
    everything = aligned_run
    aligned_run, sorted_rows = sort_retrieved(aligned_run, how)
    owner = aligned_run.owner[aligned_run.row].astype(np.int64)
    tie_ranks = rank_rows(sorted_rows, aligned_run.row, owner, aligned_run.doc_ids, how.tie_order)
    row_order = np.argsort(owner * (len(aligned_run.scores) + 1) + tie_ranks.rank, kind="stable")
    retrieved = _counts(aligned_run)
    in_run = (
        retrieved if aligned_run is everything else _counts(everything)
    )  # even if none of it counts
    aligned = JudgedRanks(
        codes=aligned_run.codes,
        present=in_run > 0,
        retrieved=retrieved,
        owner=owner[row_order],
        rank=tie_ranks.rank[row_order],
        first=tie_ranks.first[row_order],
        last=tie_ranks.last[row_order],
        grade=aligned_run.grade[row_order],
        row=aligned_run.row[row_order]
        if aligned_run.rows is None
        else aligned_run.rows[aligned_run.row[row_order]],
        judgment=aligned_run.judgment[row_order],
        ties=sorted_rows.ties,
        unknown=aligned_run.unknown,
        against_scores=_against_scores(aligned_run)
        if how.order == "file" and aligned_run.ordered
        else 0,
    )
    return apply_depth(aligned, how)


def _against_scores(aligned_run: AlignedRun) -> int:
    """Queries in which a row has a greater score than the row before it."""
    rising = (aligned_run.scores[1:] > aligned_run.scores[:-1]) & (
        aligned_run.owner[1:] == aligned_run.owner[:-1]
    )
    return len(np.unique(aligned_run.owner[1:][rising]))


def _counts(aligned_run: AlignedRun) -> NDArray[np.int64]:
    """The number of documents of each query."""
    if aligned_run.retrieved is not None:
        return aligned_run.retrieved
    if aligned_run.counts is not None:
        return aligned_run.counts
    return np.bincount(aligned_run.owner, minlength=len(aligned_run.codes))


def _select_rows(aligned_run: AlignedRun, is_retrieved: NDArray[np.bool_]) -> AlignedRun:
    """Some of the rows; the others count as not retrieved."""
    new_row = np.cumsum(is_retrieved) - 1
    judged = is_retrieved[aligned_run.row]
    rows = np.flatnonzero(is_retrieved)
    return replace(
        aligned_run,
        scores=aligned_run.scores[rows],
        doc_ids=aligned_run.doc_ids.gather(rows),
        owner=aligned_run.owner[rows],
        row=new_row[aligned_run.row[judged]],
        grade=aligned_run.grade[judged],
        judgment=aligned_run.judgment[judged],
        rows=rows if aligned_run.rows is None else aligned_run.rows[rows],
        counts=None,
    )


def empty_ranks(codes: NDArray[np.int64], ran: NDArray[np.bool_] | None = None) -> JudgedRanks:
    """Queries that retrieved nothing.

    Args:
        codes: ``(T,)``, each query's place in the index.
        ran: ``(T,)``, which of them the run has all the same; none if not given.
    """
    none = np.zeros(0, np.int64)
    retrieved = np.zeros(len(codes), np.int64)
    present = retrieved > 0 if ran is None else ran
    return JudgedRanks(codes, present, retrieved, none, none, none, none, np.zeros(0), none, none)


def without_unjudged(aligned: JudgedRanks) -> JudgedRanks:
    """Drop unjudged documents, as if only judged ones had been retrieved."""
    judged = aligned.take(aligned.grade >= 0)
    retrieved = np.bincount(judged.owner, minlength=len(judged.codes))
    begin = np.cumsum(retrieved) - retrieved
    rank = np.arange(len(judged.owner)) - begin[judged.owner] + 1
    return replace(judged, retrieved=retrieved, rank=rank, first=rank, last=rank)


def apply_depth(aligned: JudgedRanks, how: Alignment) -> JudgedRanks:
    """Apply a convention's depth, and its rule for unjudged documents."""
    if how.depth is not None:
        within = aligned.take(aligned.rank <= how.depth)
        aligned = replace(within, retrieved=np.minimum(within.retrieved, how.depth))
    return without_unjudged(aligned) if how.judged_only else aligned

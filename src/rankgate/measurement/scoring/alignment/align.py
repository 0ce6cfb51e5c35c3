"""Align rankings with judgments: the ranks of the judged documents."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING

import numpy as np

from rankgate.core.frozen import dataclass
from rankgate.measurement.scoring.alignment.order import order, ranks

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from rankgate.measurement.scoring.alignment.met import Met
    from rankgate.measurement.scoring.alignment.order import SortedRows
    from rankgate.measurement.scoring.convention import Alignment


@dataclass(frozen=True)
class Aligned:
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
        judgment: ``(m,)``, the place of the judgment in the index; -1 where it was supposed.
        ties: groups of equal scores among all documents retrieved.
        unknown: queries without judgments, left out.
        against_scores: queries whose rows rank them, and not in the order of their scores.
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

    def take(self, rows: NDArray[np.bool_]) -> Aligned:
        """The same queries with some of the rows."""
        kept = {
            name: getattr(self, name)[rows]
            for name in ("owner", "rank", "first", "last", "grade", "row", "judgment")
        }
        return replace(self, **kept)


def laid_out(met: Met, how: Alignment) -> tuple[Met, SortedRows]:
    """The rows that count as retrieved, and their order."""
    if how.above is not None:
        met = _only(met, met.scores > how.above)
    if how.absent is not None:
        met = _only(met, met.scores != how.absent)
    if how.own_id == "dropped":
        met = _only(met, ~met.own_ids)
    scores: NDArray[np.floating] = met.scores
    if how.order == "file" and met.ordered:
        scores = -np.arange(len(scores), dtype=np.float64)
    elif how.precision == "float32":
        with np.errstate(over="ignore"):  # as in C, what is too great becomes infinite
            scores = scores.astype(np.float32)
    return met, order(met.owner, scores, len(met.codes), met.counts)


def align(met: Met, how: Alignment) -> Aligned:
    """Give the judged documents of a batch their ranks."""
    everything = met
    met, placed = laid_out(met, how)
    owner = met.owner[met.row].astype(np.int64)
    counted = ranks(placed, met.row, owner, met.doc_ids, how.tie_order)
    by = np.argsort(owner * (len(met.scores) + 1) + counted.rank, kind="stable")
    retrieved = _counts(met)
    in_run = retrieved if met is everything else _counts(everything)  # even if none of it counts
    aligned = Aligned(
        codes=met.codes,
        present=in_run > 0,
        retrieved=retrieved,
        owner=owner[by],
        rank=counted.rank[by],
        first=counted.first[by],
        last=counted.last[by],
        grade=met.grade[by],
        row=met.row[by] if met.rows is None else met.rows[met.row[by]],
        judgment=met.judgment[by],
        ties=placed.ties,
        unknown=met.unknown,
        against_scores=_against_scores(met) if how.order == "file" and met.ordered else 0,
    )
    return limited(aligned, how)


def _against_scores(met: Met) -> int:
    """Queries in which a row has a greater score than the row before it."""
    rising = (met.scores[1:] > met.scores[:-1]) & (met.owner[1:] == met.owner[:-1])
    return len(np.unique(met.owner[1:][rising]))


def _counts(met: Met) -> NDArray[np.int64]:
    """How many documents each query has."""
    if met.retrieved is not None:
        return met.retrieved
    if met.counts is not None:
        return met.counts
    return np.bincount(met.owner, minlength=len(met.codes))


def _only(met: Met, kept: NDArray[np.bool_]) -> Met:
    """Some of the rows; the others count as not retrieved."""
    place = np.cumsum(kept) - 1
    judged = kept[met.row]
    rows = np.flatnonzero(kept)
    return replace(
        met,
        scores=met.scores[rows],
        doc_ids=met.doc_ids.gather(rows),
        owner=met.owner[rows],
        row=place[met.row[judged]],
        grade=met.grade[judged],
        judgment=met.judgment[judged],
        rows=rows if met.rows is None else met.rows[rows],
        counts=None,
    )


def nothing(codes: NDArray[np.int64], ran: NDArray[np.bool_] | None = None) -> Aligned:
    """Queries that retrieved nothing.

    Args:
        codes: ``(T,)``, each query's place in the index.
        ran: ``(T,)``, which of them the run has all the same; none if not given.
    """
    none = np.zeros(0, np.int64)
    retrieved = np.zeros(len(codes), np.int64)
    present = retrieved > 0 if ran is None else ran
    return Aligned(codes, present, retrieved, none, none, none, none, np.zeros(0), none, none)


def condensed(aligned: Aligned) -> Aligned:
    """As if only documents with a grade of 0 or more had been retrieved."""
    kept = aligned.take(aligned.grade >= 0)
    retrieved = np.bincount(kept.owner, minlength=len(kept.codes))
    begin = np.cumsum(retrieved) - retrieved
    rank = np.arange(len(kept.owner)) - begin[kept.owner] + 1
    return replace(kept, retrieved=retrieved, rank=rank, first=rank, last=rank)


def limited(aligned: Aligned, how: Alignment) -> Aligned:
    """Only what the convention lets count: its depth, and judged documents alone."""
    if how.depth is not None:
        within = aligned.take(aligned.rank <= how.depth)
        aligned = replace(within, retrieved=np.minimum(within.retrieved, how.depth))
    return condensed(aligned) if how.judged_only else aligned

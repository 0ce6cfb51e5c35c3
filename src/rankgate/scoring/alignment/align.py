"""Align rankings with judgments: the ranks of the judged documents."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

import numpy as np
import polars as pl

from rankgate.scoring.alignment.order import order, ranks

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from rankgate.data.run import Batch
    from rankgate.scoring.alignment.judgments import JudgmentIndex
    from rankgate.scoring.alignment.order import Documents, SortedRows
    from rankgate.scoring.convention import Alignment

_PIECE = 1 << 20  # rows that are looked up at one time


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


@dataclass(frozen=True)
class Met:
    """A batch and judgments brought together, before anything is ranked.

    Attributes:
        scores: ``(n,)``, of the rows whose query is judged, in file order.
        doc_ids: ``(n,)``, their documents.
        owner: ``(n,)``, the query of each row, 0 to T - 1.
        codes: ``(T,)``, each query's place in the index.
        row: ``(m,)``, the rows that are judged.
        grade: ``(m,)``, their grades.
        rows: ``(n,)``, where the rows were in the batch; None is all of them.
        unknown: queries without judgments, left out.
        judgment: ``(m,)``, where each judgment is in the index, as ``meet`` found them.
        retrieved: ``(T,)``, how many documents each query has; None where these are all of them.
        ordered: whether the order of rows is a ranking; if not, only scores rank them.
    """

    scores: NDArray[np.float64]
    doc_ids: Documents
    owner: NDArray[np.int64]
    codes: NDArray[np.int64]
    row: NDArray[np.int64]
    grade: NDArray[np.float64]
    rows: NDArray[np.int64] | None
    unknown: int
    judgment: NDArray[np.int64]
    retrieved: NDArray[np.int64] | None = None
    ordered: bool = True


def meet(batch: Batch, index: JudgmentIndex) -> Met:
    """Find the judged rows of a batch; the same under every convention."""
    mine = _owned(batch, index)
    row, judgment = _judged(mine, index)
    return Met(
        mine.frame["score"].to_numpy(),
        mine.frame["doc_id"],
        mine.owner,
        mine.codes,
        row,
        index.grades[judgment],
        mine.rows,
        mine.unknown,
        judgment,
        ordered=batch.ordered,
    )


def laid_out(met: Met, how: Alignment) -> tuple[Met, SortedRows]:
    """The rows that count as retrieved, and their order."""
    if how.above is not None:
        met = _only(met, met.scores > how.above)
    if how.absent is not None:
        met = _only(met, met.scores != how.absent)
    scores: NDArray[np.floating] = met.scores
    if how.order == "file" and met.ordered:
        scores = -np.arange(len(scores), dtype=np.float64)
    elif how.precision == "float32":
        with np.errstate(over="ignore"):  # as in C, what is too great becomes infinite
            scores = scores.astype(np.float32)
    return met, order(met.owner, scores, len(met.codes))


def align(met: Met, how: Alignment) -> Aligned:
    """Give the judged documents of a batch their ranks."""
    everything = met
    met, placed = laid_out(met, how)
    owner = met.owner[met.row]
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


@dataclass(frozen=True)
class _Owned:
    """The rows of judged queries.

    Attributes:
        frame: the rows.
        owner: ``(n,)``, the query of each row, 0 to T - 1.
        codes: ``(T,)``, each query's place in the index.
        pairs: ``(n,)``, a hash of the query and document of each.
        rows: ``(n,)``, where the rows were in the batch; None is all of them.
        unknown: queries without judgments, whose rows are left out.
    """

    frame: pl.DataFrame
    owner: NDArray[np.int64]
    codes: NDArray[np.int64]
    pairs: NDArray[np.uint64]
    rows: NDArray[np.int64] | None
    unknown: int


def _owned(batch: Batch, index: JudgmentIndex) -> _Owned:
    frame, starts = batch.frame, batch.starts
    if starts is None:
        owner, codes = _row_by_row(frame, index), np.arange(len(index.query_ids))
        judged = owner >= 0
    else:
        found = index.codes(frame["query_id"].gather(starts))
        lengths, codes = np.diff(starts, append=len(frame)), found[found >= 0]
        owner = np.repeat(np.where(found >= 0, np.cumsum(found >= 0) - 1, -1), lengths)
        judged = owner >= 0
    if judged.all():
        return _Owned(frame, owner, codes, batch.pairs, None, 0)
    unknown = frame["query_id"].filter(pl.Series(~judged)).n_unique()
    rows = np.flatnonzero(judged)
    return _Owned(frame[rows], owner[rows], codes, batch.pairs[rows], rows, unknown)


def _row_by_row(frame: pl.DataFrame, index: JudgmentIndex) -> NDArray[np.int64]:
    """The place of each row's query in the index; -1 for one without judgments."""
    known = pl.DataFrame({"query_id": index.query_ids}).with_row_index("code")
    queries, out = frame.select("query_id"), np.empty(len(frame), np.int64)
    for begin in range(0, len(out), _PIECE):
        part = queries.slice(begin, _PIECE)
        found = part.join(known, on="query_id", how="left", maintain_order="left")["code"]
        out[begin : begin + _PIECE] = found.cast(pl.Int64).fill_null(-1).to_numpy()
    return out


def _judged(mine: _Owned, index: JudgmentIndex) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
    """The rows that are judged, and for each its judgment in the index.

    Rows are found by the hash of the pair and confirmed on the strings. The first bits of the
    hashes, as a table of flags that fits the cache, leave out most rows at once.
    """
    whose, which = index.rows(mine.codes)
    by = np.argsort(index.pairs[which])
    wanted = index.pairs[which][by]
    if (wanted[1:] == wanted[:-1]).any():  # two judgments with one hash
        return _joined(mine, whose, which, index)
    high = np.uint64(64 - min(max((32 * len(wanted)).bit_length(), 14), 26))
    flags = np.zeros(1 << (64 - int(high)), bool)
    flags[wanted >> high] = True
    near = np.empty(len(mine.pairs), bool)
    for begin in range(0, len(near), _PIECE):
        near[begin : begin + _PIECE] = flags[mine.pairs[begin : begin + _PIECE] >> high]
    rows = np.flatnonzero(near)
    pairs = mine.pairs[rows]
    places = np.minimum(np.searchsorted(wanted, pairs), max(len(wanted) - 1, 0))
    same = wanted[places] == pairs
    rows, places = rows[same], by[places[same]]
    documents = mine.frame["doc_id"].gather(rows) == index.doc_ids.gather(which[places])
    real = (whose[places] == mine.owner[rows]) & documents.to_numpy()
    return rows[real], which[places[real]]


def _joined(
    mine: _Owned, whose: NDArray[np.int64], which: NDArray[np.int64], index: JudgmentIndex
) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
    """The same by the strings themselves."""
    judgments = pl.LazyFrame(
        {"owner": whose, "doc_id": index.doc_ids.gather(which), "judgment": which}
    )
    rows = mine.frame.lazy().select("doc_id").with_columns(pl.Series("owner", mine.owner))
    met = rows.with_row_index("row").join(judgments, on=["owner", "doc_id"], how="inner")
    found = met.select(pl.col("row").cast(pl.Int64), "judgment").collect()
    return found["row"].to_numpy(), found["judgment"].to_numpy()

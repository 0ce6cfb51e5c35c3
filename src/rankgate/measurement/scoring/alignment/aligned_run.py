"""Align rankings with judgments: the ranks of the judged documents.

First the rows of a run are aligned with judgments, before ranking; then the rankings are aligned.
"""

from __future__ import annotations

from dataclasses import field, replace
from functools import cached_property
from typing import TYPE_CHECKING

import numpy as np
import polars as pl

from rankgate.core.frozen import dataclass
from rankgate.data.id_match import NO_IDS
from rankgate.data.run import Batch
from rankgate.data.streams.source import read_ahead
from rankgate.data.table_rows import gather_ranges, has_repeated, hash_pairs
from rankgate.measurement.scoring.alignment.row_order import rank_rows, sort_rows

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from rankgate.data.run import Duplicates, Run
    from rankgate.measurement.scoring.alignment.judgment_index import JudgmentIndex
    from rankgate.measurement.scoring.alignment.row_order import Documents, SortedRows
    from rankgate.measurement.scoring.convention import Alignment

    Codes = NDArray[np.int64]


_PIECE = 1 << 20  # rows to look up queries for at one time
_ROWS_IN_CACHE = 1 << 16  # rows whose hashes fit the cache


@dataclass(frozen=True)
class AlignedRun:
    """A batch aligned with judgments, before ranking.

    Attributes:
        scores: ``(n,)``, the scores of rows with a judged query, in file order.
        doc_ids: ``(n,)``, the documents of these rows.
        owner: ``(n,)``, the query of each row, 0 to T - 1; 32 bits if the file is scattered.
        codes: ``(T,)``, the position of each query in the index.
        row: ``(m,)``, the judged rows.
        grade: ``(m,)``, the grades of the judged rows.
        rows: ``(n,)``, the positions of the rows in the batch; None means all rows.
        unknown: queries without judgments, which are left out.
        judgment: ``(m,)``, the position of each judgment in the index, as ``meet`` found it.
        retrieved: ``(T,)``, the number of documents of each query; None if these are all documents.
        ordered: True if the order of rows is a ranking; otherwise only scores rank the rows.
        counts: ``(T,)``, the number of rows of each query, if the rows of a query are together and
            in the order of queries; else None.
        query_ids: the ids that codes refer to; None for a matrix.
    """

    scores: NDArray[np.float64]
    doc_ids: Documents
    owner: Codes
    codes: Codes
    row: Codes
    grade: NDArray[np.float64]
    rows: Codes | None
    unknown: pl.Series
    judgment: Codes
    retrieved: Codes | None = None
    ordered: bool = True
    counts: Codes | None = None
    query_ids: pl.Series | None = None

    @property
    def own_ids(self) -> NDArray[np.bool_]:
        """``(n,)``, True if a document has the id of its query."""
        assert self.query_ids is not None, "a matrix is read by its ids under such a convention"
        documents = self.doc_ids.gather(np.arange(len(self.scores)))
        queries = self.query_ids.gather(self.codes[self.owner])
        return (documents == queries).to_numpy()


def align_batch(batch: Batch, index: JudgmentIndex) -> AlignedRun:
    """Find the judged rows of a batch, which are the same under every convention."""
    judged_rows = _judged_rows(batch, index)
    lookup = _JudgmentLookup.from_queries(index, judged_rows.codes, judged_rows.pairs)
    row, judgment = lookup.find_judged(judged_rows)
    return AlignedRun(
        judged_rows.frame["score"].to_numpy(),
        judged_rows.frame["doc_id"],
        judged_rows.owner,
        judged_rows.codes,
        row,
        index.grades[judgment],
        judged_rows.rows,
        judged_rows.unknown,
        judgment,
        ordered=batch.ordered,
        query_ids=index.query_ids,
        counts=judged_rows.counts,
    )


def align_scattered(run: Run, rule: Duplicates, index: JudgmentIndex) -> AlignedRun:
    """As `align_batch`, for all rows of a run in which the rows of a query are scattered.

    Rows are read piece by piece, and only numbers are kept: queries, scores, and the hashes that
    find duplicates. If two hashes are equal, all rows are read again as one batch.

    Raises:
        InputError, DuplicateError: see ``Run.table``.
    """
    from rankgate.data.memory.ids import GrowingArray

    lookup = _JudgmentLookup.from_queries(index, np.arange(len(index.query_ids)))
    scores, owners, pairs = (GrowingArray(np.float64), GrowingArray(np.int32), GrowingArray(np.uint64))
    parts, rows_read = [], 0
    for frame in run.pieces():
        batch = Batch(frame, hash_pairs(frame))
        judged_rows = _judged_rows(batch, index)
        row, judgment = lookup.find_judged(judged_rows)
        places = (
            slice(rows_read, rows_read + len(frame))
            if judged_rows.rows is None
            else judged_rows.rows + rows_read
        )
        parts.append(_AlignedPiece(row + len(owners.values), judgment, places, judged_rows.unknown))
        scores.add(judged_rows.frame["score"].to_numpy())
        owners.add(judged_rows.owner)
        pairs.add(batch.pairs)
        rows_read += len(frame)
    if rule != "each" and has_repeated(pairs.values):
        return align_batch(run.whole(rule), index)
    del pairs
    unknown = pl.concat([piece.unknown for piece in parts]).unique()
    rows = np.concatenate([np.r_[piece.rows] for piece in parts]) if len(unknown) else None
    judgment = np.concatenate([piece.judgment for piece in parts])
    return AlignedRun(
        scores.values,
        _LaterDocuments(run, rows),
        owners.values,
        lookup.codes,
        np.concatenate([piece.row for piece in parts]),
        index.grades[judgment],
        rows,
        unknown,
        judgment,
        ordered=run.ordered,
        query_ids=index.query_ids,
    )


@dataclass(frozen=True)
class _AlignedPiece:
    """The numbers kept from a piece of a scattered run; names as in `AlignedRun`.

    Attributes:
        row: the row, counted from the first row of the run that is kept.
        rows: the positions of the kept rows in the run.
        unknown: see `_JudgedRows`.
    """

    row: Codes
    judgment: Codes
    rows: Codes | slice
    unknown: pl.Series


@dataclass(frozen=True, eq=False)
class _LaterDocuments:
    """The documents of a scattered run, which are read again if ties need them."""

    run: Run
    rows: Codes | None

    def gather(self, rows: Codes, /) -> pl.Series:
        """The documents of some kept rows."""
        return self._names.gather(rows if self.rows is None else self.rows[rows])

    @cached_property
    def _names(self) -> pl.Series:
        return pl.concat([frame["doc_id"] for frame in read_ahead(self.run.pieces())])


@dataclass(frozen=True)
class _JudgedRows:
    """The rows of judged queries.

    Attributes:
        frame: the rows.
        owner: ``(n,)``, the query of each row, 0 to T - 1.
        codes: ``(T,)``, the position of each query in the index.
        pairs: ``(n,)``, a hash of the query and document of each row.
        rows: ``(n,)``, the positions of the rows in the batch; None means all rows.
        unknown: the queries without judgments, each once; their rows are left out.
        counts: see `AlignedRun`.
    """

    frame: pl.DataFrame
    owner: Codes
    codes: Codes
    pairs: NDArray[np.uint64]
    rows: Codes | None
    unknown: pl.Series
    counts: Codes | None


def _judged_rows(batch: Batch, index: JudgmentIndex) -> _JudgedRows:
    frame, starts = batch.frame, batch.starts
    if starts is None:
        owner, codes = _query_of_row(frame, index), np.arange(len(index.query_ids))
        judged, counts = owner >= 0, None
    else:
        query_codes = index.codes(frame["query_id"][starts])
        lengths, codes = np.diff(starts, append=len(frame)), query_codes[query_codes >= 0]
        owner = np.repeat(np.where(query_codes >= 0, np.cumsum(query_codes >= 0) - 1, -1), lengths)
        judged, counts = np.repeat(query_codes >= 0, lengths), lengths[query_codes >= 0]
    if judged.all():
        return _JudgedRows(frame, owner, codes, batch.pairs, None, frame["query_id"].clear(), counts)
    unknown = frame["query_id"].filter(pl.Series(~judged)).unique()
    rows = np.flatnonzero(judged)
    return _JudgedRows(frame[rows], owner[rows], codes, batch.pairs[rows], rows, unknown, counts)


def _query_of_row(frame: pl.DataFrame, index: JudgmentIndex) -> Codes:
    """The position of each row's query in the index; -1 for a query without judgments."""
    judged_queries = pl.DataFrame({"query_id": index.query_ids}).with_row_index("code")
    queries, out = frame.select("query_id"), np.empty(len(frame), np.int64)
    for begin in range(0, len(out), _PIECE):
        window = queries.slice(begin, _PIECE)
        codes = window.join(judged_queries, on="query_id", how="left", maintain_order="left")["code"]
        out[begin : begin + _PIECE] = codes.cast(pl.Int64).fill_null(-1).to_numpy()
    return out


@dataclass(frozen=True, eq=False)
class _HashFilter:
    """Flags for the first bits of hashes; they fit the cache, and exclude most other hashes.

    Attributes:
        flags: True if a hash begins with these bits.
        bits: the number of bits without the first bits of `flags`.
    """

    flags: NDArray[np.bool_]
    bits: np.uint64

    @classmethod
    def from_hashes(cls, hashes: NDArray[np.uint64]) -> _HashFilter:
        bits = np.uint64(64 - min(max((32 * len(hashes)).bit_length(), 14), 26))
        flags = np.zeros(1 << (64 - int(bits)), bool)
        flags[hashes >> bits] = True
        return cls(flags, bits)

    def find(self, hashes: NDArray[np.uint64]) -> Codes:
        """The positions of hashes that are not excluded."""
        near = np.empty(len(hashes), bool)
        for begin in range(0, len(near), _ROWS_IN_CACHE):
            window = hashes[begin : begin + _ROWS_IN_CACHE]
            near[begin : begin + _ROWS_IN_CACHE] = self.flags[(window >> self.bits).view(np.int64)]
        return np.flatnonzero(near)


@dataclass(frozen=True, eq=False)
class _JudgmentLookup:
    """An index that finds the judgments of some queries among rows.

    Rows are found by the hash of the pair and confirmed on the strings.

    Attributes:
        index: all judgments.
        codes: ``(T,)``, the position of each query in the index.
        whose: ``(n,)``, the query of each judgment, 0 to T - 1, ordered by hash.
        which: ``(n,)``, the position of each judgment in the index.
        hashes: ``(n,)``, the hash of the query and document of each judgment.
        filter: the filter of these hashes.
    """

    index: JudgmentIndex
    codes: Codes
    whose: Codes
    which: Codes
    hashes: NDArray[np.uint64]
    filter: _HashFilter

    @classmethod
    def from_queries(
        cls, index: JudgmentIndex, codes: Codes, pairs: NDArray[np.uint64] | None = None
    ) -> _JudgmentLookup:
        """Index the judgments of these queries; of many, only those near the hashes of rows."""
        owner, judgment = index.rows(codes)
        hashes = index.pairs[judgment]
        if pairs is not None and len(pairs) < len(hashes):
            near = _HashFilter.from_hashes(pairs).find(hashes)
            owner, judgment, hashes = owner[near], judgment[near], hashes[near]
        hash_order = np.argsort(hashes)
        hashes = hashes[hash_order]
        hash_filter = _HashFilter.from_hashes(hashes)
        return cls(index, codes, owner[hash_order], judgment[hash_order], hashes, hash_filter)

    def find_judged(self, judged_rows: _JudgedRows) -> tuple[Codes, Codes]:
        """Find the judged rows, and the judgment of each in the index."""
        if (self.hashes[1:] == self.hashes[:-1]).any():
            return self._joined(judged_rows)
        rows = self.filter.find(judged_rows.pairs)
        rows = rows[np.argsort(judged_rows.pairs[rows])]  # so that memory is read in order
        pairs = judged_rows.pairs[rows]
        places = np.minimum(np.searchsorted(self.hashes, pairs), max(len(self.hashes) - 1, 0))
        is_match = self.hashes[places] == pairs
        rows, places = rows[is_match], places[is_match]
        rising = np.argsort(rows)
        rows, places = rows[rising], places[rising]
        documents = judged_rows.frame["doc_id"][rows] == self._doc_ids(places)
        is_confirmed = (self.whose[places] == judged_rows.owner[rows]) & documents.to_numpy()
        return rows[is_confirmed], self.which[places[is_confirmed]]

    def _doc_ids(self, places: Codes | slice) -> pl.Series:
        return self.index.documents(self.which[places])

    def _joined(self, judged_rows: _JudgedRows) -> tuple[Codes, Codes]:
        """Find the rows by the strings themselves, if two judgments have the same hash."""
        judgments = pl.LazyFrame(
            {"owner": self.whose, "doc_id": self._doc_ids(slice(None)), "judgment": self.which}
        )
        rows = judged_rows.frame.lazy().select("doc_id").with_columns(pl.Series("owner", judged_rows.owner))
        joined = rows.with_row_index("row").join(judgments, on=["owner", "doc_id"], how="inner")
        matches = joined.select(pl.col("row").cast(pl.Int64), "judgment").collect()
        return matches["row"].to_numpy(), matches["judgment"].to_numpy()


@dataclass(frozen=True)
class JudgedRanks:
    """The judged documents that some queries retrieved, by query, then by rank.

    Attributes:
        codes: ``(T,)``, the position of each query in the index.
        present: ``(T,)``, True if the run has the query.
        retrieved: ``(T,)``, the number of retrieved documents that count.
        owner: ``(m,)``, the query of each row, 0 to T - 1.
        rank: ``(m,)``, 1-based.
        first: ``(m,)``, the first rank of the documents with an equal score.
        last: ``(m,)``, the last rank of these documents.
        grade: ``(m,)``; negative means in the pool but unjudged.
        row: ``(m,)``, the row of the batch.
        judgment: ``(m,)``, the position of the judgment in the index; -1 if it is hypothetical.
        ties: the number of groups of equal scores among all retrieved documents.
        unknown: queries without judgments, which are left out.
        against_scores: queries whose rows are not ordered by score.
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
    unknown: pl.Series = field(default_factory=lambda: NO_IDS)
    against_scores: int = 0

    def take(self, rows: NDArray[np.bool_ | np.int64]) -> JudgedRanks:
        """Select some of the rows; all queries are kept."""
        columns = {
            name: getattr(self, name)[rows]
            for name in ("owner", "rank", "first", "last", "grade", "row", "judgment")
        }
        return replace(self, **columns)

    def copies(self, queries: Codes, judgment: Codes, grades: NDArray[np.float64]) -> JudgedRanks:
        """Copies of queries, each with another grade for one judgment; arguments as in the index.

        The queries of the copies are those of `JudgmentIndex.copies`.
        """
        sizes = np.bincount(self.owner, minlength=len(self.codes))
        owner, rows = gather_ranges(np.append(0, np.cumsum(sizes)), queries)
        copied = self.take(rows)
        is_replaced = copied.judgment == judgment[owner]
        return replace(
            copied,
            codes=np.arange(len(queries)),
            present=self.present[queries],
            retrieved=self.retrieved[queries],
            owner=owner,
            grade=np.where(is_replaced, grades[owner], copied.grade),
            judgment=np.full(len(rows), -1),
        )


def sort_retrieved(aligned_run: AlignedRun, how: Alignment) -> tuple[AlignedRun, SortedRows]:
    """The rows that count as retrieved, in their order."""
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
        with np.errstate(over="ignore"):  # as in C, too large values become infinite
            scores = scores.astype(np.float32)
    return aligned_run, sort_rows(aligned_run.owner, scores, len(aligned_run.codes), aligned_run.counts)


def align(aligned_run: AlignedRun, how: Alignment) -> JudgedRanks:
    """Compute the ranks of the judged documents of a batch."""
    everything = aligned_run
    aligned_run, sorted_rows = sort_retrieved(aligned_run, how)
    owner = aligned_run.owner[aligned_run.row].astype(np.int64)
    tie_ranks = rank_rows(sorted_rows, aligned_run.row, owner, aligned_run.doc_ids, how.tie_order)
    row_order = np.argsort(owner * (len(aligned_run.scores) + 1) + tie_ranks.rank, kind="stable")
    retrieved = _counts(aligned_run)
    in_run = retrieved if aligned_run is everything else _counts(everything)  # even if no row counts
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
        against_scores=_against_scores(aligned_run) if how.order == "file" and aligned_run.ordered else 0,
    )
    return apply_depth(aligned, how)


def _against_scores(aligned_run: AlignedRun) -> int:
    """Queries with a row whose score is greater than that of the previous row."""
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
    """Keep some of the rows; the other rows count as not retrieved."""
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
    """Add queries that retrieved nothing.

    Args:
        codes: ``(T,)``, the position of each query in the index.
        ran: ``(T,)``, True for queries that are in the run; none by default.
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

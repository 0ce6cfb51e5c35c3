"""Rankings against judgments: at which ranks the judged documents stand."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

import numpy as np
import polars as pl

from rankgate.scoring.order import order, ranks

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from rankgate.data.run import Batch
    from rankgate.scoring.convention import Convention
    from rankgate.scoring.index import Index

_MANY = 4  # stretches per judged query from which one join beats single look-ups


@dataclass(frozen=True)
class Aligned:
    """The judged documents that some queries retrieved; rows by query, then by rank.

    Attributes:
        codes: ``(T,)``, each query's place in the index.
        retrieved: ``(T,)``, documents retrieved.
        owner: ``(m,)``, the query of each row, 0 to T - 1.
        rank: ``(m,)``, 1-based.
        first: ``(m,)``, the first rank of the documents with the same score.
        last: ``(m,)``, the last of them.
        grade: ``(m,)``; negative is in the pool and unjudged.
        row: ``(m,)``, the row of the batch.
        ties: groups of equal scores among all documents retrieved.
        unknown: queries without judgments, left out.
    """

    codes: NDArray[np.int64]
    retrieved: NDArray[np.int64]
    owner: NDArray[np.int64]
    rank: NDArray[np.int64]
    first: NDArray[np.int64]
    last: NDArray[np.int64]
    grade: NDArray[np.float64]
    row: NDArray[np.int64]
    ties: int = 0
    unknown: int = 0

    def take(self, rows: NDArray[np.bool_]) -> Aligned:
        """The same queries with some of the rows."""
        kept = {
            name: getattr(self, name)[rows]
            for name in ("owner", "rank", "first", "last", "grade", "row")
        }
        return replace(self, **kept)


def align(batch: Batch, index: Index, how: Convention) -> Aligned:
    """Give the judged documents of a batch their ranks.

    Args:
        batch: rows of whole queries.
        index: the judgments.
        how: ties and precision are used.
    """
    known, frame, owner, codes, unknown = _owned(batch, index)
    scores = frame["score"].to_numpy()
    if how.precision == "float32":
        scores = scores.astype(np.float32)
    placed = order(owner, scores, len(codes))
    retrieved = np.bincount(owner, minlength=len(codes))
    met = _judged(frame, owner, codes, index)
    row, mine = met["row"].to_numpy().astype(np.int64), met["owner"].to_numpy()
    stand = ranks(placed, row, mine, frame["doc_id"], how.ties)
    by = np.lexsort((stand.rank, mine))
    aligned = Aligned(
        codes=codes,
        retrieved=retrieved,
        owner=mine[by],
        rank=stand.rank[by],
        first=stand.first[by],
        last=stand.last[by],
        grade=met["grade"].to_numpy()[by],
        row=row[by] if known is None else known[row[by]],
        ties=int((np.diff(placed.heads, append=placed.size) > 1).sum()),
        unknown=unknown,
    )
    return _limited(aligned, how)


def nothing(codes: NDArray[np.int64]) -> Aligned:
    """Queries that retrieved nothing."""
    none = np.zeros(0, np.int64)
    retrieved = np.zeros(len(codes), np.int64)
    return Aligned(codes, retrieved, none, none, none, none, np.zeros(0), none)


def condensed(aligned: Aligned) -> Aligned:
    """As if only documents with a grade of 0 or more had been retrieved."""
    kept = aligned.take(aligned.grade >= 0)
    retrieved = np.bincount(kept.owner, minlength=len(kept.codes))
    begin = np.cumsum(retrieved) - retrieved
    rank = np.arange(len(kept.owner)) - begin[kept.owner] + 1
    return replace(kept, retrieved=retrieved, rank=rank, first=rank, last=rank)


def _limited(aligned: Aligned, how: Convention) -> Aligned:
    if how.depth is not None:
        within = aligned.take(aligned.rank <= how.depth)
        aligned = replace(within, retrieved=np.minimum(within.retrieved, how.depth))
    return condensed(aligned) if how.judged_only else aligned


def _owned(
    batch: Batch, index: Index
) -> tuple[
    NDArray[np.int64] | None, pl.DataFrame, NDArray[np.int64], NDArray[np.int64], int
]:
    """Rows of judged queries: their rows (None: all), the frame, owners, codes, unknown queries."""
    frame, starts = batch.frame, batch.starts
    lengths = np.diff(starts, append=len(frame))
    heads = frame["query_id"].gather(starts)
    codes = _codes(heads, index)
    judged = codes >= 0
    if batch.scattered:
        owner, every = np.repeat(codes, lengths), np.arange(len(index.query_ids))
        unknown = heads.filter(pl.Series(~judged)).n_unique()
    else:
        owner = np.repeat(np.cumsum(judged) - 1, lengths)
        every, unknown = codes[judged], int((~judged).sum())
    if judged.all():
        return None, frame, owner, every, 0
    rows = np.flatnonzero(np.repeat(judged, lengths))
    return rows, frame[rows], owner[rows], every, unknown


def _codes(heads: pl.Series, index: Index) -> NDArray[np.int64]:
    if len(heads) < _MANY * len(index.query_ids):
        return index.codes(heads)
    known = pl.LazyFrame({"query_id": index.query_ids}).with_row_index("code")
    wanted = heads.to_frame("query_id").lazy()
    found = wanted.join(known, on="query_id", how="left", maintain_order="left")
    codes = found.select(pl.col("code").cast(pl.Int64).fill_null(-1)).collect()
    return codes.to_series().to_numpy()


def _judged(
    frame: pl.DataFrame, owner: NDArray[np.int64], codes: NDArray[np.int64], index: Index
) -> pl.DataFrame:
    """The rows that are judged: ``row``, ``owner``, ``grade``."""
    whose, which = index.rows(codes)
    judgments = pl.LazyFrame(
        {"owner": whose, "doc_id": index.doc_ids.gather(which), "grade": index.grades[which]}
    )
    rows = frame.lazy().select("doc_id").with_columns(pl.Series("owner", owner))
    met = rows.with_row_index("row").join(judgments, on=["owner", "doc_id"], how="inner")
    return met.select("row", "owner", "grade").collect(engine="streaming")

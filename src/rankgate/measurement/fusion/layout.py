"""Runs laid out side by side, and cut into blocks of candidates."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import TYPE_CHECKING

import numpy as np
import polars as pl

from rankgate.core.frozen import dataclass
from rankgate.data.duplicates import pairs_of
from rankgate.measurement.fusion.candidates import Candidates, FusionBlock
from rankgate.measurement.scoring.alignment.order import order, ranks

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from rankgate.data import Run
    from rankgate.measurement.fusion.normalise import Normalisation

_ROWS = 1 << 18  # of all runs in one block: what fits into the processor's cache sorts fastest


@dataclass(frozen=True)
class RankedRun:
    """A run laid out for fusion: its rows by query and rank.

    Attributes:
        doc_ids: ``(m,)``, in order of query and rank.
        pairs: ``(m,)``, a hash of query and document.
        scores: ``(m,)``, as the run has them.
        starts: ``(T + 1,)``, where the rows of each query begin, and the end.
    """

    doc_ids: pl.Series
    pairs: NDArray[np.uint64]
    scores: NDArray[np.float64]
    starts: NDArray[np.int64]

    @classmethod
    def of(cls, run: Run, queries: pl.DataFrame, depth: int | None = None) -> RankedRun:
        """Lay out a run; equal scores are ordered by document id, descending, as trec_eval does.

        Args:
            run: the run.
            queries: ``query_id`` and ``query``, its number.
            depth: how many documents of a query count; None counts all.

        Raises:
            InputError, DuplicateError: as ``Run.table``.
        """
        table = run.table
        joined = table.select("query_id").join(queries, on="query_id", maintain_order="left")
        owner = joined["query"].to_numpy().astype(np.int64)
        scores = table["score"].to_numpy()
        T = len(queries)
        placed = order(owner, scores, T)
        every = np.arange(len(table))
        rank = ranks(placed, every, owner, table["doc_id"], "doc_id_desc").rank
        kept = every if depth is None else np.flatnonzero(rank <= depth)
        counts = np.bincount(owner[kept], minlength=T)
        starts = np.append(0, np.cumsum(counts))
        rows = np.empty(len(kept), np.int64)
        rows[starts[owner[kept]] + rank[kept] - 1] = kept
        in_order = len(rows) == len(table) and bool((rows == every).all())
        frame = table if in_order else table[rows]
        return cls(frame["doc_id"], pairs_of(frame), frame["score"].to_numpy(), starts)

    def stretch(self, first: int, last: int) -> tuple[slice, NDArray[np.int64]]:
        """The rows of queries ``first`` to ``last - 1``, and how many each has."""
        starts = self.starts[first : last + 1]
        return slice(int(starts[0]), int(starts[-1])), np.diff(starts)


def stretches(runs: Sequence[RankedRun], first: int, last: int) -> Iterator[tuple[int, int]]:
    """Queries ``first`` to ``last - 1``, cut into stretches of about as many rows."""
    filled = np.cumsum(sum(np.diff(run.starts) for run in runs))
    while first < last:
        before = filled[first - 1] if first else 0
        end = int(np.searchsorted(filled, before + _ROWS, side="right"))
        end = min(max(first + 1, end), last)
        yield first, end
        first = end


def block(
    runs: Sequence[RankedRun],
    queries: pl.Series,
    normalisation: Normalisation,
    first: int,
    last: int,
) -> FusionBlock:
    """Candidates of all runs for queries ``first`` to ``last - 1``."""
    T = last - first
    parts = [run.stretch(first, last) for run in runs]
    sizes = [rows.stop - rows.start for rows, _ in parts]
    pairs = np.concatenate([run.pairs[rows] for run, (rows, _) in zip(runs, parts, strict=True)])
    number, heads = _numbered(pairs)
    n = len(heads)
    owner = np.concatenate([np.repeat(np.arange(T), counts) for _, counts in parts])
    scores = np.zeros((len(runs), n))
    placed = np.zeros((len(runs), n), np.int64)
    lengths = np.array([counts for _, counts in parts])
    begin = 0
    for r, (run, (rows, counts)) in enumerate(zip(runs, parts, strict=True)):
        mine = number[begin : begin + sizes[r]]
        starts = np.cumsum(counts) - counts
        scores[r, mine] = normalisation.apply(run.scores[rows], starts, counts)
        placed[r, mine] = np.arange(1, sizes[r] + 1) - np.repeat(starts, counts)
        begin += sizes[r]
    documents = pl.concat([run.doc_ids[rows] for run, (rows, _) in zip(runs, parts, strict=True)])
    found = Candidates(owner[heads], scores, placed, lengths)
    if normalisation.finish:
        found = normalisation.finish(found)
    return FusionBlock(queries[first:last], documents.gather(heads), found)


def _numbered(pairs: NDArray[np.uint64]) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
    """Equal hashes get equal numbers: the number of each row, and a row of each number."""
    by = np.argsort(pairs)
    ordered = pairs[by]
    new = np.append(True, ordered[1:] != ordered[:-1])[: len(by)]
    number = np.empty(len(by), np.int64)
    number[by] = np.cumsum(new) - 1
    return number, by[new]

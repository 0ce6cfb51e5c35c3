"""Index runs by query and rank, and split them into blocks of candidates."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import TYPE_CHECKING

import numpy as np
import polars as pl

from rankgate.core.frozen import dataclass
from rankgate.data.duplicates import hash_pairs
from rankgate.measurement.fusion.candidates import Candidates, FusionBlock
from rankgate.measurement.scoring.alignment.order import rank_rows, sort_rows

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from rankgate.data import Run
    from rankgate.measurement.fusion.normalise import Normalisation

_ROWS_OF_BLOCK = (
    1 << 18
)  # rows of all runs in one block: data that fit into the processor's cache sort fastest


@dataclass(frozen=True)
class RankedRun:
    """A run indexed for fusion: its rows by query and rank.

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
        """Index a run; equal scores are ordered by document id, descending, as trec_eval does.

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
        sorted_rows = sort_rows(owner, scores, T)
        all_rows = np.arange(len(table))
        rank = rank_rows(sorted_rows, all_rows, owner, table["doc_id"], "doc_id_desc").rank
        ranked_rows = all_rows if depth is None else np.flatnonzero(rank <= depth)
        counts = np.bincount(owner[ranked_rows], minlength=T)
        starts = np.append(0, np.cumsum(counts))
        rows = np.empty(len(ranked_rows), np.int64)
        rows[starts[owner[ranked_rows]] + rank[ranked_rows] - 1] = ranked_rows
        in_order = len(rows) == len(table) and bool((rows == all_rows).all())
        frame = table if in_order else table[rows]
        return cls(frame["doc_id"], hash_pairs(frame), frame["score"].to_numpy(), starts)

    def stretch(self, first: int, last: int) -> tuple[slice, NDArray[np.int64]]:
        """The rows of queries ``first`` to ``last - 1``, and how many each has."""
        starts = self.starts[first : last + 1]
        return slice(int(starts[0]), int(starts[-1])), np.diff(starts)


def query_ranges(runs: Sequence[RankedRun], first: int, last: int) -> Iterator[tuple[int, int]]:
    """Queries ``first`` to ``last - 1``, split into ranges with similar numbers of rows."""
    filled = np.cumsum(sum(np.diff(run.starts) for run in runs))
    while first < last:
        before = filled[first - 1] if first else 0
        end = int(np.searchsorted(filled, before + _ROWS_OF_BLOCK, side="right"))
        end = min(max(first + 1, end), last)
        yield first, end
        first = end


def candidate_block(
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
    number, first_rows = _number_pairs(pairs)
    n = len(first_rows)
    owner = np.concatenate([np.repeat(np.arange(T), counts) for _, counts in parts])
    scores = np.zeros((len(runs), n))
    ranks_of_run = np.zeros((len(runs), n), np.int64)
    lengths = np.array([counts for _, counts in parts])
    begin = 0
    for r, (run, (rows, counts)) in enumerate(zip(runs, parts, strict=True)):
        candidate_numbers = number[begin : begin + sizes[r]]
        starts = np.cumsum(counts) - counts
        scores[r, candidate_numbers] = normalisation.apply(run.scores[rows], starts, counts)
        ranks_of_run[r, candidate_numbers] = np.arange(1, sizes[r] + 1) - np.repeat(starts, counts)
        begin += sizes[r]
    documents = pl.concat([run.doc_ids[rows] for run, (rows, _) in zip(runs, parts, strict=True)])
    candidates = Candidates(owner[first_rows], scores, ranks_of_run, lengths)
    if normalisation.finish:
        candidates = normalisation.finish(candidates)
    return FusionBlock(queries[first:last], documents.gather(first_rows), candidates)


def _number_pairs(pairs: NDArray[np.uint64]) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
    """Equal hashes get equal numbers: the number of each row, and a row of each number."""
    row_order = np.argsort(pairs)
    sorted_pairs = pairs[row_order]
    new = np.append(True, sorted_pairs[1:] != sorted_pairs[:-1])[: len(row_order)]
    number = np.empty(len(row_order), np.int64)
    number[row_order] = np.cumsum(new) - 1
    return number, row_order[new]

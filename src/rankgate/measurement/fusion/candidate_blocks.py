"""Candidates in blocks, with the scores of different systems on one scale.

Candidates are all documents that any run returned for some queries; fusion methods take them as
input. Normalisations work on each list separately. The layout indexes runs by query and rank, and
splits them into blocks of candidates.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import replace
from typing import TYPE_CHECKING

import numpy as np
import polars as pl

from rankgate.core.declare import Declared
from rankgate.core.errors import UsageError
from rankgate.core.frozen import dataclass
from rankgate.data.table_rows import hash_pairs
from rankgate.measurement.scoring.alignment.row_order import rank_rows, sort_rows

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from rankgate.data import Run


@dataclass(frozen=True)
class Candidates:
    """The documents of some queries, with their score and rank in each run.

    R runs, n candidates, T queries.

    Attributes:
        owner: ``(n,)``, the query of each candidate, 0 to T - 1.
        scores: ``(R, n)``, normalised; 0 where a run does not have the document.
        ranks: ``(R, n)``, from 1; 0 where a run does not have the document.
        lengths: ``(R, T)``, the number of documents of each run for each query.
    """

    owner: NDArray[np.int64]
    scores: NDArray[np.float64]
    ranks: NDArray[np.int64]
    lengths: NDArray[np.int64]

    @property
    def present(self) -> NDArray[np.bool_]:
        """``(R, n)``, True if a run has a document."""
        return self.ranks > 0

    @property
    def votes(self) -> NDArray[np.int64]:
        """``(n,)``, the number of runs that have a document."""
        return np.count_nonzero(self.ranks, axis=0)

    @property
    def sizes(self) -> NDArray[np.int64]:
        """``(T,)``, the number of candidates of each query."""
        return np.bincount(self.owner, minlength=self.lengths.shape[1])


@dataclass(frozen=True)
class FusionBlock:
    """Candidates of a range of queries, and their documents.

    Attributes:
        queries: ``(T,)``, the ids.
        documents: ``(n,)``, the ids.
        candidates: their scores and ranks.
    """

    queries: pl.Series
    documents: pl.Series
    candidates: Candidates


_SMALLEST_RANGE = 1e-9  # smallest range, so that equal scores do not divide by 0; as in ranx
_MAD = 1.4826  # factor from the MAD to the standard deviation of a normal distribution


@dataclass(frozen=True)
class ScoredLists:
    """The scores of one run, list by list, best first; no list is empty.

    Attributes:
        scores: ``(m,)``.
        starts: ``(T,)``, the start of each list.
        counts: ``(T,)``, the number of documents in each list.
    """

    scores: NDArray[np.float64]
    starts: NDArray[np.int64]
    counts: NDArray[np.int64]

    def repeat(self, values: NDArray[np.float64]) -> NDArray[np.float64]:
        """Repeat a value of each list, ``(T,)``, for each of its documents, ``(m,)``."""
        return np.repeat(values, self.counts)

    @property
    def lowest(self) -> NDArray[np.float64]:
        """``(T,)``, the last score of each list."""
        return self.scores[self.starts + self.counts - 1]

    @property
    def highest(self) -> NDArray[np.float64]:
        """``(T,)``, the first score of each list."""
        return self.scores[self.starts]

    @property
    def sums(self) -> NDArray[np.float64]:
        """``(T,)``, the sum of each list."""
        return np.add.reduceat(self.scores, self.starts)

    def medians(self) -> NDArray[np.float64]:
        """``(T,)``, the median of each list."""
        low = self.scores[self.starts + (self.counts - 1) // 2]
        return (low + self.scores[self.starts + self.counts // 2]) / 2

    @property
    def places(self) -> NDArray[np.int64]:
        """``(m,)``, the position of each document in its list, from 0."""
        return np.arange(len(self.scores)) - np.repeat(self.starts, self.counts)


@dataclass(frozen=True)
class Normalisation(Declared):
    """A method that converts scores to a common scale before fusion.

    Attributes:
        function: a function from the lists of one run to normalised scores, ``(m,)``.
        finish: a function that depends on the candidates of all runs; None if not needed.
    """

    function: Callable[[ScoredLists], NDArray[np.float64]]
    finish: Callable[[Candidates], Candidates] | None = None

    def apply(
        self, scores: NDArray[np.float64], starts: NDArray[np.int64], counts: NDArray[np.int64]
    ) -> NDArray[np.float64]:
        """Normalise the scores of one run.

        Args:
            scores: ``(m,)``, list by list, best first.
            starts: ``(T,)``, the start of each list.
            counts: ``(T,)``, the length of each list.

        Raises:
            UsageError: the normalisation is not defined for these scores.
        """
        filled = counts > 0
        if not filled.any():
            return scores
        return self.function(ScoredLists(scores, starts[filled], counts[filled]))


def _unchanged(lists: ScoredLists) -> NDArray[np.float64]:
    return lists.scores


def _min_max(lists: ScoredLists) -> NDArray[np.float64]:
    score_range = np.maximum(lists.highest - lists.lowest, _SMALLEST_RANGE)
    return (lists.scores - lists.repeat(lists.lowest)) / lists.repeat(score_range)


def _min_max_inverted(lists: ScoredLists) -> NDArray[np.float64]:
    score_range = np.maximum(lists.highest - lists.lowest, _SMALLEST_RANGE)
    return (lists.repeat(lists.highest) - lists.scores) / lists.repeat(score_range)


def _max(lists: ScoredLists) -> NDArray[np.float64]:
    if (lists.highest <= 0).any():
        raise UsageError(
            "the normalisation max divides by the highest score of a list, and one is not above 0; use "
            "min-max.",
            code="invalid-scores",
        )
    return lists.scores / lists.repeat(lists.highest)


def _sum(lists: ScoredLists) -> NDArray[np.float64]:
    total = np.maximum(lists.sums - lists.lowest * lists.counts, _SMALLEST_RANGE)
    return (lists.scores - lists.repeat(lists.lowest)) / lists.repeat(total)


def _z_score(lists: ScoredLists) -> NDArray[np.float64]:
    from_mean = lists.scores - lists.repeat(lists.sums / lists.counts)
    squares = np.add.reduceat(from_mean**2, lists.starts)
    return from_mean / lists.repeat(np.maximum(np.sqrt(squares / lists.counts), _SMALLEST_RANGE))


def _tanh(lists: ScoredLists) -> NDArray[np.float64]:
    return (np.tanh(_z_score(lists) / 100) + 1) / 2


def _robust(lists: ScoredLists) -> NDArray[np.float64]:
    from_median = lists.scores - lists.repeat(lists.medians())
    owner = np.repeat(np.arange(len(lists.counts)), lists.counts)
    distances = np.abs(from_median)
    sorted_distances = distances[np.lexsort((-distances, owner))]
    mad = ScoredLists(sorted_distances, lists.starts, lists.counts).medians()
    return from_median / lists.repeat(np.maximum(mad * _MAD, _SMALLEST_RANGE))


def _l2(lists: ScoredLists) -> NDArray[np.float64]:
    norm = np.sqrt(np.add.reduceat(lists.scores**2, lists.starts))
    return lists.scores / lists.repeat(np.maximum(norm, _SMALLEST_RANGE))


def _rank(lists: ScoredLists) -> NDArray[np.float64]:
    return 1 - lists.places / lists.repeat(lists.counts.astype(np.float64))


def _borda(candidates: Candidates) -> Candidates:
    """Points by rank among all candidates; a run's missing documents share the other points."""
    sizes = candidates.sizes[candidates.owner]
    lengths = candidates.lengths[:, candidates.owner]
    present = candidates.present
    shared = 0.5 - (lengths - 1) / (2 * sizes)
    return replace(
        candidates,
        scores=np.where(present, 1 - (candidates.ranks - 1) / sizes, shared),
        ranks=np.where(present, candidates.ranks, lengths + 1),  # one rank for all missing
    )


_LEE = "Lee, SIGIR 1997"
_MONTAGUE = "Montague and Aslam, CIKM 2001"
_RENDA = "Renda and Straccia, SAC 2003"

PLAIN_NORMALISATIONS = (
    Normalisation("none", _unchanged, title="scores as they are"),
    Normalisation(
        "min-max",
        _min_max,
        source=_LEE,
        aliases=("min_max",),
        title="(score - lowest) / (highest - lowest) of the list",
    ),
    Normalisation(
        "min-max-inverted",
        _min_max_inverted,
        aliases=("min_max_inverted",),
        title="(highest - score) / (highest - lowest) of the list; for distances",
        source="ranx",
    ),
    Normalisation("max", _max, source=_LEE, title="score / highest of the list"),
    Normalisation(
        "sum", _sum, source=_MONTAGUE, title="(score - lowest) / sum of (score - lowest) over the list"
    ),
    Normalisation(
        "z-score",
        _z_score,
        source=_MONTAGUE,
        aliases=("zmuv",),
        title="(score - mean) / standard deviation of the list; mean 0, variance 1",
    ),
    Normalisation(
        "robust",
        _robust,
        source="Jain, Nandakumar and Ross, Pattern Recognition 2005",
        title="(score - median) / (1.4826 x median absolute deviation); outliers matter little",
    ),
    Normalisation(
        "tanh",
        _tanh,
        source="Jain, Nandakumar and Ross, Pattern Recognition 2005",
        title="(tanh(0.01 x z-score) + 1) / 2; between 0 and 1",
    ),
    Normalisation("l2", _l2, title="score / root of the sum of the squared scores of the list"),
    Normalisation("rank", _rank, source=_RENDA, title="1 - (rank - 1) / length of the list"),
    Normalisation(
        "borda",
        _unchanged,
        _borda,
        source=_RENDA,
        title="1 - (rank - 1) / candidates; documents missing from a run share the rest",
    ),
)
"""Normalisations by formulas of papers and libraries; those of engines are in `engine_fusions`."""


_ROWS_OF_BLOCK = (
    1 << 18
)  # rows of all runs in a block: data that fit into the processor's cache are sorted fastest


@dataclass(frozen=True)
class RankedRun:
    """A run indexed for fusion: its rows by query and rank.

    Attributes:
        doc_ids: ``(m,)``, in order of query and rank.
        pairs: ``(m,)``, a hash of query and document.
        scores: ``(m,)``, the scores in the run.
        starts: ``(T + 1,)``, the start of each query's rows, and the end.
    """

    doc_ids: pl.Series
    pairs: NDArray[np.uint64]
    scores: NDArray[np.float64]
    starts: NDArray[np.int64]

    @classmethod
    def index(cls, run: Run, queries: pl.DataFrame, depth: int | None = None) -> RankedRun:
        """Index a run; equal scores are ordered by document id, descending, as trec_eval does.

        Args:
            run: the run.
            queries: ``query_id`` and ``query``, its number.
            depth: the number of documents per query that count; None means all.

        Raises:
            InputError, DuplicateError: see ``Run.table``.
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
        """The rows of queries ``first`` to ``last - 1``, and the number of rows of each query."""
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
    runs: Sequence[RankedRun], queries: pl.Series, normalisation: Normalisation, first: int, last: int
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
    """Number hashes so that equal hashes have equal numbers; return also a row of each number."""
    row_order = np.argsort(pairs)
    sorted_pairs = pairs[row_order]
    new = np.append(True, sorted_pairs[1:] != sorted_pairs[:-1])[: len(row_order)]
    number = np.empty(len(row_order), np.int64)
    number[row_order] = np.cumsum(new) - 1
    return number, row_order[new]

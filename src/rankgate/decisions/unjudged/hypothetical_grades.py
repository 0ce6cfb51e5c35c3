"""Score systems under hypothetical grades of unjudged documents, many sets at once.

Lists and judgments are joined once. A set of grades makes a copy of every query with unjudged
documents: the same rows with other grades. Copies of a query with equal grades are scored once, and
many copies as one block.
"""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING

import numpy as np
import polars as pl

from rankgate.core.frozen import dataclass
from rankgate.data.table_rows import gather_ranges
from rankgate.measurement.scoring.alignment.aligned_run import JudgedRanks
from rankgate.measurement.scoring.scoring_plan import Plan

if TYPE_CHECKING:
    from rankgate.core.arrays import Floats, Ints
    from rankgate.data.run_scores import ScoredRun
    from rankgate.measurement.evaluation.scored_system import Scorer
    from rankgate.measurement.metrics.metric_declaration import Metric
    from rankgate.measurement.scoring.alignment.judgment_index import JudgmentIndex


_CELLS = 1 << 20  # judgments in memory at one time, over all copies of queries
_PAIR = ["query_id", "doc_id"]


@dataclass(frozen=True)
class HypotheticalScorer:
    """Two systems with sets of grades for their unjudged documents.

    Attributes:
        scorer: judgments, metrics, convention.
        baseline, candidate: the systems; only their lists are used.
        metrics: the metrics whose cutoff is within the lists.
    """

    scorer: Scorer
    baseline: ScoredRun
    candidate: ScoredRun
    metrics: tuple[tuple[str, Metric], ...]

    @classmethod
    def from_systems(cls, scorer: Scorer, baseline: ScoredRun, candidate: ScoredRun) -> HypotheticalScorer:
        """Keep the metrics with a cutoff within both lists."""
        depth = min(baseline.depth, candidate.depth)
        metrics = [
            (label, metric) for label, metric in scorer.metrics if 0 < (_cutoff(scorer, metric) or 0) <= depth
        ]
        return cls(scorer, baseline, candidate, tuple(metrics))

    def values(self, table: pl.DataFrame, grades: Floats) -> Floats:
        """The values of both systems under sets of grades of unjudged documents.

        Args:
            table: ``query_id`` and ``doc_id`` of the unjudged documents, sorted by query.
            grades: (N, S) the grades of these documents in each set.

        Returns:
            (2, M, T, S) the value of each system and metric for each query of the table, in order
            of first appearance; 0 if undefined.
        """
        if table.is_empty() or not self.metrics:
            return np.zeros((2, len(self.metrics), 0, grades.shape[1]))
        pool = _PooledJudgments.from_systems(self.scorer.index, table)
        lists = [_ListedDocuments.from_run(run.lists, table) for run in (self.baseline, self.candidate)]
        levels = pl.Series(np.append(pool.grades, grades.ravel())).unique().sort().to_numpy()
        grade_numbers = np.searchsorted(levels, grades)
        copies, copy_index = _find_distinct(grade_numbers, pool.hole_starts, len(levels))
        plan = Plan.from_conventions(self.metrics, [self.scorer.how])
        values = np.empty((2, len(self.metrics), len(copies)))
        cells_of_query = np.maximum(pool.sizes + pool.hole_sizes, len(levels))
        cells = np.cumsum(cells_of_query[copies // grades.shape[1]])
        start = 0
        while start < len(copies):
            cells_done = cells[start - 1] if start else 0
            end = max(start + 1, int(np.searchsorted(cells, cells_done + _CELLS, "right")))
            query, set_index = np.divmod(copies[start:end], grades.shape[1])
            index = pool.completed(query, set_index, grade_numbers, levels)
            for system, rows in zip(values, lists, strict=True):
                system[:, start:end] = rows.values(plan, index, query, set_index, grades)
            start = end
        return values[:, :, copy_index].reshape(2, len(self.metrics), -1, grades.shape[1])


def _find_distinct(grade_numbers: Ints, starts: Ints, count: int) -> tuple[Ints, Ints]:
    """Find the distinct copies of queries: copies with equal grades have equal values.

    Args:
        grade_numbers: (N, S) the number of the grade of each unjudged document in each set.
        starts: (T + 1,) offsets of the documents of each query.
        count: the number of grades.

    Returns:
        (U,) distinct copies, query times S plus set; and (T * S,) the index of the distinct copy
        for every copy.
    """
    T, S = len(starts) - 1, grade_numbers.shape[1]
    sizes = np.diff(starts)
    index_in_query = np.arange(len(grade_numbers)) - np.repeat(starts[:-1], sizes)
    number_fits = sizes <= int(62 / np.log2(max(count, 2)))  # otherwise the number of the grades overflows
    weight = np.where(
        np.repeat(number_fits, sizes), count ** np.where(index_in_query < 62, index_in_query, 0), 0
    )
    number = np.add.reduceat(grade_numbers * weight[:, None], starts[:-1], axis=0)
    number[~number_fits] = np.arange(S)
    sort_order = np.argsort(number, axis=1, kind="stable")
    sorted_numbers = np.take_along_axis(number, sort_order, axis=1)
    is_first = np.ones((T, S), bool)
    is_first[:, 1:] = sorted_numbers[:, 1:] != sorted_numbers[:, :-1]
    copy_index = np.empty((T, S), np.int64)
    np.put_along_axis(copy_index, sort_order, (np.cumsum(is_first) - 1).reshape(T, S), axis=1)
    copies = (np.arange(T)[:, None] * S + sort_order)[is_first]
    return copies, copy_index.ravel()


@dataclass(frozen=True, eq=False)
class _PooledJudgments:
    """The judgments of the queries that have unjudged documents.

    Attributes:
        index: all judgments.
        query_ids: (T,) the queries with unjudged documents.
        starts: (T + 1,) offsets of the judgments of each query.
        grades: (n,) grades of 0 or more.
        hole_starts: (T + 1,) offsets of the unjudged documents of each query.
    """

    index: JudgmentIndex
    query_ids: pl.Series
    starts: Ints
    grades: Floats
    hole_starts: Ints

    @classmethod
    def from_systems(cls, index: JudgmentIndex, table: pl.DataFrame) -> _PooledJudgments:
        query_ids, hole_owner = _index_queries(table)
        owner, rows = index.rows(index.codes(query_ids))
        grades = index.grades[rows]
        is_judged = grades >= 0
        starts, hole_starts = (
            _offsets(numbers, len(query_ids)) for numbers in (owner[is_judged], hole_owner)
        )
        return cls(index, query_ids, starts, grades[is_judged], hole_starts)

    @property
    def sizes(self) -> Ints:
        """(T,) the number of judgments of each query."""
        return np.diff(self.starts)

    @property
    def hole_sizes(self) -> Ints:
        """(T,) the number of unjudged documents of each query."""
        return np.diff(self.hole_starts)

    def completed(self, query: Ints, set_index: Ints, grade_numbers: Ints, levels: Floats) -> JudgmentIndex:
        """Complete the judgments of copies of queries with hypothetical grades.

        Args:
            query: (U,) the query of each copy.
            set_index: (U,) the set of grades of each copy.
            grade_numbers: (N, S) the number of the grade of each unjudged document in each set.
            levels: all grades, in ascending order.
        """
        L = len(levels)
        judged_numbers = np.searchsorted(levels, self.grades)
        judged_owner = np.repeat(np.arange(len(self.sizes)), self.sizes)
        owner, hole = gather_ranges(self.hole_starts, query)
        # the copies of a query differ only in the numbers of documents of each grade
        counts = _counts(judged_owner, judged_numbers, (len(self.sizes), L))[query]
        counts += _counts(owner, grade_numbers[hole, set_index[owner]], (len(query), L))
        return replace(
            self.index,
            query_ids=self.query_ids.gather(query),
            offsets=np.append(0, np.cumsum((self.sizes + self.hole_sizes)[query])),
            grades=np.repeat(np.tile(levels[::-1], len(query)), counts[:, ::-1].ravel()),
        )


@dataclass(frozen=True, eq=False)
class _ListedDocuments:
    """The judged and unjudged documents among the first of a system, by query and rank.

    Attributes:
        retrieved: (T,) number of documents in each list.
        starts: (T + 1,) offsets of the rows of each query.
        rank: (m,) the ranks, from 1.
        grade: (m,) the grades of judged documents; NaN for unjudged documents.
        hole: (m,) the row of each unjudged document; -1 for judged documents.
    """

    retrieved: Ints
    starts: Ints
    rank: Ints
    grade: Floats
    hole: Ints

    @classmethod
    def from_run(cls, lists: pl.DataFrame, table: pl.DataFrame) -> _ListedDocuments:
        query_ids, _ = _index_queries(table)
        queries = pl.DataFrame({"query_id": query_ids}).with_row_index("query")
        holes = table.select(_PAIR).with_row_index("hole")
        rows = lists.join(queries, on="query_id").join(holes, on=_PAIR, how="left").sort("query", "rank")
        retrieved = np.bincount(rows["query"].to_numpy(), minlength=len(query_ids))
        rows = rows.filter(pl.col("hole").is_not_null() | (pl.col("grade") >= 0))
        return cls(
            retrieved,
            _offsets(rows["query"].to_numpy(), len(query_ids)),
            rows["rank"].cast(pl.Int64).to_numpy(),
            rows["grade"].cast(pl.Float64).fill_null(np.nan).to_numpy(),
            rows["hole"].cast(pl.Int64).fill_null(-1).to_numpy(),
        )

    def values(
        self, plan: Plan, index: JudgmentIndex, query: Ints, set_index: Ints, grades: Floats
    ) -> Floats:
        """(M, U) values of copies of queries; arguments as in `_PooledJudgments.completed`."""
        copies = self._copies(query, set_index, grades)
        return np.nan_to_num(plan.values_of_ranks(dict.fromkeys(plan.ways, copies), index))

    def _copies(self, query: Ints, set_index: Ints, grades: Floats) -> JudgedRanks:
        """The rows of every copy; ranks already follow the convention."""
        owner, row = gather_ranges(self.starts, query)
        hole, rank = self.hole[row], self.rank[row]
        retrieved = self.retrieved[query]
        return JudgedRanks(
            codes=np.arange(len(query)),
            present=retrieved > 0,
            retrieved=retrieved,
            owner=owner,
            rank=rank,
            first=rank,
            last=rank,
            grade=np.where(hole >= 0, grades[hole, set_index[owner]], self.grade[row]),
            row=row,
            judgment=np.full(len(row), -1),
        )


def _counts(owner: Ints, numbers: Ints, shape: tuple[int, int]) -> Ints:
    """(T, L) how often each owner has each number."""
    return np.bincount(owner * shape[1] + numbers, minlength=shape[0] * shape[1]).reshape(shape)


def _offsets(owner: Ints, count: int) -> Ints:
    return np.append(0, np.cumsum(np.bincount(owner, minlength=count)))


def _index_queries(table: pl.DataFrame) -> tuple[pl.Series, Ints]:
    """(T,) the queries of a table in order of first appearance, and (N,) the query of each row."""
    query_ids = table["query_id"].unique(maintain_order=True)
    numbers = pl.DataFrame({"query_id": query_ids}).with_row_index("query")
    owner = table.select("query_id").join(numbers, on="query_id", how="left", maintain_order="left")
    return query_ids, owner["query"].cast(pl.Int64).to_numpy()


def _cutoff(scorer: Scorer, metric: Metric) -> int | None:
    settings = scorer.how.for_metric(metric)
    cutoff = metric.bound(settings.defaults(metric)).get("cutoff")
    return int(cutoff) if cutoff else None

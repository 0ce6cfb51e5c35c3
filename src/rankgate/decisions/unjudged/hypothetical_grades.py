"""Values as they would be if the unjudged documents had grades: many suppositions at once.

Each supposition about a query is its own query: its judgments, the supposed grades, and
both short lists; all of them are scored in one go.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import TYPE_CHECKING

import numpy as np
import polars as pl

from rankgate.core.frozen import dataclass
from rankgate.data import read_run
from rankgate.data.qrels import Qrels
from rankgate.measurement.scoring.alignment.judgments import JudgmentIndex
from rankgate.measurement.scoring.score import score

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from rankgate.data.comparison import ScoredRun
    from rankgate.measurement.evaluation.scored_system import Scorer
    from rankgate.measurement.metrics.declare import Metric

    Floats = NDArray[np.float64]

_ROWS = 3_000_000  # judgments in memory at once
_MARK = "\x1f"  # between a query and the number of a supposition; no id has it


@dataclass(frozen=True)
class Stage:
    """What suppositions are scored on.

    Attributes:
        scorer: judgments, metrics, convention.
        baseline, candidate: the systems; only their lists are looked at.
        metrics: those that look no deeper than the lists.
    """

    scorer: Scorer
    baseline: ScoredRun
    candidate: ScoredRun
    metrics: tuple[tuple[str, Metric], ...]

    @classmethod
    def of(cls, scorer: Scorer, baseline: ScoredRun, candidate: ScoredRun) -> Stage:
        """The metrics whose cutoff lies within both lists."""
        depth = min(baseline.depth, candidate.depth)
        some = [
            (label, metric)
            for label, metric in scorer.metrics
            if 0 < (_cutoff(scorer, metric) or 0) <= depth
        ]
        return cls(scorer, baseline, candidate, tuple(some))

    def deltas(self, table: pl.DataFrame, grades: Floats) -> Iterator[tuple[slice, Floats]]:
        """Differences under suppositions, block by block.

        Args:
            table: ``query_id`` and ``doc_id`` of the supposed documents, sorted by query.
            grades: (N, S) their grades under each supposition.

        Yields:
            which suppositions, and (M, T, S') the difference of each metric for each query of
            the table, in order of first appearance.
        """
        for block, part in self.values(table, grades):
            yield block, part[1] - part[0]

    def values(self, table: pl.DataFrame, grades: Floats) -> Iterator[tuple[slice, Floats]]:
        """Values of baseline and candidate under suppositions, block by block; as `deltas`.

        Yields:
            which suppositions, and (2, M, T, S') the value of each.
        """
        queries = table["query_id"].unique(maintain_order=True)
        own = self.scorer.qrels.table.filter(pl.col("query_id").is_in(queries.implode()))
        size = max(1, len(own) + len(table))
        step = max(1, _ROWS // size)
        for begin in range(0, grades.shape[1], step):
            block = slice(begin, min(begin + step, grades.shape[1]))
            yield block, self._block(queries, own, table, grades[:, block])

    def _block(
        self, queries: pl.Series, own: pl.DataFrame, table: pl.DataFrame, grades: Floats
    ) -> Floats:
        count = grades.shape[1]
        known = own.filter(pl.col("grade") >= 0).join(
            table, on=["query_id", "doc_id"], how="anti", maintain_order="left"
        )
        parts = [_repeated(known.select("query_id", "doc_id", "grade"), count)]
        supposed = _repeated(table.select("query_id", "doc_id"), count)
        parts.append(supposed.with_columns(pl.Series("grade", grades.T.ravel())))
        index = JudgmentIndex.of(Qrels(pl.concat(parts)))
        order = [f"{query}{_MARK}{i}" for query in queries.to_list() for i in range(count)]
        place = dict(zip(order, range(len(order)), strict=True))
        values = [
            self._values(system, queries, count, index, place)
            for system in (self.baseline, self.candidate)
        ]
        return np.stack(values).reshape(2, len(self.metrics), len(queries), count)

    def _values(
        self,
        system: ScoredRun,
        queries: pl.Series,
        count: int,
        index: JudgmentIndex,
        place: dict[str, int],
    ) -> Floats:
        lists = system.lists.filter(pl.col("query_id").is_in(queries.implode())).select(
            "query_id", "doc_id", (-pl.col("rank")).cast(pl.Float64).alias("score")
        )
        found = np.zeros((len(self.metrics), len(place)))
        if lists.is_empty():
            return found
        scores = score(index, read_run(_repeated(lists, count)), self.metrics, self.scorer.how)
        rows = np.array([place[query] for query in scores.query_ids.to_list()], np.int64)
        for j, (label, _) in enumerate(self.metrics):
            found[j, rows] = np.nan_to_num(scores.values[label])
        return found


def _cutoff(scorer: Scorer, metric: Metric) -> int | None:
    own = scorer.how.for_metric(metric)
    cutoff = metric.bound(own.defaults(metric)).get("cutoff")
    return int(cutoff) if cutoff else None


def _repeated(table: pl.DataFrame, count: int) -> pl.DataFrame:
    """The table so many times, each time with its own queries."""
    parts: Sequence[pl.DataFrame] = [
        table.with_columns(pl.format("{}{}", "query_id", pl.lit(f"{_MARK}{i}")).alias("query_id"))
        for i in range(count)
    ]
    return pl.concat(parts)

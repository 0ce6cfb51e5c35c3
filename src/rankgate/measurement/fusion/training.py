"""What trained methods learn from: at which ranks each run has its relevant documents."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, TypeAlias

import numpy as np
import polars as pl
from numpy.typing import NDArray

from rankgate.core.frozen import dataclass
from rankgate.data.duplicates import pairs_of

if TYPE_CHECKING:
    from rankgate.measurement.fusion.layout import RankedRun

Trained: TypeAlias = NDArray[np.float64]
"""What a method learned, ``(R, K)``: a row for each run; what a column means is the method's."""


@dataclass(frozen=True)
class Hits:
    """The relevant documents in the lists of one run.

    Attributes:
        query: ``(h,)``, the query of each, rising.
        rank: ``(h,)``, its rank, from 1, rising within a query.
    """

    query: NDArray[np.int64]
    rank: NDArray[np.int64]

    def only(self, chosen: NDArray[np.bool_]) -> Hits:
        """Those of some queries; queries keep their numbers."""
        kept = chosen[self.query]
        return Hits(self.query[kept], self.rank[kept])


@dataclass(frozen=True)
class TrainingData:
    """Hits of R runs for the queries that are learned from.

    Attributes:
        hits: ``(R,)``.
        lengths: ``(R, T)``, how many documents each run has for each query.
        relevant: ``(T,)``, relevant documents of each query, retrieved or not.
        chosen: ``(T,)``, which queries are learned from.
    """

    hits: tuple[Hits, ...]
    lengths: NDArray[np.int64]
    relevant: NDArray[np.int64]
    chosen: NDArray[np.bool_]

    @classmethod
    def of(
        cls, runs: Sequence[RankedRun], queries: pl.DataFrame, judged: pl.DataFrame, least: float
    ) -> TrainingData:
        """Find the relevant documents in the lists.

        Args:
            runs: laid out for fusion.
            queries: ``query_id`` and ``query``, its number.
            judged: ``query_id``, ``doc_id``, ``grade``.
            least: the grade from which a document is relevant.
        """
        known = judged.join(queries, on="query_id")
        chosen = np.bincount(known["query"].to_numpy(), minlength=len(queries)) > 0
        known = known.filter(pl.col("grade") >= least)
        counts = np.bincount(known["query"].to_numpy(), minlength=len(queries))
        wanted = pl.Series(pairs_of(known)) if len(known) else pl.Series([], dtype=pl.UInt64)
        hits = []
        for run in runs:
            rows = np.flatnonzero(pl.Series(run.pairs).is_in(wanted.implode()).to_numpy())
            query = np.searchsorted(run.starts, rows, side="right") - 1
            hits.append(Hits(query, rows - run.starts[query] + 1))
        lengths = np.array([np.diff(run.starts) for run in runs])
        return cls(tuple(hits), lengths, counts, chosen)

    def only(self, chosen: NDArray[np.bool_]) -> TrainingData:
        """The same data with fewer queries to learn from."""
        both = self.chosen & chosen
        return TrainingData(
            tuple(each.only(both) for each in self.hits), self.lengths, self.relevant, both
        )

    @property
    def queries(self) -> int:
        """How many queries are learned from."""
        return int(self.chosen.sum())

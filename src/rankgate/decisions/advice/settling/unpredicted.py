"""Queries of the runs that the model did not judge, and the documents that it would judge."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

import polars as pl

from rankgate.core.frozen import dataclass
from rankgate.data import Qrels
from rankgate.decisions.advice.settling.frame import random_order
from rankgate.measurement.scoring.alignment.judgments import JudgmentIndex
from rankgate.measurement.scoring.alignment.tops import tops

if TYPE_CHECKING:
    from rankgate.data import Run
    from rankgate.measurement.scoring import Convention

_PAIR = ["query_id", "doc_id"]


@dataclass(frozen=True)
class Unpredicted:
    """Queries that both systems answer and the model did not judge.

    Attributes:
        queries: in the order in which they are drawn.
        documents: ``query_id`` and ``doc_id`` of what either system shows for them.
    """

    queries: list[str]
    documents: pl.DataFrame

    @classmethod
    def of(
        cls,
        runs: Sequence[Run],
        predicted_queries: Sequence[str],
        how: Convention,
        depth: int,
        seed: int,
    ) -> Unpredicted:
        """Find the queries of two runs that the model did not judge.

        Args:
            runs: baseline and candidate.
            predicted_queries: queries that the model judged.
            how: the convention, which orders ties.
            depth: the last rank that is shown.
            seed: of the drawing.
        """
        baseline_queries, candidate_queries = (
            set(run.table["query_id"].unique().to_list()) for run in runs
        )
        queries = random_order(
            list((baseline_queries & candidate_queries) - set(predicted_queries)), seed
        )
        if not queries:
            return cls([], pl.DataFrame(schema={"query_id": pl.String, "doc_id": pl.String}))
        index = JudgmentIndex.of(placeholder(queries))
        shown_documents = [tops(run, index, how, depth).select(_PAIR) for run in runs]
        return cls(queries, pl.concat(shown_documents).unique().sort(_PAIR))

    @property
    def each(self) -> float:
        """The mean number of documents of a query."""
        return len(self.documents) / max(len(self.queries), 1)

    def first(self, count: int) -> pl.DataFrame:
        """The documents of the first `count` queries."""
        return self.documents.filter(pl.col("query_id").is_in(self.queries[:count]))


def placeholder(queries: Sequence[str]) -> Qrels:
    """Judgments that only name queries."""
    table = pl.DataFrame(
        {"query_id": queries, "doc_id": ["?"] * len(queries), "grade": [0.0] * len(queries)}
    )
    return Qrels(table, "no judgments")

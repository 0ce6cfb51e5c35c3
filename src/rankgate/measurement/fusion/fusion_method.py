"""The declaration of a fusion method: its function for fused scores, and its training.

Training data are the ranks of the relevant documents of each run.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import TYPE_CHECKING, Any, Literal, TypeAlias

import numpy as np
import polars as pl
from numpy.typing import NDArray

from rankgate.core.declare import Declared, Parameter, parameters_of
from rankgate.core.frozen import dataclass
from rankgate.data.table_rows import hash_pairs

if TYPE_CHECKING:
    from rankgate.measurement.fusion.candidate_blocks import Candidates, RankedRun

TrainedValues: TypeAlias = NDArray[np.float64]
"""Trained values, ``(R, K)``: a row for each run; the meaning of a column is the method's."""


@dataclass(frozen=True)
class Hits:
    """The relevant documents in the lists of one run.

    Attributes:
        query: ``(h,)``, the query of each document, rising.
        rank: ``(h,)``, the rank of each document, from 1, rising within a query.
    """

    query: NDArray[np.int64]
    rank: NDArray[np.int64]

    def only(self, is_chosen: NDArray[np.bool_]) -> Hits:
        """The hits of some queries; the numbers of queries are unchanged."""
        is_kept = is_chosen[self.query]
        return Hits(self.query[is_kept], self.rank[is_kept])


@dataclass(frozen=True)
class TrainingData:
    """Hits of R runs for the training queries.

    Attributes:
        hits: ``(R,)``.
        lengths: ``(R, T)``, the number of documents of each run for each query.
        relevant: ``(T,)``, the number of relevant documents of each query, retrieved or not.
        chosen: ``(T,)``, True for queries that are used for training.
    """

    hits: tuple[Hits, ...]
    lengths: NDArray[np.int64]
    relevant: NDArray[np.int64]
    chosen: NDArray[np.bool_]

    @classmethod
    def from_lists(
        cls, runs: Sequence[RankedRun], queries: pl.DataFrame, judged: pl.DataFrame, relevant_grade: float
    ) -> TrainingData:
        """Find the relevant documents in the lists.

        Args:
            runs: the runs, indexed for fusion.
            queries: ``query_id`` and ``query``, its number.
            judged: ``query_id``, ``doc_id``, ``grade``.
            relevant_grade: the lowest grade of relevant documents.
        """
        judgments = judged.join(queries, on="query_id")
        has_judgments = np.bincount(judgments["query"].to_numpy(), minlength=len(queries)) > 0
        judgments = judgments.filter(pl.col("grade") >= relevant_grade)
        counts = np.bincount(judgments["query"].to_numpy(), minlength=len(queries))
        relevant_pairs = (
            pl.Series(hash_pairs(judgments)) if len(judgments) else pl.Series([], dtype=pl.UInt64)
        )
        hits = []
        for run in runs:
            rows = np.flatnonzero(pl.Series(run.pairs).is_in(relevant_pairs.implode()).to_numpy())
            query = np.searchsorted(run.starts, rows, side="right") - 1
            hits.append(Hits(query, rows - run.starts[query] + 1))
        lengths = np.array([np.diff(run.starts) for run in runs])
        return cls(tuple(hits), lengths, counts, has_judgments)

    def only(self, is_chosen: NDArray[np.bool_]) -> TrainingData:
        """Copy the data with fewer training queries."""
        is_used = self.chosen & is_chosen
        return TrainingData(
            tuple(hits.only(is_used) for hits in self.hits), self.lengths, self.relevant, is_used
        )

    @property
    def queries(self) -> int:
        """The number of training queries."""
        return int(self.chosen.sum())


Uses = Literal["scores", "ranks"]

_SUPPLIED = frozenset({"weights", "trained"})


@dataclass(frozen=True)
class Method(Declared):
    """A method to combine the scores of several runs for a document.

    Attributes:
        fuse: a function from candidates to fused scores, ``(n,)``. Its keyword-only arguments are
            the parameters; a method with ``weights``, ``(R,)`` or None, is weighted, and
            ``trained`` gets the result of ``train``.
        uses: scores, which are normalised first, or ranks.
        train: a function from training data to the worth of each run's ranks; None if not trained.
        grid: for each parameter the values to try in tuning.
        formula: the formula, for the docs.
    """

    fuse: Callable[..., NDArray[np.float64]]
    uses: Uses
    train: Callable[[TrainingData], TrainedValues] | None = None
    grid: Mapping[str, tuple[Any, ...]] | None = None
    formula: str = ""

    @property
    def parameters(self) -> Mapping[str, Parameter]:
        """The parameters of its functions, by name."""
        fuse_parameters = parameters_of(self.fuse)
        learned = parameters_of(self.train) if self.train else {}
        return {
            name: parameter
            for name, parameter in {**fuse_parameters, **learned}.items()
            if name not in _SUPPLIED
        }

    @property
    def weighted(self) -> bool:
        """True if runs can have weights."""
        return "weights" in parameters_of(self.fuse)

    def scores(
        self,
        candidates: Candidates,
        parameters: Mapping[str, Any],
        weights: NDArray[np.float64] | None = None,
        trained: TrainedValues | None = None,
    ) -> NDArray[np.float64]:
        """The fused scores of candidates, ``(n,)``, with these parameters."""
        accepted = parameters_of(self.fuse)
        arguments = {name: value for name, value in parameters.items() if name in accepted}
        if self.weighted:
            arguments["weights"] = weights
        if self.train:
            arguments["trained"] = trained
        return self.fuse(candidates, **arguments)

    def learned(self, training: TrainingData, parameters: Mapping[str, Any]) -> TrainedValues:
        """Train the method with these parameters."""
        assert self.train is not None
        accepted = parameters_of(self.train)
        arguments = {name: value for name, value in parameters.items() if name in accepted}
        return self.train(training, **arguments)

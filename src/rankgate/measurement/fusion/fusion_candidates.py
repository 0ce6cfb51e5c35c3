"""Candidates: every document that any run returned for some queries, as fusion methods see it."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from rankgate.core.frozen import dataclass

if TYPE_CHECKING:
    import polars as pl
    from numpy.typing import NDArray


@dataclass(frozen=True)
class Candidates:
    """The documents of some queries, with the score and rank that each run gave them.

    R runs, n candidates, T queries.

    Attributes:
        owner: ``(n,)``, the query of each candidate, 0 to T - 1.
        scores: ``(R, n)``, normalised; 0 where a run does not have the document.
        ranks: ``(R, n)``, from 1; 0 where a run does not have the document.
        lengths: ``(R, T)``, how many documents each run has for each query.
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
        """``(n,)``, how many runs have a document."""
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

"""Runs laid out side by side, fused under any setting, for all queries or some."""

from __future__ import annotations

import os
from collections.abc import Mapping
from concurrent.futures import ThreadPoolExecutor
from dataclasses import field
from typing import TYPE_CHECKING, Any

import numpy as np
import polars as pl

from rankgate.core.frozen import dataclass
from rankgate.data.run import SCHEMA
from rankgate.measurement.fusion.layout import RankedRun, block, stretches
from rankgate.measurement.scoring.alignment.order import order, ranks

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from rankgate.measurement.fusion.candidates import FusionBlock
    from rankgate.measurement.fusion.method import Method
    from rankgate.measurement.fusion.normalise import Normalisation
    from rankgate.measurement.fusion.training import Trained

FIRST = 10
"""The ranks of the fused lists at which the share of each run is counted."""


@dataclass(frozen=True)
class Setting:
    """What a method can be set to.

    Attributes:
        parameters: by name.
        weights: of the runs; None gives all the same.
    """

    parameters: Mapping[str, Any] = field(default_factory=dict)
    weights: tuple[float, ...] | None = None

    def __str__(self) -> str:
        """As a user would write it."""
        words = [f"{name}={value:g}" for name, value in self.parameters.items()]
        if self.weights is not None:
            words.append(f"weights={','.join(f'{each:g}' for each in self.weights)}")
        return " ".join(words) or "no parameters"


@dataclass(frozen=True)
class Fused:
    """Fused lists of some queries.

    Attributes:
        table: ``query_id``, ``doc_id``, ``score``, by query, best first.
        documents: ``(R,)``, documents of each run.
        alone: ``(R,)``, those that no other run has.
        first: ``(R,)``, those among the first `FIRST` of the fused lists.
        firsts: the number of fused documents at these ranks.
    """

    table: pl.DataFrame
    documents: NDArray[np.int64]
    alone: NDArray[np.int64]
    first: NDArray[np.int64]
    firsts: int

    @classmethod
    def joined(cls, parts: list[Fused]) -> Fused:
        """The lists of several sets of queries."""
        tables = [pl.DataFrame(schema=SCHEMA), *(part.table for part in parts)]
        return cls(
            pl.concat(tables),
            np.sum([part.documents for part in parts], axis=0),
            np.sum([part.alone for part in parts], axis=0),
            np.sum([part.first for part in parts], axis=0),
            sum(part.firsts for part in parts),
        )


@dataclass(frozen=True)
class Fuser:
    """Runs, a method and a normalisation.

    Attributes:
        runs: ``(R,)``, laid out over the same queries.
        queries: ``(T,)``, their ids, by number.
        method: how candidates get one score.
        normalisation: of scores before.
        keep: how many documents of a query are kept; None keeps all.
    """

    runs: tuple[RankedRun, ...]
    queries: pl.Series
    method: Method
    normalisation: Normalisation
    keep: int | None = None

    def fuse(
        self, setting: Setting, trained: Trained | None = None, first: int = 0, last: int = -1
    ) -> Fused:
        """Fuse the queries ``first`` to ``last - 1``; all of them by default.

        Raises:
            UsageError: scores that the normalisation is not defined for.
        """
        last = len(self.queries) if last < 0 else last
        weights = None if setting.weights is None else np.array(setting.weights)

        def fused(stretch: tuple[int, int]) -> Fused:
            found = block(self.runs, self.queries, self.normalisation, *stretch)
            scores = self.method.scores(found.candidates, setting.parameters, weights, trained)
            return self._ordered(found, scores)

        with ThreadPoolExecutor(os.cpu_count()) as threads:  # sorting lets other threads run
            parts = list(threads.map(fused, stretches(self.runs, first, last)))
        return Fused.joined(parts) if parts else self._nothing()

    def _ordered(self, found: FusionBlock, scores: NDArray[np.float64]) -> Fused:
        """The candidates of a block by query and score; equal scores by document, descending."""
        own = found.candidates
        every = np.arange(len(scores))
        placed = order(own.owner, scores, len(found.queries))
        rank = ranks(placed, every, own.owner, found.documents, "doc_id_desc").rank
        rows = np.empty(len(scores), np.int64)
        rows[placed.starts[own.owner] + rank - 1] = every
        present = own.present
        top = rank <= FIRST
        if self.keep is not None:
            rows = rows[rank[rows] <= self.keep]
        table = pl.DataFrame(
            {
                "query_id": found.queries.gather(own.owner[rows]),
                "doc_id": found.documents.gather(rows),
                "score": scores[rows] + 0.0,  # no negative zero
            }
        )
        return Fused(
            table,
            present.sum(axis=1),
            (present & (own.votes == 1)).sum(axis=1),
            (present & top).sum(axis=1),
            int(top.sum()),
        )

    def _nothing(self) -> Fused:
        none = np.zeros(len(self.runs), np.int64)
        return Fused(pl.DataFrame(schema=SCHEMA), none, none, none, 0)

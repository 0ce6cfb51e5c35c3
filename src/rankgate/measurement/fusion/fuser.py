"""Fuse ranked runs under any setting, for all queries or some."""

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
from rankgate.measurement.fusion.layout import RankedRun, candidate_block, query_ranges
from rankgate.measurement.scoring.alignment.order import rank_rows, sort_rows

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from rankgate.measurement.fusion.candidates import FusionBlock
    from rankgate.measurement.fusion.method import Method
    from rankgate.measurement.fusion.normalise import Normalisation
    from rankgate.measurement.fusion.training import TrainedValues

TOP_RANKS = 10
"""The ranks of the fused lists at which the share of each run is counted."""


@dataclass(frozen=True)
class Setting:
    """A setting of a method: its parameters and weights.

    Attributes:
        parameters: by name.
        weights: of the runs; None gives all the same.
    """

    parameters: Mapping[str, Any] = field(default_factory=dict)
    weights: tuple[float, ...] | None = None

    def __str__(self) -> str:
        """The setting as a user would write it."""
        texts = [f"{name}={value:g}" for name, value in self.parameters.items()]
        if self.weights is not None:
            texts.append(f"weights={','.join(f'{weight:g}' for weight in self.weights)}")
        return " ".join(texts) or "no parameters"


@dataclass(frozen=True)
class FusedLists:
    """Fused lists of some queries.

    Attributes:
        table: ``query_id``, ``doc_id``, ``score``, by query, best first.
        documents: ``(R,)``, documents of each run.
        alone: ``(R,)``, those that no other run has.
        first: ``(R,)``, those among the first `TOP_RANKS` of the fused lists.
        firsts: the number of fused documents at these ranks.
    """

    table: pl.DataFrame
    documents: NDArray[np.int64]
    alone: NDArray[np.int64]
    first: NDArray[np.int64]
    firsts: int

    @classmethod
    def joined(cls, parts: list[FusedLists]) -> FusedLists:
        """Concatenate the lists of several sets of queries."""
        tables = [pl.DataFrame(schema=SCHEMA), *(lists.table for lists in parts)]
        return cls(
            pl.concat(tables),
            np.sum([lists.documents for lists in parts], axis=0),
            np.sum([lists.alone for lists in parts], axis=0),
            np.sum([lists.first for lists in parts], axis=0),
            sum(lists.firsts for lists in parts),
        )


@dataclass(frozen=True)
class Fuser:
    """Runs, a method and a normalisation.

    Attributes:
        runs: ``(R,)``, indexed over the same queries.
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
        self, setting: Setting, trained: TrainedValues | None = None, first: int = 0, last: int = -1
    ) -> FusedLists:
        """Fuse the queries ``first`` to ``last - 1``; all of them by default.

        Raises:
            UsageError: scores that the normalisation is not defined for.
        """
        last = len(self.queries) if last < 0 else last
        weights = None if setting.weights is None else np.array(setting.weights)

        def fused(query_range: tuple[int, int]) -> FusedLists:
            fusion_block = candidate_block(
                self.runs, self.queries, self.normalisation, *query_range
            )
            scores = self.method.scores(
                fusion_block.candidates, setting.parameters, weights, trained
            )
            return self._ordered(fusion_block, scores)

        with ThreadPoolExecutor(os.cpu_count()) as threads:  # sorting lets other threads run
            parts = list(threads.map(fused, query_ranges(self.runs, first, last)))
        return FusedLists.joined(parts) if parts else self._nothing()

    def _ordered(self, fusion_block: FusionBlock, scores: NDArray[np.float64]) -> FusedLists:
        """Sort the candidates of a block by query and score; equal scores by document, falling."""
        candidates = fusion_block.candidates
        all_rows = np.arange(len(scores))
        sorted_rows = sort_rows(candidates.owner, scores, len(fusion_block.queries))
        rank = rank_rows(
            sorted_rows, all_rows, candidates.owner, fusion_block.documents, "doc_id_desc"
        ).rank
        rows = np.empty(len(scores), np.int64)
        rows[sorted_rows.starts[candidates.owner] + rank - 1] = all_rows
        present = candidates.present
        top = rank <= TOP_RANKS
        if self.keep is not None:
            rows = rows[rank[rows] <= self.keep]
        table = pl.DataFrame(
            {
                "query_id": fusion_block.queries.gather(candidates.owner[rows]),
                "doc_id": fusion_block.documents.gather(rows),
                "score": scores[rows] + 0.0,  # no negative zero
            }
        )
        return FusedLists(
            table,
            present.sum(axis=1),
            (present & (candidates.votes == 1)).sum(axis=1),
            (present & top).sum(axis=1),
            int(top.sum()),
        )

    def _nothing(self) -> FusedLists:
        none = np.zeros(len(self.runs), np.int64)
        return FusedLists(pl.DataFrame(schema=SCHEMA), none, none, none, 0)

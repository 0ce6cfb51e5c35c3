"""Fuse ranked runs under any setting, and choose settings and trained weights.

A fuser merges runs for all queries or some. Learning chooses settings and trained weights on some
queries and applies them to others.
"""

from __future__ import annotations

import math
import os
from collections.abc import Callable, Mapping
from concurrent.futures import ThreadPoolExecutor
from dataclasses import field
from functools import cached_property
from itertools import product
from typing import TYPE_CHECKING, Any

import numpy as np
import polars as pl

from rankgate.core.errors import UsageError
from rankgate.core.frozen import dataclass
from rankgate.core.progress import step
from rankgate.data.run import RUN_SCHEMA
from rankgate.measurement.fusion.candidate_blocks import RankedRun, candidate_block, query_ranges
from rankgate.measurement.scoring.alignment.row_order import rank_rows, sort_rows

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from rankgate.measurement.fusion.candidate_blocks import FusionBlock, Normalisation
    from rankgate.measurement.fusion.fusion_method import Method, TrainedValues, TrainingData


TOP_RANKS = 10
"""The ranks of the fused lists at which the share of each run is counted."""


@dataclass(frozen=True)
class Setting:
    """A setting of a method: its parameters and weights.

    Attributes:
        parameters: the parameters by name.
        weights: the weights of the runs; None means equal weights.
    """

    parameters: Mapping[str, Any] = field(default_factory=dict)
    weights: tuple[float, ...] | None = None

    def __str__(self) -> str:
        """The setting as text, in the form of user input."""
        texts = [f"{name}={value:g}" for name, value in self.parameters.items()]
        if self.weights is not None:
            texts.append(f"weights={','.join(f'{weight:g}' for weight in self.weights)}")
        return " ".join(texts) or "no parameters"


@dataclass(frozen=True)
class FusedLists:
    """Fused lists of some queries.

    Attributes:
        table: ``query_id``, ``doc_id``, ``score``, by query, best first.
        documents: ``(R,)``, the number of documents of each run.
        alone: ``(R,)``, the number of documents that no other run has.
        first: ``(R,)``, the number of documents in the first `TOP_RANKS` of the fused lists.
        firsts: the number of fused documents in these ranks.
    """

    table: pl.DataFrame
    documents: NDArray[np.int64]
    alone: NDArray[np.int64]
    first: NDArray[np.int64]
    firsts: int

    @classmethod
    def joined(cls, parts: list[FusedLists]) -> FusedLists:
        """Concatenate the lists of several sets of queries."""
        tables = [pl.DataFrame(schema=RUN_SCHEMA), *(lists.table for lists in parts)]
        return cls(
            pl.concat(tables),
            np.sum([lists.documents for lists in parts], axis=0),
            np.sum([lists.alone for lists in parts], axis=0),
            np.sum([lists.first for lists in parts], axis=0),
            sum(lists.firsts for lists in parts),
        )


@dataclass(frozen=True)
class Fuser:
    """Runs with a fusion method and a normalisation.

    Attributes:
        runs: ``(R,)``, indexed over the same queries.
        queries: ``(T,)``, the ids of the queries by number.
        method: the method that scores candidates.
        normalisation: the normalisation of scores before fusion.
        keep: the number of documents to keep per query; None means all.
    """

    runs: tuple[RankedRun, ...]
    queries: pl.Series
    method: Method
    normalisation: Normalisation
    keep: int | None = None

    def fuse(
        self, setting: Setting, trained: TrainedValues | None = None, first: int = 0, last: int = -1
    ) -> FusedLists:
        """Fuse the queries ``first`` to ``last - 1``; all queries by default.

        Raises:
            UsageError: the normalisation is not defined for the scores.
        """
        last = len(self.queries) if last < 0 else last
        weights = None if setting.weights is None else np.array(setting.weights)

        def fused(query_range: tuple[int, int]) -> FusedLists:
            fusion_block = candidate_block(self.runs, self.queries, self.normalisation, *query_range)
            scores = self.method.scores(fusion_block.candidates, setting.parameters, weights, trained)
            return self._ordered(fusion_block, scores)

        with ThreadPoolExecutor(os.cpu_count()) as threads:  # sorting lets other threads run
            parts = list(threads.map(fused, query_ranges(self.runs, first, last)))
        return FusedLists.joined(parts) if parts else self._nothing()

    def _ordered(self, fusion_block: FusionBlock, scores: NDArray[np.float64]) -> FusedLists:
        """Sort the candidates of a block by query and score; equal scores by document, falling."""
        candidates = fusion_block.candidates
        all_rows = np.arange(len(scores))
        sorted_rows = sort_rows(candidates.owner, scores, len(fusion_block.queries))
        rank = rank_rows(sorted_rows, all_rows, candidates.owner, fusion_block.documents, "doc_id_desc").rank
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
        return FusedLists(pl.DataFrame(schema=RUN_SCHEMA), none, none, none, 0)


_MOST_SETTINGS = 150  # largest number of settings of weights
_WEIGHT_STEPS = (10, 5, 4, 3, 2)  # parts that the sum of the weights is cut into, finest first


@dataclass(frozen=True)
class TrainedFold:
    """The setting of one fold, chosen on the other folds.

    Attributes:
        queries: the number of queries in the fold.
        setting: the chosen setting.
        training: the mean of the metric on the queries that the setting was chosen on; None if
            there was no choice.
    """

    queries: int
    setting: Setting
    training: float | None


@dataclass(frozen=True)
class Learner:
    """Cross-validation over queries that are numbered by fold.

    Attributes:
        fuser: the runs and the method.
        settings: the settings to try.
        training: hits of all judged queries; None for a method without training.
        ends: ``(F + 1,)``, the start of each fold, and the end of the last; queries after it have
            no judgments.
        values: a function from fused lists to the value of the metric for each query, ``(T,)``, NaN
            if undefined.
    """

    fuser: Fuser
    settings: tuple[Setting, ...]
    training: TrainingData | None
    ends: NDArray[np.int64]
    values: Callable[[pl.DataFrame], NDArray[np.float64]]

    @property
    def all_folds(self) -> frozenset[int]:
        """The numbers of all folds."""
        return frozenset(range(len(self.ends) - 1))

    def held_out(self) -> tuple[list[FusedLists], tuple[TrainedFold, ...]]:
        """Fuse the queries of each fold with the setting learned from the other folds."""
        parts, folds = [], []
        for fold in sorted(self.all_folds):
            step(f"fold {fold + 1} of {len(self.all_folds)}")
            other_folds = self.all_folds - {fold}
            setting, mean = self._best(self._tried(other_folds), other_folds)
            parts.append(self._fused(setting, other_folds, fold))
            size = int(self.ends[fold + 1] - self.ends[fold])
            folds.append(TrainedFold(size, setting, mean))
        return parts, tuple(folds)

    def final(self) -> tuple[Setting, TrainedValues | None]:
        """The setting learned from all judged queries, for queries without judgments."""
        setting, _ = self._best(self._tried(self.all_folds), self.all_folds)
        return setting, self._trained(setting, self.all_folds)

    def _tried(self, folds: frozenset[int]) -> NDArray[np.float64]:
        """The values of some folds under each setting, ``(settings, T)``, NaN elsewhere.

        A trained method is trained for each of these folds on the other folds among them, so that
        no setting is chosen by queries that it was trained on.
        """
        values = np.full((len(self.settings), len(self.fuser.queries)), math.nan)
        if len(self.settings) == 1:
            return values
        if self.training is None:
            return self._untrained_values
        for row, setting in zip(values, self.settings, strict=True):
            for fold in sorted(folds):
                piece = slice(int(self.ends[fold]), int(self.ends[fold + 1]))
                row[piece] = self.values(self._fused(setting, folds - {fold}, fold).table)[piece]
        return values

    @cached_property
    def _untrained_values(self) -> NDArray[np.float64]:
        """The values of all folds under each setting; without training they need no folds."""
        end = int(self.ends[-1])
        return np.array(
            [self.values(self.fuser.fuse(setting, None, 0, end).table) for setting in self.settings]
        )

    def _best(self, tried: NDArray[np.float64], folds: frozenset[int]) -> tuple[Setting, float | None]:
        """The setting with the highest mean over some folds (the first of equals), and the mean."""
        is_used = self._queries(folds) & np.isfinite(tried).all(axis=0)
        if not is_used.any():
            return self.settings[0], None
        means = tried[:, is_used].mean(axis=1)
        best = int(means.argmax())
        return self.settings[best], float(means[best])

    def _trained(self, setting: Setting, folds: frozenset[int]) -> TrainedValues | None:
        if self.training is None:
            return None
        return self.fuser.method.learned(self.training.only(self._queries(folds)), setting.parameters)

    def _queries(self, folds: frozenset[int]) -> NDArray[np.bool_]:
        """``(T,)``, True if a query is in one of some folds."""
        is_in_folds = np.zeros(len(self.fuser.queries), bool)
        for fold in folds:
            is_in_folds[self.ends[fold] : self.ends[fold + 1]] = True
        return is_in_folds

    def _fused(self, setting: Setting, folds: frozenset[int], fold: int) -> FusedLists:
        trained = self._trained(setting, folds)
        return self.fuser.fuse(setting, trained, int(self.ends[fold]), int(self.ends[fold + 1]))


def settings_of(method: Method, setting: Setting, runs: int) -> tuple[Setting, ...]:
    """The settings to try: every value of the method's grid that the user did not set.

    Raises:
        UsageError: the method has nothing to tune, or there are too many runs for a grid of
            weights.
    """
    grid = {name: values for name, values in (method.grid or {}).items() if name not in setting.parameters}
    weights: tuple[tuple[float, ...] | None, ...] = (setting.weights,)
    if method.weighted and setting.weights is None:
        weights = _weights(runs)
    if not grid and len(weights) == 1:
        raise UsageError(
            f"{method.name} has no parameter left to tune; leave the tuning out.", code="nothing-to-tune"
        )
    return tuple(
        Setting({**setting.parameters, **dict(zip(grid, point, strict=True))}, weight_vector)
        for point in product(*grid.values())
        for weight_vector in weights
    )


def _weights(runs: int) -> tuple[tuple[float, ...], ...]:
    """Weights with the sum 1, on the finest grid with few enough points."""
    for parts in _WEIGHT_STEPS:
        if math.comb(parts + runs - 1, runs - 1) <= _MOST_SETTINGS:
            points = (p for p in product(range(parts + 1), repeat=runs) if sum(p) == parts)
            return tuple(tuple(share / parts for share in point) for point in points)
    raise UsageError(
        f"weights of {runs} runs are too many to try; give them, or fuse fewer runs.", code="too-many-runs"
    )

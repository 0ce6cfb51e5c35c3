"""Settings and trained weights chosen on some queries and used on others."""

from __future__ import annotations

import math
from collections.abc import Callable
from itertools import product
from typing import TYPE_CHECKING

import numpy as np

from rankgate.core.errors import UsageError
from rankgate.core.frozen import dataclass
from rankgate.core.progress import step
from rankgate.measurement.fusion.fuser import Fused, Setting

if TYPE_CHECKING:
    import polars as pl
    from numpy.typing import NDArray

    from rankgate.measurement.fusion.fuser import Fuser
    from rankgate.measurement.fusion.method import Method
    from rankgate.measurement.fusion.training import Trained, TrainingData

_POINTS = 150  # settings of weights at most
_STEPS = (10, 5, 4, 3, 2)  # parts that the sum of the weights is cut into, finest first


@dataclass(frozen=True)
class TrainedFold:
    """What was chosen for the queries of one fold, on all others.

    Attributes:
        queries: how many queries the fold has.
        setting: what was chosen.
        training: the mean of the metric on the queries that it was chosen on; None where
            there was no choice.
    """

    queries: int
    setting: Setting
    training: float | None


@dataclass(frozen=True)
class Learner:
    """Cross-validation over queries that are numbered fold by fold.

    Attributes:
        fuser: runs and method.
        settings: those that are tried.
        training: hits of all judged queries; None where nothing is trained.
        ends: ``(F + 1,)``, where each fold begins, and the end of the last; queries after it have
            no judgments.
        values: from fused lists to the metric's value of each query, ``(T,)``, NaN where it is
            undefined.
    """

    fuser: Fuser
    settings: tuple[Setting, ...]
    training: TrainingData | None
    ends: NDArray[np.int64]
    values: Callable[[pl.DataFrame], NDArray[np.float64]]

    @property
    def every(self) -> frozenset[int]:
        """All folds."""
        return frozenset(range(len(self.ends) - 1))

    def held_out(self) -> tuple[list[Fused], tuple[TrainedFold, ...]]:
        """Fuse the queries of each fold with what was learned from the other folds."""
        # what is not trained has the same values for each fold left out
        tried = None if self.training else self._tried(self.every)
        parts, folds = [], []
        for fold in sorted(self.every):
            step(f"fold {fold + 1} of {len(self.every)}")
            others = self.every - {fold}
            setting, mean = self._best(self._tried(others) if tried is None else tried, others)
            parts.append(self._fused(setting, others, fold))
            size = int(self.ends[fold + 1] - self.ends[fold])
            folds.append(TrainedFold(size, setting, mean))
        return parts, tuple(folds)

    def final(self) -> tuple[Setting, Trained | None]:
        """What is learned from all judged queries, for those that have no judgments."""
        setting, _ = self._best(self._tried(self.every), self.every)
        return setting, self._trained(setting, self.every)

    def _tried(self, folds: frozenset[int]) -> NDArray[np.float64]:
        """The values of some folds under each setting, ``(settings, T)``, NaN elsewhere.

        A trained method is trained for each of these folds on the others of them, so that no
        setting is chosen by queries that it was trained on.
        """
        found = np.full((len(self.settings), len(self.fuser.queries)), math.nan)
        if len(self.settings) == 1:
            return found
        for row, setting in zip(found, self.settings, strict=True):
            for fold in sorted(folds):
                piece = slice(int(self.ends[fold]), int(self.ends[fold + 1]))
                row[piece] = self.values(self._fused(setting, folds - {fold}, fold).table)[piece]
        return found

    def _best(
        self, tried: NDArray[np.float64], folds: frozenset[int]
    ) -> tuple[Setting, float | None]:
        """The setting with the highest mean over some folds, the first of equals, and its mean."""
        chosen = self._queries(folds) & np.isfinite(tried).all(axis=0)
        if not chosen.any():
            return self.settings[0], None
        means = tried[:, chosen].mean(axis=1)
        best = int(means.argmax())
        return self.settings[best], float(means[best])

    def _trained(self, setting: Setting, folds: frozenset[int]) -> Trained | None:
        if self.training is None:
            return None
        return self.fuser.method.learned(
            self.training.only(self._queries(folds)), setting.parameters
        )

    def _queries(self, folds: frozenset[int]) -> NDArray[np.bool_]:
        """``(T,)``, whether a query is in one of some folds."""
        chosen = np.zeros(len(self.fuser.queries), bool)
        for fold in folds:
            chosen[self.ends[fold] : self.ends[fold + 1]] = True
        return chosen

    def _fused(self, setting: Setting, folds: frozenset[int], fold: int) -> Fused:
        trained = self._trained(setting, folds)
        return self.fuser.fuse(setting, trained, int(self.ends[fold]), int(self.ends[fold + 1]))


def settings_of(method: Method, given: Setting, runs: int) -> tuple[Setting, ...]:
    """The settings to try: every value of the method's grid that the user did not give.

    Raises:
        UsageError: the method has nothing to tune; too many runs for a grid of weights.
    """
    grid = {
        name: values for name, values in (method.grid or {}).items() if name not in given.parameters
    }
    weights: tuple[tuple[float, ...] | None, ...] = (given.weights,)
    if method.weighted and given.weights is None:
        weights = _weights(runs)
    if not grid and len(weights) == 1:
        raise UsageError(
            f"{method.name} has no parameter left to tune; leave the tuning out.",
            code="nothing-to-tune",
        )
    return tuple(
        Setting({**given.parameters, **dict(zip(grid, point, strict=True))}, each)
        for point in product(*grid.values())
        for each in weights
    )


def _weights(runs: int) -> tuple[tuple[float, ...], ...]:
    """Weights that add up to 1, on the finest grid of few enough points."""
    for parts in _STEPS:
        if math.comb(parts + runs - 1, runs - 1) <= _POINTS:
            points = (p for p in product(range(parts + 1), repeat=runs) if sum(p) == parts)
            return tuple(tuple(each / parts for each in point) for point in points)
    raise UsageError(
        f"weights of {runs} runs are too many to try; give them, or fuse fewer runs.",
        code="too-many-runs",
    )

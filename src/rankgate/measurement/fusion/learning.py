"""Choose settings and trained weights on some queries and use them on others."""

from __future__ import annotations

import math
from collections.abc import Callable
from itertools import product
from typing import TYPE_CHECKING

import numpy as np

from rankgate.core.errors import UsageError
from rankgate.core.frozen import dataclass
from rankgate.core.progress import step
from rankgate.measurement.fusion.fuser import FusedLists, Setting

if TYPE_CHECKING:
    import polars as pl
    from numpy.typing import NDArray

    from rankgate.measurement.fusion.fuser import Fuser
    from rankgate.measurement.fusion.method import Method
    from rankgate.measurement.fusion.training import TrainedValues, TrainingData

_MOST_SETTINGS = 150  # settings of weights at most
_WEIGHT_STEPS = (10, 5, 4, 3, 2)  # parts that the sum of the weights is cut into, finest first


@dataclass(frozen=True)
class TrainedFold:
    """The setting of one fold, chosen on all other folds.

    Attributes:
        queries: how many queries the fold has.
        setting: the chosen setting.
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
        training: hits of all judged queries; None for a method without training.
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
        """The numbers of all folds."""
        return frozenset(range(len(self.ends) - 1))

    def held_out(self) -> tuple[list[FusedLists], tuple[TrainedFold, ...]]:
        """Fuse the queries of each fold with the setting learned from the other folds."""
        # without training, values are the same for each fold left out
        shared_values = None if self.training else self._tried(self.every)
        parts, folds = [], []
        for fold in sorted(self.every):
            step(f"fold {fold + 1} of {len(self.every)}")
            other_folds = self.every - {fold}
            setting, mean = self._best(
                self._tried(other_folds) if shared_values is None else shared_values, other_folds
            )
            parts.append(self._fused(setting, other_folds, fold))
            size = int(self.ends[fold + 1] - self.ends[fold])
            folds.append(TrainedFold(size, setting, mean))
        return parts, tuple(folds)

    def final(self) -> tuple[Setting, TrainedValues | None]:
        """The setting learned from all judged queries, for those that have no judgments."""
        setting, _ = self._best(self._tried(self.every), self.every)
        return setting, self._trained(setting, self.every)

    def _tried(self, folds: frozenset[int]) -> NDArray[np.float64]:
        """The values of some folds under each setting, ``(settings, T)``, NaN elsewhere.

        A trained method is trained for each of these folds on the others of them, so that no
        setting is chosen by queries that it was trained on.
        """
        values = np.full((len(self.settings), len(self.fuser.queries)), math.nan)
        if len(self.settings) == 1:
            return values
        for row, setting in zip(values, self.settings, strict=True):
            for fold in sorted(folds):
                piece = slice(int(self.ends[fold]), int(self.ends[fold + 1]))
                row[piece] = self.values(self._fused(setting, folds - {fold}, fold).table)[piece]
        return values

    def _best(
        self, tried: NDArray[np.float64], folds: frozenset[int]
    ) -> tuple[Setting, float | None]:
        """The setting with the highest mean over some folds, the first of equals, and its mean."""
        is_used = self._queries(folds) & np.isfinite(tried).all(axis=0)
        if not is_used.any():
            return self.settings[0], None
        means = tried[:, is_used].mean(axis=1)
        best = int(means.argmax())
        return self.settings[best], float(means[best])

    def _trained(self, setting: Setting, folds: frozenset[int]) -> TrainedValues | None:
        if self.training is None:
            return None
        return self.fuser.method.learned(
            self.training.only(self._queries(folds)), setting.parameters
        )

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
    """The settings to try: every value of the method's grid that the user did not give.

    Raises:
        UsageError: the method has nothing to tune; too many runs for a grid of weights.
    """
    grid = {
        name: values
        for name, values in (method.grid or {}).items()
        if name not in setting.parameters
    }
    weights: tuple[tuple[float, ...] | None, ...] = (setting.weights,)
    if method.weighted and setting.weights is None:
        weights = _weights(runs)
    if not grid and len(weights) == 1:
        raise UsageError(
            f"{method.name} has no parameter left to tune; leave the tuning out.",
            code="nothing-to-tune",
        )
    return tuple(
        Setting({**setting.parameters, **dict(zip(grid, point, strict=True))}, weight_vector)
        for point in product(*grid.values())
        for weight_vector in weights
    )


def _weights(runs: int) -> tuple[tuple[float, ...], ...]:
    """Weights that add up to 1, on the finest grid of few enough points."""
    for parts in _WEIGHT_STEPS:
        if math.comb(parts + runs - 1, runs - 1) <= _MOST_SETTINGS:
            points = (p for p in product(range(parts + 1), repeat=runs) if sum(p) == parts)
            return tuple(tuple(share / parts for share in point) for point in points)
    raise UsageError(
        f"weights of {runs} runs are too many to try; give them, or fuse fewer runs.",
        code="too-many-runs",
    )

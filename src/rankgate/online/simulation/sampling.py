"""Draw clicks of a click model on lists."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING

import numpy as np
import polars as pl

from rankgate.core.frozen import dataclass
from rankgate.online.simulation.simulation import RANKS

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from rankgate.online.clicks.estimates import Estimates
    from rankgate.online.clicks.model import ClickModel
    from rankgate.online.clicks.packed import PackedSearches


@dataclass(frozen=True)
class Simulator:
    """A click model with its parameters."""

    model: ClickModel
    parameters: Estimates

    def clicks(self, lists: PackedSearches, random: np.random.Generator) -> PackedSearches:
        """The lists with clicks, drawn rank by rank, each given the clicks above it."""
        draws = random.random(lists.pair.shape)
        clicked = np.zeros(lists.pair.shape, np.bool_)
        for rank in range(lists.depth):
            chance = self.model.conditional(self.parameters, replace(lists, clicked=clicked))
            clicked[:, rank] = (draws[:, rank] < chance[:, rank]) & lists.shown[:, rank]
        return replace(lists, clicked=clicked)

    def expected(self, lists: PackedSearches) -> NDArray[np.float64]:
        """(N, K) the true probability of each click."""
        return np.asarray(self.model.marginal(self.parameters, lists) * lists.shown)


def mean_rates(weights: NDArray[np.float64], values: NDArray[np.float64]) -> NDArray[np.float64]:
    """(K,) weighted means over searches; NaN at ranks where nothing was shown."""
    with np.errstate(invalid="ignore", divide="ignore"):
        return np.asarray((weights * values).sum(axis=0) / weights.sum(axis=0))


def rates_by_rank(
    clicks: PackedSearches,
    expected: NDArray[np.float64],
    unseen: PackedSearches | None = None,
    predicted: NDArray[np.float64] | None = None,
) -> pl.DataFrame:
    """Rates of clicks at each rank.

    Args:
        clicks: what was simulated.
        expected: (N, K) the true probabilities there.
        unseen: searches of a log that the simulator has not learned from.
        predicted: (M, K) what it expects there.
    """
    simulated = mean_rates(clicks.weights, clicks.clicked.astype(np.float64))
    true_rate = mean_rates(clicks.weights, expected)
    depth = clicks.depth
    observed, error = np.full(depth, np.nan), np.full(depth, np.nan)
    if unseen is not None and predicted is not None:
        count = unseen.weights.sum(axis=0)
        rate = mean_rates(unseen.weights, unseen.clicked.astype(np.float64))
        common_depth = min(depth, unseen.depth)
        observed[:common_depth] = rate[:common_depth]
        variance = mean_rates(unseen.weights, predicted * (1 - predicted))
        with np.errstate(invalid="ignore", divide="ignore"):
            error[:common_depth] = np.sqrt(variance / count)[:common_depth]
        true_rate = mean_rates(unseen.weights, predicted)[:depth]
    rows = pl.DataFrame(
        {
            "rank": np.arange(1, depth + 1),
            "simulated": simulated,
            "expected": true_rate,
            "observed": observed,
            "error": error,
        }
    )
    shown_ranks = rows.filter(pl.col("simulated").is_not_nan())
    return shown_ranks.with_columns(
        pl.col("simulated", "expected", "observed", "error").fill_nan(None)
    ).cast(RANKS)  # type: ignore[arg-type]

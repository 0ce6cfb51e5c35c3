"""Logged decisions with their propensities, as arrays."""

from __future__ import annotations

from dataclasses import field
from functools import cached_property
from typing import TYPE_CHECKING

import numpy as np

from rankgate.core.frozen import dataclass

if TYPE_CHECKING:
    from numpy.typing import NDArray

    Floats = NDArray[np.float64]
    Ints = NDArray[np.int64]
    Bools = NDArray[np.bool_]


@dataclass(frozen=True)
class BanditLog:
    """S decisions of K slots each; a log without slates has K = 1.

    Attributes:
        reward: (S, K); 0 where a slate is shorter.
        weight: (S, K) P(action | target) / P(action | logged); 1 where a slate is shorter.
        shown: (S, K) whether there is a slot.
        action: (S, K) number of the action.
        place: (S, K) number of its position.
        policy: (A, P) the target's probability of each action at each position, which is the same
            for all contexts; None where only that of logged actions is known.
        unsupported: the share of the target's probability on actions that the log never shows.
        predicted: (S, K) the reward that a model expects of the logged action; None without.
        expected: (S, K) the reward that it expects under the target; None without.
        model_slope: (S, K) by how much the mean of ``expected`` grows with this row's reward, from
            which the model was fitted, times S; None without.
        model_influence: (S,) what the row adds to the mean of ``expected`` through the fit, to
            first order, times S; its mean is 0; None without.
        prior_share: the share of ``expected`` that is the mean of all actions instead of the
            action's own rewards.
        unseen_actions: actions of the target that the log never shows, the likeliest first.
        time: (S,) ranks of the decisions' times, equal for equal times; None without times.
    """

    reward: Floats
    weight: Floats
    shown: Bools
    action: Ints
    place: Ints
    policy: Floats | None
    unsupported: float
    predicted: Floats | None = field(default=None)
    expected: Floats | None = field(default=None)
    model_slope: Floats | None = field(default=None)
    model_influence: Floats | None = field(default=None)
    prior_share: float = field(default=0.0)
    unseen_actions: tuple[str, ...] = field(default=())
    time: Ints | None = field(default=None)

    @property
    def units(self) -> int:
        """S, the decisions."""
        return len(self.reward)

    @property
    def depth(self) -> int:
        """K, the slots."""
        return int(self.reward.shape[1])

    @cached_property
    def until(self) -> Floats:
        """(S, K) the product of the weights up to each slot."""
        return np.asarray(np.cumprod(self.weight, axis=1))

    @property
    def whole(self) -> Floats:
        """(S,) the weight of the whole slate."""
        return np.asarray(self.until[:, -1])

    @cached_property
    def total(self) -> Floats:
        """(S,) the rewards of a slate together."""
        return np.asarray(self.reward.sum(axis=1))


def effective_size(weights: Floats) -> float:
    """The number of rows of equal weight with the same precision, (sum w)² / sum w² (Kish 1965)."""
    squares = float((weights**2).sum())
    return float(weights.sum()) ** 2 / squares if squares else 0.0

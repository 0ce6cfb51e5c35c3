"""Logged decisions with their propensities, as arrays, and the model of rewards.

The model predicts mean rewards of actions at positions; it is fitted on other rows.
"""

from __future__ import annotations

from dataclasses import field, replace
from functools import cached_property
from typing import TYPE_CHECKING

import numpy as np

from rankgate.core.frozen import dataclass

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from rankgate.core.arrays import Flags, Floats, Ints


@dataclass(frozen=True)
class BanditLog:
    """S decisions of K slots each; a log without slates has K = 1.

    Attributes:
        reward: (S, K) the reward of each slot; 0 beyond the end of a slate.
        weight: (S, K) P(action | target) / P(action | logged); 1 beyond the end of a slate.
        shown: (S, K) True if the slate has this slot.
        action: (S, K) the number of the action.
        place: (S, K) the number of the slot's position.
        policy: (A, P) the target's probability of each action at each position, the same for all
            contexts; None if only the probabilities of logged actions are known.
        unsupported: the share of the target's probability on actions that the log never shows.
        predicted: (S, K) the reward that a model predicts for the logged action; None without a
            model.
        expected: (S, K) the reward that the model predicts under the target; None without a model.
        model_slope: (S, K) the slope of the mean of ``expected`` by the rewards that the model was
            fitted from, times S; None without a model.
        model_influence: (S,) the first-order effect of the row on the mean of ``expected`` through
            the fit, times S; the mean is 0; None without a model.
        prior_share: the share of ``expected`` that is the mean of all actions instead of the
            action's own rewards.
        unseen_actions: the actions of the target that the log never shows, most likely first.
        time: (S,) the ranks of the decisions' times; equal times have equal ranks; None without
            times.
    """

    reward: Floats
    weight: Floats
    shown: Flags
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
        """S, the number of decisions."""
        return len(self.reward)

    @property
    def depth(self) -> int:
        """K, the number of slots."""
        return int(self.reward.shape[1])

    @cached_property
    def until(self) -> Floats:
        """(S, K) the product of the weights up to each slot."""
        return np.asarray(np.cumprod(self.weight, axis=1))

    @property
    def slate_weights(self) -> Floats:
        """(S,) the weight of the whole slate."""
        return np.asarray(self.until[:, -1])

    @cached_property
    def total(self) -> Floats:
        """(S,) the sum of the rewards of each slate."""
        return np.asarray(self.reward.sum(axis=1))


def effective_size(weights: Floats) -> float:
    """The number of rows of equal weight with the same precision, (sum w)² / sum w² (Kish 1965)."""
    squares = float((weights**2).sum())
    return float(weights.sum()) ** 2 / squares if squares else 0.0


def add_reward_model(log: BanditLog, folds: int = 5, strength: float = 20.0) -> BanditLog:
    """Add the rewards that a model predicts, fitted on other folds.

    q(a) at a position is (sum of rewards + strength * mean of the position) / (rows + strength).
    The model is used only if the target's probability of every action is known. The first-order
    effect of a row on the mean expected reward V = sum P(a | target) q(a) follows from the row's
    weight in the fit: with N rows of the action and M of the position,

        P(a) (r - q(a)) / (N + strength) + (r - mean) / M sum over b of P(b) strength / (N_b +
        strength).

    Args:
        log: the log from ``read_log``.
        folds: decision i is in fold i modulo folds.
        strength: the number of prior rows with the mean reward that are added to each action.
    """
    if log.policy is None:
        return log
    fold = np.arange(log.units) % min(folds, log.units)
    count = int(fold.max()) + 1
    predicted, expected = np.zeros(log.reward.shape), np.zeros(log.reward.shape)
    slope, offset = np.zeros((2, count, *log.policy.shape))
    prior_share = 0.0
    for number in range(count):
        in_fold, out_of_fold = fold == number, fold != number
        training_rows = out_of_fold if out_of_fold.any() else in_fold
        q, rows, position_mean = _fit_rewards(log, training_rows, strength)
        predicted[in_fold] = q[log.action[in_fold], log.place[in_fold]]
        expected[in_fold] = (log.policy * q).sum(axis=0)[log.place[in_fold]]
        # (P,) slots of the fold at each position, as a share of all decisions
        traffic = np.bincount(log.place[in_fold][log.shown[in_fold]], minlength=q.shape[1]) / log.units
        prior = (log.policy * strength / (rows + strength)).sum(axis=0)
        direct = traffic * log.policy / (rows + strength)
        by_mean = traffic * prior / np.maximum(rows.sum(axis=0), 1)
        slope[number] = direct + by_mean
        offset[number] = direct * q + by_mean * position_mean
        prior_share += float((traffic * prior).sum())
    cells = log.action, log.place
    # a row is in the fits of all folds but its own
    own_fold = fold[:, None] if count > 1 else np.full((log.units, 1), -1)
    row_slope = slope.sum(axis=0)[cells] - np.where(own_fold < 0, 0, slope[own_fold, *cells])
    row_offset = offset.sum(axis=0)[cells] - np.where(own_fold < 0, 0, offset[own_fold, *cells])
    row_slope, row_offset = (log.units * log.shown * table for table in (row_slope, row_offset))
    influence = (row_slope * log.reward - row_offset).sum(axis=1)
    return replace(
        log,
        predicted=predicted * log.shown,
        expected=expected * log.shown,
        model_slope=row_slope,
        model_influence=influence - influence.mean(),
        prior_share=prior_share / max(float(log.shown.sum()) / log.units, 1e-12),
    )


def _fit_rewards(
    log: BanditLog, decisions: NDArray[np.bool_], strength: float
) -> tuple[Floats, Floats, Floats]:
    """(A, P) rewards shrunk to the mean of the position, (A, P) row counts, (P,) these means."""
    assert log.policy is not None
    size = log.policy.shape
    is_shown = log.shown[decisions]
    cells = (log.action[decisions] * size[1] + log.place[decisions])[is_shown]
    total = np.bincount(cells, log.reward[decisions][is_shown], size[0] * size[1]).reshape(size)
    count = np.bincount(cells, minlength=size[0] * size[1]).reshape(size).astype(np.float64)
    position_mean = total.sum(axis=0) / np.maximum(count.sum(axis=0), 1)
    return np.asarray((total + strength * position_mean) / (count + strength)), count, position_mean

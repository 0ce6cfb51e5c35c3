"""Gains and costs by rank, and measurements by the probability that users go on.

Shapes: T queries, N ranks down to the horizon.
"""

from __future__ import annotations

from functools import cached_property
from typing import Literal

import numpy as np

from rankgate.core.errors import UsageError
from rankgate.core.frozen import dataclass
from rankgate.measurement.metrics.judged import Floats, Judged, total

Measure = Literal["EU", "ETU", "EC", "ETC", "ED"]
Case = Literal["worst", "best", "residual"]


@dataclass(frozen=True, eq=False)
class Browsed:
    """Gains and costs by rank; a continuation function sees them.

    Attributes:
        gain: ``(T, N)``, from 0 to 1; what is behind the end of a list included.
        cost: ``(T, N)``, what each document costs.
        relevant: ``(T,)``, documents known that have a gain.
    """

    gain: Floats
    cost: Floats
    relevant: Floats

    @cached_property
    def rank(self) -> Floats:
        """``(N,)``, from 1."""
        return np.arange(1.0, self.gain.shape[1] + 1)

    @cached_property
    def total_gain(self) -> Floats:
        """``(T, N)``, gained down to each rank."""
        return np.cumsum(self.gain, axis=1)

    @cached_property
    def total_cost(self) -> Floats:
        """``(T, N)``, spent down to each rank."""
        return np.cumsum(self.cost, axis=1)


@dataclass(frozen=True, eq=False)
class ContinuationModel:
    """The probability that users go on from each rank to the next.

    Attributes:
        on: ``(T, N)``, C: having seen a rank, the chance to look at the next one.
        weights: ``(T, N)``, W, where those are not what follows from C.
    """

    on: Floats
    weights: Floats | None = None

    @property
    def weight(self) -> Floats:
        """``(T, N)``, W: the share of all looks that each rank gets."""
        if self.weights is not None:
            return self.weights
        reach_chance: Floats = np.ones_like(self.on)
        np.cumprod(self.on[:, :-1], axis=1, out=reach_chance[:, 1:])
        return reach_chance / total(reach_chance)[:, None]

    @property
    def last(self) -> Floats:
        """``(T, N)``, L: how likely each rank is the last one seen."""
        previous_continuation = np.concatenate(
            [np.ones((len(self.on), 1)), self.on[:, :-1]], axis=1
        )
        return np.cumprod(previous_continuation, axis=1) * (1 - self.on)


def from_weights(weights: Floats) -> Floats:
    """The continuation function that weights follow from: C = W(i + 1) / W(i)."""
    continuation = np.zeros_like(weights)
    np.divide(weights[:, 1:], weights[:, :-1], out=continuation[:, :-1], where=weights[:, :-1] > 0)
    return continuation


def measured_value(browsed: Browsed, going: ContinuationModel, measure: Measure) -> Floats:
    """One of the five measurements, ``(T,)``.

    EU = Σ_i W(i)·g(i)   ETU = Σ_i L(i)·Σ_{j≤i} g(j)   ED = 1 / W(1)
    EC, ETC the same of costs
    """
    if measure == "ED":
        return 1 / going.weight[:, 0]
    if measure in ("EU", "EC"):
        return total(going.weight * (browsed.gain if measure == "EU" else browsed.cost))
    return total(going.last * (browsed.total_gain if measure == "ETU" else browsed.total_cost))


def make_browsed(
    judged: Judged, horizon: int, scale: tuple[float, float], cost: float, *, best: bool
) -> Browsed:
    """Gains by rank; unjudged and missing documents gain 0, or 1 in the best case.

    Args:
        judged: the block.
        horizon: N.
        scale: the grades whose gains are 0 and 1; those outside count as these.
        cost: what a document costs.
        best: whether documents without a judgment gain 1.

    Raises:
        UsageError: the scale has no width.
    """
    low, high = scale
    if low >= high:
        raise UsageError(
            f"min_grade={low:g} is not below max_grade={high:g}.", code="contradicting-parameters"
        )
    gain = np.full((len(judged.rank), horizon), 1.0 if best else 0.0)
    line, column = np.nonzero((judged.rank <= horizon) & judged.known & (judged.grade >= 0))
    grades = judged.grade[line, column]
    gain[line, judged.rank[line, column] - 1] = np.clip((grades - low) / (high - low), 0, 1)
    relevant = np.count_nonzero(judged.ideal > low, axis=1).astype(np.float64)
    if best:
        relevant = np.maximum(relevant, np.count_nonzero(gain, axis=1))
    return Browsed(gain, np.full(gain.shape, float(cost)), relevant)

"""Decompose a value: contributions of documents and the normaliser."""

from __future__ import annotations

import numpy as np

from rankgate.core.frozen import dataclass
from rankgate.measurement.metrics.judged import PAD, Counts, Floats, Judged, total


@dataclass(frozen=True, slots=True, eq=False)
class Steps:
    """The terms of a metric: a sum of gains times weights, over a norm for each query.

        value = Σ_j gainⱼ · weightⱼ / norm

    Attributes:
        gain: ``(T, J)``, what each judged document retrieved is worth.
        weight: ``(T, J)``, how much that counts where it is; 0 behind a cutoff.
        norm: ``(T,)``, what the sum is divided by; 0 where the metric has no value.
        weighed: what the weight is called.
        summed: what the sum is called.
        divisor: what the norm is called, empty where it is 1 and is not shown.
        ideal: ``(T, I)`` gains and weights of the ideal ranking, where the norm is their sum.
    """

    gain: Floats
    weight: Floats
    norm: Floats
    weighed: str = "weight"
    summed: str = "sum"
    divisor: str = ""
    ideal: tuple[Floats, Floats] | None = None

    @property
    def value(self) -> Floats:
        """The value of each query, ``(T,)``; NaN if there is none."""
        quotient: Floats = np.full(self.norm.shape, np.nan)
        weighted_sum = total(self.gain * self.weight)
        return np.divide(weighted_sum, self.norm, out=quotient, where=self.norm != 0)


def cutoff_weight(judged: Judged, cutoff: int | None) -> Floats:
    """The plainest weight: 1 for a document up to the cutoff, 0 behind it, ``(T, J)``."""
    last = PAD - 1 if cutoff is None else cutoff
    weight: Floats = (judged.rank <= last).astype(np.float64)
    return weight


def weight_until_hit(judged: Judged, cutoff: int | None, rel: float) -> Floats:
    """The weight 1 down to the first relevant document, and 0 below it."""
    hits = judged.hits(rel)
    hits_above: Counts = np.cumsum(hits, axis=-1) - hits
    weight: Floats = np.where(hits_above == 0, cutoff_weight(judged, cutoff), 0)
    return weight


def relevance_gain(judged: Judged, rel: float) -> Floats:
    """The plainest gain: 1 for a relevant document, 0 for another, ``(T, J)``."""
    return judged.hits(rel).astype(np.float64)

"""What a click model learned."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import field
from typing import TYPE_CHECKING

import numpy as np

from rankgate.frozen import dataclass

if TYPE_CHECKING:
    from numpy.typing import NDArray

    Floats = NDArray[np.float64]

_UNKNOWN = 0.1  # a rate where nothing was seen

LEAST = 1e-6
"""The smallest probability of an event that was seen."""


@dataclass(frozen=True)
class Estimates:
    """Parameters of a model.

    Attributes:
        attractiveness: (P,) by pair the probability of a click where it is looked at; NaN unseen.
        examined: (P,) how many impressions were looked at, as the model expects: the evidence.
        satisfaction: (P,) by pair the probability that a click satisfies; None where the model has
            none.
        clicks: (P,) the clicks behind satisfaction.
        shared: parameters that all pairs share, by name.
    """

    attractiveness: Floats
    examined: Floats
    satisfaction: Floats | None = None
    clicks: Floats | None = None
    shared: Mapping[str, Floats] = field(default_factory=dict)

    @property
    def relevance(self) -> Floats:
        """Attractiveness times satisfaction where the model has both."""
        if self.satisfaction is None:
            return self.attractiveness
        return np.asarray(self.attractiveness * np.nan_to_num(self.satisfaction))

    def filled(self, values: Floats) -> Floats:
        """Values with the mean, weighted by evidence, for pairs that were not seen."""
        known = np.isfinite(values)
        if not known.any():
            return np.full(len(values), _UNKNOWN)
        mean = float(np.average(values[known], weights=self.examined[known] + 1e-9))
        return np.where(known, values, mean)


def share(part: Floats, whole: Floats, prior: float = 0.0) -> Floats:
    """A share with ``prior`` added to both outcomes; NaN where there is nothing."""
    with np.errstate(invalid="ignore", divide="ignore"):
        return np.asarray((part + prior) / (whole + 2 * prior))


def bounded(values: Floats) -> Floats:
    """Probabilities that are neither 0 nor 1."""
    return np.clip(values, LEAST, 1 - LEAST)

"""The parameters that a click model estimates."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import field, replace
from typing import TYPE_CHECKING

import numpy as np

from rankgate.core.frozen import dataclass

if TYPE_CHECKING:
    from numpy.typing import NDArray

    Floats = NDArray[np.float64]

_DEFAULT_RATE = 0.1  # a rate where nothing was seen

MIN_PROBABILITY = 1e-6
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
        low: (P,) the lower limit of a 95 % interval of the relevance, where the model gives one.
        high: (P,) the upper limit.
        identified: (P,) whether clicks tell the attractiveness of the pair apart from its ranks;
            None: of all.
        linked: (C,) the same of the cells of the first shared parameter; None: of all.
        refusal: why no judgments can be made of the model from this log, and which data would do;
            empty where they can.
    """

    attractiveness: Floats
    examined: Floats
    satisfaction: Floats | None = None
    clicks: Floats | None = None
    shared: Mapping[str, Floats] = field(default_factory=dict)
    low: Floats | None = None
    high: Floats | None = None
    identified: NDArray[np.bool_] | None = None
    linked: NDArray[np.bool_] | None = None
    refusal: str = ""

    @property
    def relevance(self) -> Floats:
        """Attractiveness times satisfaction where the model has both."""
        if self.satisfaction is None:
            return self.attractiveness
        return np.asarray(self.attractiveness * np.nan_to_num(self.satisfaction))

    def smoothed(self) -> Estimates:
        """The same with one look at an average pair added, to predict clicks.

        A pair without a click in 20 looks would make a later click impossible, and one such click
        would outweigh all that is predicted well.
        """
        satisfaction = self.satisfaction
        if satisfaction is not None and self.clicks is not None:
            satisfaction = _smooth(self.filled(satisfaction), self.clicks)
        attractiveness = _smooth(self.filled(self.attractiveness), self.examined)
        return replace(self, attractiveness=attractiveness, satisfaction=satisfaction)

    def filled(self, values: Floats) -> Floats:
        """Values with the mean, weighted by evidence, for pairs that were not seen."""
        is_estimated = np.isfinite(values)
        if not is_estimated.any():
            return np.full(len(values), _DEFAULT_RATE)
        mean = float(np.average(values[is_estimated], weights=self.examined[is_estimated] + 1e-9))
        return np.where(is_estimated, values, mean)


def _smooth(values: Floats, examined: Floats) -> Floats:
    mean = float(np.average(values, weights=examined + 1e-9))
    return np.asarray((values * examined + mean) / (examined + 1))


def smoothed_share(numerator: Floats, denominator: Floats, prior: float = 0.0) -> Floats:
    """A share with ``prior`` added to both outcomes; NaN where there is nothing."""
    with np.errstate(invalid="ignore", divide="ignore"):
        return np.asarray((numerator + prior) / (denominator + 2 * prior))


def clip_probability(values: Floats) -> Floats:
    """Probabilities that are neither 0 nor 1."""
    return np.clip(values, MIN_PROBABILITY, 1 - MIN_PROBABILITY)

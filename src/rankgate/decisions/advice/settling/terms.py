"""Terms of a settlement: level, margin, power, number of looks, and levels by look."""

from __future__ import annotations

from functools import cached_property
from typing import TYPE_CHECKING

import numpy as np

from rankgate.core.frozen import dataclass
from rankgate.measurement.stats.interval import student_quantile

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from rankgate.decisions.advice.settling.settlement import State

    Floats = NDArray[np.float64]

_FIRST_DOCUMENT_SHARE = 0.1  # of the documents, at the first look


def look_levels(level: float, looks: int, *, linear: bool = False) -> Floats:
    """(K,) levels of intervals that are looked at before all documents are judged.

    At one of them an interval misses the truth with a chance of 1 − level: bounds of Pocock's type
    by an error spending function (Lan and DeMets 1983). The variance of a sum over documents drawn
    with the chance π falls as (1 − π)/π, so that looks have the information π/(1 − π); what differs
    among queries is in all looks, and makes them more alike, which keeps the chance below that.

    Args:
        level: of all of them together.
        looks: K.
        linear: each look has as many more documents; else as many times more.

    >>> look_levels(0.95, 4).round(3)
    array([0.993, 0.993, 0.986, 0.97 ])
    """
    from scipy.special import ndtr

    from rankgate.measurement.stats.experiments.group_sequential import spending_bounds

    if not looks:
        return np.zeros(0)
    order = np.arange(1, looks + 1)
    share = _FIRST_DOCUMENT_SHARE ** (1 - (order - 1) / looks)
    information_times = (
        order / looks if linear else share / (1 - share) * (1 - share[-1]) / share[-1]
    )
    bounds = spending_bounds(information_times.tolist(), 1 - level, "pocock")
    return np.asarray(1 - 2 * ndtr(-bounds), np.float64)


@dataclass(frozen=True)
class Terms:
    """Terms that are fixed before the first look.

    Attributes:
        level, margin, power, looks, budget: as of `settle`.
    """

    level: float
    margin: float
    power: float
    looks: int
    budget: int | None

    def level_of(self, look: int, *, whole: bool = False) -> float:
        """Level of the interval of a look; ``level`` if all documents are judged."""
        levels = self._levels
        return (
            self.level
            if whole or not len(levels)
            else float(levels[min(max(look, 1), len(levels)) - 1])
        )

    def reach(self, look: int, queries: int) -> float:
        """Half-width of a look's interval, in standard errors."""
        return student_quantile(queries - 1, (1 + self.level_of(look)) / 2)

    def state(self, interval: tuple[float, float, float]) -> State:
        """The state that an interval shows."""
        _, low, high = interval
        if low > -self.margin:
            return "not-worse" if self.margin else "better"
        return "worse" if high < -self.margin else "open"

    @cached_property
    def _levels(self) -> Floats:
        """Levels by look; with a budget also of the last one, which may lack documents."""
        linear = self.budget is not None
        return look_levels(self.level, self.looks if linear else self.looks - 1, linear=linear)

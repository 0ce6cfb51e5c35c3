"""How often intervals of a nominal 95 % hold the true mean difference."""

from __future__ import annotations

from dataclasses import dataclass
from math import sqrt
from typing import TYPE_CHECKING

import numpy as np

from rankgate.stats.bootstrap import bootstrap_interval
from rankgate.stats.interval import t_interval
from studies.populations import differences

if TYPE_CHECKING:
    from rankgate.stats.interval import Intervals
    from studies.populations import Floats

LEVEL, REPLICATIONS, RESAMPLES = 0.95, 10_000, 1000
SIZES = (10, 15, 25, 50, 100, 200)
WARNED, _MOST = 200, 0.5  # samples asked for warnings; the share above which users are warned
DRAWN = 4000  # replications of intervals that resample
TARGET, FROM = (0.94, 0.96), 25


@dataclass(frozen=True)
class Cell:
    """Coverage of one method.

    Attributes:
        population, n, method: of what.
        covered: the share of intervals that hold the mean.
        error: its standard error.
        warned: the share of samples for which a user of the method is warned.
    """

    population: str
    n: int
    method: str
    covered: float
    error: float
    warned: float

    @property
    def holds(self) -> bool | None:
        """Whether coverage lies within the target, three standard errors allowed.

        None for fewer queries than the target is for, and where most users are warned.
        """
        slack = 3 * self.error
        within = TARGET[0] - slack <= self.covered <= TARGET[1] + slack
        return None if self.n < FROM or (self.warned > _MOST and not within) else within


def run(replications: int = REPLICATIONS, seed: int = 0) -> list[Cell]:
    """Every population, size and method."""
    cells = []
    for name, population in differences().items():
        for n in SIZES:
            rng = np.random.default_rng([seed, n, *name.encode()])
            values = rng.choice(population, (n, replications))
            mean = float(population.mean())
            few = [values[:, [i]] for i in range(WARNED)]
            warned = float(np.mean([bool(t_interval(each).warnings) for each in few]))
            cells.append(_cell(name, n, "t", t_interval(values, LEVEL), mean, warned))
            some = values[:, :DRAWN]
            for method in ("bca", "percentile"):
                told = bootstrap_interval(some, LEVEL, method, samples=RESAMPLES, seed=seed)
                told_of = [bootstrap_interval(each, samples=20).warnings for each in few]
                cells.append(
                    _cell(name, n, method, told, mean, float(np.mean(list(map(bool, told_of)))))
                )
    return cells


def _cell(  # noqa: PLR0917 - a cell is of so much
    name: str, n: int, method: str, told: Intervals, mean: Floats | float, warned: float
) -> Cell:
    share = float(((told.low <= mean) & (mean <= told.high)).mean())
    error = sqrt(max(share * (1 - share), 1e-9) / len(told.low))
    return Cell(name, n, method, share, error, warned)

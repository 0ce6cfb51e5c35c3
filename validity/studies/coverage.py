"""How often intervals of a nominal 95 % hold the true mean difference."""

from __future__ import annotations

from dataclasses import dataclass
from math import sqrt
from typing import TYPE_CHECKING, Any

import numpy as np

from rankgate.measurement.stats.mean_intervals import t_interval
from rankgate.measurement.stats.resampling_tests import bootstrap_interval
from studies.populations import differences
from tables import marked, table

if TYPE_CHECKING:
    from collections.abc import Sequence

    from rankgate.measurement.stats.mean_intervals import Intervals
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
            single_samples = [values[:, [i]] for i in range(WARNED)]
            warned = float(np.mean([bool(t_interval(sample).warnings) for sample in single_samples]))
            cells.append(_cell(name, n, "t", t_interval(values, LEVEL), mean, warned))
            bootstrap_values = values[:, :DRAWN]
            for method in ("bca", "percentile"):
                result = bootstrap_interval(bootstrap_values, LEVEL, method, samples=RESAMPLES, seed=seed)
                warned_by = [bootstrap_interval(sample, samples=20).warnings for sample in single_samples]
                cells.append(_cell(name, n, method, result, mean, float(np.mean(list(map(bool, warned_by))))))
    return cells


def _cell(name: str, n: int, method: str, result: Intervals, mean: Floats | float, warned: float) -> Cell:
    share = float(((result.low <= mean) & (mean <= result.high)).mean())
    error = sqrt(max(share * (1 - share), 1e-9) / len(result.low))
    return Cell(name, n, method, share, error, warned)


def section(cells: Sequence[Any]) -> str:
    """Give the part of the page."""
    methods = list(dict.fromkeys(cell.method for cell in cells))
    rows = []
    for key in dict.fromkeys((c.population, c.n) for c in cells):
        method_cells = {c.method: c for c in cells if (c.population, c.n) == key}
        shares = [marked(method_cells[m].covered, method_cells[m].holds) for m in methods]
        rows.append((key[0], str(key[1]), *shares, *(f"{method_cells[m].warned:.0%}" for m in methods)))
    tested_cells = [c for c in cells if c.holds is not None]
    missed = sum(not c.holds for c in tested_cells)
    return (
        "## Coverage of intervals\n\nShare of 95 % intervals that hold the true mean; t 10,000 replications "
        "a cell, bootstraps 4,000. From 25 queries on it should lie within 94 and 96 % (three standard "
        "errors allowed), or else the user should be warned: of "
        f"{len(tested_cells)} cells in which most users see no warning, "
        f"{len(tested_cells) - missed} do. The last columns: how often a user of the method is warned, of "
        "few or skewed queries, or that the bootstrap covers too rarely.\n\n"
        + table(("differences", "n", *methods, *(f"{m}, warned" for m in methods)), rows)
    )

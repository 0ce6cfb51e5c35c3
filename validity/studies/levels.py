"""How often each test rejects where nothing differs: its level, at a nominal 5 %.

Two nulls: signs are random (both systems are exchangeable, query by query, which is what a
randomization test supposes), and differences are centred (the mean is 0, the shape is kept).
"""

from __future__ import annotations

from dataclasses import dataclass
from math import sqrt
from typing import TYPE_CHECKING

import numpy as np

from rankgate.stats.bootstrap import bootstrap_test
from rankgate.stats.paired import sign, student, wilcoxon
from rankgate.stats.randomization import randomization
from studies.populations import differences

if TYPE_CHECKING:
    from collections.abc import Callable

    from numpy.typing import NDArray

    Floats = NDArray[np.float64]

ALPHA, REPLICATIONS, RESAMPLES = 0.05, 10_000, 1000
SIZES = (25, 50, 100)
TARGET = (0.04, 0.06)

TESTS: dict[str, Callable[[Floats], Floats]] = {
    "t": lambda table: student(table).p_value,
    "randomization": lambda table: randomization(table, samples=RESAMPLES).p_value,
    "wilcoxon": lambda table: wilcoxon(table).p_value,
    "sign": lambda table: sign(table).p_value,
    "bootstrap": lambda table: bootstrap_test(table, samples=RESAMPLES).p_value,
}
HELD = ("t", "randomization")
"""The tests whose level is a target; the others are shown as they are."""


@dataclass(frozen=True)
class Cell:
    """Rejections of one test.

    Attributes:
        population, null, n, test: of what.
        rejected: the share of p-values of at most 5 %.
        error: its standard error.
    """

    population: str
    null: str
    n: int
    test: str
    rejected: float
    error: float

    @property
    def holds(self) -> bool | None:
        """Whether the level lies within the target; None where there is none."""
        if self.test not in HELD or self.null != "random signs":
            return None
        return TARGET[0] <= self.rejected <= TARGET[1]


def run(replications: int = REPLICATIONS, seed: int = 0) -> list[Cell]:
    """Every population, null, size and test."""
    cells = []
    for name, population in differences().items():
        for null in ("random signs", "centred"):
            for n in SIZES:
                table = _drawn(population, null, n, replications, seed)
                for test, p_value in TESTS.items():
                    share = float((p_value(table) <= ALPHA).mean())
                    error = sqrt(max(share * (1 - share), 1e-9) / replications)
                    cells.append(Cell(name, null, n, test, share, error))
    return cells


def _drawn(population: Floats, null: str, n: int, replications: int, seed: int) -> Floats:
    rng = np.random.default_rng([seed, n, len(null)])
    values = rng.choice(population - population.mean(), (n, replications))
    if null == "random signs":
        values *= rng.choice([-1.0, 1.0], values.shape)
    return np.asarray(values, np.float64)

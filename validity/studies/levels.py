"""How often each test rejects where nothing differs: its level, at a nominal 5 %.

Three nulls: signs are random (both systems are exchangeable, query by query, which is what a
randomization test supposes); differences are centred (the mean is 0, the shape is kept); and A/A,
one real system whose topics are split into two halves that are paired at random.
"""

from __future__ import annotations

from dataclasses import dataclass
from math import sqrt
from typing import TYPE_CHECKING, Any

import numpy as np
from scipy import stats

from rankgate.measurement.stats.paired_tests import sign_test, student_test
from rankgate.measurement.stats.resampling_tests import bootstrap_test, randomization
from studies.populations import differences, matrices
from tables import marked, table

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from numpy.typing import NDArray

    Floats = NDArray[np.float64]

ALPHA, REPLICATIONS, RESAMPLES = 0.05, 10_000, 1000
SIZES = (25, 50, 100)
SPLIT = "A/A, topics split"
TARGET = (0.04, 0.06)


def _wilcoxon(table: Floats) -> Floats:
    """Wilcoxon's signed ranks, by the normal approximation; differences of 0 are left out.

    It tests whether differences lie symmetrically about 0, not the mean, and rejects too often as
    n grows on IR data (Urbano, Lima and Hanjalic 2019).
    """
    p_values = [
        stats.wilcoxon(column, method="approx", correction=True).pvalue if column.any() else 1.0
        for column in table.T
    ]
    return np.array(p_values)


TESTS: dict[str, Callable[[Floats], Floats]] = {
    "t": lambda table: student_test(table).p_value,
    "randomization": lambda table: randomization(table, samples=RESAMPLES).p_value,
    "wilcoxon": _wilcoxon,
    "sign": lambda table: sign_test(table).p_value,
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
        if self.test not in HELD or self.null == "centred":
            return None
        return TARGET[0] <= self.rejected <= TARGET[1]


def run(replications: int = REPLICATIONS, seed: int = 0) -> list[Cell]:
    """Every population, null, size and test."""
    cells = []
    for name, population in differences().items():
        for null in ("random signs", "centred"):
            for n in SIZES:
                table = _drawn(population, null, n, replications, seed)
                cells += _cells(name, null, table)
    for name, matrix in matrices().items():
        cells += _cells(name, SPLIT, _split(matrix, replications, seed))
    return cells


def _cells(name: str, null: str, table: Floats) -> list[Cell]:
    """Every test on (n, replications) differences."""
    n, replications = table.shape
    result = []
    for test, p_value in TESTS.items():
        share = float((p_value(table) <= ALPHA).mean())
        error = sqrt(max(share * (1 - share), 1e-9) / replications)
        result.append(Cell(name, null, n, test, share, error))
    return result


def _split(matrix: Floats, replications: int, seed: int) -> Floats:
    """One of the systems in each replication, half of its topics against the other half."""
    rng = np.random.default_rng([seed, *matrix.shape])
    half = len(matrix) // 2
    order = rng.permuted(np.tile(np.arange(len(matrix))[:, None], replications), axis=0)
    system = rng.integers(0, matrix.shape[1], replications)
    return np.asarray(matrix[order[:half], system] - matrix[order[half : 2 * half], system])


def _drawn(population: Floats, null: str, n: int, replications: int, seed: int) -> Floats:
    rng = np.random.default_rng([seed, n, len(null)])
    values = rng.choice(population - population.mean(), (n, replications))
    if null == "random signs":
        values *= rng.choice([-1.0, 1.0], values.shape)
    return np.asarray(values, np.float64)


def section(cells: Sequence[Any]) -> str:
    """Give the part of the page."""
    tests = list(dict.fromkeys(cell.test for cell in cells))
    rows = []
    for key in dict.fromkeys((c.population, c.null, c.n) for c in cells):
        test_cells = {c.test: c for c in cells if (c.population, c.null, c.n) == key}
        rows.append(
            (
                key[0],
                key[1],
                str(key[2]),
                *(marked(test_cells[t].rejected, test_cells[t].holds) for t in tests),
            )
        )
    checked_cells = [c for c in cells if c.holds is not None]
    missed = sum(not c.holds for c in checked_cells)
    return (
        "## False alarms of tests\n\nShare of p ≤ .05 where nothing differs; 10,000 replications a cell. "
        "Under random signs, and where one system's topics are split into halves that are paired at random "
        "(A/A), the t-test and the randomization test should lie within 4 and 6 %: "
        f"{len(checked_cells) - missed} of {len(checked_cells)} cells do (a miss is marked ✘). Wilcoxon's "
        "test and the sign test answer another question and reject skewed differences with a mean of 0; the "
        "bootstrap shift test rejects too often for few queries.\n\n"
        + table(("differences", "null", "n", *tests), rows)
    )

"""Does the power that is printed come true? Predicted and simulated, by the paired t-test."""

from __future__ import annotations

from dataclasses import dataclass
from math import sqrt
from typing import TYPE_CHECKING, Any

import numpy as np

from rankgate.measurement.stats.paired_tests import student_test
from rankgate.measurement.stats.query_power import power
from rankgate.measurement.stats.resampling_tests import randomization
from studies.populations import differences
from tables import percent, table

if TYPE_CHECKING:
    from collections.abc import Sequence

ALPHA, REPLICATIONS, RESAMPLES = 0.05, 10_000, 1000
SIZES = (25, 50, 100, 200)
DELTAS = (0.02, 0.05)


@dataclass(frozen=True)
class Cell:
    """Power at one true difference.

    Attributes:
        population, n, delta: of what.
        predicted: by the formula, from the population's spread.
        t, randomization: shares of rejections.
        error: of a share.
    """

    population: str
    n: int
    delta: float
    predicted: float
    t: float
    randomization: float
    error: float


def run(replications: int = REPLICATIONS, seed: int = 0) -> list[Cell]:
    """Every population, size and difference."""
    cells = []
    for name, population in differences().items():
        centred = population - population.mean()
        for n in SIZES:
            rng = np.random.default_rng([seed, n, *name.encode()])
            values = rng.choice(centred, (n, replications))
            for delta in DELTAS:
                result = float((student_test(values + delta).p_value <= ALPHA).mean())
                p_values = randomization(values + delta, samples=RESAMPLES).p_value
                cells.append(
                    Cell(
                        name,
                        n,
                        delta,
                        power(delta, float(centred.std()), n),
                        result,
                        float((p_values <= ALPHA).mean()),
                        sqrt(max(result * (1 - result), 1e-9) / replications),
                    )
                )
    return cells


def section(cells: Sequence[Any]) -> str:
    """Give the part of the page."""
    rows = [
        (c.population, str(c.n), f"{c.delta:g}", percent(c.predicted), percent(c.t), percent(c.randomization))
        for c in cells
    ]
    return (
        "## Power\n\nShare of replications in which a true difference is found at the 5 % level: by the "
        "formula behind every printed detectable difference, and as measured.\n\n"
        + table(("differences", "n", "true difference", "predicted", "t", "randomization"), rows)
    )

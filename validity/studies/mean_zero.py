"""False alarms of t and randomization where only the mean is 0: pair by pair, for few queries.

Pooled over many pairs of systems a null looks symmetric; the differences of one pair are not. Each
pair's differences are centred, so that the mean is 0 and nothing else is symmetric.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from rankgate.measurement.stats.paired_tests import student_test
from rankgate.measurement.stats.resampling_tests import randomization
from studies.populations import matrices

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from numpy.typing import NDArray

    Floats = NDArray[np.float64]

ALPHA, SIZES, REPLICATIONS, RESAMPLES = 0.05, (15, 25, 50, 100), 1000, 500
RARE = (0.05, 0.7)  # how many queries lose how much; the others gain as much together


@dataclass(frozen=True)
class Cell:
    """Rejections at a nominal 5 %, over the pairs of systems of one collection.

    Attributes:
        population, n: of what.
        pairs: of systems.
        t, randomization: the share of rejections for the pair in the middle.
        t_most, randomization_most: for the pair of ten with the most (90 % quantile).
        t_worst: for the worst pair.
    """

    population: str
    n: int
    pairs: int
    t: float
    randomization: float
    t_most: float
    randomization_most: float
    t_worst: float


def run(seed: int = 0) -> list[Cell]:
    """Every collection and size."""
    cells = []
    for name, pairs in _populations():
        for n in SIZES:
            rng = np.random.default_rng([seed, n])
            t, resampled = np.array([_rejected(pair, n, rng) for pair in pairs]).T
            cells.append(
                Cell(
                    name,
                    n,
                    len(pairs),
                    float(np.median(t)),
                    float(np.median(resampled)),
                    float(np.quantile(t, 0.9)),
                    float(np.quantile(resampled, 0.9)),
                    float(t.max()),
                )
            )
    return cells


def section(cells: Sequence[Cell]) -> str:
    """The section of the page."""
    tiny = [cell for cell in cells if cell.n == SIZES[0]]
    rows = [
        f"| {c.population} | {c.n} | {c.pairs} | {c.t:.1%} | {c.randomization:.1%} | {c.t_most:.1%} | "
        f"{c.randomization_most:.1%} | {c.t_worst:.1%} |"
        for c in cells
    ]
    text = (
        "The t-test and the randomization test keep their level where signs are exchangeable: where a "
        "difference is as likely as its opposite. They do not keep it for every pair of systems whose mean "
        "difference is 0: many small gains against few large losses have a mean of 0 too, and "
        f"{SIZES[0]} queries often miss the losses. Below, the differences of each pair of neighbouring "
        "systems are centred and resampled; false alarms for the pair in the middle, for the one of ten with "
        "the most, and for the worst. In the rare losses "
        f"{RARE[0]:.0%} of queries lose {RARE[1]:g} each. With {SIZES[0]} queries the worst pair has from "
        f"{min(c.t_worst for c in tiny):.0%} to {max(c.t_worst for c in tiny):.0%} where 5 % are meant."
    )
    header = (
        "| differences | n | pairs | t, middle | randomization, middle | t, 90 % | randomization, 90 % | t, "
        "worst |"
    )
    rule = "|:--|:--|:--|:--|:--|:--|:--|:--|"
    return "\n".join(["### Where only the mean is 0", "", text, "", header, rule, *rows, ""])


def _populations() -> Iterator[tuple[str, list[Floats]]]:
    for name, table in matrices().items():
        order = np.argsort(-table.mean(axis=0), kind="stable")
        delta = np.diff(table[:, order[: len(order) * 3 // 4]], axis=1)
        delta = delta[:, delta.std(axis=0) > 1e-6]
        yield name, list((delta - delta.mean(axis=0)).T)
    rng = np.random.default_rng(1)
    yield "skewed (exponential)", [rng.exponential(0.1, 20_000) - 0.1]
    share, loss = RARE
    gain = rng.normal(loss * share / (1 - share), 0.02, 20_000)
    rare = np.where(rng.random(20_000) < share, -loss, gain)
    yield "rare losses", [rare - rare.mean()]


def _rejected(pair: Floats, n: int, rng: np.random.Generator) -> tuple[float, float]:
    values = rng.choice(pair, (n, REPLICATIONS))
    p_values = randomization(values, samples=RESAMPLES).p_value
    return float((student_test(values).p_value <= ALPHA).mean()), float((p_values <= ALPHA).mean())

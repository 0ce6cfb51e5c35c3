"""Do differences depend on the slice? The test of labels, on sizes, spreads, ties and heavy tails."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np
from scipy.stats import f_oneway

from rankgate.measurement.stats.multiple_comparisons import MIN_GROUP, groups_differ
from tables import marked, table

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from numpy.typing import NDArray

    Floats = NDArray[np.float64]

REPLICATIONS, LEVEL, SAMPLES = 2_000, 0.05, 999
SHIFT = 1.0  # standard deviations, of the first slice

SIZES = (
    *((2,) * 30, (3,) * 10, (5,) * 6),
    *((10,) * 3, (10,) * 8, (20, 20), (10, 40), (12, 15, 200)),
    (2,) * 20 + (15, 25),
)
DRAWS: dict[str, Callable[[np.random.Generator, int], Floats]] = {
    "normal": lambda rng, n: rng.normal(size=n),
    "four of five tied": lambda rng, n: rng.normal(size=n) * (rng.random(n) < 0.2),
    "lognormal": lambda rng, n: rng.lognormal(0, 1.5, n) - np.exp(1.5**2 / 2),
}


@dataclass(frozen=True)
class Cell:
    """Sizes of slices and a distribution.

    Attributes:
        sizes: of the slices.
        distribution: of the differences.
        spread: the standard deviation in the smallest slice, as a multiple of that of the others.
        welch: share of sets without a true difference that Welch's analysis of variance rejects.
        rejected: share that the test of labels rejects.
        power: share that it rejects where the first slice that takes part is one standard deviation higher.
        answered: share of sets for which it gives an answer.
    """

    sizes: tuple[int, ...]
    distribution: str
    spread: float
    welch: float
    rejected: float
    power: float
    answered: float


def run(seed: int = 67) -> list[Cell]:
    """Every size with every distribution, and unequal spreads of normal differences."""
    cells = [(sizes, name, 1.0) for sizes in SIZES for name in DRAWS]
    cells += [(sizes, "normal", 3.0) for sizes in SIZES if len(set(sizes)) > 1 or len(sizes) == 2]
    return [_cell(*cell, np.random.default_rng([seed, number])) for number, cell in enumerate(cells)]


def _cell(sizes: tuple[int, ...], name: str, spread: float, rng: np.random.Generator) -> Cell:
    group = np.repeat(np.arange(len(sizes)), sizes)
    shifted = int(np.argmax(np.array(sizes) >= MIN_GROUP))
    scale = np.where(group == shifted, spread, 1.0)
    sd = float(DRAWS[name](np.random.default_rng(1), 10**6).std())
    shares = []
    for _ in range(REPLICATIONS):
        values = DRAWS[name](rng, len(group)) * scale
        p = groups_differ(values, group, samples=SAMPLES)
        higher = groups_differ(values + SHIFT * sd * (group == shifted), group, samples=SAMPLES)
        welch = _welch([values[group == number] for number in range(len(sizes))])
        shares.append((welch <= LEVEL, p <= LEVEL, higher <= LEVEL, not np.isnan(p)))
    return Cell(sizes, name, spread, *np.mean(shares, axis=0).tolist())


def _welch(groups: list[Floats]) -> float:
    """What `compare` printed before: slices without spread were left out in silence."""
    usable = [values for values in groups if np.ptp(values) > 0]
    return float(f_oneway(*usable, equal_var=False).pvalue) if len(usable) > 1 else float("nan")


def section(cells: Sequence[Cell]) -> str:
    """The section of the page."""
    header = (
        "slices",
        "differences",
        "Welch's analysis of variance",
        "test of labels",
        f"power at {SHIFT:g} sd",
        "answered",
    )
    limit = LEVEL + 3 * np.sqrt(LEVEL * (1 - LEVEL) / REPLICATIONS)
    rows = [
        (
            _sizes(cell.sizes),
            cell.distribution
            + (f", {cell.spread:g} times the spread in the smallest" if cell.spread > 1 else ""),
            marked(cell.welch, cell.welch <= limit),
            marked(cell.rejected, cell.rejected <= limit) if cell.answered else "–",
            f"{cell.power:.0%}" if cell.answered else "–",
            f"{cell.answered:.0%}",
        )
        for cell in cells
    ]
    return (
        "## Slices\n\nThe row (differ?) of `compare --slice` tests whether differences depend on the slice. "
        f"Shares of {REPLICATIONS:,} sets without a true difference that are rejected at {LEVEL:.0%}, for "
        "Welch's analysis of variance, which it was, and for the permutation of labels, which it is. "
        f"Slices of fewer than {MIN_GROUP} queries do not take part. The test is exact where all slices have "
        "one distribution; where means are equal and a small slice has a wider spread, it rejects more often "
        f"than stated (marked).\n\n{table(header, rows)}"
    )


def _sizes(sizes: tuple[int, ...]) -> str:
    """As in 30 of 2, 15 and 25."""
    parts = [
        f"{sizes.count(size)} of {size}" if sizes.count(size) > 1 else str(size)
        for size in dict.fromkeys(sizes)
    ]
    return " and ".join(filter(None, (", ".join(parts[:-1]), parts[-1])))

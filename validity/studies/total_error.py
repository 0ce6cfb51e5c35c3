"""Intervals of a difference for other queries, raters, judges and snapshots: do they cover?

Values are a mean, random effects of each facet and of their interactions, and noise. Queries
vary as they do between systems; raters, judges and snapshots add nothing, little, or more than
queries.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np

from rankgate.measurement.stats.mean_intervals import t_interval
from rankgate.measurement.stats.variance_components import facets

if TYPE_CHECKING:
    from collections.abc import Sequence

REPLICATIONS, LEVEL, LEAST, MOST = 4_000, 0.95, 0.93, 0.98
SIZES = {
    "50 queries, 3 raters, 2 snapshots": (50, 3, 2),
    "50 queries, 3 raters, 3 judges": (50, 3, 3),
    "200 queries, 5 raters, 3 judges": (200, 5, 3),
    "50 queries, 3 raters, 3 judges, 2 snapshots": (50, 3, 3, 2),
}
WORLDS: dict[str, dict[tuple[int, ...], float]] = {
    "queries alone": {(0,): 0.2},
    "raters a little": {(0,): 0.2, (1,): 0.01, (0, 1): 0.1, (2,): 0.005, (0, 2): 0.05},
    "raters": {(0,): 0.2, (1,): 0.03, (0, 1): 0.1, (2,): 0.01, (0, 2): 0.05},
    "raters more than queries": {(0,): 0.1, (1,): 0.1, (0, 1): 0.1, (2,): 0.02, (0, 2): 0.05},
}
"""Standard deviations of the effects of facets, by number, and of their interactions."""
NOISE = 0.1


@dataclass(frozen=True)
class Cell:
    """How often intervals hold the true mean.

    Attributes:
        design: how many levels of each facet.
        world: what varies.
        replications: samples.
        covered: share of total intervals that hold it.
        naive: the same of intervals over queries alone.
    """

    design: str
    world: str
    replications: int
    covered: float
    naive: float

    @property
    def holds(self) -> bool:
        """Whether 95 % means 93 to 98 %."""
        return LEAST <= self.covered <= MOST


def run(replications: int = REPLICATIONS, seed: int = 0) -> list[Cell]:
    """Every design in every world."""
    cells = []
    for design, sizes in SIZES.items():
        for world, effects in WORLDS.items():
            rng = np.random.default_rng(seed)
            covered = naive = 0
            for _ in range(replications):
                values = rng.normal(0, NOISE, sizes)
                for effect, sd in effects.items():
                    shape = [n if i in effect else 1 for i, n in enumerate(sizes)]
                    values = values + rng.normal(0, sd, shape)
                low, high = facets(values).ends(LEVEL)
                covered += int(low <= 0 <= high)
                naive_interval = t_interval(values.reshape(sizes[0], -1).mean(axis=1), LEVEL)
                naive += bool(naive_interval.low[0] <= 0 <= naive_interval.high[0])
            cells.append(Cell(design, world, replications, covered / replications, naive / replications))
    return cells


def section(cells: Sequence[Any]) -> str:
    """Give the part of the page."""
    from tables import marked, percent, table

    rows = [(c.design, c.world, marked(c.covered, c.holds), percent(c.naive)) for c in cells]
    missed = sum(not c.holds for c in cells)
    return (
        "## Total error\n\nShare of 95 % intervals that hold the true mean for other levels of all facets, "
        f"{cells[0].replications:,} replications a cell. {len(cells) - missed} of {len(cells)} cells lie "
        f"within 93 and 98 %; where a facet has two or three levels the interval is rather too wide than too "
        "short. An interval over queries alone takes raters, judges and snapshots for the only ones there "
        "are.\n\n" + table(("design", "what varies", "covered", "queries alone"), rows)
    )

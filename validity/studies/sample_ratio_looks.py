"""Daily looks at the sample ratio of an experiment: false alarms, and mismatches that are seen.

Units come every day for four weeks, and each look is at all units so far, as `rankgate online ab`
and `watch` look. The test of one look is chi-squared, with the levels of Fabijan and others (KDD
2019); the test of any look is an e-value.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from scipy.special import chdtrc

from rankgate.measurement.stats.sequential_experiments import ANY_LOOK, SampleRatio, log_e_value

RUNS = 10_000
LOOKS = 28
PLANS = (  # planned and true share of the control, units a day
    (0.5, 0.5, 200),
    (0.5, 0.5, 2000),
    (0.9, 0.9, 300),
    (0.5, 0.52, 100),
    (0.5, 0.52, 300),
    (0.5, 0.52, 1000),
    (0.5, 0.55, 50),
    (0.9, 0.89, 300),
)


@dataclass(frozen=True)
class Cell:
    """How often a test of the sample ratio has an alarm at some look.

    Attributes:
        planned: the share of the control.
        true: its share among units.
        units: that come on a day.
        test: chi2 or any look.
        runs: experiments.
        warned: share of the experiments with a warning at some look.
        blocked: share of those that are blocked at some look.
        levels: below which p blocks, and warns.
    """

    planned: float
    true: float
    units: int
    test: str
    runs: int
    warned: float
    blocked: float
    levels: tuple[float, float]

    @property
    def holds(self) -> bool | None:
        """True if false alarms are no more than the levels say; None where there is a mismatch."""
        if self.planned != self.true:
            return None
        shares, levels = np.array([self.blocked, self.warned]), np.array(self.levels)
        return bool((shares <= levels + 2 * np.sqrt(levels * (1 - levels) / self.runs)).all())


def run(runs: int = RUNS, seed: int = 0) -> list[Cell]:
    """Both tests on the same experiments."""
    random = np.random.default_rng(seed)
    cells = []
    for planned, true, units in PLANS:
        control = random.binomial(units, true, (runs, LOOKS)).cumsum(axis=1)
        total = units * np.arange(1, LOOKS + 1)
        chi2 = (control - total * planned) ** 2 / (total * planned * (1 - planned))
        counts = np.stack([control, total - control], axis=-1)
        evidence = log_e_value(counts, [planned, 1 - planned])
        for test, p in (("chi2", chdtrc(1, chi2)), (ANY_LOOK, np.exp(-evidence))):
            levels = SampleRatio(0.0, 1.0, test).levels
            blocked, warned = (float((p < level).any(axis=1).mean()) for level in levels)
            cells.append(Cell(planned, true, units, test, runs, warned, blocked, levels))
    return cells


def section(cells: Sequence[Any]) -> str:
    """Give the part of the page: false alarms first, then mismatches."""
    from tables import marked, percent, table

    rows = [
        (
            percent(c.planned),
            percent(c.true),
            f"{c.units:,}",
            c.test,
            marked(c.warned, c.holds),
            marked(c.blocked, c.holds),
        )
        for c in sorted(cells, key=lambda cell: cell.planned != cell.true)
    ]
    text = (
        f"{cells[0].runs:,} experiments of each kind with a look at the sample ratio on each of {LOOKS} "
        f"days. The test of one look warns below .01 and blocks below .001; the test of any look, which "
        "`rankgate online ab` and `watch` use where units have days, warns below .05 and blocks below .01, "
        "each at all looks together. A small mismatch with few units is seen later than by the test of one "
        "look, or not in these four weeks."
    )
    heads = ("planned", "true", "units a day", "test", "warned at some look", "blocked")
    return f"## Daily looks at the sample ratio\n\n{text}\n\n{table(heads, rows)}"

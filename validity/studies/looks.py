"""False passes where queries are added and looked at again."""

from __future__ import annotations

from dataclasses import dataclass
from math import pi, sqrt
from typing import TYPE_CHECKING, Any

import numpy as np

from rankgate.decisions.gating.bounds import check_bound, decide_statuses
from rankgate.decisions.gating.rule import Terms
from studies.gate import FOLDER, populations
from tables import marked, percent, table

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Sequence

    from numpy.typing import NDArray

    Floats = NDArray[np.float64]
    Bools = NDArray[np.bool_]

MARGIN, ALPHA, GAINS = 0.02, 0.05, (-1.0, 1.0)
BATCH, LOOKS, REPLICATIONS = 25, 8, 1000
START, ADDITIONS, MOST, FOLLOWED = 50, 3, 1600, 200
ADVISED = ("normal", "skewed", "adhoc6_ap")  # every sample is put through the gate one by one
BETTER = 0.02  # how much above the bound a good candidate lies: as good as the baseline
_FEW = ("t", "anytime")


@dataclass(frozen=True)
class Cell:
    """False passes at any of several looks.

    Attributes:
        use: how queries are added.
        population, method: of the differences, and how looks are accounted for.
        false_pass: samples that pass at some look though the candidate is worse by the margin.
        power: samples that pass at some look of a candidate that is as good as the baseline.
        queries: their mean number at the end, of the good candidate.
        error: the standard error of a share of alpha.
    """

    use: str
    population: str
    method: str
    false_pass: float
    power: float
    queries: float
    error: float

    @property
    def holds(self) -> bool:
        """Whether false passes are at most alpha, within three standard errors."""
        return self.false_pass <= ALPHA + 3 * self.error


METHODS: dict[str, Callable[[int], Terms]] = {
    "t": lambda _: Terms(ALPHA),
    "correct": lambda look: Terms(ALPHA * 6 / (pi * look) ** 2),
    "anytime": lambda _: Terms(ALPHA, anytime=True),
    "guaranteed": lambda _: Terms(ALPHA, interval="guaranteed", anytime=True),
}
"""The terms of a look; of one candidate only, so that alpha is shared with no other."""


def run(replications: int = REPLICATIONS, followed: int = FOLLOWED, seed: int = 0) -> list[Cell]:
    """Both uses, every population, every method."""
    return [*_batches(replications, seed), *_advised(followed, seed)]


def _batches(replications: int, seed: int) -> Iterator[Cell]:
    use = f"batches of {BATCH}, {LOOKS} looks"
    for name, population in populations(FOLDER).items():
        rng = np.random.default_rng([seed, *name.encode()])
        even = rng.choice(population - population.mean(), (BATCH * LOOKS, replications))
        for method, terms in METHODS.items():
            false_pass, _ = _looked(np.clip(even - MARGIN, *GAINS), terms)
            true_pass, size = _looked(np.clip(even - MARGIN + BETTER, *GAINS), terms)
            yield Cell(
                use,
                name,
                method,
                float(false_pass.mean()),
                float(true_pass.mean()),
                float(size.mean()),
                _error(replications),
            )


def _looked(values: Floats, terms: Callable[[int], Terms]) -> tuple[Bools, Floats]:
    """Which samples pass at some look, and with how many queries looks end."""
    passed = np.zeros(values.shape[1], np.bool_)
    size = np.full(values.shape[1], float(len(values)))
    for look in range(1, LOOKS + 1):
        n = BATCH * look
        bound = np.full(values.shape[1], -MARGIN)
        now = decide_statuses(values[:n], bound, terms(look), GAINS) == "pass"
        size[now & ~passed] = n
        passed |= now
    return passed, size


def _advised(replications: int, seed: int) -> Iterator[Cell]:
    """As a reader follows the advice: add as many as the rule says, up to three times."""
    use = f'"add about N queries", up to {ADDITIONS} times'
    all_populations = populations(FOLDER)
    for name, population in ((name, all_populations[name]) for name in ADVISED if name in all_populations):
        rng = np.random.default_rng([seed, 1, *name.encode()])
        even = rng.choice(population - population.mean(), (MOST, replications))
        for method in _FEW:
            false_pass, _ = _followed(np.clip(even - MARGIN, *GAINS), METHODS[method])
            true_pass, size = _followed(
                np.clip(even - MARGIN + BETTER, *GAINS)[:, : replications // 3], METHODS[method]
            )
            yield Cell(use, name, method, false_pass, true_pass, size, _error(replications))


def _followed(values: Floats, terms: Callable[[int], Terms]) -> tuple[float, float]:
    """The share of samples that pass in the end, and their mean number of queries."""
    passed, sizes = 0, []
    for sample in values.T:
        n = START
        for look in range(1, ADDITIONS + 2):
            result = check_bound(sample[:n], -MARGIN, terms(look), GAINS)
            if result.status != "inconclusive" or look > ADDITIONS or not result.more:
                break
            n = min(MOST, n + result.more)
        passed += result.status == "pass"
        sizes.append(n)
    return passed / values.shape[1], float(np.mean(sizes))


def _error(replications: int) -> float:
    return sqrt(ALPHA * (1 - ALPHA) / replications)


def section(cells: Sequence[Any]) -> str:
    """Give the part of the page."""
    parts = []
    for use in dict.fromkeys(cell.use for cell in cells):
        use_cells = [cell for cell in cells if cell.use == use]
        rows = [
            (c.population, c.method, marked(c.false_pass, c.holds), percent(c.power), f"{c.queries:.0f}")
            for c in use_cells
        ]
        heads = ("differences", "method", "false pass", "power", "queries")
        parts.append(f"### {use[0].upper()}{use[1:]}\n\n{table(heads, rows)}")
    worst = {
        method: max(c.false_pass for c in cells if c.method == method)
        for method in dict.fromkeys(c.method for c in cells)
    }
    rates = ", ".join(f"{method} {percent(rate)}" for method, rate in worst.items())
    return (
        "## Repeated looks\n\nQueries are added until the gate passes, and every look is one of the gate's "
        "own. The candidate is worse by just the margin (0.02), so every pass is false; then it is as good "
        "as the baseline (power, and the mean number of queries at the end). *t*: looks are not accounted "
        "for, which is the default. *correct*: the k-th look spends 6/(πk)² of alpha. *anytime*: t with the "
        "critical values of a half-normal mixture of effects, a test martingale for normal values "
        "(Hendriksen, de Heide and Grünwald 2021; Wang and Ramdas 2025), each end moved outwards for skew as "
        "in a single look. *guaranteed*: bounds by betting, for every distribution in the range "
        "(Waudby-Smith and Ramdas 2024). The highest share of false passes: "
        f"{rates}.\n\n" + "\n".join(parts)
    )

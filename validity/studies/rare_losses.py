"""False passes where a few queries lose much, or real topics differ much, and samples are small."""

from __future__ import annotations

from dataclasses import dataclass
from math import sqrt
from typing import TYPE_CHECKING, Any, cast

import numpy as np

from rankgate.decisions.gating.bounds import decide_statuses
from rankgate.decisions.gating.rule import Terms
from rankgate.measurement.stats.mean_intervals import SKEWED, skewness, unseen_share
from studies.populations import matrices
from tables import marked, percent, table

if TYPE_CHECKING:
    from collections.abc import Sequence

    from numpy.typing import NDArray

    Floats = NDArray[np.float64]

MARGIN, ALPHA = 0.02, 0.05
SIZES, REPLICATIONS = (15, 30, 50, 100, 200), 2000
GAINS = (-1.0, 1.0)
RARE = ((0.03, 0.7), (0.05, 0.8))  # the share of queries that lose, and how much
SYSTEMS = 8  # real systems next to each other whose differences are pooled


@dataclass(frozen=True)
class Cell:
    """False passes in one cell.

    Attributes:
        population, n: what was drawn.
        t, anytime, guaranteed: false passes of `interval = "t"`, of the same with
            `looks = "anytime"`, and of `interval = "guaranteed"`.
        warned: share of the false passes of t that come with the warning of skew.
        cautioned: share of them that say which unseen losses would turn them.
        true_pass, true_guaranteed: passes where nothing differs on average.
        bernstein: the same by empirical Bernstein bounds.
        error: the standard error of a share of alpha.
    """

    population: str
    n: int
    t: float
    anytime: float
    guaranteed: float
    warned: float
    cautioned: float
    true_pass: float
    true_guaranteed: float
    bernstein: float
    error: float

    @property
    def holds(self) -> bool:
        """Whether the guaranteed bound keeps alpha, within three standard errors."""
        return self.guaranteed <= ALPHA + 3 * self.error


def run(replications: int = REPLICATIONS, seed: int = 0) -> list[Cell]:
    """Every population at every size."""
    return [
        _cell(name, population, n, replications, seed)
        for name, population in populations().items()
        for n in SIZES
    ]


def populations() -> dict[str, Floats]:
    """Gains whose mean is exactly −margin."""
    rng = np.random.default_rng(3)
    result = {}
    for share, loss in RARE:
        lost = rng.permutation(np.arange(20_000) < share * 20_000)
        result[f"{share:.0%} lose {loss:g}"] = np.where(lost, -loss, rng.normal(0, 0.02, 20_000))
    for name, matrix in matrices().items():
        order = np.argsort(-matrix.mean(axis=0), kind="stable")[:SYSTEMS]
        result[name] = np.diff(matrix[:, order], axis=1).ravel()
    return {name: gains - gains.mean() - MARGIN for name, gains in result.items()}


def _cell(name: str, population: Floats, n: int, replications: int, seed: int) -> Cell:
    rng = np.random.default_rng([seed, n, *name.encode()])
    values = np.clip(rng.choice(population, (n, replications)), *GAINS)
    bound = np.full(replications, -MARGIN)
    passed = {
        key: decide_statuses(values, bound, terms, GAINS) == "pass"
        for key, terms in {
            "t": Terms(),
            "anytime": Terms(anytime=True),
            "guaranteed": Terms(interval="guaranteed"),
        }.items()
    }
    even = np.clip(values + MARGIN, *GAINS)
    share = unseen_share(n, ALPHA)
    turning = (-MARGIN - (1 - share) * values.mean(axis=0)) / share
    false = passed["t"]
    count = max(int(false.sum()), 1)
    return Cell(
        name,
        n,
        *(float(passed[key].mean()) for key in ("t", "anytime", "guaranteed")),
        float((skewness(values)[false] < -SKEWED).sum() / count),
        float((turning[false] > GAINS[0]).sum() / count),
        float((decide_statuses(even, bound, Terms(), GAINS) == "pass").mean()),
        float((decide_statuses(even, bound, Terms(interval="guaranteed"), GAINS) == "pass").mean()),
        float((_bernstein_low(even, *GAINS, ALPHA) > -MARGIN).mean()),
        sqrt(ALPHA * (1 - ALPHA) / replications),
    )


def _bernstein_low(values: Floats, low: float, high: float, alpha: float) -> Floats:
    """Lower bounds x̄ − √(2V ln(2/α)/n) − 7(high − low) ln(2/α)/(3(n − 1)), V the sample variance.

    Maurer and Pontil, Empirical Bernstein bounds, COLT 2009, theorem 4.
    """
    log, n = np.log(2 / alpha), len(values)
    slack = np.sqrt(2 * values.var(axis=0, ddof=1) * log / n)
    return np.asarray(values.mean(axis=0) - slack - 7 * (high - low) * log / (3 * (n - 1)))


def section(cells: Sequence[Any]) -> str:
    """Give the part of the page."""
    rows = [
        (
            c.population,
            str(c.n),
            marked(c.t, cast("bool", c.t <= ALPHA + 3 * c.error)),
            marked(c.anytime, cast("bool", c.anytime <= ALPHA + 3 * c.error)),
            marked(c.guaranteed, c.holds),
            percent(c.warned),
            percent(c.cautioned),
            percent(c.true_pass),
            percent(c.true_guaranteed),
            percent(c.bernstein),
        )
        for c in cells
    ]
    exceeding = sum(c.t > ALPHA + 3 * c.error for c in cells)
    holding = sum(c.holds for c in cells)
    return (
        "## Rare losses\n\nThe candidate is worse by just the margin (0.02), so every pass is false: because "
        "a few of all queries lose much, and as real systems next to each other in the ranking of TREC "
        "differ. A sample that misses the few who lose shows nothing to be careful about. Normal theory "
        f"exceeds 5 % in {exceeding} of {len(cells)} cells, by up to "
        f'{max(c.t for c in cells):.1%}; `interval = "guaranteed"` keeps it in {holding} of them. *Warned* '
        "and *cautioned*: the share of false passes of t with the warning of skew, and with the sentence on "
        "the share of queries that n queries cannot exclude and the loss in them that would reverse the "
        "pass. The price: the last columns are passes where nothing differs on average, by t, guaranteed, "
        "and by empirical Bernstein bounds (Maurer and Pontil 2009), which are wider than the bounds by "
        "betting that the gate uses (Waudby-Smith and Ramdas 2024).\n\n"
        + table(
            (
                "differences",
                "n",
                "t",
                "t, anytime",
                "guaranteed",
                "warned",
                "cautioned",
                "no loss: t",
                "no loss: guaranteed",
                "no loss: Bernstein",
            ),
            rows,
        )
    )

"""False promotions of an optimiser that proposes 1,000 candidates to the same queries."""

from __future__ import annotations

from dataclasses import dataclass
from math import sqrt
from typing import TYPE_CHECKING, Any

import numpy as np

from rankgate.decisions.gating.bounds import decide_statuses
from rankgate.decisions.gating.rule import Terms
from rankgate.measurement.stats.chosen_candidates import (
    FIRST_SHARE,
    first_exceedance_level,
    share_of_test,
    unit_differences,
)
from rankgate.measurement.stats.special_functions import ndtri
from studies.populations import differences
from tables import marked, percent, table

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from numpy.typing import NDArray

    Floats = NDArray[np.float64]

ALPHA, CANDIDATES, GAIN, DRAWS = 0.05, 1000, 0.05, 200
UNRELATED, CHAINS, CLIMBS = 200, 24, 8
MUTATED = 0.05  # the share of queries on which a candidate of a chain differs from the one before
DIALS = 5  # numbers that a hill-climber turns
SPREADS = (0.15, 0.18, 0.20)


@dataclass(frozen=True)
class Cell:
    """Optimisers whose candidates are all as good as the baseline, or a good one among them.

    Attributes:
        use: how candidates resemble each other.
        population: of the differences.
        n: queries, or clusters of queries.
        optimisers: how many there were.
        account: the share with a promotion, by the account; of a good candidate its power.
        plain: the same by the plain gate, at 5 % each; of a good candidate by Bonferroni.
        is_power: True if the candidate is good.
    """

    use: str
    population: str
    n: int
    optimisers: int
    account: float
    plain: float
    is_power: bool = False

    @property
    def holds(self) -> bool:
        """Whether false promotions are at most alpha, within three standard errors."""
        return self.is_power or self.account <= ALPHA + 3 * sqrt(ALPHA * (1 - ALPHA) / self.optimisers)


def run(unrelated: int = UNRELATED, chains: int = CHAINS, climbs: int = CLIMBS, seed: int = 0) -> list[Cell]:
    """All uses and populations."""
    cells = []
    for name, (population, n) in _populations().items():
        rng = np.random.default_rng([seed, *name.encode()])
        promoted = [
            _promotions(rng.choice(population, (n, CANDIDATES)), population) for _ in range(unrelated)
        ]
        cells.append(Cell("unrelated", name, n, unrelated, *np.mean(promoted, axis=0).tolist()))
    for name in ("normal", "heavy tails (t, 3 df)", "binary"):
        population, n = _populations()[name]
        rng = np.random.default_rng([seed, 1, *name.encode()])
        promoted = [_promotions(_chain(rng, population, n), population, related=True) for _ in range(chains)]
        cells.append(Cell("resembling", name, n, chains, *np.mean(promoted, axis=0).tolist()))
    return [*cells, *_powers(climbs, seed)]


def _populations() -> dict[str, tuple[Floats, int]]:
    """Centred differences, and the number of queries."""
    rng = np.random.default_rng(11)
    simulated = {
        "heavy tails (t, 3 df)": 0.08 * rng.standard_t(3, 20_000),
        "skewed to losses": -rng.exponential(0.1, 20_000),
        "binary": rng.choice([-1.0, 0.0, 1.0], p=[0.1, 0.8, 0.1], size=20_000),
        "rare losses": np.where(rng.random(20_000) < 0.03, -0.7, rng.normal(0.021, 0.05, 20_000)),
    }
    sized = {name: (values, 200) for name, values in {**differences(), **simulated}.items()}
    sized["normal, few queries"] = (sized["normal"][0], 25)
    sized["heavy tails, few queries"] = (simulated["heavy tails (t, 3 df)"], 25)
    clusters = simulated["skewed to losses"].reshape(-1, 5).mean(axis=1)
    sized["clusters of 5 queries"] = (clusters, 40)
    return {name: (values - values.mean(), n) for name, (values, n) in sized.items()}


def _chain(rng: np.random.Generator, population: Floats, n: int) -> Floats:
    """(n, K) differences of candidates that each change a few queries of the one before."""
    chain = np.empty((n, CANDIDATES))
    chain[:, 0] = rng.choice(population, n)
    for k in range(1, CANDIDATES):
        changes = rng.random(n) < MUTATED
        chain[:, k] = np.where(changes, rng.choice(population, n), chain[:, k - 1])
    return chain


def _levels(values: Floats, *, related: bool) -> Floats:
    """(K,) the levels of the account until the first pass; unrelated candidates overlap in nothing."""
    share = share_of_test(ALPHA, values.shape[1], 0)
    levels = np.full(values.shape[1], share)
    units = np.column_stack([unit_differences(column) for column in values.T])
    for k in range(1, values.shape[1] if related else 0):
        levels[k] = first_exceedance_level(
            share, values[:, k], units[:, :k], levels[:k], most=FIRST_SHARE * ALPHA, seed=k, draws=DRAWS
        )
    return levels


def _promotions(values: Floats, population: Floats, *, related: bool = False) -> tuple[bool, bool]:
    """True if any candidate passes: by the account, and by the plain gate."""
    account = _passes(values, _levels(values, related=related), population).any()
    return bool(account), bool(_passes(values, np.full(values.shape[1], ALPHA), population).any())


def _passes(values: Floats, levels: Floats, population: Floats) -> NDArray[np.bool_]:
    """(K,) the gate's decisions that candidates are better, of those that Student's bound may reach."""
    limits = (-1.0, 1.0) if np.abs(population).max() <= 1 else None
    error = values.std(axis=0, ddof=1) / sqrt(len(values))
    passes = np.zeros(values.shape[1], np.bool_)
    for level in np.unique(levels):
        columns = np.flatnonzero((levels == level) & (values.mean(axis=0) > -ndtri(level) * error))
        if len(columns):
            zero = np.zeros(len(columns))
            passes[columns] = decide_statuses(values[:, columns], zero, Terms(float(level)), limits) == "pass"
    return passes


def _powers(climbs: int, seed: int) -> Iterator[Cell]:
    """A candidate that is better by 0.05, the last of 1,000: unrelated, or of a hill-climber with dials."""
    share, bonferroni = share_of_test(ALPHA, CANDIDATES, 0), ALPHA / CANDIDATES
    rng = np.random.default_rng([seed, 2])
    last_levels = {"unrelated": [share], f"hill-climber with {DIALS} dials": []}
    for _ in range(climbs):
        weights = rng.standard_normal((DIALS, CANDIDATES))
        mixed = rng.standard_normal((200, DIALS)) @ (weights / np.linalg.norm(weights, axis=0))
        last_levels[f"hill-climber with {DIALS} dials"].append(float(_levels(mixed, related=True)[-1]))
    for spread in SPREADS:
        good = GAIN + spread * rng.standard_normal((200, 2000))
        for use, levels in last_levels.items():
            account, plain = (
                float(np.mean([_passes(good, np.full(2000, level), good).mean() for level in tried]))
                for tried in (levels, [bonferroni])
            )
            yield Cell(use, f"sd {spread:.2f}", 200, 2000, account, plain, is_power=True)


def section(cells: Sequence[Any]) -> str:
    """Give the part of the page."""
    rates = [
        (c.use, c.population, c.n, c.optimisers, marked(c.account, c.holds), percent(c.plain))
        for c in cells
        if not c.is_power
    ]
    powers = [(c.use, c.population, percent(c.account), percent(c.plain)) for c in cells if c.is_power]
    heads = ("candidates", "differences", "queries", "optimisers", "account", "plain gate")
    return (
        "## Candidates of an optimiser\n\nEach optimiser proposes 1,000 candidates that are exactly as good "
        "as the baseline to the same queries, so that every promotion is false. *Account*: the share of "
        "optimisers that get one with [the account of held-out queries](holdout.md), of alpha 5 % and 1,000 "
        "tests; *plain gate*: without it, each candidate at 5 %. Unrelated candidates have nothing in "
        "common; a resembling one differs from the one before in 5 % of the queries. Of clusters, n is their "
        f"number.\n\n{table(heads, rates)}\n"
        "The last of 1,000 candidates is better by 0.05: how often it passes on 200 queries, and how often "
        "by Bonferroni (0.05/1,000 for each). A hill-climber that turns five numbers proposes candidates "
        "that resemble each other, which the account counts; unrelated ones leave nothing to gain.\n\n"
        f"{table(('candidates', 'differences', 'account', 'Bonferroni'), powers)}"
    )

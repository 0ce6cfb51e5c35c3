"""Launches of engines that should not be launched, stage by stage.

A policy as that of ``examples/engine-migration``: of an error budget of 5 % the gate has a fifth
and each of four steps of the ramp 3/20. The new engine loses exactly what a rule accepts in
relevance, in clicks, or in waiting, which is the hardest case, and nothing else; stages that do
not look at it are taken to pass. The last step is looked at on three days, and one pass launches.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import polars as pl

from rankgate.gating.bounds import check_bound
from rankgate.gating.evidence import Terms
from rankgate.gating.kpi_check import check
from rankgate.gating.kpi_evidence import KpiEvidence
from rankgate.online.experiments.measure import of_kpi
from rankgate.online.experiments.units import Units

RUNS = 2000
BUDGET = 0.05
GATE, STEP = BUDGET / 5, BUDGET * 0.6 / 4
QUERIES, NDCG = 150, 0.03
USERS, DAYS, LOOKS = 1000, 6, (2, 4, 6)
CLICKS, WAITING = 0.02, 0.1


@dataclass(frozen=True)
class Cell:
    """How often an engine is launched.

    Attributes:
        loses: what the new engine loses.
        runs: worlds.
        launched: share of them in which every stage passes.
        alpha: what that stage may spend.
    """

    loses: str
    runs: int
    launched: float
    alpha: float

    @property
    def holds(self) -> bool:
        """Whether false launches are no more than the stage may spend, within noise."""
        error = np.sqrt(self.alpha * (1 - self.alpha) / self.runs)
        return bool(self.launched <= self.alpha + 2 * error)


def run(runs: int = RUNS, seed: int = 0) -> list[Cell]:
    """Every kind of loss."""
    random = np.random.default_rng(seed)
    cases: Sequence[tuple[str, Callable[[np.random.Generator], bool], float]] = (
        ("relevance", _gate, GATE),
        ("clicks", _clicks, STEP),
        ("waiting", _waiting, STEP),
    )
    return [
        Cell(name, runs, float(np.mean([passes(random) for _ in range(runs)])), alpha)
        for name, passes, alpha in cases
    ]


def _gate(random: np.random.Generator) -> bool:
    """The gate on queries whose mean loss is the margin; most are ties, some lose or gain much."""
    tied = random.random(QUERIES) < 0.4
    gains = np.where(tied, 0.0, random.normal(-NDCG / 0.6, 0.2, QUERIES))
    return check_bound(gains, -NDCG, Terms(GATE), (-1.0, 1.0)).status == "pass"


def _clicks(random: np.random.Generator) -> bool:
    def rows(count: int, new: np.ndarray[Any, Any]) -> dict[str, Any]:
        searches = random.poisson(0.5, count) + 1
        chance = random.beta(6, 4, count) * np.where(new, 1 - CLICKS, 1.0)
        return {"value": random.binomial(searches, chance).astype(float),
                "per": searches.astype(float)}  # fmt: skip

    return _launched(random, "search_ctr", CLICKS, rows)


def _waiting(random: np.random.Generator) -> bool:
    def rows(count: int, new: np.ndarray[Any, Any]) -> dict[str, Any]:
        return {"value": random.gamma(5, 20, count) * np.where(new, 1 + WAITING, 1.0)}

    return _launched(random, "latency_p50", WAITING, rows)


def _launched(
    random: np.random.Generator,
    kpi: str,
    margin: float,
    rows: Callable[[int, np.ndarray[Any, Any]], dict[str, Any]],
) -> bool:
    """Whether the last step passes on one of the days on which it is looked at."""
    count = USERS * DAYS
    new = random.random(count) < 0.5
    day = np.repeat(np.arange(1, DAYS + 1), USERS)
    unit = np.arange(count)
    arms = pl.DataFrame({"unit": unit, "variant": np.where(new, "new", "old").tolist()})
    values = pl.DataFrame({"unit": unit, **rows(count, new)})
    for last in LOOKS:
        seen = pl.Series(day <= last)
        units = Units(arms.filter(seen), {kpi: values.filter(seen)})
        evidence = KpiEvidence(units, "old", "new", STEP, 1, tuned_to=count)
        if check(evidence, of_kpi(kpi), -margin, relative=True).status == "pass":
            return True
    return False


def section(cells: Sequence[Any]) -> str:
    """Give the part of the page."""
    from tables import table

    rows = [(c.loses, f"{c.alpha:.2%}", f"{c.launched:.2%}") for c in cells]
    words = (
        f"{cells[0].runs:,} worlds each in which a new engine loses exactly what a rule accepts, "
        "in one respect alone; all other stages are taken to pass, and the last step of the ramp "
        "may launch on each of three days. One error budget of 5 % is divided between the stages, "
        "so that a false launch is no more frequent whatever the reason."
    )
    heads = ("loses", "stage may spend", "launched")
    return f"## False launches\n\n{words}\n\n{table(heads, rows)}"

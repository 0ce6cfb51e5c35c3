"""Is a judge found that favours systems of the same model family?

nDCG@10 of the 16 runs of TREC-COVID, round 1, by people's grades and by a judge: a language model
as at TREC RAG 2025 (settling.py). Its family are four of the runs, drawn at random. It raises what
they show first, each document with a chance at which they gain .05 over the others; or none. A
pilot of 30 topics says how many queries find .05; as many are drawn, with other errors of it.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from typing import TYPE_CHECKING, Any

import numpy as np

from rankgate.data import read_qrels
from rankgate.judging.admission.lineage import Lineage, family_bias
from studies.populations import FOLDER
from studies.settling import _firsts, _seen

if TYPE_CHECKING:
    from collections.abc import Sequence

    from numpy.typing import NDArray

    Floats = NDArray[np.float64]

REPLICATIONS, COPIES, BIAS, DEPTH, OWN, POWER, ALPHA = 100, 60, 0.05, 10, 4, 0.8, 0.05
FAMILIES, STEPS = 30, 7
LINEAGE = Lineage({"judge": "own"})


@dataclass(frozen=True)
class Cell:
    """How often the judge is found to favour its family.

    Attributes:
        bias: of the judge, in nDCG@10.
        queries: median number that the plan asks for.
        found: share of samples whose interval lies above 0.
        covered: share of intervals that hold the bias.
        unplanned: share of pilots by which no number of queries finds it with so few systems.
    """

    bias: float
    queries: float
    found: float
    covered: float
    unplanned: float

    @property
    def holds(self) -> bool:
        """Whether the bias is found with the power of the plan, and none where there is none."""
        return self.found >= POWER - 0.02 if self.bias else self.found <= ALPHA


def run(replications: int = REPLICATIONS, families: int = FAMILIES, seed: int = 0) -> list[Cell]:
    """With the bias, and without; families are drawn from the runs."""
    folder = FOLDER / "trec-covid-r1"
    if not folder.exists():
        return []
    world, rng = _World.read(folder), np.random.default_rng(seed)
    rows: dict[float, list[tuple[float, float, float] | None]] = {BIAS: [], 0.0: []}
    for _ in range(families):
        family = np.zeros(world.systems, np.bool_)
        family[rng.choice(world.systems, OWN, replace=False)] = True
        chance = _chance(world, family)
        for bias, rate in ((BIAS, chance), (0.0, 0.0)):
            values = world.judged(family, rate, COPIES, rng)
            rows[bias] += [_planned(world, family, values, bias, rng) for _ in range(replications)]
    return [_cell(bias, outcomes) for bias, outcomes in rows.items()]


def _cell(bias: float, rows: Sequence[tuple[float, float, float] | None]) -> Cell:
    planned = np.array([row for row in rows if row is not None])
    _, detected, covered = planned.mean(axis=0)
    queries = float(np.median(planned[:, 0]))
    return Cell(bias, queries, float(detected), float(covered), 1 - len(planned) / len(rows))


def _chance(world: _World, own: NDArray[np.bool_]) -> float:
    """With which the judge raises documents, so that the family gains the bias."""
    low, high = 0.0, 1.0
    fair = world.judged(own, 0.0, STEPS, np.random.default_rng(0)).mean(axis=(0, 1))
    for _ in range(STEPS):
        middle = (low + high) / 2
        gains = world.judged(own, middle, STEPS, np.random.default_rng(0)).mean(axis=(0, 1)) - fair
        low, high = (middle, high) if gains[own].mean() - gains[~own].mean() < BIAS else (low, middle)
    return (low + high) / 2


def _planned(
    world: _World, own: NDArray[np.bool_], values: Floats, bias: float, rng: np.random.Generator
) -> tuple[float, float, float] | None:
    """The number of queries that a pilot plans, whether they find the bias, and cover it."""
    copies, topics, _ = values.shape
    n = _row(world.people, values[rng.integers(copies)], own)["needed"]
    if n is None or n > _MOST:
        return None
    sampled_topics = rng.integers(topics, size=n)
    row = _row(world.people[sampled_topics], values[rng.integers(copies, size=n), sampled_topics], own)
    return float(n), float(row["low"] > 0), float(row["low"] <= bias <= row["high"])


_MOST = 2_000  # queries; more are no plan


def _row(people: Floats, judge: Floats, own: NDArray[np.bool_]) -> dict[str, Any]:
    return family_bias({"nDCG@10": (people, judge)}, LINEAGE, own, BIAS).row(0, named=True)


@dataclass(frozen=True)
class _World:
    """Topics with grades by people and the ranks that each run gives.

    Attributes:
        grades: by topic (D,) people's.
        ranks: by topic (S, D), `DEPTH` and more for what is not among the first.
        seen: how often a judge gives each grade to documents of each grade.
    """

    grades: list[NDArray[np.int64]]
    ranks: list[NDArray[np.int64]]
    seen: Floats

    @classmethod
    def read(cls, place: Any) -> _World:  # noqa: ANN401 - a path
        table = read_qrels(place / "qrels.covid-round1.txt").table
        runs = [_firsts(path) for path in sorted((place / "runs").glob("*.gz"))]
        grades, ranks = [], []
        for (query,), query_rows in table.group_by("query_id", maintain_order=True):
            doc_index = {doc: i for i, doc in enumerate(query_rows["doc_id"].to_list())}
            rank = np.full((len(runs), len(doc_index)), DEPTH)
            for s, lists in enumerate(runs):
                for position, doc in enumerate(lists.get(str(query), [])):
                    if doc in doc_index:
                        rank[s, doc_index[doc]] = position
            grades.append(np.maximum(query_rows["grade"].to_numpy(), 0).astype(np.int64))
            ranks.append(rank)
        return cls(grades, ranks, _seen())

    @property
    def systems(self) -> int:
        """How many runs there are."""
        return len(self.ranks[0])

    @cached_property
    def people(self) -> Floats:
        """(T, S) nDCG@10 by people."""
        return np.stack(
            [
                _DISCOUNT[ranks] @ grades / _ideal(grades[None])[0]
                for grades, ranks in zip(self.grades, self.ranks, strict=True)
            ]
        )

    def judged(self, own: NDArray[np.bool_], chance: float, copies: int, rng: np.random.Generator) -> Floats:
        """(copies, T, S) nDCG@10 by a judge that raises what its family shows."""
        bounds = self.seen.cumsum(axis=1)
        result = np.zeros((copies, len(self.grades), self.systems))
        for t, (grades, ranks) in enumerate(zip(self.grades, self.ranks, strict=True)):
            family_docs = (ranks[own] < DEPTH).any(axis=0)
            draws = rng.random((copies, len(grades)))
            judged = (draws[:, :, None] > bounds[grades][None, :, :-1]).sum(axis=2)
            raised = family_docs & (rng.random(judged.shape) < chance)
            judged = np.minimum(judged + raised, 2)
            result[:, t] = judged @ _DISCOUNT[ranks].T / _ideal(judged)[:, None]
        return result


_DISCOUNT = np.append(1 / np.log2(np.arange(2, DEPTH + 2)), 0.0)


def _ideal(grades: NDArray[np.int64]) -> Floats:
    ideal = -np.sort(-grades, axis=1)[:, :DEPTH]
    return np.asarray(np.maximum(ideal @ _DISCOUNT[: ideal.shape[1]], 1e-9), np.float64)


def section(cells: Sequence[Any]) -> str:
    """Give the part of the page."""
    from tables import marked, percent, table

    rows = [
        (
            f"{c.bias:.3f}",
            f"{c.queries:.0f}",
            marked(c.found, c.holds),
            percent(c.covered),
            percent(c.unplanned),
        )
        for c in cells
    ]
    return (
        "## Judges that favour systems of the same family\n\n`rankgate admit --lineage` tests whether a "
        "judge puts systems of the same model family further above the others than people do, and gives the "
        "number of queries that find an advantage of .05 nDCG@10 with a power of 80 %. Real judgments and "
        "runs of TREC-COVID, a judge that errs as a language model did at TREC RAG 2025; its family are 4 of "
        f"16 runs, drawn {FAMILIES} times; the number of queries is planned from a pilot of 30, "
        f"{FAMILIES * REPLICATIONS:,} times. Target: found at least 80 % of the time with the bias, at most "
        "5 % without. Covered: intervals with the true bias. Without a plan: pilots for which no number of "
        "queries finds it with 16 runs, which `admit` reports; this is rarer with more runs. The other "
        "columns are of the other pilots."
        "\n\n" + table(("bias", "queries planned", "found", "covered", "without a plan"), rows)
    )

"""Judgments of a model, corrected by people's of a random part of the documents: do they cover?

A query has 30 documents with grades; both systems order them by people's grade and noise, and the
value is DCG@10. A model grades all documents well, with a bias, at random, or the other way round.
People grade each with a probability: the same for all, or larger for the first ranks. All queries
are in people's sample, or one in ten.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np

from rankgate.measurement.stats.mean_intervals import guarded_interval
from rankgate.measurement.stats.weighted_means import Population, estimate_population

if TYPE_CHECKING:
    from collections.abc import Sequence

    from numpy.typing import NDArray

    Floats = NDArray[np.float64]

REPLICATIONS, LEVEL, ALPHA, LEAST, MOST = 10_000, 0.95, 0.05, 0.93, 0.97
DOCUMENTS, DEPTH, TIMES, PLAN = 30, 10, 10, 40_000
GRADES = {"half relevant": (0.5, 0.25, 0.15, 0.1), "few relevant": (0.9, 0.06, 0.03, 0.01)}
JUDGES = ("good", "biased", "useless", "reversed")
SAMPLES = {"3 of 10": (0.3, 0.3), "1 of 10": (0.1, 0.1), "first ranks 1 of 2, others 1 of 10": (0.5, 0.1)}
DESIGNS = {"50 queries": (50, 1), "200 queries": (200, 1), "50 of 500 queries": (50, TIMES)}


@dataclass(frozen=True)
class Cell:
    """Intervals of one model, sample and number of queries.

    Attributes:
        grades, judge, sample, design: of the cell.
        covered: share of intervals that hold the true mean difference.
        false_pass: share of one-sided bounds at 5 % above the truth.
        bias: mean error of the estimate in its standard deviations.
        model: error of the model's mean alone, in the same.
    """

    grades: str
    judge: str
    sample: str
    design: str
    replications: int
    covered: float
    false_pass: float
    bias: float
    model: float

    @property
    def holds(self) -> bool:
        """Whether 95 % means 93 to 97 %."""
        return LEAST <= self.covered <= MOST


def run(replications: int = REPLICATIONS, seed: int = 0) -> list[Cell]:
    """Every kind of grades, model, sample and number of queries."""
    return [
        _cell((grades, judge, sample, design), replications, seed)
        for grades in GRADES
        for judge in JUDGES
        for sample in SAMPLES
        for design in DESIGNS
    ]


def _cell(names: tuple[str, str, str, str], replications: int, seed: int) -> Cell:
    grades, judge, sample, design = names
    rng = np.random.default_rng([seed, *map(len, names)])
    truth, model, people = _queries(grades, judge, SAMPLES[sample], rng)
    n, times = DESIGNS[design]
    estimates = np.zeros((n, replications))
    for i in range(replications):
        sampled = rng.integers(0, PLAN, n * times)
        human_deltas = people[sampled[:n], rng.integers(0, people.shape[1], n)]
        if times == 1:
            estimates[:, i] = human_deltas
        else:
            model_deltas = model[sampled]
            population = Population(model_deltas, np.ones(n * times))
            estimates[:, i] = estimate_population(
                human_deltas, predicted=model_deltas[:n], population=population
            ).values
    mean = float(truth.mean())
    ends, bound = guarded_interval(estimates, LEVEL), guarded_interval(estimates, 1 - 2 * ALPHA)
    means = estimates.mean(axis=0)
    return Cell(
        *names,
        replications,
        float(((ends.low <= mean) & (mean <= ends.high)).mean()),
        float((bound.low > mean).mean()),
        float((means.mean() - mean) / means.std()),
        float((model.mean() - mean) / means.std()),
    )


def _queries(
    grades: str, judge: str, chances: tuple[float, float], rng: np.random.Generator
) -> tuple[Floats, Floats, Floats]:
    """(Q,) differences by all of people's grades and by the model's, and (Q, 8) estimates."""
    shape = (PLAN, DOCUMENTS)
    people = rng.choice(4, shape, p=GRADES[grades]).astype(np.float64)
    model = {
        "good": lambda: people + rng.normal(0, 0.5, shape),
        "biased": lambda: people + rng.normal(0.7, 0.5, shape),
        "useless": lambda: rng.choice(4, shape, p=GRADES[grades]).astype(np.float64),
        "reversed": lambda: 3 - people,
    }[judge]()
    model = np.clip(np.rint(model), 0, 3)
    weight, best_rank = np.zeros(shape), np.full(shape, DOCUMENTS)
    discount = np.zeros(DOCUMENTS)
    discount[:DEPTH] = 1 / np.log2(np.arange(2, DEPTH + 2))
    for sign, noise in ((-1, 2.0), (1, 1.6)):
        rank = np.argsort(np.argsort(-(people + rng.normal(0, noise, shape)), axis=1), axis=1)
        weight += sign * discount[rank]
        best_rank = np.minimum(best_rank, rank)
    chance = np.where(best_rank < DEPTH // 2, *chances)
    change = weight * (people - model) / chance
    by_model = (weight * model).sum(axis=1)
    estimates = [by_model + (change * (rng.random(shape) < chance)).sum(axis=1) for _ in range(8)]
    return (weight * people).sum(axis=1), by_model, np.stack(estimates, axis=1)


def section(cells: Sequence[Any]) -> str:
    """Give the part of the page."""
    from tables import marked, table

    rows = [
        (
            c.grades,
            c.judge,
            c.sample,
            c.design,
            marked(c.covered, c.holds),
            marked(c.false_pass, _passes(c)),
            f"{c.bias:+.2f}",
            f"{c.model:+.2f}",
        )
        for c in cells
    ]
    held_count = sum(c.holds for c in cells)
    return (
        "## Judgments of a model, corrected by a part of the documents\n\nShare of 95 % intervals that hold "
        "the true mean difference in DCG@10 where people judged each document with a known chance and a "
        f"model all of them, {cells[0].replications:,} replications a cell. {held_count} of {len(cells)} "
        f"cells lie within 93 and 97 %. The error of the mean, of the estimate and of the model alone, is in "
        "standard deviations of the estimate.\n\n"
        + table(
            (
                "grades",
                "model",
                "documents that people judge",
                "queries",
                "covered",
                "false pass",
                "bias",
                "bias of the model",
            ),
            rows,
        )
    )


def _passes(cell: Cell) -> bool:
    """Whether a false pass has a chance of 5 %, within the noise of simulation."""
    noise = np.sqrt(ALPHA * (1 - ALPHA) / cell.replications)
    return bool(cell.false_pass <= ALPHA + 3 * noise)

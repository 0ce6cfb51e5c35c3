"""Judgments of a model, corrected by people's of a random sample of queries: do intervals hold?

The difference of two systems by people in each of N queries is drawn from a population; a model
sees it well, badly, not at all, with a bias, reversed, or only its size. People judge n = N/10 of
the queries. Real: the 22 topics of TREC RAG 2025 that people and a language model judged; a query
is a topic with two simulated runs that rank its documents by people's grade and noise.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np

from rankgate.data import read_qrels
from rankgate.measurement.stats.mean_intervals import guarded_interval
from rankgate.measurement.stats.weighted_means import Population, estimate_population
from studies.populations import FOLDER, differences

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Sequence
    from pathlib import Path

    from numpy.typing import NDArray

    Floats = NDArray[np.float64]
    Judge = Callable[[Floats, np.random.Generator], Floats]

QUERIES, TIMES, REPLICATIONS, LEVEL, ALPHA = (20, 50, 100), 10, 10_000, 0.95, 0.05
LEAST, MOST = 0.93, 0.97


def _seen(correlation: float) -> Judge:
    noise = np.sqrt(1 / correlation**2 - 1)
    return lambda y, rng: y + rng.normal(0, noise * y.std(), len(y))


JUDGES: dict[str, Judge] = {
    "good (correlation .9)": _seen(0.9),
    "fair (correlation .75)": _seen(0.75),
    "useless": lambda y, rng: rng.normal(0, y.std(), len(y)),
    "biased": lambda y, rng: 0.5 * y + y.std() + rng.normal(0, 0.3 * y.std(), len(y)),
    "reversed": lambda y, rng: -y + rng.normal(0, 0.5 * y.std(), len(y)),
    "sees the size alone": lambda y, _: y**2,
}


@dataclass(frozen=True)
class Cell:
    """Intervals of one model in one population.

    Attributes:
        population: of the differences.
        judge: the model.
        people, queries: how many queries people and the model judged.
        replications: samples.
        covered: share of intervals that hold the true mean.
        alone: the same of people's judgments alone.
        false_pass: share of one-sided bounds at 5 % above the truth: a rule would pass falsely.
        correlation: of people's and the model's differences.
        used: the same, where predictions beyond 3 standard deviations count as that far.
        saving: share of the mean variance that the model takes away; of people's queries.
    """

    population: str
    judge: str
    people: int
    queries: int
    replications: int
    covered: float
    alone: float
    false_pass: float
    correlation: float
    used: float
    saving: float

    @property
    def holds(self) -> bool:
        """Whether 95 % means at least 93, and from 50 queries on at most 97."""
        return self.covered >= LEAST and (self.people < QUERIES[1] or self.covered <= MOST)


def run(replications: int = REPLICATIONS, seed: int = 0) -> list[Cell]:
    """Every population, model and number of queries."""
    return [
        _cell(name, judge, pool, n, replications, seed)
        for name, judge, pool in _pools(np.random.default_rng(seed))
        for n in QUERIES
    ]


def _pools(rng: np.random.Generator) -> Iterator[tuple[str, str, Floats]]:
    """(2, P) what people and a model find in each query of a population."""
    for name, population in differences().items():
        y = population[rng.integers(0, len(population), 50_000)]
        for judge, sees in JUDGES.items():
            yield name, judge, np.stack([y, sees(y, rng)])
    rag_folder = FOLDER / "rag25-human-vs-llm"
    if rag_folder.exists():
        yield "TREC RAG 2025, simulated runs", "language model", _rag(rag_folder, rng)


def _cell(name: str, judge: str, pool: Floats, n: int, replications: int, seed: int) -> Cell:
    truth, size = pool[0].mean(), TIMES * n
    rng = np.random.default_rng([seed, n])
    weights, with_model, without_model = np.ones(size), 0.0, 0.0
    combined_values, people = np.zeros((n, replications)), np.zeros((n, replications))
    for i in range(replications):
        y, x = pool[:, rng.integers(0, pool.shape[1], size)]
        estimate = estimate_population(y[:n], predicted=x[:n], population=Population(x, weights))
        combined_values[:, i], people[:, i] = estimate.values, y[:n]
        with_model += estimate.variance
        without_model += estimate.sampled_error**2
    covered, covered_by_people = (
        float(((interval.low <= truth) & (truth <= interval.high)).mean())
        for interval in (guarded_interval(combined_values, LEVEL), guarded_interval(people, LEVEL))
    )
    passed = float((guarded_interval(combined_values, 1 - 2 * ALPHA).low > truth).mean())
    return Cell(
        name,
        judge,
        n,
        size,
        replications,
        covered,
        covered_by_people,
        passed,
        float(np.corrcoef(pool)[0, 1]),
        _used(pool),
        1 - with_model / without_model,
    )


def _used(pool: Floats) -> float:
    """The correlation with predictions as the estimate takes them."""
    far = 3 * pool[1].std()
    near = np.clip(pool[1], pool[1].mean() - far, pool[1].mean() + far)
    return float(np.corrcoef(pool[0], near)[0, 1])


_TOPICS, _DEPTH = 20_000, 10


def _rag(place: Path, rng: np.random.Generator) -> Floats:
    """Differences in nDCG@10 of two runs by people's grades and by the model's."""
    people, model = (
        read_qrels(place / f"qrels.rag25.{source}.txt.gz").table for source in ("test", "test-umbrela2")
    )
    joined = people.join(model, on=["query_id", "doc_id"])
    topics = [
        topic_rows.select("grade", "grade_right").to_numpy().T
        for topic_rows in joined.partition_by("query_id", maintain_order=True)
    ]
    discount = 1 / np.log2(np.arange(2, _DEPTH + 2))
    result = np.zeros((2, _TOPICS))
    for i in range(_TOPICS):
        grades = topics[rng.integers(len(topics))]
        ideal_dcg = -np.sort(-grades, axis=1)[:, :_DEPTH] @ discount[: grades.shape[1]]
        for sign, noise in ((-1, 2.0), (1, 1.6)):
            noisy_grades = grades[0] + rng.normal(0, noise, grades.shape[1])
            top = grades[:, np.argsort(-noisy_grades)[:_DEPTH]]
            result[:, i] += sign * (top @ discount[: top.shape[1]]) / np.maximum(ideal_dcg, 1e-9)
    return result


def _passes(cell: Cell) -> bool:
    """Whether a false pass has a chance of 5 %, within the noise of simulation."""
    noise = np.sqrt(ALPHA * (1 - ALPHA) / cell.replications)
    return bool(cell.false_pass <= ALPHA + 3 * noise)


def _theory(cell: Cell) -> float:
    """The saving of n of N queries: ρ²(1 − n/N), less what n queries err in the weight."""
    n, square = cell.people, cell.used**2
    return square * (1 - n / cell.queries) - (1 - square) / (n - 3)


def section(cells: Sequence[Any]) -> str:
    """Give the part of the page."""
    from tables import marked, percent, table

    rows = [
        (
            c.population,
            c.judge,
            f"{c.people} of {c.queries}",
            marked(c.covered, c.holds),
            percent(c.alone),
            marked(c.false_pass, _passes(c)),
            f"{c.correlation:.2f}",
            percent(c.saving),
            percent(_theory(c)),
            percent(c.correlation**2 * (1 - c.people / c.queries)),
        )
        for c in cells
    ]
    missed = [c for c in cells if not c.holds]
    fair = [c for c in cells if "fair" in c.judge and c.people >= QUERIES[1]]
    near = [c for c in fair if abs(c.saving - _theory(c)) <= _NEAR]
    large = [c for c in fair if abs(c.saving - c.correlation**2 * (1 - c.people / c.queries)) <= _NEAR]
    return (
        "## Judgments of a model, corrected by people\n\nShare of 95 % intervals that hold the true mean "
        f"difference, {cells[0].replications:,} replications a cell: people judge a random tenth of the "
        "queries, a model all of them. Target: 93 to 97 % with 50 queries by people and more, at least 93 % "
        "below; false passes of a rule at most 5 %. "
        f"{len(cells) - len(missed)} of {len(cells)} cells meet the first. The worst known case is a model "
        "that sees the size of a difference but not its sign: the errors of its weight and of the mean of "
        "the sample are correlated, so a weight is used only if at least 6 queries determine it.\n\n"
        "Saved is the share of the mean variance, and so of people's queries, that the model takes away. A "
        "tuned weight saves ρ²(1 − n/N) in theory where n is large; of n queries it saves ρ²(1 − n/N) − (1 − "
        "ρ²)/(n − 3), with ρ of predictions that count as 3 standard deviations from their mean where they "
        "lie further. With a correlation of .75 and 50 queries or more, "
        f"{percent(min(c.saving for c in fair))} to {percent(max(c.saving for c in fair))} are saved: "
        f"{len(near)} of {len(fair)} cells within 5 points of the theory for n queries, {len(large)} within "
        f"5 points of that for many.\n\n"
        + table(
            (
                "differences",
                "model",
                "queries",
                "covered",
                "people alone",
                "false pass",
                "correlation",
                "saved",
                "in theory",
                "theory, n large",
            ),
            rows,
        )
    )


_NEAR = 0.05

"""Intervals of agreement: do they cover when grades of one query resemble each other?

Two raters grade some 40 documents of each query; how well they agree, how severe one of them is
and how frequent each grade is differ from query to query. The truth is the coefficient over
20,000 queries. In two further populations raters hardly ever differ. Real: queries drawn with
replacement from the 22 of TREC RAG 2025 that people and a language model judged, 60 pairs of each;
the truth is the coefficient of all 22.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np

from rankgate.data import read_qrels
from rankgate.measurement.stats.rater_agreement import RatingMatrix, Tallies, alpha, conger, gwet, intervals
from studies.populations import FOLDER

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Sequence

    from numpy.typing import NDArray

    Floats = NDArray[np.float64]
    Sample = Callable[[int], tuple[Floats, NDArray[np.int64]]]

COEFFICIENTS = {
    "alpha, ordinal": alpha,
    "Conger's kappa": conger,
    "Gwet's AC2, linear": lambda each: gwet(each, "linear"),
}
QUERIES, REPLICATIONS, LEVEL = (15, 25, 50), 2000, 0.95
_PAIRS = 10
"""Every tenth replication also leaves out single pairs, which takes most of the time."""
_SHARES, _GRADES, _DOCUMENTS = np.array([0.45, 0.2, 0.22, 0.13]), 4, 40
_NEAR, _REAL = 0.04, 60


@dataclass(frozen=True)
class Cell:
    """How often intervals hold the truth.

    Attributes:
        population: of the queries.
        coefficient: its name.
        queries: in each sample.
        replications: samples.
        by_query: share of intervals that hold the truth when queries are left out in turn.
        by_pair: the same when pairs are left out as if they were independent, in a tenth of them.
    """

    population: str
    coefficient: str
    queries: int
    replications: int
    by_query: float
    by_pair: float

    @property
    def holds(self) -> bool:
        """Whether 95 % means 91 to 99 %."""
        return abs(self.by_query - LEVEL) <= _NEAR


def run(replications: int = REPLICATIONS, seed: int = 0) -> list[Cell]:
    """Every population, coefficient and number of queries."""
    cells = []
    for name, sample, truth in _populations(np.random.default_rng(seed)):
        for queries in QUERIES:
            covered = {coefficient: np.zeros(2) for coefficient in COEFFICIENTS}
            for number in range(replications):
                matrix, query = sample(queries)
                sheet = RatingMatrix.from_grades(matrix, range(int(matrix.max()) + 1))
                for method, code in enumerate((query, np.arange(len(matrix)))):
                    if method == 1 and number % _PAIRS:
                        continue
                    result = intervals(COEFFICIENTS, Tallies.from_clusters(sheet, code))
                    for coefficient, interval in result.items():
                        covered[coefficient][method] += interval.low <= truth[coefficient] <= interval.high
            times = np.array([replications, -(-replications // _PAIRS)])
            cells += [
                Cell(name, coefficient, queries, replications, *(counts / times))
                for coefficient, counts in covered.items()
            ]
    return cells


def section(cells: Sequence[Any]) -> str:
    """Give the part of the page."""
    from tables import marked, percent, table

    rows = [
        (c.population, c.coefficient, str(c.queries), marked(c.by_query, c.holds), percent(c.by_pair))
        for c in cells
    ]
    missed = sum(not c.holds for c in cells)
    naive = sum(abs(c.by_pair - LEVEL) <= _NEAR for c in cells)
    return (
        "## Intervals of agreement\n\nShare of 95 % intervals that hold the true coefficient, "
        f"{cells[0].replications:,} replications a cell. Two raters grade some {_DOCUMENTS} documents of "
        "each query; how well they agree differs from query to query. Real: queries drawn from the 22 of "
        "TREC RAG 2025 that people and a language model judged. Leaving out one query at a time, "
        f"{len(cells) - missed} of {len(cells)} cells lie within 91 and 99 % (the lowest is "
        f"{percent(min(c.by_query for c in cells))}). Leaving out pairs as if they were independent, in "
        f"{cells[0].replications // _PAIRS:,} replications, {naive} do. With fewer than 15 queries no "
        "interval is given. Where raters differ in fewer than 5 queries, as about 2 of 15 with 99.5 % equal "
        "grades and 4 with 99 %, there is too little to take an interval from, and `agree` and `admit` "
        "warn.\n\n" + table(("queries", "coefficient", "n", "by query", "by pair"), rows)
    )


def _populations(rng: np.random.Generator) -> Iterator[tuple[str, Sample, dict[str, float]]]:
    for name, spread in (("queries differ little", 0.3), ("queries differ a lot", 1.5)):

        def simulated(queries: int, spread: float = spread) -> tuple[Floats, NDArray[np.int64]]:
            parts = [_query(rng, spread) for _ in range(queries)]
            return np.concatenate(parts), np.repeat(np.arange(queries), [len(p) for p in parts])

        large_sample = simulated(20_000)
        yield name, simulated, _truth(large_sample[0])
    folder = FOLDER / "rag25-human-vs-llm"
    if folder.exists():
        tables = [
            read_qrels(folder / f"qrels.rag25.{source}.txt.gz").table for source in ("test", "test-umbrela2")
        ]
        joined = tables[0].join(tables[1], on=["query_id", "doc_id"], maintain_order="left")
        real = [
            query_rows.sample(_REAL, seed=0).select("grade", "grade_right").to_numpy()
            for query_rows in joined.partition_by("query_id", maintain_order=True)
        ]

        def drawn(queries: int) -> tuple[Floats, NDArray[np.int64]]:
            sampled = [real[i] for i in rng.integers(0, len(real), queries)]
            return np.concatenate(sampled), np.repeat(np.arange(queries), [len(c) for c in sampled])

        yield "TREC RAG 2025", drawn, _truth(np.concatenate(real))
    for equal_share in (0.99, 0.995):
        child = rng.spawn(1)[0]  # what is above draws the same with or without these

        def alike(
            queries: int, rng: np.random.Generator = child, same: float = equal_share
        ) -> tuple[Floats, NDArray[np.int64]]:
            parts = [_alike(rng, same) for _ in range(queries)]
            return np.concatenate(parts), np.repeat(np.arange(queries), [len(p) for p in parts])

        yield f"about {equal_share:.1%} equal grades", alike, _truth(alike(20_000)[0])


def _truth(matrix: Floats) -> dict[str, float]:
    tallies = Tallies.from_clusters(RatingMatrix.from_grades(matrix, range(int(matrix.max()) + 1)))
    return {name: float(measure(tallies)[0]) for name, measure in COEFFICIENTS.items()}


def _alike(rng: np.random.Generator, same: float) -> Floats:
    """The grades of two raters who hardly ever differ, and then by one."""
    n = max(5, int(rng.lognormal(np.log(_DOCUMENTS), 0.5)))
    first_grades = rng.choice(_GRADES, n, p=rng.dirichlet(_SHARES * 4))
    near = np.clip(first_grades + rng.choice([-1, 1], n), 0, _GRADES - 1)
    return np.stack([first_grades, np.where(rng.random(n) < same, first_grades, near)], axis=1).astype(
        np.float64
    )


def _query(rng: np.random.Generator, spread: float) -> Floats:
    """The grades of two raters on the documents of one query."""
    n = max(5, int(rng.lognormal(np.log(_DOCUMENTS), 0.5)))
    first_grades = rng.choice(_GRADES, n, p=rng.dirichlet(_SHARES * 4))
    follows = rng.random(n) < 1 / (1 + np.exp(-(0.6 + spread * rng.normal())))
    noise = rng.normal(0.5 * spread * rng.normal(), 0.5, n)
    near = np.clip(np.rint(first_grades + noise), 0, _GRADES - 1)
    two = np.where(follows, near, rng.choice(_GRADES, n, p=_SHARES))
    return np.stack([first_grades, two], axis=1).astype(np.float64)

"""Plans of an admission: the width that the planned sample reaches, and how often it is wider."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np
import polars as pl

from rankgate.data import Qrels
from rankgate.judging.admission.admit_plan import FIGURES, admit_plan
from tables import percent, table

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from rankgate.judging.admission.admit_plan import AgreementFigure

    Grades = NDArray[np.int64]

RUNS, PER_QUERY = 25, 20
WIDTHS: dict[AgreementFigure, float] = {"equal": 0.04, "bias": 0.07, "alpha": 0.06}


@dataclass(frozen=True)
class Cell:
    """One pool and one figure.

    Attributes:
        pool: of which pairs.
        figure: whose interval is planned.
        ratio: mean half-width of the planned sample over the one asked.
        largest: the largest of these.
        wider: share of samples whose interval is wider than asked.
        expected: mean chance of that, as the plans say it.
        above_high: share of samples wider than what plans give for 95 % of cases.
        coverage: share of intervals that contain the figure of all pairs.
        without_value: share of samples that leave the figure without a value.
    """

    pool: str
    figure: str
    ratio: float
    largest: float
    wider: float
    expected: float
    above_high: float
    coverage: float
    without_value: float


def run(seed: int = 0) -> list[Cell]:
    """Each pool with each figure."""
    cells = []
    for number, (name, (size, pilot)) in enumerate(POOLS.items()):
        for figure, width in WIDTHS.items():
            rng = np.random.default_rng([seed, number, list(WIDTHS).index(figure)])
            cells.append(_cell(name, size, pilot, figure, width, rng))
    return cells


POOLS = {
    "6,000 pairs of 4 grades, pilot of 300": (6000, 300),
    "2,000 pairs, 8 of them of a rare grade, pilot of 100": (2000, 100),
}


def _pool(size: int, rng: np.random.Generator) -> tuple[Grades, Grades]:
    """People's grades and the judge's."""
    if size > 2000:
        people = rng.choice(4, size, p=[0.5, 0.25, 0.15, 0.1])
        return people, np.where(rng.random(size) < 0.7, people, rng.choice(4, size))
    people = rng.choice(2, size)
    judge = np.where(rng.random(size) < 0.8, people, 1 - people)
    rare = rng.choice(size, 8, replace=False)
    judge[rare] = 2
    people[rare] = np.where(rng.random(8) < 0.5, 2, people[rare])
    return people, judge


def _cell(
    name: str, size: int, pilot: int, figure: AgreementFigure, width: float, rng: np.random.Generator
) -> Cell:
    reached, expected, above_count, covered, none = [], [], 0, 0, 0
    for repeat in range(RUNS):
        people, judge = _pool(size, rng)
        grades = np.unique([*people, *judge])
        tallies = np.zeros((len(grades), len(grades)))
        np.add.at(tallies, (np.searchsorted(grades, people), np.searchsorted(grades, judge)), 1)
        truth = FIGURES[figure](tallies, grades.astype(np.float64))
        pool = _qrels(np.arange(size), judge, "judge")
        first = rng.choice(size, pilot, replace=False)
        plan = admit_plan(pool, _qrels(first, people, "pilot"), width=width, figure=figure, seed=repeat)
        sampled = [
            int(query[1:]) * PER_QUERY + int(document[1:])
            for query, document in plan.sample.select("query_id", "doc_id").iter_rows()
        ]
        judged = np.array([*first, *sampled])
        final_plan = admit_plan(pool, _qrels(judged, people, "people"), width=width, figure=figure)
        row = final_plan.figures.row(by_predicate=pl.col("figure") == figure, named=True)
        if row["value"] is None:
            none += 1
            continue
        reached.append(row["half_width"])
        expected.append(plan.wider)
        above_count += row["half_width"] > plan.reached_high
        covered += abs(row["value"] - truth) <= row["half_width"]
    count = max(len(reached), 1)
    return Cell(
        pool=name,
        figure=figure,
        ratio=float(np.mean(reached)) / width,
        largest=max(reached) / width,
        wider=sum(half > width for half in reached) / count,
        expected=float(np.mean(expected)),
        above_high=above_count / count,
        coverage=covered / count,
        without_value=none / RUNS,
    )


def _qrels(pairs: Grades, grades: Grades, name: str) -> Qrels:
    """Grades of some pairs, 20 of a query."""
    rows = pl.DataFrame(
        {
            "query_id": [f"q{pair // PER_QUERY}" for pair in pairs],
            "doc_id": [f"d{pair % PER_QUERY}" for pair in pairs],
            "grade": grades[pairs].astype(np.float64),
        }
    )
    return Qrels(rows, name)


def section(cells: Sequence[Cell]) -> str:
    """The section of the page."""
    text = (
        "`rankgate admit-plan` plans which pairs people judge so that a figure is known to a given "
        f"half-width. Below, {RUNS} plans for each row: a pilot, the sample judged, and the half-width that "
        "it gives. Deviations are estimated from the pilot, so the interval is sometimes wider than asked; "
        "the plan gives the chance of this, and a half-width that is not exceeded in 95 % of cases. A rare "
        "grade is judged as a whole, so that the figure has a value."
    )
    header = (
        "pairs",
        "figure",
        "half-width over the one asked",
        "largest",
        "wider than asked",
        "chance of that, by the plan",
        "above the 95 % limit",
        "coverage",
        "without a value",
    )
    rows = [
        (
            cell.pool,
            cell.figure,
            f"{cell.ratio:.2f}",
            f"{cell.largest:.2f}",
            percent(cell.wider),
            percent(cell.expected),
            percent(cell.above_high),
            percent(cell.coverage),
            percent(cell.without_value),
        )
        for cell in cells
    ]
    return f"## Plans of an admission\n\n{text}\n\n{table(header, rows)}\n"

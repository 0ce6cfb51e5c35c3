"""Change-points of a recorded history: false alarms for each year, delay, and power."""

from __future__ import annotations

import csv
import gzip
from dataclasses import dataclass
from functools import cache
from typing import TYPE_CHECKING

import numpy as np

from rankgate.stats.change_points import change_points
from studies.populations import FOLDER, matrices
from tables import percent, table

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from numpy.typing import NDArray

    Floats = NDArray[np.float64]

RATE, YEAR = 0.001, 365
SERIES, CHANGED = 40, 40  # years without a change, and series with one
BEFORE, AFTER = 30, 40  # evaluations on the two sides of a change
EFFECTS = (0.02, 0.05, 0.1)
QUERIES, SPREAD = 200, 0.1


@dataclass(frozen=True)
class Cell:
    """One kind of series.

    Attributes:
        kind: of what.
        alarms: false alarms for each year of daily evaluations.
        target: whether the rate holds for this kind.
        found: by effect the share of changes found within `AFTER` evaluations.
        delay: by effect the median delay of those.
    """

    kind: str
    alarms: float
    target: bool
    found: tuple[float, ...] = ()
    delay: tuple[float, ...] = ()


def run(seed: int = 0) -> list[Cell]:
    """Every kind of series."""
    cells = []
    for number, (kind, make, target) in enumerate(_kinds()):
        rng = np.random.default_rng([seed, number])
        alarms = [len(change_points(make(rng, YEAR), rate=RATE)) for _ in range(SERIES)]
        found, delay = [], []
        for effect in EFFECTS:
            late = [_delay(make, effect, rng) for _ in range(CHANGED)]
            seen = [each for each in late if each is not None]
            found.append(len(seen) / CHANGED)
            delay.append(float(np.median(seen)) if seen else float("nan"))
        cells.append(Cell(kind, float(np.mean(alarms)), target, tuple(found), tuple(delay)))
    return cells


def section(cells: Sequence[Cell]) -> str:
    """The section of the page."""
    bound = RATE * YEAR
    words = (
        f"`rankgate history` looks for changes at each evaluation with at most {RATE:g} false "
        f"alarms each, which is {bound:.2f} for each year of daily evaluations of one series. "
        f"Below, {SERIES} years without a change for each kind of series, and {CHANGED} series in "
        f"which the mean of {QUERIES} queries falls after {BEFORE} evaluations: the share that is "
        f"found within {AFTER} more, and the median of how many evaluations later. *Real* rows "
        "are resampled from topics by systems: an evaluation that is noisy by itself takes each "
        "query's value from one of three neighbouring systems at random; one that is deployed "
        "each week goes on to another of them, which is not better on average. A change takes "
        f"the effect from the mean, with a spread of {SPREAD:g} over queries: what so many "
        "queries cannot show is not found later either, as they are always the same. A weekly "
        "cycle is no change, as the spread over time has it in it. Where means wander from day "
        "to day (AR(1)), the correlation of neighbouring days is estimated, and the rate holds "
        "less well: follow such KPIs with a smaller `--rate`."
    )
    head = ("series", "false alarms a year", *(f"found, {each:g}" for each in EFFECTS),
            *(f"delay, {each:g}" for each in EFFECTS))  # fmt: skip
    rows = [
        (
            cell.kind,
            f"{cell.alarms:.2f}" + (" ✘" if cell.target and cell.alarms > bound * 1.5 else ""),
            *map(percent, cell.found),
            *("–" if np.isnan(each) else f"{each:.0f}" for each in cell.delay),
        )
        for cell in cells
    ]
    return f"## Changes of a history\n\n{words}\n\n{table(head, rows)}\n"


Maker = "Callable[[np.random.Generator, int], Floats]"


def _kinds() -> list[tuple[str, Callable[[np.random.Generator, int], Floats], bool]]:
    found = [
        ("an engine that does not change", _steady(0.0, 0.0), True),
        ("noise of each query", _steady(0.1, 0.0), True),
        ("noise of each day", _steady(0.0, 0.01), True),
        ("noise of both", _steady(0.1, 0.01), True),
        ("means alone (a KPI)", _kpi, True),
        ("means alone with a weekly cycle", _weekly, True),
        ("means alone, AR(1) of 0.5", _wandering, False),
    ]
    for name, values in _real().items():
        found.append((f"real, noisy: {name}", _resampled(values, 1), True))
        found.append((f"real, deployed each week: {name}", _resampled(values, 7), False))
    return found


def _steady(query: float, day: float) -> Callable[[np.random.Generator, int], Floats]:
    def make(rng: np.random.Generator, days: int) -> Floats:
        level = rng.beta(2, 2, (1, QUERIES))
        noise = rng.normal(0, query, (days, QUERIES)) + rng.normal(0, day, (days, 1))
        return np.asarray(level + noise, np.float64)

    return make


def _kpi(rng: np.random.Generator, days: int) -> Floats:
    return np.asarray(rng.normal(0.3, 0.01, days), np.float64)


def _weekly(rng: np.random.Generator, days: int) -> Floats:
    cycle = 0.02 * np.isin(np.arange(days) % 7, (5, 6))
    return np.asarray(0.3 + cycle + rng.normal(0, 0.01, days), np.float64)


def _wandering(rng: np.random.Generator, days: int) -> Floats:
    steps = rng.normal(0, 0.01, days)
    for day in range(1, days):
        steps[day] += 0.5 * steps[day - 1]
    return np.asarray(0.3 + steps, np.float64)


def _resampled(table: Floats, length: int) -> Callable[[np.random.Generator, int], Floats]:
    """Values of neighbouring systems, centred so that they are equally good on average."""

    def make(rng: np.random.Generator, days: int) -> Floats:
        first = int(rng.integers(0, table.shape[1] - 2))
        near = table[:, first : first + 3]
        near = near - near.mean(axis=0) + near.mean()
        rows = rng.integers(0, len(table), QUERIES)
        if length == 1:
            which = rng.integers(0, 3, (days, QUERIES))
        else:
            weeks = rng.integers(0, 3, -(-days // length))
            which = np.repeat(np.repeat(weeks, length)[:days, None], QUERIES, axis=1)
        return np.asarray(near[rows[None, :], which], np.float64)

    return make


@cache
def _real() -> dict[str, Floats]:
    """Topics by systems, the best first."""
    found = dict(matrices())
    path = FOLDER / "score-matrices-trec-covid" / "scores.r1.csv.gz"
    if path.is_file():
        with gzip.open(path, "rt", encoding="utf-8", newline="") as stream:
            rows = list(csv.DictReader(stream))
        runs = sorted({row["run"] for row in rows})
        topics = sorted({row["topic"] for row in rows})
        values = {(row["topic"], row["run"]): float(row["ndcg_cut_10"]) for row in rows}
        found["nDCG@10, TREC-COVID"] = np.array(
            [[values.get((topic, run), 0.0) for run in runs] for topic in topics]
        )
    return {
        name: each[:, np.argsort(-each.mean(axis=0), kind="stable")[: each.shape[1] // 2]]
        for name, each in found.items()
    }


def _delay(
    make: Callable[[np.random.Generator, int], Floats], effect: float, rng: np.random.Generator
) -> int | None:
    """How many evaluations after a change it is found; None where it is not."""
    values = make(rng, BEFORE + AFTER)
    if values.ndim == 1:
        values[BEFORE:] -= effect
    else:
        values[BEFORE:] -= rng.normal(effect, SPREAD, values.shape[1])
    for each in change_points(values, rate=RATE):
        if each.found >= BEFORE and each.delta < 0:
            return each.found - BEFORE
    return None

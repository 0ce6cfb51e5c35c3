"""Change-points of a recorded history: false alarms for each year, delay, and power."""

from __future__ import annotations

import csv
import gzip
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import cache, partial
from typing import TYPE_CHECKING

import numpy as np

from rankgate.measurement.stats.change_points import change_points
from studies.populations import FOLDER, matrices
from tables import percent, table

if TYPE_CHECKING:
    from numpy.typing import NDArray

    Floats = NDArray[np.float64]
    Maker = Callable[[np.random.Generator, int], Floats]

RATE, SMALL_RATE, YEAR = 0.001, 0.0001, 365
YEARS, CHANGED = 60, 60  # without a change, and series with one
QUERY_YEARS, QUERY_CHANGED = 10, 20  # the same with values per query
BEFORE, AFTER = 30, 40  # evaluations on the two sides of a change
SHIFTS = (0.5, 1.0, 2.0)  # standard deviations of an evaluation
EFFECTS = (0.02, 0.05, 0.1)
QUERIES, SPREAD = 200, 0.1
CORRELATIONS = (0.3, 0.5, 0.7, 0.9)


@dataclass(frozen=True)
class Cell:
    """One kind of series.

    Attributes:
        kind: of what.
        per_query: whether it has values per query.
        alarms: false alarms for each year of daily evaluations.
        error: the standard error of that.
        small_rate: false alarms for each year at `SMALL_RATE`; None where not measured.
        found: by shift or effect the share of changes found within `AFTER` evaluations.
        delay: by shift or effect the median delay of those.
    """

    kind: str
    per_query: bool
    alarms: float
    error: float
    small_rate: float | None
    found: tuple[float, ...]
    delay: tuple[float, ...]


def run(seed: int = 0) -> list[Cell]:
    """Every kind of series."""
    cells = []
    for number, (kind, make) in enumerate(_means().items()):
        rng = np.random.default_rng([seed, 0, number])
        years = [make(rng, YEAR) for _ in range(YEARS)]
        first_years = years[: YEARS // 2]
        small = float(np.mean([len(change_points(year, rate=SMALL_RATE)) for year in first_years]))
        shifted = [partial(_shifted, make, shift) for shift in SHIFTS]
        cells.append(_cell(kind, years, small, shifted, CHANGED, rng))
    for number, (kind, make) in enumerate(_queries().items()):
        rng = np.random.default_rng([seed, 1, number])
        years = [make(rng, YEAR) for _ in range(QUERY_YEARS)]
        lowered = [partial(_lowered, make, effect) for effect in EFFECTS]
        cells.append(_cell(kind, years, None, lowered, QUERY_CHANGED, rng))
    return cells


def _cell(
    kind: str,
    years: Sequence[Floats],
    small: float | None,
    changed: Sequence[Callable[[np.random.Generator], Floats]],
    count: int,
    rng: np.random.Generator,
) -> Cell:
    alarms = np.array([len(change_points(year, rate=RATE)) for year in years])
    detection_shares, delay = [], []
    for make in changed:
        delays = [_delay(make(rng)) for _ in range(count)]
        detections = [late for late in delays if late is not None]
        detection_shares.append(len(detections) / count)
        delay.append(float(np.median(detections)) if detections else float("nan"))
    error = float(alarms.std(ddof=1) / len(years) ** 0.5)
    return Cell(
        kind, years[0].ndim == 2, float(alarms.mean()), error, small, tuple(detection_shares), tuple(delay)
    )


def section(cells: Sequence[Cell]) -> str:
    """The section of the page."""
    bound = RATE * YEAR
    introduction = (
        f"`rankgate history` looks for changes at each evaluation with a rate of {RATE:g}: {bound:.2f} false "
        f"alarms for each year of daily evaluations of one series. Below, {YEARS} years without a change for "
        f"each kind of series of means (standard error in brackets), and {CHANGED} series whose mean falls "
        f"after {BEFORE} evaluations: the share that is found within {AFTER} evaluations, and the median "
        f"number of evaluations until then. Shifts are in standard deviations of one evaluation. ✘: more "
        "than twice the rate. *Where days resemble the day before* (AR(1)), the rate is kept at the price of "
        "power: at .9 hardly any change of 2 standard deviations is found, because such a series moves that "
        "far by itself. A yearly season is a change of the mean; at an amplitude of 1 standard deviation its "
        "alarms stay below twice the rate, at 3 not, and a smaller `--rate` does not help enough there."
    )
    means = [cell for cell in cells if not cell.per_query]
    header = (
        "series of means",
        "false alarms a year",
        f"at rate {SMALL_RATE:g}",
        *(f"found, {shift:g} sd" for shift in SHIFTS),
        *(f"delay, {shift:g} sd" for shift in SHIFTS),
    )
    first = table(header, [_row(cell) for cell in means])
    explanation = (
        f"With values of {QUERIES} queries, {QUERY_YEARS} years and {QUERY_CHANGED} changes, which take the "
        f"effect from the mean with a spread of {SPREAD:g} over queries: what so many queries cannot show is "
        "not found later either, as they are always the same. *Real* rows are resampled from topics by "
        "systems: an evaluation that is noisy by itself takes each query's value from one of three "
        "neighbouring systems at random; one that is deployed each week goes on to another of them, which is "
        "not better on average: after such moves few changes are found. The rate is not kept where days "
        "wander slowly (AR(1) of .9) with further noise of each query, which hides the correlation of days; "
        "`history` has a notice there, as the correlation is above .5."
    )
    header = (
        "values per query",
        "false alarms a year",
        *(f"found, {effect:g}" for effect in EFFECTS),
        *(f"delay, {effect:g}" for effect in EFFECTS),
    )
    second = table(header, [_row(cell) for cell in cells if cell.per_query])
    return f"## Changes of a history\n\n{introduction}\n\n{first}\n{explanation}\n\n{second}\n"


def _row(cell: Cell) -> list[str]:
    missed = " ✘" if cell.alarms > 2 * RATE * YEAR else ""
    small = [] if cell.small_rate is None else [f"{cell.small_rate:.2f}"]
    delays = ["–" if late is None or np.isnan(late) else f"{late:.0f}" for late in cell.delay]
    alarms = f"{cell.alarms:.2f} ({cell.error:.2f}){missed}"
    return [cell.kind, alarms, *small, *map(percent, cell.found), *delays]


def _means() -> dict[str, Maker]:
    """Series of means with a standard deviation of 1, but for the cycle and the season."""
    independent: dict[str, Maker] = {
        "normal": lambda rng, days: rng.normal(size=days),
        "Student's t, 5 degrees": lambda rng, days: rng.standard_t(5, days) / (5 / 3) ** 0.5,
        "Student's t, 3 degrees": lambda rng, days: rng.standard_t(3, days) / 3**0.5,
        "lognormal, sd of the log 0.5": partial(_lognormal, 0.5),
        "lognormal, sd of the log 1": partial(_lognormal, 1.0),
        "normal, 2 % outlier days of 8 sd": _outliers,
        "normal, weekends 2 sd higher": _weekly,
    }
    correlated: dict[str, Maker] = {
        f"AR(1), {correlation:g}": partial(_wandering, correlation) for correlation in CORRELATIONS
    }
    seasons: dict[str, Maker] = {
        f"normal, a yearly season of {size:g} sd": partial(_season, size) for size in (1.0, 3.0)
    }
    return independent | correlated | seasons


def _lognormal(spread: float, rng: np.random.Generator, days: int) -> Floats:
    variance = np.expm1(spread**2) * np.exp(spread**2)
    values = rng.lognormal(0, spread, days) - np.exp(spread**2 / 2)
    return np.asarray(values / np.sqrt(variance), np.float64)


def _outliers(rng: np.random.Generator, days: int) -> Floats:
    values = rng.normal(size=days)
    return np.asarray(values - 8 * (rng.random(days) < 0.02), np.float64)


def _weekly(rng: np.random.Generator, days: int) -> Floats:
    return np.asarray(2 * np.isin(np.arange(days) % 7, (5, 6)) + rng.normal(size=days), np.float64)


def _wandering(correlation: float, rng: np.random.Generator, days: int) -> Floats:
    values = rng.normal(size=days)
    new = (1 - correlation**2) ** 0.5
    for day in range(1, days):
        values[day] = correlation * values[day - 1] + new * values[day]
    return np.asarray(values, np.float64)


def _season(size: float, rng: np.random.Generator, days: int) -> Floats:
    turn = 2 * np.pi * (np.arange(days) / YEAR + rng.random())
    return np.asarray(size * np.sin(turn) + rng.normal(size=days), np.float64)


def _queries() -> dict[str, Maker]:
    result: dict[str, Maker] = {
        "an engine that does not change": _steady(0.0, _no_noise),
        "noise of each query": _steady(0.1, _no_noise),
        "noise of each day": _steady(0.0, lambda rng, days: rng.normal(size=days)),
        "noise of both": _steady(0.1, lambda rng, days: rng.normal(size=days)),
        "noise of each day, Student's t, 3 degrees": _steady(
            0.1, lambda rng, days: rng.standard_t(3, days) / 3**0.5
        ),
        "noise of each day, AR(1), 0.9": _steady(0.1, partial(_wandering, 0.9)),
    }
    for name, values in _real().items():
        result[f"real, noisy: {name}"] = _resampled(values, 1)
        result[f"real, deployed each week: {name}"] = _resampled(values, 7)
    return result


def _no_noise(_: np.random.Generator, days: int) -> Floats:
    return np.zeros(days)


def _steady(query: float, days_noise: Maker) -> Maker:
    """Queries with a level, noise of each value, and 0.01 times the noise of the days."""

    def make(rng: np.random.Generator, days: int) -> Floats:
        level = rng.beta(2, 2, (1, QUERIES))
        noise = rng.normal(0, query, (days, QUERIES)) + 0.01 * days_noise(rng, days)[:, None]
        return np.asarray(level + noise, np.float64)

    return make


def _resampled(table: Floats, length: int) -> Maker:
    """Values of neighbouring systems, centred so that they are equally good on average."""

    def make(rng: np.random.Generator, days: int) -> Floats:
        first = int(rng.integers(0, table.shape[1] - 2))
        near = table[:, first : first + 3]
        near = near - near.mean(axis=0) + near.mean()
        rows = rng.integers(0, len(table), QUERIES)
        if length == 1:
            system_indices = rng.integers(0, 3, (days, QUERIES))
        else:
            weeks = rng.integers(0, 3, -(-days // length))
            system_indices = np.repeat(np.repeat(weeks, length)[:days, None], QUERIES, axis=1)
        return np.asarray(near[rows[None, :], system_indices], np.float64)

    return make


@cache
def _real() -> dict[str, Floats]:
    """Topics by systems, the best first."""
    score_matrices = dict(matrices())
    path = FOLDER / "score-matrices-trec-covid" / "scores.r1.csv.gz"
    if path.is_file():
        with gzip.open(path, "rt", encoding="utf-8", newline="") as stream:
            rows = list(csv.DictReader(stream))
        runs = sorted({row["run"] for row in rows})
        topics = sorted({row["topic"] for row in rows})
        values = {(row["topic"], row["run"]): float(row["ndcg_cut_10"]) for row in rows}
        score_matrices["nDCG@10, TREC-COVID"] = np.array(
            [[values.get((topic, run), 0.0) for run in runs] for topic in topics]
        )
    return {
        name: matrix[:, np.argsort(-matrix.mean(axis=0), kind="stable")[: matrix.shape[1] // 2]]
        for name, matrix in score_matrices.items()
    }


def _shifted(make: Maker, shift: float, rng: np.random.Generator) -> Floats:
    values = make(rng, BEFORE + AFTER)
    values[BEFORE:] -= shift
    return values


def _lowered(make: Maker, effect: float, rng: np.random.Generator) -> Floats:
    values = make(rng, BEFORE + AFTER)
    values[BEFORE:] -= rng.normal(effect, SPREAD, values.shape[1])
    return values


def _delay(values: Floats) -> int | None:
    """How many evaluations after a change it is found; None where it is not."""
    for change in change_points(values, rate=RATE):
        if change.found >= BEFORE and change.delta < 0:
            return change.found - BEFORE
    return None

"""Do the rank intervals of many systems hold together?

Populations of data sets are simulated: normal; with heavy tails (t with 3 degrees of freedom); where
systems and data sets differ in spread; mostly ties; where every other system has exponential losses;
and where every other system loses .4 on one data set in 20, each on its own or all together. Systems
are equal, or their means are spread evenly over .2. Real populations are the topics of TREC with all
systems, drawn with replacement; the method was chosen without them. Queries of given data sets are
simulated too.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import partial
from itertools import product
from typing import TYPE_CHECKING, Any

import numpy as np

from rankgate.measurement.stats.paired_tests import student_test
from rankgate.measurement.stats.rank_separation import compare_by_queries, compare_by_units
from studies.populations import FOLDER, _matrix

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Sequence

    from numpy.typing import NDArray

    from rankgate.measurement.stats.rank_separation import SeparatedSystems

    Floats = NDArray[np.float64]
    Sample = Callable[[np.random.Generator], tuple[SeparatedSystems, Floats]]

REPLICATIONS, RESAMPLES, LEVEL = 2_000, 199, 0.95
NEW_DATA_SETS, NEW_QUERIES, MISSING = "new data sets", "new queries", "missing data sets"
SIZES = (6, 10, 20, 41)
QUERIES = {"25, 25, 25": (25,) * 3, "10 to 300": (10, 20, 50, 100, 300), "10 × 5": (10,) * 5}
REAL = ("adhoc5_ap", "adhoc6_ap", "adhoc7_rr", "adhoc7_p10", "web2010_ndcg20", "web2011_err20")


@dataclass(frozen=True)
class Cell:
    """How often a table of systems has a rank interval without the rank.

    Attributes:
        part: the population that the intervals are about.
        values: the distribution.
        means: equal, spread or real.
        systems: their number.
        size: the data sets, or the queries of each.
        wrong: share of samples with an interval that does not hold the rank.
        uncorrected: the same share if each pair had a t-test of its own; None for queries.
        told: share of truly different pairs that are told apart; None where all are equal.
        replications: the number of samples.
    """

    part: str
    values: str
    means: str
    systems: int
    size: str
    wrong: float
    uncorrected: float | None
    told: float | None
    replications: int

    @property
    def holds(self) -> bool:
        """Whether all intervals hold in 95 % of samples, within three standard errors."""
        return bool(self.wrong <= 1 - LEVEL + 3 * np.sqrt(LEVEL * (1 - LEVEL) / self.replications))


def _values(kind: str, n: int, means: Floats, rng: np.random.Generator) -> Floats:
    """(n, S) values of systems on rows that differ in difficulty, with means in the population."""
    systems = len(means)
    is_odd = np.arange(systems) % 2 == 0
    noise = rng.normal(0, 0.05, (n, systems))
    if kind == "heavy tails":
        noise = rng.standard_t(3, (n, systems)) * 0.03
    elif kind == "unequal spread":
        noise *= np.exp(np.linspace(-1, 1, systems)) * np.exp(rng.normal(0, 0.7, (n, 1)))
    elif kind == "mostly ties":
        noise *= rng.random((n, systems)) < 0.2
    elif kind == "skewed losses":
        noise += is_odd * (0.05 - rng.exponential(0.05, (n, systems)))
    elif kind in RARE:
        noise += is_odd * (0.02 - 0.4 * (rng.random((n, systems if kind == RARE[0] else 1)) < 0.05))
    return np.asarray(means + rng.normal(0, 0.15, (n, 1)) + noise, np.float64)


RARE = ("rare losses", "common rare losses")
KINDS = ("normal", "heavy tails", "unequal spread", "mostly ties", "skewed losses", *RARE)


def _means(name: str, systems: int) -> Floats:
    spread = np.linspace(-0.1, 0.1, systems) if systems > 2 else np.array([0.0, 0.02])
    return spread if name == "spread" else np.zeros(systems)


def run(replications: int = REPLICATIONS, seed: int = 0) -> list[Cell]:
    """Every population."""
    return [
        _cell(description, means, sample, count, seed)
        for *description, means, sample, count in _cells(replications)
    ]


def _cells(replications: int) -> Iterator[tuple[Any, ...]]:
    """Part, distribution, means and size as the page names them; the means, a sample, how many."""
    few = max(1, replications // 10)
    for systems, sizes in ((2, SIZES), (10, SIZES), (30, (10, 41))):
        for kind, name, n in product(KINDS, ("equal", "spread"), sizes):
            means = _means(name, systems)
            is_main = (systems, name, n) == (10, "equal", 41)
            count = replications if is_main else few if systems < 30 else max(1, few // 2)
            yield NEW_DATA_SETS, kind, name, str(n), means, partial(_new_data_sets, kind, n, means), count
    clustered = np.repeat(np.linspace(-0.1, 0.1, 20), 10)[:181]
    sample = partial(_new_data_sets, "unequal spread", 41, clustered)
    yield NEW_DATA_SETS, "unequal spread", "tens are equal", "41", clustered, sample, max(1, few // 5)
    yield from _real_cells(max(1, few // 8))
    for kind, name, (label, sizes_of_sets) in product(KINDS, ("equal", "spread"), QUERIES.items()):
        means = _means(name, 10)
        yield NEW_QUERIES, kind, name, label, means, partial(_new_queries, kind, sizes_of_sets, means), few
    for kind in ("at random", "where it is bad"):
        means = _means("equal", 10)
        yield MISSING, kind, "equal", "41", means, partial(_missing, kind, means), few


def _real_cells(count: int) -> Iterator[tuple[Any, ...]]:
    for file in REAL:
        path = FOLDER / "score-matrices-trec" / f"{file}.csv"
        if path.is_file():
            matrix = _matrix(path)
            for n in (10, 41):
                means, sample = matrix.mean(axis=0), partial(_topics, matrix, n)
                yield NEW_DATA_SETS, f"TREC, {file}", "real", str(n), means, sample, count


def _new_data_sets(kind: str, n: int, means: Floats, rng: np.random.Generator) -> Any:  # noqa: ANN401
    values = _values(kind, n, means, rng)
    return compare_by_units(values, samples=RESAMPLES, seed=int(rng.integers(1 << 30))), values


def _topics(matrix: Floats, n: int, rng: np.random.Generator) -> Any:  # noqa: ANN401
    values = matrix[rng.integers(len(matrix), size=n)]
    return compare_by_units(values, samples=RESAMPLES, seed=int(rng.integers(1 << 30))), values


def _new_queries(kind: str, sizes: Sequence[int], means: Floats, rng: np.random.Generator) -> Any:  # noqa: ANN401
    """Data sets that favour some systems by .1, which cancels over data sets."""
    favours = rng.normal(0, 0.1, (len(sizes), len(means)))
    favours -= favours.mean(axis=0)
    data_sets = [_values(kind, n, means + favour, rng) for n, favour in zip(sizes, favours, strict=True)]
    return compare_by_queries(data_sets, samples=RESAMPLES, seed=int(rng.integers(1 << 30))), None


def _missing(kind: str, means: Floats, rng: np.random.Generator) -> Any:  # noqa: ANN401
    """The first system lacks a third of the data sets, which are left out for all."""
    values = _values("normal", 41, means, rng)
    relative = values[:, 0] - values.mean(axis=1)
    order = rng.permutation(41) if kind == "at random" else np.argsort(relative)
    values = values[np.sort(order[13:])]
    return compare_by_units(values, samples=RESAMPLES, seed=int(rng.integers(1 << 30))), values


def _cell(description: list[str], means: Floats, sample: Sample, count: int, seed: int) -> Cell:
    rng = np.random.default_rng([seed, len(means), *"".join(description).encode()])
    first, second = np.triu_indices(len(means), 1)
    direction = np.sign(np.round(means[first] - means[second], 9))
    wrong, alone, told = np.zeros(count), np.zeros(count), np.zeros(count)
    for i in range(count):
        result, values = sample(rng)
        is_better = result.is_better(LEVEL)
        claims = is_better[first, second].astype(int) - is_better[second, first]
        wrong[i] = ((claims != 0) & (claims != direction)).any()
        told[i] = ((claims == direction) & (direction != 0)).sum()
        if values is not None:
            deltas = values[:, first] - values[:, second]
            claims_alone = (student_test(deltas).p_value <= 1 - LEVEL) * np.sign(deltas.mean(axis=0))
            alone[i] = ((claims_alone != 0) & (claims_alone != direction)).any()
    part, kind, name, size = description
    different = (direction != 0).sum()
    return Cell(
        *(part, kind, name, len(means), size, float(wrong.mean())),
        uncorrected=None if part == NEW_QUERIES else float(alone.mean()),
        told=float(told.mean() / different) if different else None,
        replications=count,
    )


def section(cells: Sequence[Any]) -> str:
    """Give the part of the page."""
    from tables import marked, percent, table

    def rows(part: str) -> list[tuple[str, ...]]:
        return [
            (
                cell.values,
                cell.means,
                str(cell.systems),
                cell.size,
                marked(cell.wrong, cell.holds),
                "–" if cell.uncorrected is None else percent(cell.uncorrected),
                "–" if cell.told is None else percent(cell.told),
            )
            for cell in cells
            if cell.part == part
        ]

    def count(part: str, *, rare: bool) -> str:
        some = [c for c in cells if c.part == part and (c.values in RARE) == rare]
        highest = max((c.wrong for c in some), default=0.0)
        return f"{sum(c.holds for c in some)} of {len(some)} cells hold, the highest is {percent(highest)}"

    head = ("values", "means", "systems", "size", "a wrong interval", "t-tests, uncorrected", "told apart")
    return (
        "## Rank intervals over data sets\n\n`rankgate compare --data-sets` gives each system the ranks that "
        "it may have; all intervals together should hold the true ranks in 95 % of tables, so a wrong one "
        "should be in at most 5 % (three standard errors allowed; misses are marked ✘). Equal systems may "
        "have each rank that they share: telling them apart is an error. Uncorrected: tables in which "
        "a paired t-test at 5 % for each pair names a wrong one. Told apart: share of the truly different "
        f"pairs. {REPLICATIONS:,} tables for a cell of 10 equal systems on 41 data sets, 25 to 200 "
        "elsewhere.\n\n"
        f"For new data sets, without rare losses: {count(NEW_DATA_SETS, rare=False)}. With a system that "
        f"loses much on one data set in 20: {count(NEW_DATA_SETS, rare=True)}; a sample shows little of "
        "this.\n\n"
        + table(head, rows(NEW_DATA_SETS))
        + "\nFor new queries of the same data sets, which favour some systems: without rare losses "
        f"{count(NEW_QUERIES, rare=False)}; with them {count(NEW_QUERIES, rare=True)}. Size: queries of each "
        "data set.\n\n"
        + table(head, rows(NEW_QUERIES))
        + "\nOne system lacks a third of 41 data sets, and these are left out for all systems (`--missing "
        "data-sets`): this holds if they lack at random, and not if the system is bad there.\n\n"
        + table(head, rows(MISSING))
    )

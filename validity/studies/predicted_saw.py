"""Judgments of a model that saw people's: do checks find it, and do intervals hold without it?

Queries of 20 documents with grades 0 to 3, ranked by two equal systems, or by a better candidate.
People judge a tenth of the queries. A model that saw no label errs in all queries alike. One that
saw labels repeats people's grades of these queries but for 5 %, and elsewhere raises the
candidate's documents first.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np

from rankgate.measurement.stats.mean_intervals import guarded_interval
from rankgate.measurement.stats.rater_agreement import cohen_values
from rankgate.measurement.stats.weighted_means import Population, chance_of_sample, estimate_population

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from numpy.typing import NDArray

    Floats = NDArray[np.float64]
    Flags = NDArray[np.bool_]

DOCUMENTS, DEPTH, GRADES = 20, 10, np.arange(4.0)
SIZES = {150: (30, 150), 400: (40, 150), 1000: (100, 50)}
"""Queries of the model: those that people judge, and replications."""
UNSOUND = 2.5
"""Models that must be found, mostly are: fewer replications by this show it, and no power."""
AGREEMENT, CHANCES = 0.9, {"unknown": 0.01, "none": 0.001, "file": 0.001}
"""As of rankgate.measurement.evaluation.model_judgments."""


@dataclass(frozen=True)
class World:
    """Queries with people's grades (N, D), the candidate's ranks, and both systems' orders."""

    grades: Floats
    old: NDArray[np.int64]
    new: NDArray[np.int64]
    judged: Flags

    @classmethod
    def of(cls, queries: int, people: int, noise: float, rng: np.random.Generator) -> World:
        """Draw one; noise is the candidate's, 2 is the baseline's."""
        grades = rng.choice(4, (queries, DOCUMENTS), p=[0.55, 0.25, 0.15, 0.05]).astype(float)
        old, new = (
            np.argsort(-(grades + rng.normal(0, size, grades.shape)), axis=1) for size in (2.0, noise)
        )
        judged = np.zeros(queries, np.bool_)
        judged[rng.choice(queries, people, replace=False)] = True
        return cls(grades, old, new, judged)

    def delta(self, grades: Floats) -> Floats:
        """(N,) differences in nDCG@10 by some grades."""
        return _ndcg(grades, self.new) - _ndcg(grades, self.old)

    @property
    def first(self) -> Flags:
        """(N, D) documents that the candidate shows in its first five ranks."""
        flags = np.zeros(self.grades.shape, np.bool_)
        np.put_along_axis(flags, self.new[:, :5], values=True, axis=1)
        return flags


def _ndcg(grades: Floats, order: NDArray[np.int64]) -> Floats:
    discount = 1 / np.log2(np.arange(2, DEPTH + 2))
    top = np.take_along_axis(grades, order[:, :DEPTH], axis=1) @ discount
    ideal = -np.sort(-grades, axis=1)[:, :DEPTH] @ discount
    return np.where(ideal > 0, top / np.maximum(ideal, 1e-9), 0.0)


def _errs(world: World, rng: np.random.Generator, size: float = 0.8) -> Floats:
    return np.clip(np.rint(world.grades + rng.normal(0.2, size, world.grades.shape)), 0, 3)


def _raised(world: World, rng: np.random.Generator, share: float = 0.3) -> Floats:
    """The same, a grade higher for some of what the candidate shows first."""
    raised = world.first & (rng.random(world.grades.shape) < share)
    return np.clip(_errs(world, rng) + raised, 0, 3)


def _repeated(world: World, rng: np.random.Generator, errors: float = 0.05) -> Floats:
    wrong = rng.random(world.grades.shape) < errors
    return np.where(wrong, rng.integers(0, 4, world.grades.shape), world.grades)


def _exchanged(world: World, rng: np.random.Generator) -> Floats:
    """People's grades, 30 % of them exchanged among the documents of the query.

    As many documents have each grade as by people; the higher ones go to what the candidate shows.
    """
    grades = world.grades.copy()
    for i in range(len(grades)):
        sampled = np.flatnonzero(rng.random(DOCUMENTS) < 0.3)
        order = np.argsort(-(world.first[i, sampled] + rng.normal(0, 1.0, len(sampled))))
        grades[i, sampled[order]] = -np.sort(-grades[i, sampled])
    return grades


def _half(world: World) -> Flags:
    return world.judged & (np.cumsum(world.judged) % 2 == 0)


def _mixed(saw: Flags, inside: Floats, outside: Floats) -> Floats:
    return np.where(saw[:, None], inside, outside)


MODELS: dict[str, tuple[bool, str, Callable[[World, np.random.Generator], Floats]]] = {
    "fair": (True, "unknown", _errs),
    "fair, stated": (True, "none", _errs),
    "good": (True, "unknown", lambda w, rng: _errs(w, rng, 0.5)),
    "raises what the candidate shows": (True, "unknown", _raised),
    "saw all": (False, "unknown", lambda w, rng: _mixed(w.judged, _repeated(w, rng), _raised(w, rng))),
    "saw all, stated to have seen none": (
        False,
        "none",
        lambda w, rng: _mixed(w.judged, _repeated(w, rng), _raised(w, rng)),
    ),
    "saw half": (False, "unknown", lambda w, rng: _mixed(_half(w), _repeated(w, rng), _raised(w, rng))),
    "saw half, whose file is given": (
        True,
        "file",
        lambda w, rng: _mixed(_half(w), _repeated(w, rng), _raised(w, rng)),
    ),
    "saw all, elsewhere grades as often as people": (
        False,
        "unknown",
        lambda w, rng: _mixed(w.judged, _repeated(w, rng), _exchanged(w, rng)),
    ),
    "saw half, elsewhere grades as often as people": (
        False,
        "unknown",
        lambda w, rng: _mixed(_half(w), _repeated(w, rng), _exchanged(w, rng)),
    ),
    "saw all, elsewhere grades as often as people, stated to have seen none": (
        False,
        "none",
        lambda w, rng: _mixed(w.judged, _repeated(w, rng), _exchanged(w, rng)),
    ),
    "remembers 85 %, elsewhere grades as often as people": (
        False,
        "unknown",
        lambda w, rng: _mixed(w.judged, _repeated(w, rng, 0.2), _exchanged(w, rng)),
    ),
    "remembers 85 % of half, elsewhere grades as often as people": (
        False,
        "unknown",
        lambda w, rng: _mixed(_half(w), _repeated(w, rng, 0.2), _exchanged(w, rng)),
    ),
    "sealed, raises what the candidate shows": (True, "none", _raised),
    "sealed, grades as often as people": (True, "none", _exchanged),
}
"""Whether an answer is right, what is stated of the model, and its grades."""


@dataclass(frozen=True)
class Cell:
    """Intervals of one model.

    Attributes:
        model: what it saw.
        sound: whether its interval should be given.
        people, queries: judged by people and by the model.
        replications: samples of two equal systems, and as many with a better candidate.
        excluded_before, excluded: share of all samples whose interval excludes the true difference
            of equal systems, without and with the checks.
        covered: share of the given intervals that hold it; NaN where none is given.
        answered: share of samples whose interval is given.
        power_before, power: share of samples of a better candidate whose interval excludes 0; NaN
            where the interval should not be given.
    """

    model: str
    sound: bool
    people: int
    queries: int
    replications: int
    excluded_before: float
    excluded: float
    covered: float
    answered: float
    power_before: float
    power: float

    @property
    def holds(self) -> bool:
        """Whether at most 5 % are excluded, within noise, and sound inputs are answered."""
        noise = 3 * np.sqrt(0.05 * 0.95 / self.replications)
        return bool(self.excluded <= 0.05 + noise and (self.answered >= 0.97 or not self.sound))


def run(seed: int = 43) -> list[Cell]:
    """Every model with each number of queries."""
    return [
        _cell(name, queries, people, replications, seed)
        for name in MODELS
        for queries, (people, replications) in SIZES.items()
    ]


def _cell(name: str, queries: int, people: int, replications: int, seed: int) -> Cell:
    sound, stated, judge = MODELS[name]
    replications = replications if sound else round(replications / UNSOUND)
    rng = np.random.default_rng([seed, queries, *map(ord, name)])
    equal, better = (
        np.array(
            [
                _looked_at(World.of(queries, people, noise, rng), judge, stated, rng)
                for _ in range(replications)
            ]
        )
        if sound or noise == 2.0
        else np.full((1, 3), np.nan)
        for noise in (2.0, 1.75)
    )
    unchecked, checked, answered = (equal[:, j] for j in range(3))
    covered = 1 - checked.sum() / answered.sum() if answered.any() else float("nan")
    return Cell(
        name,
        sound,
        people,
        queries,
        replications,
        float(unchecked.mean()),
        float(checked.mean()),
        float(covered),
        float(answered.mean()),
        float(better[:, 0].mean()),
        float(better[:, 1].mean()),
    )


def _looked_at(
    world: World, judge: Callable[[World, np.random.Generator], Floats], stated: str, rng: np.random.Generator
) -> tuple[bool, bool, bool]:
    """Whether the interval excludes 0 before and after the checks, and whether it is given."""
    grades = judge(world, rng)
    people, model = world.delta(world.grades), world.delta(grades)
    unchecked = _excludes(people[world.judged], model[world.judged], model)
    remaining = ~_half(world) if stated == "file" else np.ones(len(model), np.bool_)
    sample = world.judged & remaining
    if _seen(world.grades[sample], grades[remaining], sample[remaining], stated):
        return unchecked, False, False
    return unchecked, _excludes(people[sample], model[sample], model[remaining]), True


def _excludes(people: Floats, model: Floats, every: Floats) -> bool:
    population = Population(every, np.ones(len(every)))
    values = estimate_population(people, predicted=model, population=population).values
    ends = guarded_interval(values, 0.95)
    return bool(ends.low[0] > 0 or ends.high[0] < 0)


def _seen(people: Floats, model: Floats, sample: Flags, stated: str) -> bool:
    """Whether the checks of rankgate.measurement.evaluation.model_judgments refuse."""
    table = np.zeros((1, 4, 4))
    np.add.at(table[0], (people.astype(int).ravel(), model[sample].astype(int).ravel()), 1.0)
    if stated == "unknown" and cohen_values(table, GRADES)[0] >= AGREEMENT:
        return True
    columns = (
        model.mean(axis=1),
        model.std(axis=1),
        (model == model.min()).mean(axis=1),
        (model == model.max()).mean(axis=1),
    )
    return chance_of_sample(np.stack(columns, axis=1), sample) < CHANCES[stated]


def section(cells: Sequence[Any]) -> str:
    """Give the part of the page."""
    from tables import marked, percent, table

    rows = [
        (
            c.model,
            f"{c.people} of {c.queries}",
            percent(c.excluded_before),
            marked(c.excluded, c.holds),
            "–" if c.covered != c.covered else percent(c.covered),
            percent(c.answered),
            f"{percent(c.power_before)} / {percent(c.power)}" if c.sound else "–",
        )
        for c in cells
    ]
    sound = [c for c in cells if c.sound]
    missed = [c for c in cells if not c.holds]
    names = "; ".join(sorted({c.model for c in missed})) or "none"
    misled = percent(max(c.excluded for c in cells if not c.sound))
    return (
        "## A model that saw people's judgments\n\nA model that was shown people's judgments, as examples or "
        "in training, repeats them and is corrected by nothing where it did not see them. Two equal systems; "
        "people judge a tenth of the queries. A model that saw labels repeats 95 % of them, and in other "
        "queries raises the documents that the candidate shows first. Excluded is the share of all samples "
        "whose 95 % interval excludes 0, before and after the checks of `--predicted-saw`: queries whose "
        "judgments the model saw are left out; its grades of judged queries are compared with those of the "
        "others; and a kappa of .9 or more with people is refused unless the data that the model saw are "
        "stated. Given is the share of samples that get an interval: sound models get "
        f"{percent(min(c.answered for c in sound))} or more. Power is that of a better candidate, before and "
        f"after. What does not hold: {names}. **The checks do not find a model that saw labels and gives "
        "other grades with the distribution of people's**: with a false statement, or a model that remembers "
        f"a part, up to {misled} of the samples of two equal systems "
        "have an interval without 0. So the gate gives no verdict better than inconclusive on a statement; "
        "people's judgments that are sealed (`--predicted-saw sealed`: the store shows that the model "
        "judged first) are the models of the last rows.\n\n"
        + table(("model", "people", "excluded before", "excluded", "covered", "given", "power"), rows)
    )

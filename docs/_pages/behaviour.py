"""What a metric does, as curves: made by its own kernel, for the picture on its page."""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

import numpy as np

from rankgate.measurement.metrics.facet_input import FacetMetric
from rankgate.measurement.metrics.facet_input import block as faceted
from rankgate.measurement.metrics.graded.dcg import nDCG
from rankgate.measurement.metrics.judged_block import block
from rankgate.measurement.metrics.lists import ListMetric
from rankgate.measurement.metrics.lists.list_input import Listed
from rankgate.measurement.metrics.metric_declaration import SAMPLED_POOLS, SEQUENCES
from rankgate.measurement.metrics.preference_input import PREFERENCES, Group, Preferred, Query
from rankgate.measurement.metrics.sequences.sequence import Sequences, sequences
from rankgate.measurement.metrics.stratified_samples import SampledPool
from rankgate.measurement.scoring import CONVENTIONS

if TYPE_CHECKING:
    from collections.abc import Sequence

    from rankgate.measurement.metrics.metric_declaration import Metric

DEEPEST = 20
_LONGEST = 20  # of made-up lists; metrics that look at steps of ten see two
_POOL = (3, 2, 1, 1, 1)
_IRRELEVANT = 30
_SHARES = tuple(i / 10 for i in range(11))
_AT = {"cutoff": 10, "recall": 0.5, "multiple": 1.0, "length": 1}


@dataclass(frozen=True)
class Curve:
    """One line: its name, and a point for each x."""

    name: str
    x: tuple[float, ...]
    y: tuple[float, ...]

    @property
    def known(self) -> Curve:
        """The same without the places that have no value."""
        points = [(x, y) for x, y in zip(self.x, self.y, strict=True) if not np.isnan(y)]
        return (
            Curve(self.name, *(tuple(coordinates) for coordinates in zip(*points, strict=True)))
            if points
            else (Curve(self.name, (), ()))
        )


@dataclass(frozen=True)
class Panel:
    """Curves over one axis.

    Attributes:
        title: the changed property.
        axis: the label of the x axis.
        curves: at least one.
    """

    title: str
    axis: str
    curves: tuple[Curve, ...]


def shown(metric: Metric) -> Metric:
    """The metric for its picture, with a cutoff only if the metric needs one."""
    for name in metric.missing:
        metric = metric(**{name: _AT.get(name, 0.5)})
    if metric.view == SEQUENCES and "order" in metric.parameters:  # grades of the pool name no order
        metric = metric(order="any")
    if isinstance(metric, ListMetric | FacetMetric) and metric.at == "cutoff":
        return metric @ (_LONGEST if "step" in metric.parameters else _AT["cutoff"])
    return metric


def panels(metric: Metric) -> tuple[Panel, ...]:
    """The pictures of a metric; empty if no curve has a value."""
    if isinstance(metric, ListMetric):
        all_panels = _of_lists(shown(metric))
    elif isinstance(metric, FacetMetric):
        all_panels = _of_subtopics(shown(metric))
    else:
        all_panels = _of_rankings(shown(metric))
    trimmed_panels = (
        replace(panel, curves=tuple(c for c in (c.known for c in panel.curves) if c.x))
        for panel in all_panels
    )
    return tuple(panel for panel in trimmed_panels if panel.curves)


def _of_rankings(metric: Metric) -> list[Panel]:
    """One document alone at each rank; a perfect list pushed down."""
    pool = [*_POOL, *[0] * _IRRELEVANT]
    ranks = range(1, DEEPEST + 1)

    def alone(grade: int) -> list[list[float | None]]:
        return [[*[0] * (i - 1), grade, *[0] * (DEEPEST - i)] for i in ranks]

    def pushed(by: int | None) -> list[list[float | None]]:
        return [[*[by] * i, *_POOL, *[0] * (DEEPEST - i)] for i in range(11)]

    document_curves = [
        _curve(f"grade {grade}", metric, ranks, alone(grade), pool) for grade in (_POOL[0], _POOL[-1])
    ]
    pushed_curves = [
        _curve(name, metric, range(11), pushed(grade), pool)
        for name, grade in (("irrelevant on top", 0), ("unjudged on top", None))
    ]
    ideal_grades = ", ".join(map(str, _POOL))
    return [
        Panel(
            f"One document of the pool ({ideal_grades}) found, at this rank", "rank", _merged(document_curves)
        ),
        Panel(
            f"The perfect list ({ideal_grades}, then 0) pushed down",
            "documents put on top",
            _merged(pushed_curves),
        ),
    ]


def _curve(
    name: str, metric: Metric, x: Sequence[float], rankings: list[list[float | None]], pool: Sequence[float]
) -> Curve:
    defaults = CONVENTIONS["trec"].for_metric(metric).defaults(metric)
    build_view = {PREFERENCES: _preferred, SAMPLED_POOLS: _sampled, SEQUENCES: _alone}.get(metric.view, block)
    values = metric.compute(build_view(rankings, [pool] * len(rankings)), defaults)
    if metric.view == SEQUENCES and np.isnan(values).all():  # of questions without evidence
        values = metric.compute(_alone(rankings, [[]] * len(rankings)), defaults)
    return Curve(name, tuple(x), tuple(map(float, values)))


def _sampled(rankings: list[list[float | None]], pools: list[Sequence[float]]) -> list[SampledPool]:
    """The same with a pool that is judged wholly."""
    sampled_pools = []
    for ranking, pool in zip(rankings, pools, strict=True):
        graded = [(i, grade) for i, grade in enumerate(ranking, 1) if grade is not None]
        remaining_grades = list((Counter(pool) - Counter(grade for _, grade in graded)).elements())
        rank = np.array([*(float(i) for i, _ in graded), *[np.inf] * len(remaining_grades)])
        grades = np.array([*(grade for _, grade in graded), *remaining_grades], float)
        sampled_pools.append(SampledPool(rank, grades, np.zeros(len(rank), int), np.full(len(rank), np.nan)))
    return sampled_pools


def _alone(rankings: list[list[float | None]], pools: list[Sequence[float]]) -> Sequences:
    """Each ranking as a separate task; its answer contains all that the ranking shows."""
    tasks = [[[(f"d{i}", grade) for i, grade in enumerate(row)]] for row in rankings]
    score = np.ones((len(tasks), 1, max(map(len, rankings))))
    of_rankings = (nDCG @ 10).compute(block(rankings, pools))
    grades = [[np.nan if grade is None else grade for grade in row] for row in rankings]
    return sequences(
        tasks,
        pools,
        score=score,
        spent=np.full((len(tasks), 1), 1000.0),
        seconds=np.ones((len(tasks), 1)),
        cited=np.tile(np.arange(max(map(len, rankings))), (len(tasks), 1)),
        cited_grade=np.array(grades, float),
        answered=np.zeros(len(tasks)),
        right=np.array([not pool for pool in pools]),
        values={"nDCG@10": np.column_stack([of_rankings, np.zeros(len(tasks))])},
    )


def _preferred(rankings: list[list[float | None]], pools: list[Sequence[float]]) -> Preferred:
    """Rankings of graded documents; the rest of each pool is not retrieved."""
    queries = []
    for ranking, pool in zip(rankings, pools, strict=True):
        graded = {i: grade for i, grade in enumerate(ranking, 1) if grade is not None}
        remaining_grades = Counter(pool) - Counter(graded.values())
        levels = np.array([*graded.values(), *remaining_grades.elements()], float)
        groups = (Group.from_subgroups([levels]),)
        queries.append(Query(len(graded), groups, np.array([*graded]), len(ranking)))
    return Preferred(tuple(queries))


def _of_subtopics(metric: Metric) -> list[Panel]:
    """One document at each rank, and a second document of the same or another subtopic."""
    pool = [{0, 1, 2}, {0}, {0}, {1}, {1}, {2}]
    ranks = range(1, DEEPEST + 1)
    later_ranks = range(2, DEEPEST + 1)

    def curve(name: str, x: Sequence[int], lists: list[list[set[int]]]) -> Curve:
        values = metric.compute(faceted(lists, [pool] * len(lists)))
        return Curve(name, tuple(x), tuple(map(float, values)))

    def alone(answers: set[int]) -> list[list[set[int]]]:
        return [[*[set()] * (i - 1), answers] for i in ranks]

    def second(answers: set[int]) -> list[list[set[int]]]:
        return [[{0}, *[set()] * (i - 2), answers] for i in later_ranks]

    single_curves = [
        curve("answers all three", ranks, alone({0, 1, 2})),
        curve("answers one", ranks, alone({0})),
    ]
    second_curves = [
        curve("another subtopic", later_ranks, second({1})),
        curve("the same again", later_ranks, second({0})),
    ]
    return [
        Panel("One relevant document, at this rank; three subtopics", "rank", _merged(single_curves)),
        Panel("The first answers one subtopic; a second document", "its rank", _merged(second_curves)),
    ]


def _of_lists(metric: ListMetric) -> list[Panel]:
    """Lists that are the most popular items, with more and more places filled otherwise."""
    world = _World.of(np.random.default_rng(20))
    chance = tuple(metric.value(world.lists(share, world.chance)) for share in _SHARES)
    taste = tuple(metric.value(world.lists(share, world.taste)) for share in _SHARES)
    percent = tuple(100 * share for share in _SHARES)
    return [
        Panel(
            "The most popular items for everybody, places given away",
            "% of places given away",
            _merged([Curve("to chance", percent, chance), Curve("to one's taste", percent, taste)]),
        )
    ]


@dataclass(frozen=True)
class _World:
    """A made-up catalogue: 60 people, 200 items, long-tailed popularity, five categories."""

    popular: np.ndarray
    chance: np.ndarray
    taste: np.ndarray
    known: Listed

    @classmethod
    def of(cls, rng: np.random.Generator) -> _World:
        people, items, length = 60, 200, _LONGEST
        weight = 1 / np.arange(1, items + 1)
        kind = rng.integers(0, 5, items)
        liked = rng.integers(0, 5, people)
        popular = np.tile(np.arange(length), (people, 1))
        chance = np.stack([rng.permutation(items)[:length] for _ in range(people)])
        liked_items = [np.flatnonzero(kind == like) for like in liked]
        taste = np.stack([rng.permutation(item_ids)[:length] for item_ids in liked_items])
        history = np.stack(
            [rng.choice(items, 8, replace=False, p=_of(weight, kind == like)) for like in liked]
        )
        popular_lists = Listed(
            popular,
            items,
            seen=np.bincount(history.ravel(), minlength=items) + 1,
            people=people,
            relevant=taste,
            history=history,
            baseline=popular,
            earlier=np.roll(popular, 2, axis=1),
            features=np.eye(5)[kind] + rng.normal(0, 0.1, (items, 5)),
            categories=np.eye(5)[kind],
            groups=(np.arange(items) >= items // 4).astype(np.int64),
        )
        return cls(popular, chance, taste, popular_lists)

    def lists(self, share: float, others: np.ndarray) -> Listed:
        """The popular lists; their last positions hold the first items of the other lists."""
        width = self.popular.shape[1]
        kept_count = width - round(share * width)
        rows = [
            [*old[:kept_count], *[i for i in new if i not in set(old[:kept_count])]][:width]
            for old, new in zip(self.popular.tolist(), others.tolist(), strict=True)
        ]
        return replace(self.known, items=np.array(rows, dtype=np.int64))


def _of(weight: np.ndarray, liked: np.ndarray) -> np.ndarray:
    """The probability that a user has seen each item: by popularity, four times higher for items of the user's taste."""
    worth = weight * np.where(liked, 4, 1)
    return worth / worth.sum()


def _merged(curves: Sequence[Curve]) -> tuple[Curve, ...]:
    """Merge equal curves into one curve with both names."""
    first, second = curves
    if np.allclose(first.y, second.y, equal_nan=True):
        return (Curve(f"{first.name} or {second.name}".replace(" on top or", " or"), first.x, first.y),)
    return (first, second)

"""The input of intent-aware metrics: the subtopics that the documents of a ranking answer, by rank.

Shapes: T queries, J relevant documents retrieved, D relevant documents judged, S subtopics.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from collections.abc import Set as AbstractSet
from dataclasses import replace

import numpy as np
from numpy.typing import NDArray

from rankgate.core.frozen import dataclass
from rankgate.measurement.metrics.judged import PAD, Counts, Flags, Floats, Ranks

Grades = NDArray[np.float32]
Answers = AbstractSet[int] | Mapping[int, float]


@dataclass(frozen=True, slots=True, eq=False)
class Faceted:
    """Documents that are relevant to a subtopic or more; others matter only through ranks.

    Attributes:
        rank: ``(T, J)`` ranks, 1-based and ascending, padded with `PAD`.
        grades: ``(T, J, S)``, how well each of them answers each subtopic; 0 is not at all.
        pool_grades: ``(T, D, S)``, the same of all relevant documents judged, in the order in
            which equals go into the ideal ranking; 0 in the padding.
        level: the grade from which a document answers a subtopic.
        weights: ``(T, S)``, what each subtopic weighs; None where all weigh the same.
    """

    rank: Ranks
    grades: Grades
    pool_grades: Grades
    level: float = 1
    weights: Floats | None = None

    def __post_init__(self) -> None:
        for array in (self.rank, self.grades, self.pool_grades):
            array.setflags(write=False)  # kernels share the block: none may write into it

    def at_level(self, rel: float) -> Faceted:
        """The same block where a grade of ``rel`` answers a subtopic."""
        return self if rel == self.level else replace(self, level=rel)

    @property
    def covers(self) -> Flags:
        """True for each subtopic that a retrieved document answers, ``(T, J, S)``."""
        return self._answers(self.grades)

    @property
    def pool(self) -> Flags:
        """True for each subtopic that a relevant judged document answers, ``(T, D, S)``."""
        return self._answers(self.pool_grades)

    @property
    def subtopics(self) -> Counts:
        """Subtopics with a relevant document, ``(T,)``."""
        counts: Counts = np.count_nonzero(self.pool.any(axis=1), axis=-1)
        return counts

    @property
    def worth(self) -> Floats:
        """The weight of each subtopic with a relevant document, ``(T, S)``, 1 on average.

        NaN for a query whose subtopics with a relevant document weigh nothing together.
        """
        has_relevant: Flags = np.any(self.pool, axis=1)
        if self.weights is None:
            return np.ones(has_relevant.shape)
        known_weights = np.where(has_relevant, self.weights, 0.0)
        total_weight, count = (
            known_weights.sum(axis=-1, keepdims=True),
            has_relevant.sum(axis=-1, keepdims=True),
        )
        weights: Floats = np.where(count > 0, np.nan, 0.0) + np.zeros(has_relevant.shape)
        np.divide(known_weights * count, total_weight, out=weights, where=total_weight > 0)
        return weights

    def _answers(self, grades: Grades) -> Flags:
        answers: Flags = (grades >= self.level) & (grades > 0)
        return answers

    @property
    def relevant(self) -> Counts:
        """Count the documents that answer each subtopic, ``(T, S)``."""
        counts: Counts = np.count_nonzero(self.pool, axis=1)
        return counts


def gains(covers: Flags, alpha: float, weights: Floats) -> Floats:
    """The gain that each document adds, ``(T, J, S) -> (T, J)``.

    Σ_s worth(s) · covers(i, s) · (1 − α)^(how often s was answered above)
    """
    covered_above = np.cumsum(covers, axis=1, dtype=np.float64) - covers
    gain: Floats = np.where(covers, weights[:, None] * (1 - alpha) ** covered_above, 0).sum(axis=-1)
    return gain


def ideal_gains(pool: Flags, alpha: float, depth: int, weights: Floats) -> Floats:
    """The gains of the greedy ideal ranking, ``(T, min(D, depth))``.

    At each rank is the document that adds most, of equals the first: the best ranking of all
    is too dear to find (Clarke et al. 2008). Sums run in the order of the subtopics, as those of
    ndeval do: with another rounding other documents would be equals.
    """
    rows = np.arange(len(pool))
    remaining = np.ascontiguousarray(np.moveaxis(pool, -1, 0), np.float64)  # (S, T, D)
    worth = weights.T.copy()  # of another document on each subtopic
    gains_by_rank = np.zeros((len(pool), min(pool.shape[1], depth)))
    for rank_index in range(gains_by_rank.shape[1]):
        added_gain = np.zeros(remaining.shape[1:])
        for subtopic, subtopic_worth in zip(remaining, worth, strict=True):
            added_gain += subtopic * subtopic_worth[:, None]
        best_document = added_gain.argmax(axis=1)
        gains_by_rank[:, rank_index] = added_gain[rows, best_document]
        worth = np.where(remaining[:, rows, best_document] > 0, worth * (1 - alpha), worth)
        remaining[:, rows, best_document] = 0
    return gains_by_rank


def block(rankings: Sequence[Sequence[Answers]], pools: Sequence[Sequence[Answers]]) -> Faceted:
    """A block from plain lists: what each document of each ranking answers, best rank first.

    Args:
        rankings: for each query the subtopics (from 0) of each document; an empty set is a
            document that answers none; or for each of its subtopics the grade.
        pools: for each query those of all relevant documents judged.

    >>> block([[{0}, set(), {0, 1}]], [[{0}, {0, 1}]]).rank
    array([[1, 3]], dtype=int32)
    """
    size = 1 + max((s for pool in pools for answers in pool for s in answers), default=0)
    ranked = [[(i, answers) for i, answers in enumerate(row, 1) if answers] for row in rankings]
    rank = np.full((len(ranked), max([1, *map(len, ranked)])), PAD, np.int32)
    grades = np.zeros((*rank.shape, size), np.float32)
    pool = np.zeros((len(ranked), max([1, *map(len, pools)]), size), np.float32)
    for t, (row, pool_answers) in enumerate(zip(ranked, pools, strict=True)):
        for j, (i, answers) in enumerate(row):
            rank[t, j] = i
            grades[t, j, list(answers)] = _grades(answers)
        for j, answers in enumerate(pool_answers):
            pool[t, j, list(answers)] = _grades(answers)
    return Faceted(rank, grades, pool)


def _grades(answers: Answers) -> list[float]:
    return list(answers.values()) if isinstance(answers, Mapping) else [1.0] * len(answers)

"""The input and declaration of intent-aware metrics, and means over a query's subtopics.

The input holds the subtopics that the documents of a ranking answer, by rank. After it come
the declaration of a metric of subtopics, and plain metrics as their mean over the subtopics of
a query: P-IA, AP-IA, subtopic recall.

Shapes: T queries, J relevant documents retrieved, D relevant documents judged, S subtopics.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from collections.abc import Set as AbstractSet
from dataclasses import replace

import numpy as np
from numpy.typing import NDArray

from rankgate.core.arrays import Flags, Floats
from rankgate.core.declare import Cutoff
from rankgate.core.frozen import dataclass
from rankgate.measurement.metrics.judged_block import PAD, Counts, Ranks
from rankgate.measurement.metrics.metric_declaration import SUBTOPICS, Metric, View

Grades = NDArray[np.float32]
Answers = AbstractSet[int] | Mapping[int, float]


@dataclass(frozen=True, slots=True, eq=False)
class Faceted:
    """Documents that are relevant to at least one subtopic; others only affect the ranks.

    Attributes:
        rank: ``(T, J)`` ranks, 1-based and ascending, padded with `PAD`.
        grades: ``(T, J, S)``, the grade of each document for each subtopic; 0 is not relevant.
        pool_grades: ``(T, D, S)``, the same for all relevant judged documents, in the order of ties
            in the ideal ranking; 0 in the padding.
        level: the lowest grade at which a document answers a subtopic.
        weights: ``(T, S)``, the weight of each subtopic; None if all weights are equal.
    """

    rank: Ranks
    grades: Grades
    pool_grades: Grades
    level: float = 1
    weights: Floats | None = None

    def __post_init__(self) -> None:
        for array in (self.rank, self.grades, self.pool_grades):
            array.setflags(write=False)  # kernels share the block, so none may change it

    def at_level(self, rel: float) -> Faceted:
        """The same block, where a grade of at least ``rel`` answers a subtopic."""
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
        """The number of subtopics with a relevant document, ``(T,)``."""
        return np.count_nonzero(self.pool.any(axis=1), axis=-1)

    @property
    def worth(self) -> Floats:
        """The weight of each subtopic with a relevant document, ``(T, S)``, 1 on average.

        NaN for a query if the weights of its subtopics with a relevant document sum to 0.
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
        return (grades >= self.level) & (grades > 0)

    @property
    def relevant(self) -> Counts:
        """Count the documents that answer each subtopic, ``(T, S)``."""
        return np.count_nonzero(self.pool, axis=1)


def gains(covers: Flags, alpha: float, weights: Floats) -> Floats:
    """Compute the gain that each document adds, ``(T, J, S) -> (T, J)``.

    Σ_s worth(s) · covers(i, s) · (1 − α)^(how often s was answered above)
    """
    covered_above = np.cumsum(covers, axis=1, dtype=np.float64) - covers
    return np.where(covers, weights[:, None] * (1 - alpha) ** covered_above, 0).sum(axis=-1)


def ideal_gains(pool: Flags, alpha: float, depth: int, weights: Floats) -> Floats:
    """The gains of the greedy ideal ranking, ``(T, min(D, depth))``.

    At each rank is the document that adds most, the first of equal ones, because the best ranking
    of all is too expensive to find (Clarke et al. 2008). Sums run in the order of the subtopics, as
    in ndeval: with different rounding, different documents would be equal.
    """
    rows = np.arange(len(pool))
    remaining = np.ascontiguousarray(np.moveaxis(pool, -1, 0), np.float64)  # (S, T, D)
    worth = weights.T.copy()  # the worth of one more document for each subtopic
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
    """A block from plain lists: the answers of each document of each ranking, best rank first.

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


@dataclass(frozen=True, repr=False)
class FacetMetric(Metric):
    """A metric with a kernel on a `Faceted` block; everything else is inherited from `Metric`."""

    sees: str = "which subtopics each document answers, and its rank"
    blind_to: str = "how well it answers them beyond the level rel; unjudged documents"
    view: View = SUBTOPICS


_AGRAWAL = "Agrawal et al., WSDM 2009, doi:10.1145/1498759.1498766"


def precision_ia(faceted: Faceted, *, cutoff: Cutoff, rel: float = 1) -> Floats:
    """Precision at k, mean over subtopics.

        P-IA@k = 1/S · Σ_s |relevant to s at ranks ≤ k| / k

    >>> from rankgate.measurement.metrics.facet_input import block
    >>> precision_ia(block([[{0}, {0, 1}]], [[{0}, {0, 1}]]), cutoff=2)
    array([0.75])
    """
    faceted = faceted.at_level(rel)
    relevant_counts = (faceted.covers & _inside(faceted, cutoff)).sum(axis=1) * faceted.worth
    return _mean(relevant_counts.sum(axis=-1) / cutoff, faceted)


def average_precision_ia(faceted: Faceted, *, cutoff: Cutoff | None = None, rel: float = 1) -> Floats:
    """Average precision, mean over subtopics.

        AP-IA = 1/S · Σ_s 1/R_s · Σ_{i relevant to s} |relevant to s at ranks ≤ i| / i

    >>> from rankgate.measurement.metrics.facet_input import block
    >>> average_precision_ia(block([[{0}, {0, 1}]], [[{0}, {0, 1}]]))
    array([0.75])
    """
    faceted = faceted.at_level(rel)
    covers = faceted.covers & _inside(faceted, cutoff)
    rank = np.where(faceted.rank < PAD, faceted.rank, 1)[:, :, None]
    precision_sums = np.where(covers, np.cumsum(covers, axis=1) / rank, 0).sum(axis=1)
    intent_precision = precision_sums / np.maximum(faceted.relevant, 1) * faceted.worth
    return _mean(intent_precision.sum(axis=-1), faceted)


def subtopic_recall(faceted: Faceted, *, cutoff: Cutoff | None = None, rel: float = 1) -> Floats:
    """The share of the subtopics that a document of the first k answers.

        StRecall@k = |subtopics answered at ranks ≤ k| / S

    >>> from rankgate.measurement.metrics.facet_input import block
    >>> subtopic_recall(block([[{0}, {1}]], [[{0}, {1}]]), cutoff=1)
    array([0.5])
    """
    faceted = faceted.at_level(rel)
    answered = (faceted.covers & _inside(faceted, cutoff)).any(axis=1).sum(axis=-1)
    return _mean(answered.astype(np.float64), faceted)


def _inside(faceted: Faceted, cutoff: int | None) -> Flags:
    return (faceted.rank <= (cutoff or PAD))[:, :, None]


def _mean(total: Floats, faceted: Faceted) -> Floats:
    """Compute the mean from a sum over subtopics; NaN if there are none."""
    count = faceted.subtopics
    return np.where(count > 0, total / np.maximum(count, 1), np.nan)


PIA = FacetMetric(
    "P_IA",
    precision_ia,
    title="Precision, mean over subtopics.",
    formula="P-IA@k = 1/S · Σ_s |relevant to s at ranks ≤ k| / k",
    source=f"{_AGRAWAL}; ndeval",
    prefix_only=True,
)
APIA = FacetMetric(
    "AP_IA",
    average_precision_ia,
    title="Average precision, mean over subtopics.",
    formula="AP-IA = 1/S · Σ_s 1/R_s · Σ_{i relevant to s} |relevant to s at ranks ≤ i| / i",
    aliases=("MAP_IA",),
    source=f"{_AGRAWAL}; ndeval (MAP-IA)",
    prefix_only=True,
)
StRecall = FacetMetric(
    "StRecall",
    subtopic_recall,
    title="The share of the subtopics that the first k answer.",
    formula="StRecall@k = |subtopics answered at ranks ≤ k| / S",
    aliases=("strec", "S_recall"),
    source="Zhai, Cohen & Lafferty, SIGIR 2003, doi:10.1145/860435.860440; ndeval (strec)",
    prefix_only=True,
)

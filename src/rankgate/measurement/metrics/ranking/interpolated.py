"""Interpolated precision at levels of recall."""

from typing import Annotated, Literal

import numpy as np

from rankgate.core.declare import Range
from rankgate.measurement.metrics.declare import Metric
from rankgate.measurement.metrics.judged import Floats, Judged

Points = Literal["round", "ceil9"]
LEVELS = (0.0, 0.1, 0.2, 0.3, 0.4, 0.5, 0.6, 0.7, 0.8, 0.9, 1.0)


def interpolated_precision(
    judged: Judged,
    *,
    recall: Annotated[float, Range(0, 1)],
    rel: float = 1,
    points: Points = "round",
) -> Floats:
    """Greatest precision at any rank from where a share of the relevant is found.

        IPrec@r = max{ j / hⱼ : j ≥ c },   c = r·R in whole documents

    where hⱼ is the rank of the j-th relevant document; 0 if c are not retrieved.

    Args:
        judged: the block.
        recall: r, from 0 to 1.
        rel: the smallest grade that counts as relevant.
        points: how c becomes whole: to the nearest, halves up (`round`, trec_eval 10), or
            ⌊r·R + 0.9⌋ (`ceil9`, trec_eval 9).

    Returns:
        ``(T,)``; NaN for a query without a relevant document, and for an empty list where c
        is 0.

    >>> from rankgate.measurement.metrics.judged import block
    >>> interpolated_precision(block([[1, 0, 1]]), recall=0.5)
    array([1.])
    """
    judged = judged.at_level(rel)
    return _Curve(judged, rel, points).at(recall)


def eleven_point_average(judged: Judged, *, rel: float = 1, points: Points = "round") -> Floats:
    """Mean of the interpolated precision at recall 0, 0.1, …, 1.

        IPrec11 = 1/11 · Σ_{r = 0, 0.1, …, 1} IPrec@r

    Returns:
        ``(T,)``; NaN for a query without a relevant document or with an empty list.

    >>> from rankgate.measurement.metrics.judged import block
    >>> eleven_point_average(block([[0, 1]]))
    array([0.5])
    """
    judged = judged.at_level(rel)
    curve = _Curve(judged, rel, points)
    value = np.zeros(judged.relevant.shape)
    for recall in reversed(LEVELS):
        value += curve.at(recall)
    return value / len(LEVELS)


class _Curve:
    """The interpolated precision of a block, ready to be read at any recall."""

    def __init__(self, judged: Judged, rel: float, points: Points) -> None:
        hits = judged.hits(rel)
        count = np.cumsum(hits, axis=-1)
        precision = np.where(hits, count / judged.rank, 0)
        zeros = np.zeros((len(precision), 1))  # read where too few are found
        best_precision = np.maximum.accumulate(precision[:, ::-1], axis=-1)[:, ::-1]
        self.best = np.concatenate([best_precision, zeros], axis=-1)
        self.count, self.relevant, self.points = count, judged.relevant, points
        self.empty = judged.retrieved == 0

    def at(self, recall: float) -> Floats:
        exact = recall * self.relevant
        whole_count = np.floor(exact)
        round_up = exact - whole_count >= 1 / 2
        needed_count = whole_count + round_up if self.points == "round" else np.floor(exact + 0.9)
        column = np.count_nonzero(self.count < needed_count[:, None], axis=-1)
        value = np.take_along_axis(self.best, column[:, None], axis=-1)[:, 0]
        undefined = (self.relevant == 0) | (self.empty & (needed_count == 0))
        return np.where(undefined, np.nan, value)


_SOURCE = "van Rijsbergen, Information Retrieval, 2nd ed., Butterworths 1979, ch. 7; trec_eval"

IPrec = Metric(
    "IPrec",
    interpolated_precision,
    title="The greatest precision at any rank at which recall is at least r.",
    formula="IPrec@r = max{ j / hⱼ : j ≥ c },   hⱼ the rank of the j-th relevant document,\n"
    "c = ⌊r·R + 1/2⌋ (points='round'), or ⌊r·R + 0.9⌋ (points='ceil9')",
    trec=("iprec_at_recall",),
    at="recall",
    source=_SOURCE,
    sees="what precision a reader gets who insists on a share r of the relevant documents",
    blind_to="grades above rel, and for few relevant documents the level itself: with R = 1 "
    "every level above 0 asks for the same document",
    bounds="safe",
)
IPrec11 = Metric(
    "IPrec11",
    eleven_point_average,
    title="The mean of interpolated precision at the eleven recall levels 0, 0.1, …, 1.",
    formula="IPrec11 = 1/11 · Σ_{r = 0, 0.1, …, 1} IPrec@r",
    aliases=("11pt_avg",),
    trec=("11pt_avg",),
    at=None,
    source=_SOURCE,
    sees="the area under the interpolated precision-recall curve",
    blind_to="grades above rel; interpolation hides the dips of the real curve",
)

"""Normalised cumulative utility: users who stop at relevant documents with different chances."""

from typing import Annotated, Literal

import numpy as np

from rankgate.core.declare import Range
from rankgate.measurement.metrics.declare import Metric
from rankgate.measurement.metrics.graded.blended import blended_ratio
from rankgate.measurement.metrics.graded.gains import Gain, GainMap, gain_of_grades
from rankgate.measurement.metrics.judged import Flags, Floats, Judged, count, total

Beta = Annotated[float, Range(0)]
Stops = Literal["linear", "exp", "binary"] | GainMap
Gamma = Annotated[float, Range(0, 1)]


def graded_precision(judged: Judged, *, rel: float = 1, stops: Stops = "linear") -> Floats:
    """Precision where users stop: at each relevant document, the likelier the better it is.

        NCU = Σ_{relevant at rank i} s(gradeᵢ) / Σ_{relevant judged} s · P(i)

    Args:
        judged: the block.
        rel: the smallest grade that counts as relevant.
        stops: how likely users stop at a grade, compared with others: as the grade (`linear`),
            as 2 to the grade less 1 (`exp`), at all alike (`binary`), or a map.

    Returns:
        ``(T,)``; NaN for a query without a relevant document.

    >>> from rankgate.measurement.metrics.judged import block
    >>> graded_precision(block([[0, 3, 1]])).round(4)  # 3/4 · 1/2 + 1/4 · 2/3
    array([0.5417])
    """
    return _utility(judged, rel, _stops_by_grade(judged, rel, stops), "linear", 0.0)


def graded_blended(
    judged: Judged,
    *,
    rel: float = 1,
    stops: Stops = "linear",
    beta: Beta = 1.0,
    gain: Gain = "linear",
) -> Floats:
    """The same with the blended ratio in the place of precision.

    Args:
        judged: the block.
        rel: the smallest grade that counts as relevant.
        stops: how likely users stop at a grade, compared with others.
        beta: how much grades matter for the ratio; 0 is precision.
        gain: what a grade is worth, as in nDCG.

    >>> from rankgate.measurement.metrics.judged import block
    >>> graded_blended(block([[3, 1]]))
    array([1.])
    """
    return _utility(judged, rel, _stops_by_grade(judged, rel, stops), gain, beta)


def biased_precision(judged: Judged, *, rel: float = 1, gamma: Gamma = 0.95) -> Floats:
    """Precision where users stop: the j-th relevant document γ times as likely as the one before.

        NCU = Σ_{relevant at rank i} γ^(C(i) − 1) / Σ_{j<R} γ^j · P(i)

    Args:
        judged: the block.
        rel: the smallest grade that counts as relevant.
        gamma: γ; 1 is average precision.

    >>> from rankgate.measurement.metrics.judged import block
    >>> biased_precision(block([[0, 3, 1]]), gamma=0.5).round(4)  # (1/2 + 1/2 · 2/3) / 1.5
    array([0.5556])
    """
    return _utility(judged, rel, _stops_by_rank(judged, rel, gamma), "linear", 0.0)


def biased_blended(
    judged: Judged,
    *,
    rel: float = 1,
    gamma: Gamma = 0.95,
    beta: Beta = 1.0,
    gain: Gain = "linear",
) -> Floats:
    """The same with the blended ratio in the place of precision.

    Args:
        judged: the block.
        rel: the smallest grade that counts as relevant.
        gamma: γ; 1 is Q-measure.
        beta: how much grades matter for the ratio; 0 is precision.
        gain: what a grade is worth, as in nDCG.

    >>> from rankgate.measurement.metrics.judged import block
    >>> biased_blended(block([[3, 1]]))
    array([1.])
    """
    return _utility(judged, rel, _stops_by_rank(judged, rel, gamma), gain, beta)


def _stops_by_grade(judged: Judged, rel: float, stops: Stops) -> Floats:
    """The probability that users stop at each row, by its grade."""
    pool = judged.ideal >= max(rel, np.finfo(float).tiny)
    weights = np.where(pool, gain_of_grades(judged.ideal, stops), 0)
    stop_weights = np.where(judged.hits(rel), gain_of_grades(judged.grade, stops), 0)
    return _share(stop_weights, total(weights))


def _stops_by_rank(judged: Judged, rel: float, gamma: float) -> Floats:
    """The probability that users stop at each row, by the number of relevant documents above it."""
    hits = judged.hits(rel)
    relevant_count = judged.at_level(rel).relevant
    powers = gamma ** np.arange(max(1, int(relevant_count.max(initial=1))), dtype=np.float64)
    power_sum = np.append(0, np.cumsum(powers))[relevant_count]
    relevant_above = np.maximum(np.cumsum(hits, axis=-1) - 1, 0)
    return _share(np.where(hits, gamma**relevant_above, 0), power_sum)


def _share(weights: Floats, weight_sum: Floats) -> Floats:
    return np.divide(
        weights, weight_sum[:, None], out=np.zeros_like(weights), where=weight_sum[:, None] > 0
    )


def _utility(judged: Judged, rel: float, stop: Floats, gain: Gain, beta: float) -> Floats:
    judged = judged.at_level(rel)
    hits: Flags = judged.hits(rel)
    value = total(stop * blended_ratio(judged, hits, gain, beta))
    return np.where(count(judged.ideal >= rel) * judged.relevant > 0, value, np.nan)


_SOURCE = "Sakai & Robertson, EVIA 2008; NTCIREVAL"
_SEES = "the rank of every relevant document, and where users are likely to stop"
_BLIND = "unjudged documents, which count as not relevant"

NCUguP = Metric(
    "NCUguP",
    graded_precision,
    title="Precision where users stop, the likelier at a document the better it is.",
    formula="NCUguP = Σ_{relevant at rank i} s(gradeᵢ) / Σ s · P(i)",
    at=None,
    source=_SOURCE,
    sees=_SEES,
    blind_to=_BLIND,
)
NCUguBR = Metric(
    "NCUguBR",
    graded_blended,
    title="The blended ratio where users stop, the likelier at a document the better it is.",
    formula="NCUguBR = Σ_{relevant at rank i} s(gradeᵢ) / Σ s · (C(i) + β·cg(i)) / (i + β·cg*(i))",
    at=None,
    source=_SOURCE,
    sees=_SEES,
    blind_to=_BLIND,
)
NCUrbP = Metric(
    "NCUrbP",
    biased_precision,
    title="Precision where users stop, less likely at each further relevant document.",
    formula="NCUrbP = Σ_{relevant at rank i} γ^(C(i) − 1) / Σ_{j<R} γ^j · P(i)",
    at=None,
    source=_SOURCE,
    sees=_SEES,
    blind_to=_BLIND,
)
NCUrbBR = Metric(
    "NCUrbBR",
    biased_blended,
    title="The blended ratio where users stop, less likely at each further relevant document.",
    formula="NCUrbBR = Σ γ^(C(i) − 1) / Σ_{j<R} γ^j · (C(i) + β·cg(i)) / (i + β·cg*(i))",
    at=None,
    source=_SOURCE,
    sees=_SEES,
    blind_to=_BLIND,
)

"""NTCIR's graded metrics: Q-measure, O-measure, P-measure, P+, cumulative utility.

The Q-measure is average precision for grades. O-measure, P-measure and P+ are for finding one
highly relevant document. Normalised cumulative utility models users who stop at relevant
documents with different chances.
"""

from typing import Annotated, Literal

import numpy as np

from rankgate.core.arrays import Flags, Floats
from rankgate.core.declare import Cutoff, Range
from rankgate.measurement.metrics.graded.gains_ideals import (
    Gain,
    GainMap,
    gain_of_grades,
    ideal_gains,
    retrieved_gains,
)
from rankgate.measurement.metrics.judged_block import Judged, Steps, count, total
from rankgate.measurement.metrics.metric_declaration import Metric


def q_measure(
    judged: Judged,
    *,
    cutoff: Cutoff | None = None,
    rel: float = 1,
    beta: Annotated[float, Range(0)] = 1.0,
    gain: Gain = "linear",
) -> Steps:
    """Mean over the relevant documents of the blended ratio at the rank of each.

        Q@k = 1/min(k, R) · Σ_{relevant at rank i ≤ k} (Cᵢ + β·cgᵢ) / (i + β·cg*ᵢ)

    with Cᵢ relevant documents up to rank i, cgᵢ the gains up to there, cg*ᵢ those of the
    ideal ranking.

    Args:
        judged: the block.
        cutoff: k; without it the whole list counts.
        rel: the smallest grade that counts as relevant.
        beta: the weight of grades; 0 is average precision.
        gain: the gain of a grade, as in nDCG.

    Returns:
        ``(T,)``; NaN for a query without a relevant document.

    >>> from rankgate.measurement.metrics.judged_block import block
    >>> q_measure(block([[1, 3]])).value  # ((1 + 1)/(1 + 3) + (2 + 4)/(2 + 4)) / 2
    array([0.75])
    """
    judged = judged.at_level(rel)
    hits = judged.hits(rel)
    ratios = blended_ratio(judged, hits, gain, beta)
    relevant_count = judged.relevant if cutoff is None else np.minimum(judged.relevant, cutoff)
    return Steps(
        hits,
        judged.within(cutoff) * ratios,
        relevant_count,
        weighed="blended ratio",
        divisor="R" if cutoff is None else "min(k, R)",
    )


def blended_ratio(judged: Judged, hits: Flags, gain: Gain, beta: float) -> Floats:
    """The blended ratio at the rank of each row, ``(T, J)``: (C + β·cg) / (i + β·cg*)."""
    ideal_sums = np.cumsum(ideal_gains(judged, gain), axis=-1)
    ideal_column = np.minimum(judged.rank, ideal_sums.shape[-1]) - 1
    ideal = np.take_along_axis(ideal_sums, ideal_column, axis=-1)
    cumulated_gain = np.cumsum(retrieved_gains(judged, gain), axis=-1)
    return (np.cumsum(hits, axis=-1) + beta * cumulated_gain) / (judged.rank + beta * ideal)


Q = Metric(
    "Q",
    q_measure,
    title="The mean, over all relevant documents, of the blended ratio at the rank of each.",
    formula="Q@k = 1/min(k, R) · Σ_{relevant at rank i ≤ k} (Cᵢ + β·cgᵢ) / (i + β·cg*ᵢ)",
    aliases=("QMeasure", "Q-measure"),
    source="Sakai & Robertson, EVIA 2008; Sakai & Song, SIGIR 2011, doi:10.1145/2009916.2010055",
    sees="the rank of every relevant document as AP does, and the grades",
    blind_to="unjudged documents, which count as not relevant",
    prefix_only=True,
    bounds="safe",
)


Beta = Annotated[float, Range(0)]


def o_measure(judged: Judged, *, rel: float = 1, beta: Beta = 1.0, gain: Gain = "linear") -> Floats:
    """The blended ratio at the first relevant document.

    Args:
        judged: the block.
        rel: the smallest grade that counts as relevant.
        beta: the weight of grades; 0 is reciprocal rank.
        gain: the gain of a grade, as in nDCG.

    Returns:
        ``(T,)``; NaN for a query without a relevant document.

    >>> from rankgate.measurement.metrics.judged_block import block
    >>> o_measure(block([[0, 1, 3]]))  # (1 + 1) / (2 + 4)
    array([0.33333333])
    """
    return _ratio_at(judged, rel, beta, gain, _first_only(judged.hits(rel)))


def p_measure(judged: Judged, *, rel: float = 1, beta: Beta = 1.0, gain: Gain = "linear") -> Floats:
    """The blended ratio at the first of the best documents retrieved; arguments as of O.

    >>> from rankgate.measurement.metrics.judged_block import block
    >>> p_measure(block([[0, 1, 3]]))  # (2 + 4) / (3 + 4)
    array([0.85714286])
    """
    return _ratio_at(judged, rel, beta, gain, _is_best(judged, rel))


def p_plus(judged: Judged, *, rel: float = 1, beta: Beta = 1.0, gain: Gain = "linear") -> Floats:
    """The mean blended ratio at the relevant documents down to that document; arguments as of O.

    >>> from rankgate.measurement.metrics.judged_block import block
    >>> p_plus(block([[0, 1, 3]])).round(4)  # the mean of the two above
    array([0.5952])
    """
    is_best = _is_best(judged, rel)
    is_down_to_best = np.cumsum(is_best[:, ::-1], axis=-1)[:, ::-1] > 0
    return _ratio_at(judged, rel, beta, gain, judged.hits(rel) & is_down_to_best)


def _first_only(rows: Flags) -> Flags:
    """True for the first document of a set in each query."""
    return rows & (np.cumsum(rows, axis=-1) == 1)


def _is_best(judged: Judged, rel: float) -> Flags:
    """The first document that no other retrieved surpasses."""
    grades = np.where(judged.hits(rel), judged.grade, -np.inf)
    return _first_only(judged.hits(rel) & (grades == grades.max(axis=-1, keepdims=True)))


def _ratio_at(judged: Judged, rel: float, beta: float, gain: Gain, rows: Flags) -> Floats:
    """The mean of the blended ratio at some documents; 0 if there are none."""
    judged = judged.at_level(rel)
    ratio = np.where(rows, blended_ratio(judged, judged.hits(rel), gain, beta), 0)
    mean = total(ratio) / np.maximum(count(rows), 1)
    return np.where(judged.relevant > 0, mean, np.nan)


_ONE_DOCUMENT_SOURCE = "Sakai, IPSJ Transactions on Databases 48 (SIG9), 2007; NTCIREVAL"
_RATIO = "BR(i) = (C(i) + β·cg(i)) / (i + β·cg*(i))"

O = Metric(  # noqa: E741 the field's own name
    "O",
    o_measure,
    title="The blended ratio at the first relevant document.",
    formula=f"O = BR(first relevant rank),   {_RATIO}",
    aliases=("OMeasure", "O-measure"),
    at=None,
    source=_ONE_DOCUMENT_SOURCE,
    sees="the rank and the grade of the first relevant document",
    blind_to="all that follows it",
)
PMeasure = Metric(
    "PMeasure",
    p_measure,
    title="The blended ratio at the first of the best documents retrieved.",
    formula=f"PMeasure = BR(rank of the first best document),   {_RATIO}",
    aliases=("P-measure",),
    at=None,
    source=_ONE_DOCUMENT_SOURCE,
    sees="the grades down to the best document retrieved",
    blind_to="all documents after it, and better documents not retrieved, except in the ideal",
)
PPlus = Metric(
    "PPlus",
    p_plus,
    title="The mean blended ratio at the relevant documents down to the best one.",
    formula=f"PPlus = mean of BR over the relevant ranks down to that document,   {_RATIO}",
    aliases=("PPlusMeasure",),
    at=None,
    source=_ONE_DOCUMENT_SOURCE,
    sees="the grades down to the best document retrieved, and each relevant one above it",
    blind_to="all that follows it",
)


Stops = Literal["linear", "exp", "binary"] | GainMap
Gamma = Annotated[float, Range(0, 1)]


def graded_precision(judged: Judged, *, rel: float = 1, stops: Stops = "linear") -> Floats:
    """Precision where users stop: at each relevant document, the likelier the better it is.

        NCU = Σ_{relevant at rank i} s(gradeᵢ) / Σ_{relevant judged} s · P(i)

    Args:
        judged: the block.
        rel: the smallest grade that counts as relevant.
        stops: the relative probability that users stop at a grade: the grade (`linear`), 2 to the
            grade less 1 (`exp`), equal (`binary`), or a map.

    Returns:
        ``(T,)``; NaN for a query without a relevant document.

    >>> from rankgate.measurement.metrics.judged_block import block
    >>> graded_precision(block([[0, 3, 1]])).round(4)  # 3/4 · 1/2 + 1/4 · 2/3
    array([0.5417])
    """
    return _utility(judged, rel, _stops_by_grade(judged, rel, stops), "linear", 0.0)


def graded_blended(
    judged: Judged, *, rel: float = 1, stops: Stops = "linear", beta: Beta = 1.0, gain: Gain = "linear"
) -> Floats:
    """The same with the blended ratio instead of precision.

    Args:
        judged: the block.
        rel: the smallest grade that counts as relevant.
        stops: the relative probability that users stop at a grade.
        beta: the weight of grades in the ratio; 0 is precision.
        gain: the gain of a grade, as in nDCG.

    >>> from rankgate.measurement.metrics.judged_block import block
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

    >>> from rankgate.measurement.metrics.judged_block import block
    >>> biased_precision(block([[0, 3, 1]]), gamma=0.5).round(4)  # (1/2 + 1/2 · 2/3) / 1.5
    array([0.5556])
    """
    return _utility(judged, rel, _stops_by_rank(judged, rel, gamma), "linear", 0.0)


def biased_blended(
    judged: Judged, *, rel: float = 1, gamma: Gamma = 0.95, beta: Beta = 1.0, gain: Gain = "linear"
) -> Floats:
    """The same with the blended ratio instead of precision.

    Args:
        judged: the block.
        rel: the smallest grade that counts as relevant.
        gamma: γ; 1 is Q-measure.
        beta: the weight of grades in the ratio; 0 is precision.
        gain: the gain of a grade, as in nDCG.

    >>> from rankgate.measurement.metrics.judged_block import block
    >>> biased_blended(block([[3, 1]]))
    array([1.])
    """
    return _utility(judged, rel, _stops_by_rank(judged, rel, gamma), gain, beta)


def _stops_by_grade(judged: Judged, rel: float, stops: Stops) -> Floats:
    """The probability that users stop at each row, by grade."""
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
    return np.divide(weights, weight_sum[:, None], out=np.zeros_like(weights), where=weight_sum[:, None] > 0)


def _utility(judged: Judged, rel: float, stop: Floats, gain: Gain, beta: float) -> Floats:
    judged = judged.at_level(rel)
    hits: Flags = judged.hits(rel)
    value = total(stop * blended_ratio(judged, hits, gain, beta))
    return np.where(count(judged.ideal >= rel) * judged.relevant > 0, value, np.nan)


_NCU_SOURCE = "Sakai & Robertson, EVIA 2008; NTCIREVAL"
_SEES = "the rank of every relevant document, and where users are likely to stop"
_BLIND = "unjudged documents, which count as not relevant"

NCUguP = Metric(
    "NCUguP",
    graded_precision,
    title="Precision where users stop, the likelier at a document the better it is.",
    formula="NCUguP = Σ_{relevant at rank i} s(gradeᵢ) / Σ s · P(i)",
    at=None,
    source=_NCU_SOURCE,
    sees=_SEES,
    blind_to=_BLIND,
)
NCUguBR = Metric(
    "NCUguBR",
    graded_blended,
    title="The blended ratio where users stop, the likelier at a document the better it is.",
    formula="NCUguBR = Σ_{relevant at rank i} s(gradeᵢ) / Σ s · (C(i) + β·cg(i)) / (i + β·cg*(i))",
    at=None,
    source=_NCU_SOURCE,
    sees=_SEES,
    blind_to=_BLIND,
)
NCUrbP = Metric(
    "NCUrbP",
    biased_precision,
    title="Precision where users stop, less likely at each further relevant document.",
    formula="NCUrbP = Σ_{relevant at rank i} γ^(C(i) − 1) / Σ_{j<R} γ^j · P(i)",
    at=None,
    source=_NCU_SOURCE,
    sees=_SEES,
    blind_to=_BLIND,
)
NCUrbBR = Metric(
    "NCUrbBR",
    biased_blended,
    title="The blended ratio where users stop, less likely at each further relevant document.",
    formula="NCUrbBR = Σ γ^(C(i) − 1) / Σ_{j<R} γ^j · (C(i) + β·cg(i)) / (i + β·cg*(i))",
    at=None,
    source=_NCU_SOURCE,
    sees=_SEES,
    blind_to=_BLIND,
)

"""NTCIR's metrics for finding one highly relevant document: O-measure, P-measure, P+."""

from typing import Annotated

import numpy as np

from rankgate.core.declare import Range
from rankgate.measurement.metrics.declare import Metric
from rankgate.measurement.metrics.graded.blended import blended_ratio
from rankgate.measurement.metrics.graded.gains import Gain
from rankgate.measurement.metrics.judged import Flags, Floats, Judged, count, total

Beta = Annotated[float, Range(0)]


def o_measure(judged: Judged, *, rel: float = 1, beta: Beta = 1.0, gain: Gain = "linear") -> Floats:
    """The blended ratio at the first relevant document.

    Args:
        judged: the block.
        rel: the smallest grade that counts as relevant.
        beta: how much grades matter; 0 is reciprocal rank.
        gain: what a grade is worth, as in nDCG.

    Returns:
        ``(T,)``; NaN for a query without a relevant document.

    >>> from rankgate.measurement.metrics.judged import block
    >>> o_measure(block([[0, 1, 3]]))  # (1 + 1) / (2 + 4)
    array([0.33333333])
    """
    return _ratio_at(judged, rel, beta, gain, _first_only(judged.hits(rel)))


def p_measure(judged: Judged, *, rel: float = 1, beta: Beta = 1.0, gain: Gain = "linear") -> Floats:
    """The blended ratio at the first of the best documents retrieved; arguments as of O.

    >>> from rankgate.measurement.metrics.judged import block
    >>> p_measure(block([[0, 1, 3]]))  # (2 + 4) / (3 + 4)
    array([0.85714286])
    """
    return _ratio_at(judged, rel, beta, gain, _is_best(judged, rel))


def p_plus(judged: Judged, *, rel: float = 1, beta: Beta = 1.0, gain: Gain = "linear") -> Floats:
    """The mean blended ratio at the relevant documents down to that document; arguments as of O.

    >>> from rankgate.measurement.metrics.judged import block
    >>> p_plus(block([[0, 1, 3]])).round(4)  # the mean of the two above
    array([0.5952])
    """
    is_best = _is_best(judged, rel)
    is_down_to_best = np.cumsum(is_best[:, ::-1], axis=-1)[:, ::-1] > 0
    return _ratio_at(judged, rel, beta, gain, judged.hits(rel) & is_down_to_best)


def _first_only(rows: Flags) -> Flags:
    """The first of them in each query."""
    first: Flags = rows & (np.cumsum(rows, axis=-1) == 1)
    return first


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


_SOURCE = "Sakai, IPSJ Transactions on Databases 48 (SIG9), 2007; NTCIREVAL"
_RATIO = "BR(i) = (C(i) + β·cg(i)) / (i + β·cg*(i))"

O = Metric(  # noqa: E741 the field's own name
    "O",
    o_measure,
    title="The blended ratio at the first relevant document.",
    formula=f"O = BR(first relevant rank),   {_RATIO}",
    aliases=("OMeasure", "O-measure"),
    at=None,
    source=_SOURCE,
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
    source=_SOURCE,
    sees="the grades down to the best document retrieved",
    blind_to="all that follows it, and better documents that were not retrieved but for the ideal",
)
PPlus = Metric(
    "PPlus",
    p_plus,
    title="The mean blended ratio at the relevant documents down to the best one.",
    formula=f"PPlus = mean of BR over the relevant ranks down to that document,   {_RATIO}",
    aliases=("PPlusMeasure",),
    at=None,
    source=_SOURCE,
    sees="the grades down to the best document retrieved, and each relevant one above it",
    blind_to="all that follows it",
)

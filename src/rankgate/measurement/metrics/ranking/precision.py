"""Precision: the share of relevant documents among the retrieved."""

from typing import Annotated, Literal

import numpy as np

from rankgate.core.declare import Cutoff, Range
from rankgate.measurement.metrics.declare import Metric
from rankgate.measurement.metrics.judged import Counts, Floats, Judged, count, ratio
from rankgate.measurement.metrics.steps import Steps, cutoff_weight, relevance_gain

Places = Literal["cutoff", "returned", "judged"]
_TREC = "trec_eval; Buckley & Voorhees, in: TREC: Experiment and Evaluation, MIT Press 2005, ch. 3"


def precision(
    judged: Judged, *, cutoff: Cutoff, rel: float = 1, denominator: Places = "cutoff"
) -> Floats:
    """Share of the first k places that hold a relevant document.

        P@k = |relevant at ranks ≤ k| / k

    Args:
        judged: the block.
        cutoff: k.
        rel: the smallest grade that counts as relevant.
        denominator: k, regardless of the length of the list (`cutoff`, trec_eval), min(k, length of
            the list) (`returned`), or the judged documents among those (`judged`).

    Returns:
        ``(T,)``; 0 for an empty list under `cutoff`, NaN under the other two.

    >>> from rankgate.measurement.metrics.judged import block
    >>> precision(block([[1, 0, None, 1]]), cutoff=4)
    array([0.5])
    """
    return ratio(count(judged.hits(rel, cutoff)), _places(judged, cutoff, denominator))


def precision_steps(
    judged: Judged, *, cutoff: Cutoff, rel: float = 1, denominator: Places = "cutoff"
) -> Steps:
    """Precision as a count of relevant documents over the places."""
    names = {"cutoff": "k", "returned": "min(k, retrieved)", "judged": "judged within k"}
    return Steps(
        relevance_gain(judged, rel),
        cutoff_weight(judged, cutoff),
        _places(judged, cutoff, denominator).astype(np.float64),
        summed="relevant within k",
        divisor=names[denominator],
    )


def _places(judged: Judged, cutoff: int, denominator: Places) -> Counts:
    """The divisor of precision, ``(T,)``."""
    if denominator == "judged":
        return count(judged.hits(0, cutoff) & judged.known[:, :cutoff])
    if denominator == "returned":
        return np.minimum(judged.retrieved, cutoff)
    return np.full(judged.retrieved.shape, cutoff)


def relative_precision(judged: Judged, *, cutoff: Cutoff, rel: float = 1) -> Floats:
    """Precision over the best that the query allows.

        RelP@k = |relevant at ranks ≤ k| / min(k, R)

    Returns:
        ``(T,)``; NaN for a query without a relevant document.

    >>> from rankgate.measurement.metrics.judged import block
    >>> relative_precision(block([[1, 0, None, 1]]), cutoff=10)
    array([1.])
    """
    judged = judged.at_level(rel)
    hits = count(judged.hits(rel, cutoff))
    return ratio(hits, np.minimum(judged.relevant, cutoff))


def relative_precision_steps(judged: Judged, *, cutoff: Cutoff, rel: float = 1) -> Steps:
    """Relative precision as a count of relevant documents over the most there could be."""
    reachable = np.minimum(judged.at_level(rel).relevant, cutoff).astype(np.float64)
    return Steps(
        relevance_gain(judged, rel),
        cutoff_weight(judged, cutoff),
        reachable,
        summed="relevant within k",
        divisor="min(k, R)",
    )


def r_precision(judged: Judged, *, rel: float = 1, cutoff: Cutoff | None = None) -> Floats:
    """Precision at the rank that a perfect ranking would need.

        Rprec = |relevant at ranks ≤ R| / R

    Args:
        judged: the block.
        rel: the smallest grade that counts as relevant.
        cutoff: k; with it ranks behind k do not count, though R does in full.

    Returns:
        ``(T,)``; NaN for a query without a relevant document.

    >>> from rankgate.measurement.metrics.judged import block
    >>> r_precision(block([[1, 0, None, 1]]))
    array([0.5])
    """
    relevant = judged.at_level(rel).relevant
    hits = judged.hits(rel, cutoff)
    return ratio(count(hits & (judged.rank[:, :cutoff] <= relevant[:, None])), relevant)


def r_precision_steps(judged: Judged, *, rel: float = 1, cutoff: Cutoff | None = None) -> Steps:
    """R-precision as a count of the relevant documents in the first R places."""
    relevant = judged.at_level(rel).relevant
    return Steps(
        relevance_gain(judged, rel),
        cutoff_weight(judged, cutoff) * (judged.rank <= relevant[:, None]),
        relevant.astype(np.float64),
        summed="relevant within R",
        divisor="R",
    )


def r_precision_multiple(
    judged: Judged, *, multiple: Annotated[float, Range(0)], rel: float = 1
) -> Floats:
    """Precision at a multiple of R, rounded up past a tenth as trec_eval does.

        RprecMult@m = |relevant at ranks ≤ c| / c,   c = ⌊m·R + 0.9⌋

    Returns:
        ``(T,)``; 0 where c is 0, NaN for a query without a relevant document.

    >>> from rankgate.measurement.metrics.judged import block
    >>> r_precision_multiple(block([[1, 0, None, 1]]), multiple=0.5)
    array([1.])
    """
    judged = judged.at_level(rel)
    cutoffs = np.floor(multiple * judged.relevant + 0.9).astype(np.int64)
    value = np.nan_to_num(_precision_at(judged, cutoffs, rel))
    return np.where(judged.relevant > 0, value, np.nan)


def _precision_at(judged: Judged, cutoffs: Counts, rel: float) -> Floats:
    """Precision at a cutoff of each query's own, ``(T,)``; NaN where that is 0."""
    hits = judged.hits(rel) & (judged.rank <= cutoffs[:, None])
    return ratio(count(hits), cutoffs)


P = Metric(
    "P",
    precision,
    title="The share of the first k places that hold a relevant document.",
    formula="P@k = |relevant at ranks ≤ k| / k",
    aliases=("precision", "prec"),
    trec=("P",),
    steps=precision_steps,
    source=_TREC,
    sees="how many of the first k documents are relevant",
    blind_to="their order within the first k, their grades above rel, and how many relevant "
    "documents exist: with fewer than k of them it cannot reach 1",
    prefix_only=True,
    whole_list_when=(("denominator", "retrieved"),),
    ideal_order_optimal=True,
    additive=True,
    bounds="exact",
)
RelP = Metric(
    "RelP",
    relative_precision,
    title="Precision at k over the best precision at k that the query allows.",
    formula="RelP@k = |relevant at ranks ≤ k| / min(k, R)",
    aliases=("relative_precision", "R_cap", "capped_recall", "calibrated_recall"),
    trec=("relative_P",),
    steps=relative_precision_steps,
    source=_TREC,
    sees="how many of the relevant documents that fit into k places are there; recall over what k "
    "places can hold is the same number",
    blind_to="the order within the first k and the grades above rel",
    prefix_only=True,
    bounds="safe",
)
Rprec = Metric(
    "Rprec",
    r_precision,
    title="Precision at rank R, R being the number of relevant documents of the query.",
    formula="Rprec = |relevant at ranks ≤ R| / R",
    aliases=("r_precision", "R-precision"),
    trec=("Rprec",),
    steps=r_precision_steps,
    at=None,
    source=_TREC,
    sees="whether the first R places are filled with the R relevant documents",
    blind_to="the order within the first R, and everything behind them; R itself grows with "
    "every judgment that is added",
)
RprecMult = Metric(
    "RprecMult",
    r_precision_multiple,
    title="Precision at a multiple of R, the number of relevant documents of the query.",
    formula="RprecMult@m = |relevant at ranks ≤ c| / c,   c = ⌊m·R + 0.9⌋",
    trec=("Rprec_mult",),
    at="multiple",
    source=_TREC,
    sees="the share of relevant documents in a prefix scaled to the query",
    blind_to="the order within that prefix and everything behind it",
)

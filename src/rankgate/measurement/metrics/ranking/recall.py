"""Recall and success: relevant documents among the first k."""

from typing import Literal

import numpy as np

from rankgate.core.declare import Cutoff
from rankgate.measurement.metrics.declare import Metric
from rankgate.measurement.metrics.judged import Counts, Floats, Judged, count, ratio
from rankgate.measurement.metrics.steps import (
    Steps,
    cutoff_weight,
    relevance_gain,
    weight_until_hit,
)

Wanted = Literal["relevant", "reachable", "retrieved"]


def recall(
    judged: Judged, *, cutoff: Cutoff, rel: float = 1, denominator: Wanted = "relevant"
) -> Floats:
    """Share of the relevant documents found in the first k places.

        R@k = |relevant at ranks ≤ k| / R

    Args:
        judged: the block.
        cutoff: k.
        rel: the smallest grade that counts as relevant.
        denominator: R (`relevant`); min(k, R) (`reachable`), which some tools call recall
            too, see RelP; or only the relevant documents in the whole list (`retrieved`).

    Returns:
        ``(T,)``; NaN for a query without a relevant document.

    >>> from rankgate.measurement.metrics.judged import block
    >>> recall(block([[1, 0, None, 1]]), cutoff=2)
    array([0.5])
    """
    divisor = _divisor(judged.at_level(rel), cutoff, denominator)
    return ratio(count(judged.hits(rel, cutoff)), divisor)


def recall_steps(
    judged: Judged, *, cutoff: Cutoff, rel: float = 1, denominator: Wanted = "relevant"
) -> Steps:
    """Recall as a count of relevant documents over those there are."""
    names = {"relevant": "R", "reachable": "min(k, R)", "retrieved": "relevant retrieved"}
    return Steps(
        relevance_gain(judged, rel),
        cutoff_weight(judged, cutoff),
        _divisor(judged.at_level(rel), cutoff, denominator).astype(np.float64),
        summed="relevant within k",
        divisor=names[denominator],
    )


def _divisor(judged: Judged, cutoff: int, denominator: Wanted) -> Counts:
    """The divisor of recall, ``(T,)``."""
    if denominator == "reachable":
        return np.minimum(judged.relevant, cutoff)
    return judged.relevant_retrieved if denominator == "retrieved" else judged.relevant


def success(judged: Judged, *, cutoff: Cutoff, rel: float = 1) -> Floats:
    """1 if a relevant document is in the first k places, else 0.

        Success@k = 1 if |relevant at ranks ≤ k| > 0, else 0

    Returns:
        ``(T,)``; NaN for a query without a relevant document, which nothing can satisfy.

    >>> from rankgate.measurement.metrics.judged import block
    >>> success(block([[0, 1], [0, None, 1]]), cutoff=2)
    array([1., 0.])
    """
    judged = judged.at_level(rel)
    has_hit = judged.hits(rel, cutoff).any(axis=-1)
    return np.where(judged.relevant > 0, has_hit, np.nan)


def success_steps(judged: Judged, *, cutoff: Cutoff, rel: float = 1) -> Steps:
    """Success as the contribution of the first relevant document."""
    has_relevant = judged.at_level(rel).relevant > 0
    return Steps(
        relevance_gain(judged, rel),
        weight_until_hit(judged, cutoff, rel),
        has_relevant.astype(np.float64),
    )


R = Metric(
    "R",
    recall,
    title="The share of the relevant documents that the first k places hold.",
    formula="R@k = |relevant at ranks ≤ k| / R",
    aliases=("recall",),
    trec=("recall",),
    steps=recall_steps,
    source="Cleverdon, Mills & Keen, Factors Determining the Performance of Indexing Systems, "
    "1966; trec_eval",
    sees="how many of the known relevant documents are within the first k",
    blind_to="their order, their grades above rel, and relevant documents nobody judged: "
    "R counts the judged ones only",
    prefix_only=True,
    whole_list_when=(("denominator", "retrieved"),),
    ideal_order_optimal=True,
    bounds="safe",
)
Success = Metric(
    "Success",
    success,
    title="Whether at least one relevant document is in the first k places.",
    formula="Success@k = [ |relevant at ranks ≤ k| > 0 ]",
    aliases=("hit_rate", "hit", "HR"),
    trec=("success",),
    steps=success_steps,
    source="Craswell, Success at n, in: Encyclopedia of Database Systems, 2009, "
    "doi:10.1007/978-0-387-39940-9_1090; trec_eval",
    sees="whether the reader finds anything at all in the first k",
    blind_to="where in the first k it is, and whether there is more than one",
    prefix_only=True,
    ideal_order_optimal=True,
    bounds="exact",
)

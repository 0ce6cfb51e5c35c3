"""Average reciprocal rank: how soon every relevant document comes."""

import numpy as np

from rankgate.core.declare import Cutoff
from rankgate.measurement.metrics.declare import Metric
from rankgate.measurement.metrics.judged import Floats, Judged, ratio, total
from rankgate.measurement.metrics.steps import Steps, cutoff_weight, relevance_gain


def average_reciprocal_rank(
    judged: Judged, *, cutoff: Cutoff | None = None, rel: float = 1
) -> Floats:
    """Mean over the relevant documents of one over the rank of each.

        ARR@k = 1/R · Σ_{relevant at rank i ≤ k} 1/i

    Returns:
        ``(T,)``; NaN for a query without a relevant document.

    >>> from rankgate.measurement.metrics.judged import block
    >>> average_reciprocal_rank(block([[1, 1]]))  # (1/1 + 1/2) / 2
    array([0.75])
    """
    judged = judged.at_level(rel)
    hits = judged.hits(rel, cutoff)
    return ratio(total(hits / judged.rank[:, :cutoff]), judged.relevant)


def average_reciprocal_rank_steps(
    judged: Judged, *, cutoff: Cutoff | None = None, rel: float = 1
) -> Steps:
    """The reciprocal ranks of all relevant documents, over their number."""
    return Steps(
        relevance_gain(judged, rel),
        cutoff_weight(judged, cutoff) / judged.rank,
        judged.at_level(rel).relevant.astype(np.float64),
        weighed="1 / rank",
        divisor="R",
    )


ARR = Metric(
    "ARR",
    average_reciprocal_rank,
    title="The mean, over all relevant documents, of one over the rank of each.",
    formula="ARR@k = 1/R · Σ_{relevant at rank i ≤ k} 1/i",
    aliases=("average_reciprocal_rank",),
    steps=average_reciprocal_rank_steps,
    source="rexmex 0.1.3, where it is called mean reciprocal rank",
    sees="the rank of every relevant document, and those that are missing",
    blind_to="grades above rel; a perfect ranking stays below 1 where more than one document "
    "is relevant, and the lower the more there are",
    prefix_only=True,
    bounds="safe",
)

"""Inferred average precision: AP estimated from a pool of which a sample is judged."""

import numpy as np

from rankgate.measurement.metrics.declare import Metric
from rankgate.measurement.metrics.judged import PAD, Counts, Flags, Floats, Judged
from rankgate.measurement.metrics.steps import Steps

EPSILON = 0.00001
"""Smooths the share of relevant documents above where little is judged."""


def inferred_ap(judged: Judged, *, rel: float = 1) -> Floats:
    """Average precision expected from the judged sample of the pool.

        infAP = 1/R · Σ_{relevant at rank i} ( 1/i + (i−1)/i · pool/(i−1) · (r + ε)/(r + n + 2ε) )

    where, above rank i, r documents are relevant, n judged non-relevant and
    `pool` in the pool at all, judged or (negative grade) not; ε = 0.00001. At
    rank 1 the term is 1.

    Returns:
        ``(T,)``; NaN for a query without a relevant document.

    >>> from rankgate.measurement.metrics.judged import block
    >>> inferred_ap(block([[1, None, 1]])).round(4)  # (1 + 1/3 + 2/3 · 1/2 · 1) / 2
    array([0.8333])
    """
    return inferred_ap_steps(judged, rel=rel).value


def inferred_ap_steps(judged: Judged, *, rel: float = 1) -> Steps:
    """Relevant documents, each weighed by the precision expected at its rank."""
    judged = judged.at_level(rel)
    hits = judged.hits(rel) & judged.known
    is_judged = judged.hits(0) & judged.known
    is_pooled = is_judged | ((judged.grade < 0) & (judged.rank < PAD))
    relevant_above, judged_above, pooled_above = (
        _count_above(hits),
        _count_above(is_judged),
        _count_above(is_pooled),
    )
    ranks_above = judged.rank - 1.0
    share = np.divide(
        pooled_above, ranks_above, out=np.zeros(ranks_above.shape), where=ranks_above > 0
    )
    relevant_share = (relevant_above + EPSILON) / (judged_above + 2 * EPSILON)
    return Steps(
        hits.astype(np.float64),
        1 / (ranks_above + 1) + ranks_above / (ranks_above + 1) * share * relevant_share,
        judged.relevant.astype(np.float64),
        weighed="expected P",
        divisor="R",
    )


def _count_above(rows: Flags) -> Counts:
    """Count the flagged documents above each row, ``(T, J)``."""
    count_through: Counts = np.cumsum(rows, axis=-1)
    return count_through - rows


infAP = Metric(  # noqa: N816 the field's own name
    "infAP",
    inferred_ap,
    title="Average precision, estimated where only a sample of the pool is judged.",
    formula="infAP = 1/R · Σ_{relevant at rank i} "
    "( 1/i + (i−1)/i · pool/(i−1) · (r + ε)/(r + n + 2ε) )",
    trec=("infAP",),
    steps=inferred_ap_steps,
    at=None,
    source="Yilmaz & Aslam, CIKM 2006, doi:10.1145/1183614.1183633; trec_eval",
    sees="the ranks of judged documents and, by negative grades, which others were in the pool",
    blind_to="grades above rel; documents outside the pool count as not relevant",
)

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
    known = judged.hits(0) & judged.known
    pooled = known | ((judged.grade < 0) & (judged.rank < PAD))
    relevant, seen, pool = _above(hits), _above(known), _above(pooled)
    above = judged.rank - 1.0
    share = np.divide(pool, above, out=np.zeros(above.shape), where=above > 0)
    likely = (relevant + EPSILON) / (seen + 2 * EPSILON)
    return Steps(
        hits.astype(np.float64),
        1 / (above + 1) + above / (above + 1) * share * likely,
        judged.relevant.astype(np.float64),
        weighed="expected P",
        divisor="R",
    )


def _above(rows: Flags) -> Counts:
    """How many of these are above each row, ``(T, J)``."""
    through: Counts = np.cumsum(rows, axis=-1)
    return through - rows


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

"""Bpref: relevant documents against the judged non-relevant ones above them."""

from typing import Literal

import numpy as np

from rankgate.measurement.metrics.declare import Metric
from rankgate.measurement.metrics.judged import Floats, Judged
from rankgate.measurement.metrics.steps import Steps

Negative = Literal["unjudged", "nonrelevant", "relevant"]
Unopposed = Literal["kept", "lost", "undefined"]
Over = Literal["least", "relevant", "nonrelevant", "relevant10"]


def bpref(
    judged: Judged,
    *,
    rel: float = 1,
    negative: Negative = "unjudged",
    unopposed: Unopposed = "kept",
    over: Over = "least",
) -> Floats:
    """Share of judged non-relevant documents that stay below the relevant ones.

        Bpref = 1/R · Σ_{relevant retrieved} (1 − min(n, R) / min(N, R))

    where n counts the judged non-relevant documents above it and N all of them.
    Unjudged documents are skipped.

    Args:
        judged: the block.
        rel: the smallest grade that counts as relevant.
        negative: a document in the pool with a negative grade is skipped (`unjudged`,
            trec_eval), not relevant (`nonrelevant`, ranx), or counts in N and as a hit where
            it is retrieved, though not in R (`relevant`, trectools), so that values can pass 1.
        unopposed: a relevant document counts in full where N is 0 (`kept`, trec_eval), not at
            all (`lost`), or makes the value undefined.
        over: what n is divided by, and not counted beyond: min(N, R) (`least`, trec_eval since
            8.0), R (`relevant`, bpref_R of NTCIR), N (`nonrelevant`, bpref_N), or R + 10
            (`relevant10`, bpref-10).

    Returns:
        ``(T,)``; NaN for a query without a relevant document.

    >>> from rankgate.measurement.metrics.judged import block
    >>> bpref(block([[1, None, 0, 1]]))  # (1 + (1 - 1/1)) / 2
    array([0.5])
    """
    return bpref_steps(judged, rel=rel, negative=negative, unopposed=unopposed, over=over).value


def bpref_steps(
    judged: Judged,
    *,
    rel: float = 1,
    negative: Negative = "unjudged",
    unopposed: Unopposed = "kept",
    over: Over = "least",
) -> Steps:
    """Relevant documents, each weighed by the judged non-relevant ones below it."""
    judged = judged.at_level(rel)
    hits = judged.hits(rel) & judged.known
    below = judged.hits(0) & judged.known & ~hits
    nonrelevant_count = judged.judged - judged.relevant
    if negative != "unjudged":
        is_pooled = judged.known & (judged.grade < 0)
        below |= is_pooled & (negative == "nonrelevant")
        hits |= is_pooled & (negative == "relevant")
        nonrelevant_count = judged.pooled - judged.relevant
    relevant_count, opposed_count = judged.relevant[:, None], nonrelevant_count[:, None]
    limit = {"nonrelevant": opposed_count, "relevant10": relevant_count + 10}.get(
        over, relevant_count
    )
    nonrelevant_above = np.minimum(np.cumsum(below, axis=-1), limit)
    possible = np.minimum(opposed_count, relevant_count) if over == "least" else limit
    unopposed_loss = np.where(hits, {"kept": 0.0, "lost": 1.0, "undefined": np.nan}[unopposed], 0)
    loss = np.divide(nonrelevant_above, possible, out=unopposed_loss, where=possible > 0)
    return Steps(
        hits.astype(np.float64),
        1 - loss,
        judged.relevant.astype(np.float64),
        weighed="1 − n/N",
        divisor="R",
    )


_SEES = "the order of judged relevant and judged non-relevant documents"

Bpref = Metric(
    "Bpref",
    bpref,
    title="How rarely judged non-relevant documents are above relevant ones.",
    formula="Bpref = 1/R · Σ_{relevant retrieved} (1 − min(n, R) / min(N, R))",
    trec=("bpref",),
    steps=bpref_steps,
    at=None,
    source="Buckley & Voorhees, SIGIR 2004, doi:10.1145/1008992.1009000, as trec_eval since 8.0; "
    "over: Sakai, SIGIR 2007, doi:10.1145/1277741.1277756",
    sees=_SEES,
    blind_to="unjudged documents, wherever they are: a list that opens with a hundred of them "
    "scores as if they were not there; and grades above rel",
)
GMBpref = Metric(
    "GMBpref",
    bpref,
    title="Bpref, joined over queries by the geometric mean.",
    formula="GMBpref = exp( mean of ln max(Bpref, 0.00001) )",
    aliases=("gm_bpref",),
    trec=("gm_bpref",),
    steps=bpref_steps,
    at=None,
    aggregate="geometric",
    source="trec_eval",
    sees=_SEES + ", and progress on the worst queries most",
    blind_to="unjudged documents, and grades above rel; queries at 0 all weigh as 0.00001",
)

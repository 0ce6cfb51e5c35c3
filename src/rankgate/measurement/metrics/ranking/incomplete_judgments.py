"""Metrics for incomplete judgments: share of judged documents, bpref, inferred AP."""

from typing import Literal

import numpy as np

from rankgate.core.arrays import Flags, Floats
from rankgate.core.declare import Cutoff
from rankgate.measurement.metrics.judged_block import PAD, Counts, Judged, Steps, count, ratio
from rankgate.measurement.metrics.metric_declaration import Metric
from rankgate.measurement.metrics.stratified_samples import EPSILON

UnjudgedNegative = Literal["unjudged", "judged"]


def judged_share(
    judged: Judged, *, cutoff: Cutoff | None = None, negative: UnjudgedNegative = "unjudged"
) -> Floats:
    """Share of the first documents that have a judgment.

        Judged@k = |judged at ranks ≤ k| / min(k, length of the list)

    Args:
        judged: the block.
        cutoff: k; without it the whole list counts.
        negative: a negative grade means that a document was in the pool and is `unjudged`, or
            it is a judgment like any other (`judged`, ir_measures).

    Returns:
        ``(T,)``; NaN for an empty list.

    >>> from rankgate.measurement.metrics.judged_block import block
    >>> judged_share(block([[1, None, 0]]), cutoff=2)
    array([0.5])
    """
    shown_count, judged_count = _counts(judged, cutoff)
    if negative == "judged":
        last = PAD - 1 if cutoff is None else cutoff
        judged_count = count(judged.known & (judged.rank <= last))
    return ratio(judged_count, shown_count)


def unjudged_share(judged: Judged, *, cutoff: Cutoff) -> Floats:
    """Share of the first k places that hold an unjudged document.

        Unjudged@k = |unjudged at ranks ≤ k| / k

    The divisor is k even where the list is shorter: such a list has fewer holes.

    Returns:
        ``(T,)``; 0 for an empty list.

    >>> from rankgate.measurement.metrics.judged_block import block
    >>> unjudged_share(block([[1, None, 0]]), cutoff=10)
    array([0.1])
    """
    shown_count, judged_count = _counts(judged, cutoff)
    return (shown_count - judged_count) / cutoff


def unjudged_count(judged: Judged, *, cutoff: Cutoff | None = None) -> Floats:
    """Documents without a judgment in the first k places.

    >>> from rankgate.measurement.metrics.judged_block import block
    >>> unjudged_count(block([[1, None, 0]]))
    array([1.])
    """
    shown_count, judged_count = _counts(judged, cutoff)
    return (shown_count - judged_count).astype(np.float64)


def _counts(judged: Judged, cutoff: int | None) -> tuple[Counts, Counts]:
    """Documents in the first k places, and those of them that are judged, ``(T,)`` each."""
    judged_count = count(judged.hits(0, cutoff) & judged.known[:, :cutoff])
    return (judged.retrieved if cutoff is None else np.minimum(judged.retrieved, cutoff)), judged_count


_BLIND = "the gain of the documents, and the ranks of the holes in the first k"

JudgedAt = Metric(
    "Judged",
    judged_share,
    title="The share of the first k documents that have a judgment.",
    formula="Judged@k = |judged at ranks ≤ k| / min(k, |retrieved|)",
    source="ir_measures",
    sees="the part of the other metrics of this run that is based on judgments, not on assumptions",
    blind_to=_BLIND,
    prefix_only=True,
    scenarios=False,
)
Unjudged = Metric(
    "Unjudged",
    unjudged_share,
    title="The share of the first k places that hold a document without a judgment.",
    formula="Unjudged@k = |unjudged at ranks ≤ k| / k",
    trec=("unj",),
    higher_is_better=False,
    source="trec_eval 10",
    sees="the holes in the first k places",
    blind_to=_BLIND + "; a short list has fewer",
    prefix_only=True,
    scenarios=False,
)
NumUnjudged = Metric(
    "NumUnjudged",
    unjudged_count,
    title="The number of documents in the first k places that have no judgment.",
    formula="NumUnjudged@k = |unjudged at ranks ≤ k|",
    high=None,
    aggregate="sum",
    higher_is_better=False,
    source="Elasticsearch, ranking evaluation API (unrated_docs)",
    sees="the number of judgments that would close the holes",
    blind_to=_BLIND,
    prefix_only=True,
    scenarios=False,
)


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
) -> Steps:
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
        over: the divisor and the upper limit of n: min(N, R) (`least`, trec_eval since 8.0), R
            (`relevant`, bpref_R of NTCIR), N (`nonrelevant`, bpref_N), or R + 10 (`relevant10`,
            bpref-10).

    Returns:
        ``(T,)``; NaN for a query without a relevant document.

    >>> from rankgate.measurement.metrics.judged_block import block
    >>> bpref(block([[1, None, 0, 1]])).value  # (1 + (1 - 1/1)) / 2
    array([0.5])
    """
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
    limit = {"nonrelevant": opposed_count, "relevant10": relevant_count + 10}.get(over, relevant_count)
    nonrelevant_above = np.minimum(np.cumsum(below, axis=-1), limit)
    possible = np.minimum(opposed_count, relevant_count) if over == "least" else limit
    unopposed_loss = np.where(hits, {"kept": 0.0, "lost": 1.0, "undefined": np.nan}[unopposed], 0)
    loss = np.divide(nonrelevant_above, possible, out=unopposed_loss, where=possible > 0)
    return Steps(hits, 1 - loss, judged.relevant, weighed="1 − n/N", divisor="R")


_SEES = "the order of judged relevant and judged non-relevant documents"

Bpref = Metric(
    "Bpref",
    bpref,
    title="1 minus the share of judged non-relevant documents above relevant ones.",
    formula="Bpref = 1/R · Σ_{relevant retrieved} (1 − min(n, R) / min(N, R))",
    trec=("bpref",),
    at=None,
    source="Buckley & Voorhees, SIGIR 2004, doi:10.1145/1008992.1009000, as trec_eval since 8.0; over: "
    "Sakai, SIGIR 2007, doi:10.1145/1277741.1277756",
    sees=_SEES,
    blind_to="unjudged documents, wherever they are: a list that opens with a hundred of them scores as if "
    "they were not there; and grades above rel",
)
GMBpref = Metric(
    "GMBpref",
    bpref,
    title="Bpref, joined over queries by the geometric mean.",
    formula="GMBpref = exp( mean of ln max(Bpref, 0.00001) )",
    aliases=("gm_bpref",),
    trec=("gm_bpref",),
    at=None,
    aggregate="geometric",
    source="trec_eval",
    sees=_SEES + ", and progress on the worst queries most",
    blind_to="unjudged documents, and grades above rel; queries at 0 all weigh as 0.00001",
)


def inferred_ap(judged: Judged, *, rel: float = 1) -> Steps:
    """Average precision expected from the judged sample of the pool.

        infAP = 1/R · Σ_{relevant at rank i} ( 1/i + (i−1)/i · pool/(i−1) · (r + ε)/(r + n + 2ε) )

    where, above rank i, r documents are relevant, n judged non-relevant and
    `pool` in the pool at all, judged or (negative grade) not; ε = 0.00001. At
    rank 1 the term is 1.

    Returns:
        ``(T,)``; NaN for a query without a relevant document.

    >>> from rankgate.measurement.metrics.judged_block import block
    >>> inferred_ap(block([[1, None, 1]])).value.round(4)  # (1 + 1/3 + 2/3 · 1/2 · 1) / 2
    array([0.8333])
    """
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
    share = np.divide(pooled_above, ranks_above, out=np.zeros(ranks_above.shape), where=ranks_above > 0)
    relevant_share = (relevant_above + EPSILON) / (judged_above + 2 * EPSILON)
    return Steps(
        hits,
        1 / (ranks_above + 1) + ranks_above / (ranks_above + 1) * share * relevant_share,
        judged.relevant,
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
    formula="infAP = 1/R · Σ_{relevant at rank i} ( 1/i + (i−1)/i · pool/(i−1) · (r + ε)/(r + n + 2ε) )",
    trec=("infAP",),
    at=None,
    source="Yilmaz & Aslam, CIKM 2006, doi:10.1145/1183614.1183633; trec_eval",
    sees="the ranks of judged documents and, by negative grades, the other documents of the pool",
    blind_to="grades above rel; documents outside the pool count as not relevant",
)

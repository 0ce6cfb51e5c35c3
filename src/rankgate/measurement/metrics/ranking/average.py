"""Average precision, and its geometric mean over queries."""

from typing import Literal

import numpy as np

from rankgate.core.declare import Cutoff
from rankgate.measurement.metrics.declare import Metric
from rankgate.measurement.metrics.judged import Counts, Floats, Judged, ratio, total
from rankgate.measurement.metrics.steps import Steps, cutoff_weight

Divisor = Literal["relevant", "reachable", "returned", "retrieved", "found", "ranks"]


def average_precision(
    judged: Judged,
    *,
    cutoff: Cutoff | None = None,
    rel: float = 1,
    denominator: Divisor = "relevant",
) -> Floats:
    """Mean over the relevant documents of the precision at the rank of each.

        AP@k = 1/R · Σ_{relevant at rank i ≤ k} P@i

    Args:
        judged: the block.
        cutoff: k; without it the whole list counts.
        rel: the smallest grade that counts as relevant.
        denominator: R (`relevant`, trec_eval), min(k, R) (`reachable`), min(k, R, length
            of the list) (`returned`), the relevant documents in the whole list
            (`retrieved`), or those in the first k (`found`).
            Under the same name some average P@1, …, P@k over all k ranks (`ranks`);
            that stays below 1 unless all k are relevant.

    Returns:
        ``(T,)``; 0 where none of the relevant documents is found, NaN where there are none.

    >>> from rankgate.measurement.metrics.judged import block
    >>> average_precision(block([[1, 0, 1, 1]]), cutoff=3).round(4)  # (1/1 + 2/3) / 3
    array([0.5556])
    """
    judged = judged.at_level(rel)
    if denominator == "ranks":
        return _mean_precision_steps(judged, cutoff, rel).value
    hits = judged.hits(rel, cutoff)
    hit_counts: Counts = np.cumsum(hits, axis=-1)
    at_hits = np.where(hits, hit_counts / judged.rank[:, :cutoff], 0)
    divisor = _divisor(judged, hit_counts[:, -1], cutoff, denominator)
    value = ratio(total(at_hits), divisor)
    return np.where((divisor == 0) & (judged.relevant > 0), 0, value)


def average_precision_steps(
    judged: Judged,
    *,
    cutoff: Cutoff | None = None,
    rel: float = 1,
    denominator: Divisor = "relevant",
) -> Steps:
    """Average precision as a sum over the relevant documents of the precision at each."""
    judged = judged.at_level(rel)
    if denominator == "ranks":
        return _mean_precision_steps(judged, cutoff, rel)
    hits, within = judged.hits(rel), cutoff_weight(judged, cutoff)
    hit_counts: Counts = np.cumsum(hits, axis=-1)
    last = np.count_nonzero(hits & (within > 0), axis=-1)
    divisor = _divisor(judged, last, cutoff, denominator)
    norm = np.where(judged.relevant > 0, np.maximum(divisor, 1), 0)
    names = {
        "relevant": "R",
        "reachable": "min(k, R)",
        "returned": "min(k, R, n)",
        "retrieved": "relevant retrieved",
    }
    return Steps(
        hits.astype(np.float64),
        within * hit_counts / judged.rank,
        norm.astype(np.float64),
        weighed="P@rank",
        divisor=names.get(denominator, "relevant within k"),
    )


def _mean_precision_steps(judged: Judged, cutoff: int | None, rel: float) -> Steps:
    """The mean of P@1 … P@k: a relevant document at rank i adds 1/i + 1/(i+1) + … + 1/k."""
    depth = judged.retrieved if cutoff is None else np.full_like(judged.retrieved, cutoff)
    harmonic = np.cumsum([0, *(1 / np.arange(1.0, depth.max(initial=0) + 1))])
    ranks_above = np.where(judged.rank <= depth[:, None], judged.rank - 1, depth[:, None])
    norm = np.where(judged.relevant > 0, np.maximum(depth, 1), 0)
    return Steps(
        judged.hits(rel).astype(np.float64),
        harmonic[depth][:, None] - harmonic[ranks_above],
        norm.astype(np.float64),
        weighed="1/rank + … + 1/k",
        divisor="k",
    )


def _divisor(judged: Judged, hit_count: Counts, cutoff: int | None, denominator: Divisor) -> Counts:
    """The divisor of average precision, ``(T,)``."""
    if denominator == "found":
        return hit_count
    if denominator == "retrieved":
        return judged.relevant_retrieved
    relevant_count = judged.relevant
    if denominator != "relevant" and cutoff is not None:
        relevant_count = np.minimum(relevant_count, cutoff)
    return (
        np.minimum(relevant_count, judged.retrieved)
        if denominator == "returned"
        else relevant_count
    )


_SOURCE = "Buckley & Voorhees, SIGIR 2000, doi:10.1145/345508.345543; trec_eval"

AP = Metric(
    "AP",
    average_precision,
    title="The mean, over all relevant documents, of the precision at the rank of each.",
    formula="AP@k = 1/R · Σ_{relevant at rank i ≤ k} P@i",
    aliases=("MAP", "average_precision", "mean_average_precision"),
    trec=("map", "map_cut"),
    steps=average_precision_steps,
    source=_SOURCE,
    sees="the rank of every relevant document, and those that are missing",
    blind_to="grades above rel, and unjudged documents, which count as not relevant; AP@k of a "
    "perfect ranking stays below 1 where more than k documents are relevant",
    prefix_only=True,
    whole_list_when=(("denominator", "retrieved"),),
    ideal_order_optimal=True,
    bounds="safe",
)
GMAP = Metric(
    "GMAP",
    average_precision,
    title="Average precision, joined over queries by the geometric mean.",
    formula="GMAP = exp( mean of ln max(AP, 0.00001) )",
    trec=("gm_map",),
    steps=average_precision_steps,
    aggregate="geometric",
    source="Robertson, CIKM 2006, doi:10.1145/1183614.1183630; trec_eval",
    sees="progress on the worst queries: from 0.01 to 0.02 counts as much as from 0.4 to 0.8",
    blind_to="grades above rel; queries at 0 all weigh as 0.00001, a floor chosen by hand",
    prefix_only=True,
    whole_list_when=(("denominator", "retrieved"),),
    bounds="safe",
)

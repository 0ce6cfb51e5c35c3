"""Experimental metrics of trec_eval that are not published elsewhere."""

import numpy as np

from rankgate.core.arrays import Floats
from rankgate.measurement.metrics.graded.gains_ideals import Gain, Levels, ideal_gains, retrieved_gains
from rankgate.measurement.metrics.judged_block import Judged, Steps, total
from rankgate.measurement.metrics.metric_declaration import Metric


def gain_against_cost(judged: Judged, *, gain: Gain = "linear", levels: Levels = "exact") -> Steps:
    """Gain of each document, discounted by the gain that the ranks above it wasted.

        G = Σ_i gᵢ / log₂(2 + cost(i) − got(i)) / Σ_j ideal_j

    where got(i) is the gain retrieved up to rank i and cost(i) that of the ideal
    ranking, in which each place is worth at least 1.

    Returns:
        ``(T,)``; NaN where the ideal is worth nothing.

    >>> from rankgate.measurement.metrics.judged_block import block
    >>> gain_against_cost(block([[0, 1]])).value.round(4)  # 1 / log₂(2 + 2 − 1)
    array([0.6309])
    """
    gains = retrieved_gains(judged, gain)
    best_gains = ideal_gains(judged, gain, levels=levels)
    gain_sums = np.cumsum(gains, axis=-1)
    # after the judged documents each position costs 1; it is counted, so padding has no effect
    ideal_rank = np.clip(judged.rank, 1, np.maximum(judged.judged, 1)[:, None])
    costs = np.take_along_axis(np.cumsum(np.maximum(best_gains, 1), axis=-1), ideal_rank - 1, axis=-1)
    # no ranking gains more than the ideal one, but imputed grades and truncated ideals might
    wasted_gain = np.maximum(costs + (judged.rank - ideal_rank) - gain_sums, 0)
    discount = np.log2(2 + wasted_gain, out=np.ones(gains.shape), where=gains != 0)
    return Steps(gains, norm=total(best_gains), discount=discount, weighed="discount", divisor="ideal gain")


def binary_gain(judged: Judged, *, rel: float = 1) -> Steps:
    """As G with relevant or not: each relevant document discounted by the others above it.

        BinG = 1/R · Σ_{j-th relevant at rank i} 1 / log₂(2 + i − j)

    Returns:
        ``(T,)``; NaN for a query without a relevant document.

    >>> from rankgate.measurement.metrics.judged_block import block
    >>> binary_gain(block([[0, 1]])).value.round(4)  # 1 / log₂3
    array([0.6309])
    """
    judged = judged.at_level(rel)
    hits = judged.hits(rel)
    nonrelevant_above = judged.rank - np.cumsum(hits, axis=-1)
    return Steps(hits, 1 / np.log2(2.0 + nonrelevant_above), judged.relevant, weighed="discount", divisor="R")


def yaap(judged: Judged, *, rel: float = 1) -> Floats:
    """Average precision as log odds: Yaap = ln( (1 + s) / (1 + R − s) ), s = R·AP.

    Returns:
        ``(T,)``, not bounded; NaN for a query without a relevant document.

    >>> from rankgate.measurement.metrics.judged_block import block
    >>> yaap(block([[1]])).round(4)  # ln 2
    array([0.6931])
    """
    judged = judged.at_level(rel)
    hits = judged.hits(rel)
    precision_sum = total(np.where(hits, np.cumsum(hits, axis=-1) / judged.rank, 0))
    odds: Floats = (1 + precision_sum) / (1 + np.maximum(judged.relevant - precision_sum, 0))
    return np.where(judged.relevant > 0, np.log(odds), np.nan)


G = Metric(
    "G",
    gain_against_cost,
    title="The gain of each document, discounted by the gain wasted above it.",
    formula="G = Σ_i gᵢ / log₂(2 + cost(i) − got(i)) / Σ_j ideal_j",
    trec=("G",),
    at=None,
    source="trec_eval (experimental)",
    sees="grades, and the number of useless documents before each",
    blind_to="unjudged documents, which count as not relevant; rel has no effect on it. Not every "
    "improvement raises it: grades 1, 1, 2, 3 score more than 1, 1, 3, 2",
)
BinG = Metric(
    "BinG",
    binary_gain,
    title="Relevant documents, each discounted by the non-relevant ones above it.",
    formula="BinG = 1/R · Σ_{j-th relevant at rank i} 1 / log₂(2 + i − j)",
    trec=("binG",),
    at=None,
    source="trec_eval (experimental)",
    sees="the number of nonrelevant documents above each relevant one",
    blind_to="grades above rel",
)
Yaap = Metric(
    "Yaap",
    yaap,
    title="Average precision on the scale of log odds.",
    formula="Yaap = ln( (1 + s) / (1 + R − s) ),   s = Σ_{relevant at rank i} P@i",
    trec=("yaap",),
    at=None,
    low=float("-inf"),
    high=None,
    source="trec_eval; after Robertson, CIKM 2006, doi:10.1145/1183614.1183630",
    sees="the same data as AP, with differences near 0 and 1 spread out",
    blind_to="grades above rel; its bounds grow with R, so queries have unequal weights",
)

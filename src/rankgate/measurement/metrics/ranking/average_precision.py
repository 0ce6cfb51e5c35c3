"""Average precision, average recall, and interpolated precision at levels of recall."""

from typing import Annotated, Literal

import numpy as np

from rankgate.core.arrays import Floats
from rankgate.core.declare import Cutoff, Range
from rankgate.measurement.metrics.judged_block import Counts, Judged, Steps, count, ratio, total
from rankgate.measurement.metrics.metric_declaration import Metric

Divisor = Literal["relevant", "reachable", "returned", "retrieved", "found", "ranks"]


def average_precision(
    judged: Judged, *, cutoff: Cutoff | None = None, rel: float = 1, denominator: Divisor = "relevant"
) -> Steps:
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

    >>> from rankgate.measurement.metrics.judged_block import block
    >>> average_precision(block([[1, 0, 1, 1]]), cutoff=3).value.round(4)  # (1/1 + 2/3) / 3
    array([0.5556])
    """
    judged = judged.at_level(rel)
    if denominator == "ranks":
        return _mean_precision(judged, cutoff, rel)
    hits, within = judged.hits(rel), judged.within(cutoff)
    hit_counts: Counts = np.cumsum(hits, axis=-1)
    reachable = judged.relevant if cutoff is None else np.minimum(judged.relevant, cutoff)
    name, divisor = {
        "relevant": ("R", judged.relevant),
        "reachable": ("min(k, R)", reachable),
        "returned": ("min(k, R, n)", np.minimum(reachable, judged.retrieved)),
        "retrieved": ("relevant retrieved", judged.relevant_retrieved),
        "found": ("relevant within k", count(hits & within)),
    }[denominator]
    return Steps(
        hits,
        within * hit_counts,
        np.where(judged.relevant > 0, np.maximum(divisor, 1), 0),
        discount=judged.rank,
        weighed="P@rank",
        divisor=name,
    )


def _mean_precision(judged: Judged, cutoff: int | None, rel: float) -> Steps:
    """The mean of P@1 … P@k: a relevant document at rank i adds 1/i + 1/(i+1) + … + 1/k."""
    depth = judged.retrieved if cutoff is None else np.full_like(judged.retrieved, cutoff)
    harmonic = np.cumsum([0, *(1 / np.arange(1.0, depth.max(initial=0) + 1))])
    ranks_above = np.where(judged.rank <= depth[:, None], judged.rank - 1, depth[:, None])
    return Steps(
        judged.hits(rel),
        harmonic[depth][:, None] - harmonic[ranks_above],
        np.where(judged.relevant > 0, np.maximum(depth, 1), 0),
        weighed="1/rank + … + 1/k",
        divisor="k",
    )


_AP_SOURCE = "Buckley & Voorhees, SIGIR 2000, doi:10.1145/345508.345543; trec_eval"

AP = Metric(
    "AP",
    average_precision,
    title="The mean, over all relevant documents, of the precision at the rank of each.",
    formula="AP@k = 1/R · Σ_{relevant at rank i ≤ k} P@i",
    aliases=("MAP", "average_precision", "mean_average_precision"),
    trec=("map", "map_cut"),
    source=_AP_SOURCE,
    sees="the rank of every relevant document, and those that are missing",
    blind_to=(
        "grades above rel, and unjudged documents, which count as not relevant; AP@k of a perfect ranking "
        "stays below 1 if more than k documents are relevant"
    ),
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
    aggregate="geometric",
    source="Robertson, CIKM 2006, doi:10.1145/1183614.1183630; trec_eval",
    sees="progress on the worst queries: from 0.01 to 0.02 counts as much as from 0.4 to 0.8",
    blind_to="grades above rel; queries at 0 all weigh as 0.00001, a floor chosen by hand",
    prefix_only=True,
    whole_list_when=(("denominator", "retrieved"),),
    bounds="safe",
)


RecallPoints = Literal["ranks", "relevant"]


def average_recall(judged: Judged, *, cutoff: Cutoff, rel: float = 1, over: RecallPoints = "ranks") -> Floats:
    """Mean of the recall at many ranks.

        AR@k = 1/k · Σ_{i≤k} R@i

    Args:
        judged: the block.
        cutoff: k.
        rel: the smallest grade that counts as relevant.
        over: each of the k ranks (`ranks`, elliot); or only those that hold a relevant
            document, over the relevant documents in the list, which recall is over too
            then (`relevant`, evidently).

    Returns:
        ``(T,)``; NaN for a query without a relevant document, or under `relevant` without
        one in the list.

    >>> from rankgate.measurement.metrics.judged_block import block
    >>> average_recall(block([[1, 0]], ideal=[[1, 1]]), cutoff=2)  # (1/2 + 1/2) / 2
    array([0.5])
    """
    judged = judged.at_level(rel)
    hits = judged.hits(rel, cutoff)
    if over == "relevant":
        hit_counts: Counts = np.cumsum(hits, axis=-1)
        relevant_count = judged.relevant_retrieved
        return ratio(total(np.where(hits, hit_counts, 0.0)), relevant_count * relevant_count)
    later_ranks = np.where(hits, cutoff + 1.0 - judged.rank[:, :cutoff], 0.0)
    return ratio(total(later_ranks), cutoff * judged.relevant)


AR = Metric(
    "AR",
    average_recall,
    title="The mean of recall over the first k ranks.",
    formula="AR@k = 1/k · Σ_{i≤k} R@i",
    aliases=("average_recall", "MAR", "mean_average_recall"),
    source="elliot, Anelli et al., SIGIR 2021, doi:10.1145/3404835.3463245; what recmetrics and rexmex call "
    "so is AP@k",
    sees="the ranks of the relevant documents in the first k",
    blind_to="grades above rel and all that is after k; a perfect ranking stays below 1 where more than one "
    "document is relevant",
    prefix_only=True,
    whole_list_when=(("over", "relevant"),),
    bounds="safe",
)


Rounding = Literal["round", "ceil9"]
LEVELS = (0.0, 0.1, 0.2, 0.3, 0.4, 0.5, 0.6, 0.7, 0.8, 0.9, 1.0)


def interpolated_precision(
    judged: Judged, *, recall: Annotated[float, Range(0, 1)], rel: float = 1, points: Rounding = "round"
) -> Floats:
    """Greatest precision at any rank from where a share of the relevant is found.

        IPrec@r = max{ j / hⱼ : j ≥ c },   c = r·R in whole documents

    where hⱼ is the rank of the j-th relevant document; 0 if c are not retrieved.

    Args:
        judged: the block.
        recall: r, from 0 to 1.
        rel: the smallest grade that counts as relevant.
        points: the rounding of c: to the nearest, halves up (`round`, trec_eval 10), or ⌊r·R + 0.9⌋
            (`ceil9`, trec_eval 9).

    Returns:
        ``(T,)``; NaN for a query without a relevant document, and for an empty list where c
        is 0.

    >>> from rankgate.measurement.metrics.judged_block import block
    >>> interpolated_precision(block([[1, 0, 1]]), recall=0.5)
    array([1.])
    """
    judged = judged.at_level(rel)
    return _Curve(judged, rel, points).value_at(recall)


def eleven_point_average(judged: Judged, *, rel: float = 1, points: Rounding = "round") -> Floats:
    """Mean of the interpolated precision at recall 0, 0.1, …, 1.

        IPrec11 = 1/11 · Σ_{r = 0, 0.1, …, 1} IPrec@r

    Returns:
        ``(T,)``; NaN for a query without a relevant document or with an empty list.

    >>> from rankgate.measurement.metrics.judged_block import block
    >>> eleven_point_average(block([[0, 1]]))
    array([0.5])
    """
    judged = judged.at_level(rel)
    curve = _Curve(judged, rel, points)
    value = np.zeros(judged.relevant.shape)
    for recall in reversed(LEVELS):
        value += curve.value_at(recall)
    return value / len(LEVELS)


class _Curve:
    """The interpolated precision of a block, prepared for any level of recall."""

    def __init__(self, judged: Judged, rel: float, points: Rounding) -> None:
        hits = judged.hits(rel)
        count = np.cumsum(hits, axis=-1)
        precision = np.where(hits, count / judged.rank, 0)
        zeros = np.zeros((len(precision), 1))  # the value if too few documents are found
        best_precision = np.maximum.accumulate(precision[:, ::-1], axis=-1)[:, ::-1]
        self.best = np.concatenate([best_precision, zeros], axis=-1)
        self.count, self.relevant, self.points = count, judged.relevant, points
        self.empty = judged.retrieved == 0

    def value_at(self, recall: float) -> Floats:
        exact = recall * self.relevant
        whole_count = np.floor(exact)
        round_up = exact - whole_count >= 1 / 2
        needed_count = whole_count + round_up if self.points == "round" else np.floor(exact + 0.9)
        column = np.count_nonzero(self.count < needed_count[:, None], axis=-1)
        value = np.take_along_axis(self.best, column[:, None], axis=-1)[:, 0]
        undefined = (self.relevant == 0) | (self.empty & (needed_count == 0))
        return np.where(undefined, np.nan, value)


_INTERPOLATED_SOURCE = "van Rijsbergen, Information Retrieval, 2nd ed., Butterworths 1979, ch. 7; trec_eval"

IPrec = Metric(
    "IPrec",
    interpolated_precision,
    title="The greatest precision at any rank at which recall is at least r.",
    formula="IPrec@r = max{ j / hⱼ : j ≥ c },   hⱼ the rank of the j-th relevant document,\n"
    "c = ⌊r·R + 1/2⌋ (points='round'), or ⌊r·R + 0.9⌋ (points='ceil9')",
    trec=("iprec_at_recall",),
    at="recall",
    source=_INTERPOLATED_SOURCE,
    sees="the precision for a reader who insists on a share r of the relevant documents",
    blind_to="grades above rel, and for few relevant documents the level itself: with R = 1 every level "
    "above 0 asks for the same document",
    bounds="safe",
)
IPrec11 = Metric(
    "IPrec11",
    eleven_point_average,
    title="The mean of interpolated precision at the eleven recall levels 0, 0.1, …, 1.",
    formula="IPrec11 = 1/11 · Σ_{r = 0, 0.1, …, 1} IPrec@r",
    aliases=("11pt_avg",),
    trec=("11pt_avg",),
    at=None,
    source=_INTERPOLATED_SOURCE,
    sees="the area under the interpolated precision-recall curve",
    blind_to="grades above rel; interpolation hides the dips of the real curve",
)

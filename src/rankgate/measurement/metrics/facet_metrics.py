"""All metrics of subtopics: α-nDCG, ERR-IA, NRBP, means over intents, D#-measures."""

import functools
from typing import Annotated, Literal

import numpy as np

from rankgate.core.arrays import Flags, Floats
from rankgate.core.declare import Cutoff, Range
from rankgate.core.errors import UsageError
from rankgate.measurement.metrics.facet_input import (
    APIA,
    PIA,
    Faceted,
    FacetMetric,
    Grades,
    StRecall,
    gains,
    ideal_gains,
)
from rankgate.measurement.metrics.judged_block import PAD, Judged, Ranks, block
from rankgate.measurement.metrics.metric_declaration import RANKING, Metric

Alpha = Annotated[float, Range(0, 1)]
Norm = Literal["collection", "none"]
Kind = Literal["log2", "reciprocal", "geometric"]

_CLARKE = "Clarke et al., SIGIR 2008, doi:10.1145/1390334.1390446"
_DEEP = 1000  # deeper ranks do not change the last digit of an ideal


def alpha_dcg(
    faceted: Faceted,
    *,
    cutoff: Cutoff | None = None,
    alpha: Alpha = 0.5,
    norm: Norm = "collection",
    rel: float = 1,
) -> Floats:
    """Discounted gain of subtopics, those answered before worth less.

        α-DCG@k = Σ_{i≤k} Σ_s rel(i, s) · (1 − α)^{cᵢ(s)} / log₂(i + 1)

    c is how often s was answered above rank i.

    Args:
        faceted: the block.
        cutoff: k.
        alpha: α, how much less the next document on a subtopic is worth.
        norm: over S · Σ_{i≤k} (1 − α)^(i−1)/log₂(i + 1), as if every document answered every
            subtopic (`collection`, ndeval), or as it is (`none`).
        rel: the grade from which a document answers a subtopic.

    Returns:
        ``(T,)``; NaN for a query without a relevant document.

    >>> from rankgate.measurement.metrics.facet_input import block
    >>> alpha_dcg(block([[{0}, {0, 1}]], [[{0}, {0, 1}]]), norm="none").round(4)
    array([1.9464])
    """
    faceted = faceted.at_level(rel)
    return _normalised(faceted, "log2", cutoff, alpha, norm)


def alpha_ndcg(
    faceted: Faceted, *, cutoff: Cutoff | None = None, alpha: Alpha = 0.5, rel: float = 1
) -> Floats:
    """α-DCG over that of the greedy ideal ranking.

    Arguments as of α-DCG.

    >>> from rankgate.measurement.metrics.facet_input import block
    >>> alpha_ndcg(block([[{0, 1}, {0}]], [[{0}, {0, 1}]]))
    array([1.])
    """
    faceted = faceted.at_level(rel)
    return _over_ideal(faceted, "log2", cutoff, alpha)


def err_ia(
    faceted: Faceted,
    *,
    cutoff: Cutoff | None = None,
    alpha: Alpha = 0.5,
    norm: Norm = "collection",
    rel: float = 1,
) -> Floats:
    """Expected reciprocal rank, mean over subtopics.

        ERR-IA@k = 1/S · Σ_{i≤k} 1/i · Σ_s α · rel(i, s) · (1 − α)^{cᵢ(s)}

    Args:
        faceted: the block.
        cutoff: k.
        alpha: α, the probability that a relevant document satisfies.
        norm: without the factor α, over Σ_{i≤k} (1 − α)^(i−1)/i, which is as if every document
            answered every subtopic (`collection`, ndeval), or as above (`none`).
        rel: the grade from which a document answers a subtopic.

    Returns:
        ``(T,)``; NaN for a query without a relevant document.

    >>> from rankgate.measurement.metrics.facet_input import block
    >>> err_ia(block([[{0}, {1}]], [[{0}, {1}]]), norm="none")
    array([0.375])
    """
    faceted = faceted.at_level(rel)
    value = _normalised(faceted, "reciprocal", cutoff, alpha, norm)
    return value if norm == "collection" else alpha * value / np.maximum(faceted.subtopics, 1)


def nerr_ia(faceted: Faceted, *, cutoff: Cutoff | None = None, alpha: Alpha = 0.5, rel: float = 1) -> Floats:
    """ERR-IA over that of the greedy ideal ranking; arguments as of ERR-IA.

    >>> from rankgate.measurement.metrics.facet_input import block
    >>> nerr_ia(block([[{0, 1}, {0}]], [[{0}, {0, 1}]]))
    array([1.])
    """
    faceted = faceted.at_level(rel)
    return _over_ideal(faceted, "reciprocal", cutoff, alpha)


def nrbp(faceted: Faceted, *, alpha: Alpha = 0.5, p: Alpha = 0.5, rel: float = 1) -> Floats:
    """Novelty- and rank-biased precision.

        NRBP = (1 − (1 − α) · p) / S · Σ_i p^(i−1) · Σ_s rel(i, s) · (1 − α)^{cᵢ(s)}

    Args:
        faceted: the block.
        alpha: α, how much less the next document on a subtopic is worth.
        p: the probability of looking at the next document (β).
        rel: the grade from which a document answers a subtopic.

    Returns:
        ``(T,)``; NaN for a query without a relevant document.

    >>> from rankgate.measurement.metrics.facet_input import block
    >>> nrbp(block([[{0}]], [[{0}]]))
    array([0.75])
    """
    faceted = faceted.at_level(rel)
    gain_sum = (
        gains(faceted.covers, alpha, faceted.worth) * _weights(faceted.rank, "geometric", None, p)
    ).sum(-1)
    count = faceted.subtopics
    return np.where(count > 0, gain_sum * (1 - (1 - alpha) * p) / np.maximum(count, 1), np.nan)


def nnrbp(faceted: Faceted, *, alpha: Alpha = 0.5, p: Alpha = 0.5, rel: float = 1) -> Floats:
    """NRBP over that of the greedy ideal ranking; arguments as of NRBP.

    >>> from rankgate.measurement.metrics.facet_input import block
    >>> nnrbp(block([[{0, 1}, {0}]], [[{0}, {0, 1}]]))
    array([1.])
    """
    faceted = faceted.at_level(rel)
    return _over_ideal(faceted, "geometric", None, alpha, p)


def _weights(rank: Ranks, kind: Kind, cutoff: int | None, p: float = 0.5) -> Floats:
    """The weight of a rank; 0 beyond the cutoff and in the padding."""
    is_inside = (rank < PAD) & (rank <= (cutoff or PAD))
    safe_rank = np.where(is_inside, rank, 1).astype(np.float64)
    if kind == "log2":
        weight = 1 / np.log2(safe_rank + 1)
    else:
        weight = 1 / safe_rank if kind == "reciprocal" else p ** (safe_rank - 1)
    return np.where(is_inside, weight, 0.0)


def _normalised(faceted: Faceted, kind: Kind, cutoff: int | None, alpha: float, norm: Norm) -> Floats:
    gain_sum = (gains(faceted.covers, alpha, faceted.worth) * _weights(faceted.rank, kind, cutoff)).sum(
        axis=-1
    )
    count = faceted.subtopics
    if norm == "none":
        return np.where(count > 0, gain_sum, np.nan)
    depth = cutoff or _DEEP
    ranks = np.arange(1, depth + 1, dtype=np.int32)
    max_gain = (_weights(ranks, kind, None) * (1 - alpha) ** (ranks - 1.0)).sum()
    return np.where(count > 0, gain_sum / (np.maximum(count, 1) * max_gain), np.nan)


def _over_ideal(faceted: Faceted, kind: Kind, cutoff: int | None, alpha: float, p: float = 0.5) -> Floats:
    gain_sum = (gains(faceted.covers, alpha, faceted.worth) * _weights(faceted.rank, kind, cutoff, p)).sum(
        axis=-1
    )
    best_gains = ideal_gains(faceted.pool, alpha, cutoff or _DEEP, faceted.worth)
    ranks = np.arange(1, best_gains.shape[1] + 1, dtype=np.int32)
    ideal = (best_gains * _weights(ranks, kind, None, p)).sum(axis=-1)
    quotient: Floats = np.full(len(gain_sum), np.nan)
    np.divide(gain_sum, ideal, out=quotient, where=ideal > 0)
    return quotient


AlphaDCG = FacetMetric(
    "alpha_DCG",
    alpha_dcg,
    aliases=("α_DCG",),
    title="Discounted gain of subtopics, those answered before worth less.",
    formula="α-DCG@k = Σ_{i≤k} Σ_s rel(i, s) · (1 − α)^{cᵢ(s)} / log₂(i + 1)",
    source=f"{_CLARKE}; ndeval (over the collection's greatest)",
    high=None,
    prefix_only=True,
)
AlphaNDCG = FacetMetric(
    "alpha_nDCG",
    alpha_ndcg,
    aliases=("α_nDCG",),
    title="Discounted gain of subtopics over that of the greedy ideal ranking.",
    formula="α-nDCG@k = α-DCG@k / α-DCG@k of the greedy ideal ranking",
    source=f"{_CLARKE}; ndeval",
    high=None,
    prefix_only=True,
)
ErrIA = FacetMetric(
    "ERR_IA",
    err_ia,
    title="Expected reciprocal rank, mean over subtopics.",
    formula="ERR-IA@k = 1/S · Σ_{i≤k} 1/i · Σ_s α · rel(i, s) · (1 − α)^{cᵢ(s)}",
    source="Chapelle et al., Information Retrieval 14(6), 2011, doi:10.1007/s10791-011-9167-7",
    prefix_only=True,
)
NErrIA = FacetMetric(
    "nERR_IA",
    nerr_ia,
    title="ERR-IA over that of the greedy ideal ranking.",
    formula="nERR-IA@k = ERR-IA@k / ERR-IA@k of the greedy ideal ranking",
    source="Clarke et al., WSDM 2011, doi:10.1145/1935826.1935847; ndeval",
    high=None,
    prefix_only=True,
)
NRBP = FacetMetric(
    "NRBP",
    nrbp,
    title="Novelty- and rank-biased precision.",
    formula="NRBP = (1 − (1 − α) · p) / S · Σ_i p^(i−1) · Σ_s rel(i, s) · (1 − α)^{cᵢ(s)}",
    at=None,
    source="Clarke, Kolla & Vechtomova, ICTIR 2009, doi:10.1007/978-3-642-04417-5_17; ndeval",
)
NNRBP = FacetMetric(
    "nNRBP",
    nnrbp,
    title="NRBP over that of the greedy ideal ranking.",
    formula="nNRBP = NRBP / NRBP of the greedy ideal ranking",
    at=None,
    source="ndeval",
    high=None,
)


def intent_aware(faceted: Faceted, *, of: str = "nDCG@10", rel: float = 1) -> Floats:
    """A metric of rankings on the judgments of each intent, mean over the intents of a query.

    The mean is weighted where the judgments have weights of intents (``subtopic_weight``).

    Args:
        faceted: the block.
        of: the metric, by its name; one that needs judged documents without relevance, such as
            Bpref, is refused.
        rel: an intent counts that has a document of this grade.

    Returns:
        ``(T,)``; NaN for a query without a relevant document.

    >>> from rankgate.measurement.metrics.facet_input import block
    >>> intent_aware(block([[{0: 2}, {1: 1}]], [[{0: 2}, {1: 1}]]), of="RR")  # (1 + 1/2) / 2
    array([0.75])
    """
    metric = _metric(of)
    faceted = faceted.at_level(rel)
    has_relevant: Flags = np.any(faceted.pool, axis=1)
    values = np.zeros(has_relevant.shape)
    for s in range(has_relevant.shape[1]):
        has_intent = has_relevant[:, s]
        if has_intent.any():
            rows = _as_judged(faceted, faceted.grades[:, :, s], faceted.pool_grades[:, :, s])
            values[:, s] = np.where(has_intent, np.nan_to_num(metric.compute(rows)), 0)
    return _safe_ratio((values * faceted.worth).sum(axis=-1), has_relevant.sum(axis=-1))


def d_sharp(
    faceted: Faceted, *, of: str = "nDCG@10", gamma: Annotated[float, Range(0, 1)] = 0.5, rel: float = 1
) -> Floats:
    """Intent recall and a metric on global gains: the grades added over intents.

        D# = γ · I-rec + (1 − γ) · D-metric,   gain = Σ_s P(s) · gradeₛ

    P(s) is the weight of the intent (``subtopic_weight``) over that of all; without weights 1/S.

    Args:
        faceted: the block.
        of: the metric, by its name; its cutoff is that of intent recall.
        gamma: the weight of intent recall; 0 is the D-metric alone.
        rel: the grade from which a document answers an intent.

    Returns:
        ``(T,)``; NaN for a query without a relevant document.

    >>> from rankgate.measurement.metrics.facet_input import block
    >>> d_sharp(block([[{0: 1}]], [[{0: 1}, {1: 1}]]), of="nDCG@1")  # 1/2 · 1/2 + 1/2 · 1
    array([0.75])
    """
    metric = _metric(of)
    faceted = faceted.at_level(rel)
    count, intent_weights = np.maximum(faceted.subtopics, 1)[:, None], faceted.worth[:, None]
    grades, pool = (
        (intent_grades * intent_weights).sum(-1) / count
        for intent_grades in (faceted.grades, faceted.pool_grades)
    )
    rows = _as_judged(faceted, grades, pool)
    cutoff = dict(metric.given).get("cutoff", PAD)
    covered_count = (faceted.covers & (faceted.rank <= cutoff)[:, :, None]).any(axis=1).sum(axis=-1)
    value = gamma * covered_count / count[:, 0] + (1 - gamma) * np.nan_to_num(metric.compute(rows))
    return _safe_ratio(value, (faceted.subtopics > 0).astype(np.int64))


@functools.cache
def _metric(name: str) -> Metric:
    """The metric of rankings with a name.

    Raises:
        UsageError: the metric has another kind, or needs documents judged not relevant.
    """
    from rankgate.measurement.metrics.metric_name_parser import parse

    metric = parse(name)
    if metric.view == RANKING and not metric.missing:
        complete_block = block([[0, 1, 0, 1]], ideal=[[1, 1, 0, 0]])
        sparse_block = block([[None, 1, None, 1]], ideal=[[1, 1]])
        if np.array_equal(metric.compute(complete_block), metric.compute(sparse_block), equal_nan=True):
            return metric
    raise UsageError(
        f"of={name!r}: a metric of rankings is needed that does not look at documents judged not relevant, "
        "such as nDCG@10.",
        code="unsupported-metric",
    )


def _as_judged(faceted: Faceted, grades: Grades | Floats, pool: Grades | Floats) -> Judged:
    """Documents with grades ``(T, J)`` as input of kernels of rankings; 0 is unjudged."""
    is_judged = (grades > 0) & (faceted.rank < PAD)
    order = np.argsort(~is_judged, axis=1, kind="stable")
    rank = np.take_along_axis(np.where(is_judged, faceted.rank, PAD), order, axis=1).astype(np.int32)
    grade = np.take_along_axis(np.where(is_judged, grades, 0.0), order, axis=1).astype(np.float64)
    ideal = -np.sort(-pool.astype(np.float64), axis=1)
    judged = np.count_nonzero(ideal > 0, axis=1)
    last = np.where(faceted.rank < PAD, faceted.rank, 0).max(axis=1, initial=0).astype(np.int64)
    return Judged(
        rank=rank,
        grade=grade,
        known=rank < PAD,
        first=rank,
        last=rank.copy(),
        ideal=ideal,
        below=np.zeros((len(rank), 0)),
        retrieved=last,
        judged=judged,
        pooled=judged.copy(),
        relevant=judged.copy(),
        relevant_retrieved=judged.copy(),
        level=np.nan,
    ).at_level(1)


def _safe_ratio(numerator: Floats, denominator: Floats) -> Floats:
    quotient: Floats = np.full(len(numerator), np.nan)
    return np.divide(numerator, denominator, out=quotient, where=denominator > 0)


IntentAware = FacetMetric(
    "IA",
    intent_aware,
    title="A metric of rankings, mean over the intents of a query.",
    formula="IA(of=M) = Σ_s P(s) · M on the judgments of intent s,   P(s) = 1/S without weights",
    at=None,
    source="Agrawal et al., WSDM 2009, doi:10.1145/1498759.1498766",
    sees="grades and ranks, for each intent by itself",
    blind_to="the sharing of one document by many intents; unjudged documents",
)
DSharp = FacetMetric(
    "Dsharp",
    d_sharp,
    title="Intent recall and a metric on the gains of all intents together.",
    formula="Dsharp(of=M) = γ · I-rec + (1 − γ) · M on gain = Σ_s P(s) · gradeₛ",
    at=None,
    source="Sakai & Song, SIGIR 2011, doi:10.1145/2009916.2010055",
    sees="grades of all intents, ranks, and the number of intents answered",
    blind_to="the frequency of intents, if no weights are given; unjudged documents",
)


FACET_METRICS: tuple[FacetMetric, ...] = (
    AlphaNDCG,
    AlphaDCG,
    ErrIA,
    NErrIA,
    NRBP,
    NNRBP,
    APIA,
    PIA,
    StRecall,
    IntentAware,
    DSharp,
)
"""Every metric of subtopics, in the order in which they are listed."""

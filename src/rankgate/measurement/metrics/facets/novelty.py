"""Rankings that answer many subtopics early: α-nDCG, ERR-IA, NRBP."""

from typing import Annotated, Literal

import numpy as np

from rankgate.core.declare import Cutoff, Range
from rankgate.measurement.metrics.facets.declare import FacetMetric
from rankgate.measurement.metrics.facets.faceted import Faceted, gains, ideal_gains
from rankgate.measurement.metrics.judged import PAD, Floats, Ranks

Alpha = Annotated[float, Range(0, 1)]
Norm = Literal["collection", "none"]
Kind = Literal["log2", "reciprocal", "geometric"]

_CLARKE = "Clarke et al., SIGIR 2008, doi:10.1145/1390334.1390446"
_DEEP = 1000  # ranks beyond which nothing moves the last digit of an ideal


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

    >>> from rankgate.measurement.metrics.facets.faceted import block
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

    >>> from rankgate.measurement.metrics.facets.faceted import block
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
        alpha: α, the chance that a relevant document satisfies.
        norm: without the factor α, over Σ_{i≤k} (1 − α)^(i−1)/i, which is as if every document
            answered every subtopic (`collection`, ndeval), or as above (`none`).
        rel: the grade from which a document answers a subtopic.

    Returns:
        ``(T,)``; NaN for a query without a relevant document.

    >>> from rankgate.measurement.metrics.facets.faceted import block
    >>> err_ia(block([[{0}, {1}]], [[{0}, {1}]]), norm="none")
    array([0.375])
    """
    faceted = faceted.at_level(rel)
    value = _normalised(faceted, "reciprocal", cutoff, alpha, norm)
    return value if norm == "collection" else alpha * value / np.maximum(faceted.subtopics, 1)


def nerr_ia(
    faceted: Faceted, *, cutoff: Cutoff | None = None, alpha: Alpha = 0.5, rel: float = 1
) -> Floats:
    """ERR-IA over that of the greedy ideal ranking; arguments as of ERR-IA.

    >>> from rankgate.measurement.metrics.facets.faceted import block
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
        p: the chance to look at the next document (β).
        rel: the grade from which a document answers a subtopic.

    Returns:
        ``(T,)``; NaN for a query without a relevant document.

    >>> from rankgate.measurement.metrics.facets.faceted import block
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

    >>> from rankgate.measurement.metrics.facets.faceted import block
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
    weights: Floats = np.where(is_inside, weight, 0.0)
    return weights


def _normalised(
    faceted: Faceted, kind: Kind, cutoff: int | None, alpha: float, norm: Norm
) -> Floats:
    gain_sum = (
        gains(faceted.covers, alpha, faceted.worth) * _weights(faceted.rank, kind, cutoff)
    ).sum(axis=-1)
    count = faceted.subtopics
    if norm == "none":
        return np.where(count > 0, gain_sum, np.nan)
    depth = cutoff or _DEEP
    ranks = np.arange(1, depth + 1, dtype=np.int32)
    max_gain = (_weights(ranks, kind, None) * (1 - alpha) ** (ranks - 1.0)).sum()
    return np.where(count > 0, gain_sum / (np.maximum(count, 1) * max_gain), np.nan)


def _over_ideal(
    faceted: Faceted, kind: Kind, cutoff: int | None, alpha: float, p: float = 0.5
) -> Floats:
    gain_sum = (
        gains(faceted.covers, alpha, faceted.worth) * _weights(faceted.rank, kind, cutoff, p)
    ).sum(axis=-1)
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

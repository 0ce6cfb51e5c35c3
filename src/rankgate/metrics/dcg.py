"""Cumulated gain: plain, discounted by rank, and normalised by the ideal ranking."""

from typing import Annotated, Literal

import numpy as np

from rankgate.metrics.declare import Cutoff, Metric, Range
from rankgate.metrics.gains import Gain, Levels, ideal_gains, retrieved_gains
from rankgate.metrics.judged import Floats, Judged, Ranks, ratio, total
from rankgate.metrics.steps import Steps, inside

Discount = Literal["shifted", "original"]
Ideal = Literal["judged", "retrieved"]
Depth = Literal["cutoff", "all", "returned"]
Base = Annotated[float, Range(1.000001)]


def cumulated_gain(
    judged: Judged, *, cutoff: Cutoff | None = None, gain: Gain = "linear"
) -> Floats:
    """Sum of the gains up to a rank, whatever their order: CG@k = Σ_{i≤k} g(gradeᵢ).

    >>> from rankgate.metrics.judged import block
    >>> cumulated_gain(block([[3, 2, 1]]), cutoff=2)
    array([5.])
    """
    gains = retrieved_gains(judged, gain, cutoff)
    return total(gains if cutoff is None else np.where(judged.rank[:, :cutoff] > cutoff, 0, gains))


def cumulated_gain_steps(
    judged: Judged, *, cutoff: Cutoff | None = None, gain: Gain = "linear"
) -> Steps:
    """The gains themselves."""
    return Steps(retrieved_gains(judged, gain), inside(judged, cutoff), np.ones(len(judged.rank)))


def dcg(
    judged: Judged,
    *,
    cutoff: Cutoff | None = None,
    gain: Gain = "linear",
    base: Base = 2.0,
    discount: Discount = "shifted",
) -> Floats:
    """Sum of the gains up to a rank, each divided by the logarithm of its rank.

        DCG@k = Σ_{i≤k} g(gradeᵢ) / log_b(i + 1)

    Args:
        judged: the block.
        cutoff: k; without it the whole list counts.
        gain: g(x) = x (`linear`), 2ˣ − 1 (`exp`), or a map from grade to gain.
        base: b.
        discount: by log_b(i + 1) (`shifted`, every current tool) or by max(1, log_b i)
            (`original`, as first published: no discount before rank b).

    Returns:
        ``(T,)``, 0 where nothing of worth is retrieved.

    >>> from rankgate.metrics.judged import block
    >>> dcg(block([[3, 2, 1]]), gain="exp").round(3)  # 7 + 3/log₂3 + 1/2
    array([9.393])
    """
    rank = judged.rank[:, :cutoff]
    gains = retrieved_gains(judged, gain, cutoff)
    return total(_discounted(gains, rank, cutoff, discount, base))


def dcg_steps(
    judged: Judged,
    *,
    cutoff: Cutoff | None = None,
    gain: Gain = "linear",
    base: Base = 2.0,
    discount: Discount = "shifted",
) -> Steps:
    """Gains times discounts."""
    gains = retrieved_gains(judged, gain)
    weight = _discounted(np.ones_like(gains), judged.rank, cutoff, discount, base)
    return Steps(gains, weight, np.ones(len(gains)), weighed="discount")


def ndcg(
    judged: Judged,
    *,
    cutoff: Cutoff | None = None,
    gain: Gain = "linear",
    discount: Discount = "shifted",
    ideal: Ideal = "judged",
    depth: Depth = "cutoff",
    levels: Levels = "exact",
) -> Floats:
    """Discounted gain of the ranking over that of the ideal ranking.

        nDCG@k = DCG@k / IDCG@k,   DCG@k = Σ_{i≤k} g(gradeᵢ) / log₂(i + 1)

    Args:
        judged: the block.
        cutoff: k; without it the whole list counts.
        gain: g(x) = x (`linear`, trec_eval), 2ˣ − 1 (`exp`, gdeval and most of industry),
            or a map from grade to gain.
        discount: `shifted` or `original`, as in DCG.
        ideal: the best order of all judged documents (`judged`) or only of those that
            were retrieved (`retrieved`), which hides whatever the ranking missed.
        depth: how far the ideal goes: to k, through `all` of its documents, or to
            the length of the list if that is less than k (`returned`).
        levels: how a gain map is ordered; `truncated` is trec_eval's way.

    Returns:
        ``(T,)``; NaN where the ideal is worth nothing.

    >>> from rankgate.metrics.judged import block
    >>> ndcg(block([[3, 2, 1]], ideal=[[3, 3, 2]]), cutoff=3, gain="exp").round(3)
    array([0.727])
    """
    got = dcg(judged, cutoff=cutoff, gain=gain, discount=discount)
    best = _best(judged, cutoff, gain, ideal=ideal, depth=depth, levels=levels)
    rank = np.arange(1, best.shape[-1] + 1)
    return ratio(got, total(_discounted(best, rank, None, discount, 2.0)))


def ndcg_steps(
    judged: Judged,
    *,
    cutoff: Cutoff | None = None,
    gain: Gain = "linear",
    discount: Discount = "shifted",
    ideal: Ideal = "judged",
    depth: Depth = "cutoff",
    levels: Levels = "exact",
) -> Steps:
    """Gains times discounts, over the same of the ideal ranking."""
    got = dcg_steps(judged, cutoff=cutoff, gain=gain, discount=discount)
    best = _best(judged, cutoff, gain, ideal=ideal, depth=depth, levels=levels)
    rank = np.arange(1, best.shape[-1] + 1)
    weight = _discounted(np.ones_like(best), rank, None, discount, 2.0)
    at = "" if cutoff is None else f"@{cutoff}"
    return Steps(
        got.gain,
        got.weight,
        total(best * weight),
        weighed="discount",
        summed=f"DCG{at}",
        divisor=f"IDCG{at}",
        ideal=(best, weight),
    )


def _best(
    judged: Judged,
    cutoff: int | None,
    gain: Gain,
    *,
    ideal: Ideal,
    depth: Depth,
    levels: Levels,
) -> Floats:
    """The gains of the ideal ranking, ``(T, I)``."""
    end = None if depth == "all" else cutoff
    if ideal == "retrieved":
        best = np.sort(retrieved_gains(judged, gain), axis=-1)[:, ::-1][:, :end]
    else:
        best = ideal_gains(judged, gain, end, levels)
    if depth == "returned":
        rank = np.arange(1, best.shape[-1] + 1)
        best = np.where(rank > judged.retrieved[:, None], 0, best)
    return best


def _discounted(
    gains: Floats,
    rank: Ranks | np.ndarray,
    cutoff: int | None,
    discount: Discount,
    base: float,
) -> Floats:
    """Gains divided by the discount of their ranks, 0 behind the cutoff."""
    log = np.log2(rank + 1.0 if discount == "shifted" else rank)
    if base != 2:  # noqa: PLR2004 the binary logarithm is the usual one
        log /= np.log2(base)
    if discount == "original":
        np.maximum(log, 1, out=log)
    worth: Floats = gains / log
    if cutoff is not None:
        worth[rank > cutoff] = 0
    return worth


_SOURCE = "Järvelin & Kekäläinen, ACM TOIS 20(4), 2002, doi:10.1145/582415.582418"

CG = Metric(
    "CG",
    cumulated_gain,
    title="The sum of the gains in the first k places.",
    formula="CG@k = Σ_{i≤k} g(gradeᵢ)",
    aliases=("cumulated_gain",),
    steps=cumulated_gain_steps,
    high=None,
    source=_SOURCE,
    sees="the grades of the first k documents",
    blind_to="their order, and how much there was to find",
)
DCG = Metric(
    "DCG",
    dcg,
    title="The sum of the gains in the first k places, discounted by rank.",
    formula="DCG@k = Σ_{i≤k} g(gradeᵢ) / log₂(i + 1)",
    aliases=("discounted_cumulated_gain",),
    steps=dcg_steps,
    high=None,
    source=_SOURCE,
    sees="the grade and the rank of every judged document above the cutoff",
    blind_to="how much there was to find: easy queries, rich in relevant documents, dominate "
    "a mean of it",
)
nDCG = Metric(  # noqa: N816 the field's own name
    "nDCG",
    ndcg,
    title="Discounted gain of the ranking over that of the ideal ranking.",
    formula="nDCG@k = DCG@k / IDCG@k,   DCG@k = Σ_{i≤k} g(gradeᵢ) / log₂(i + 1)",
    aliases=("NDCG",),
    trec=("ndcg", "ndcg_cut"),
    steps=ndcg_steps,
    source=_SOURCE,
    sees="the grade and the rank of every judged document above the cutoff",
    blind_to="unjudged documents, which count as worthless (see Judged@k), and how many good "
    "documents lie below the cutoff; rel has no effect on it",
)

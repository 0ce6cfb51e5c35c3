"""Cumulated gain: plain, discounted by rank, and normalised by the ideal ranking."""

from dataclasses import replace
from typing import Annotated, Literal

import numpy as np

from rankgate.metrics.declare import Cutoff, Metric, Range
from rankgate.metrics.gains import Gain, Levels, ideal_gains, retrieved_gains
from rankgate.metrics.judged import Floats, Judged, Ranks, ratio, total
from rankgate.metrics.steps import Steps, inside

Discount = Literal["shifted", "original"]
Ideal = Literal["judged", "retrieved", "shown"]
Depth = Literal["cutoff", "all", "returned"]
Base = Annotated[float, Range(1.000001)]
Digits = Annotated[int, Range(0)]


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
    term_digits: Digits | None = None,
) -> Floats:
    """Discounted gain of the ranking over that of the ideal ranking.

        nDCG@k = DCG@k / IDCG@k,   DCG@k = Σ_{i≤k} g(gradeᵢ) / log₂(i + 1)

    Args:
        judged: the block.
        cutoff: k; without it the whole list counts.
        gain: g(x) = x (`linear`, trec_eval), 2ˣ − 1 (`exp`, gdeval and most of industry),
            1 above 0 (`binary`), x even below 0 (`signed`), or a map from grade to gain.
        discount: `shifted` or `original`, as in DCG.
        ideal: the best order of all judged documents (`judged`), or only of those that
            were retrieved (`retrieved`) or stand in the first k (`shown`), both of which
            hide whatever the ranking missed.
        depth: how far the ideal goes: to k, through `all` of its documents, or to
            the length of the list if that is less than k (`returned`).
        levels: how a gain map is ordered; `truncated` is trec_eval's way.
        term_digits: decimals that each term of both sums is cut down to; None keeps all.

    Returns:
        ``(T,)``; NaN where no judged document is worth anything, 0 where only the
        ideal that was asked for is worth nothing.

    >>> from rankgate.metrics.judged import block
    >>> ndcg(block([[3, 2, 1]], ideal=[[3, 3, 2]]), cutoff=3, gain="exp").round(3)
    array([0.727])
    """
    gains, rank = retrieved_gains(judged, gain, cutoff), judged.rank[:, :cutoff]
    got = total(_cut(_discounted(gains, rank, cutoff, discount, 2.0), term_digits))
    best = _best(judged, cutoff, gain, ideal=ideal, depth=depth, levels=levels)
    places = np.arange(1, best.shape[-1] + 1)
    norm = total(_cut(_discounted(best, places, None, discount, 2.0), term_digits))
    return ratio(got, _known(judged, norm, gain) if ideal != "judged" else norm)


def ndcg_steps(
    judged: Judged,
    *,
    cutoff: Cutoff | None = None,
    gain: Gain = "linear",
    discount: Discount = "shifted",
    ideal: Ideal = "judged",
    depth: Depth = "cutoff",
    levels: Levels = "exact",
    term_digits: Digits | None = None,
) -> Steps:
    """Gains times discounts, over the same of the ideal ranking."""
    got = dcg_steps(judged, cutoff=cutoff, gain=gain, discount=discount)
    best = _best(judged, cutoff, gain, ideal=ideal, depth=depth, levels=levels)
    rank = np.arange(1, best.shape[-1] + 1)
    weight = _discounted(np.ones_like(best), rank, None, discount, 2.0)
    if term_digits is not None:  # a term that is cut is no product any more
        terms = _cut(got.gain * got.weight, term_digits)
        got = replace(got, gain=terms, weight=inside(judged, cutoff))
        best, weight = _cut(best * weight, term_digits), np.ones_like(weight)
    at = "" if cutoff is None else f"@{cutoff}"
    norm = total(best * weight)
    return Steps(
        got.gain,
        got.weight,
        _known(judged, norm, gain) if ideal != "judged" else norm,
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
    if ideal != "judged":
        gains = retrieved_gains(judged, gain)
        if ideal == "shown" and cutoff is not None:
            gains = np.where(judged.rank > cutoff, 0, gains)
        best = np.sort(gains, axis=-1)[:, ::-1][:, :end]
    else:
        best = ideal_gains(judged, gain, end, levels)
    if depth == "returned":
        rank = np.arange(1, best.shape[-1] + 1)
        best = np.where(rank > judged.retrieved[:, None], 0, best)
    return best


def _known(judged: Judged, norm: Floats, gain: Gain) -> Floats:
    """An ideal of what was retrieved, 1 where that is worth nothing and other documents are."""
    elsewhere = ideal_gains(judged, gain)[:, 0] > 0
    return np.where((norm <= 0) & elsewhere, 1, norm)


def _cut(terms: Floats, digits: int | None) -> Floats:
    """Terms without the decimals behind some; None keeps all."""
    if digits is None:
        return terms
    cut: Floats = np.floor(terms * 10.0**digits) / 10.0**digits
    return cut


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

"""Cumulated gain: plain, discounted by rank (DCG), normalised by the ideal ranking (nDCG).

After it come means of nDCG over prefixes of the ranking.
"""

from dataclasses import replace
from typing import Annotated, Literal

import numpy as np

from rankgate.core.arrays import Floats
from rankgate.core.declare import Cutoff, OnlyWith, Range
from rankgate.core.errors import InputError
from rankgate.measurement.metrics.graded.gains_ideals import (
    Base,
    Depth,
    Discount,
    Gain,
    Ideal,
    Levels,
    Ties,
    document_discounts,
    ideal_gains,
    ideal_norm,
    ideal_ranking,
    rank_discounts,
    retrieved_gains,
    tied_weights,
)
from rankgate.measurement.metrics.judged_block import Counts, Judged, Steps, count, ratio, total
from rankgate.measurement.metrics.metric_declaration import Metric

Refusal = Literal["taken", "refused"]
Digits = Annotated[int, Range(0)]


def cumulated_gain(judged: Judged, *, cutoff: Cutoff | None = None, gain: Gain = "linear") -> Steps:
    """Sum of the gains up to a rank, regardless of their order: CG@k = Σ_{i≤k} g(gradeᵢ).

    >>> from rankgate.measurement.metrics.judged_block import block
    >>> cumulated_gain(block([[3, 2, 1]]), cutoff=2).value
    array([5.])
    """
    return Steps(retrieved_gains(judged, gain), judged.within(cutoff))


def dcg(
    judged: Judged,
    *,
    cutoff: Cutoff | None = None,
    gain: Gain = "linear",
    base: Base = 2.0,
    discount: Discount = "shifted",
    ties: Ties = "broken",
    least: float = 0,
) -> Steps:
    """Sum of the gains up to a rank, each divided by the logarithm of its rank.

        DCG@k = Σ_{i≤k} g(gradeᵢ) / log_b(i + 1)

    Args:
        judged: the block.
        cutoff: k; without it the whole list counts.
        gain: g(x) = x (`linear`), 2ˣ − 1 (`exp`), or a map from grade to gain.
        base: b.
        discount: the divisor: log_b(i + 1) (`shifted`, nearly every current tool), max(1, log_b i)
            (`original`, as first published: no discount before rank b), or log_b(i · grade + 1)
            (`graded`, recpack, which expects grades of 0 and 1).
        ties: documents with equal scores are at their own ranks (`broken`), or each at
            all ranks of its group, so that the value is the mean over all orders (`tied_weights`,
            scikit-learn).
        least: grades below it are worth nothing (ranx's level of relevance).

    Returns:
        ``(T,)``, 0 if nothing relevant is retrieved.

    >>> from rankgate.measurement.metrics.judged_block import block
    >>> dcg(block([[3, 2, 1]]), gain="exp").value.round(3)  # 7 + 3/log₂3 + 1/2
    array([9.393])
    """
    judged = judged.from_grade(least, _zero_gain_grade(gain))
    gains = retrieved_gains(judged, gain)
    if ties == "averaged":
        return Steps(gains, tied_weights(judged, cutoff, discount, base), weighed="discount")
    return Steps(gains, discount=document_discounts(judged, cutoff, discount, base), weighed="discount")


def ndcg(
    judged: Judged,
    *,
    cutoff: Cutoff | None = None,
    gain: Gain = "linear",
    discount: Discount = "shifted",
    base: Annotated[Base, OnlyWith("discount", "original")] = 2.0,
    ideal: Ideal = "judged",
    depth: Depth = "cutoff",
    levels: Annotated[Levels, OnlyWith("ideal", "judged", "known")] = "exact",
    term_digits: Digits | None = None,
    ties: Ties = "broken",
    negative: Refusal = "taken",
    single: Refusal = "taken",
    least: float = 0,
    highest: float | None = None,
) -> Steps:
    """Discounted gain of the ranking over that of the ideal ranking.

        nDCG@k = DCG@k / IDCG@k,   DCG@k = Σ_{i≤k} g(gradeᵢ) / log₂(i + 1)

    Args:
        judged: the block.
        cutoff: k; without it the whole list counts.
        gain: g(x) = x (`linear`, trec_eval), 2ˣ − 1 (`exp`, gdeval and most of industry),
            1 above 0 (`binary`) or from 0 (`judged`), x even below 0 (`signed`), or a map
            from grade to gain.
        discount: `shifted`, `original` or `graded`, as in DCG; the last for the ranking only.
        base: b of the discount `original`, before whose rank nothing is discounted; with the
            others it cancels.
        ideal: the best order of all judged documents (`judged`), or only of those that
            were retrieved (`retrieved`) or are in the first k (`shown`), both of which
            hide what the ranking missed; or of all that are judged or retrieved
            (`known`), so that negative gains are after the unjudged; or as many gains
            of 1 as the grades add up to (`counted`, recpack), which fits grades of 0 and 1.
        depth: the depth of the ideal: k, `all` of its documents, or the length of the list if that
            is less than k (`returned`).
        levels: the order of a gain map; `truncated` is trec_eval's rule.
        term_digits: decimals that each term of both sums is cut down to; None keeps all.
        ties: as in DCG; the ideal has none.
        negative: a grade below 0 is `taken` by its gain, or `refused`.
        single: a query of one document, judged or retrieved, is `taken` or `refused`.
        least: grades below it are worth nothing (ranx's level of relevance).
        highest: the highest grade there may be; None is any.

    Returns:
        ``(T,)``; NaN if no judged document has a gain, 0 if
        only the requested ideal has none.

    Raises:
        InputError: a negative grade, or a single document, where those are refused; a grade
            above ``highest``.

    >>> from rankgate.measurement.metrics.judged_block import block
    >>> ndcg(block([[3, 2, 1]], ideal=[[3, 3, 2]]), cutoff=3, gain="exp").value.round(3)
    array([0.727])
    """
    _check_judgments(judged, negative, single, highest)
    judged = judged.from_grade(least, _zero_gain_grade(gain))
    base = base if discount == "original" else 2.0
    steps = dcg(judged, cutoff=cutoff, gain=gain, base=base, discount=discount, ties=ties)
    best_gains, rank = ideal_ranking(judged, cutoff, gain, ideal=ideal, depth=depth, levels=levels)
    best = Steps(best_gains, discount=rank_discounts(rank, None, discount, base), digits=term_digits)
    suffix = "" if cutoff is None else f"@{cutoff}"
    return replace(
        steps,
        norm=ideal_norm(judged, best, gain, ideal, depth),
        digits=term_digits,
        summed=f"DCG{suffix}",
        divisor=f"IDCG{suffix}",
        ideal=best if ideal != "counted" else None,
    )


def _zero_gain_grade(gain: Gain) -> float:
    """A grade without a gain: 0, or a grade below 0 if grade 0 has a gain."""
    return -1 if gain == "judged" or not isinstance(gain, str) else 0


def _check_judgments(judged: Judged, negative: Refusal, single: Refusal, highest: float | None) -> None:
    """Raise InputError for a negative grade or a single document, if these are refused."""
    if negative == "refused" and (judged.grade.min(initial=0) < 0 or judged.below.any()):
        raise InputError(
            "nDCG: a judgment has a grade below 0; take it out, or set negative='taken'.",
            code="grade-outside-scale",
        )
    if single == "refused" and (judged.documents == 1).any():
        raise InputError(
            "nDCG: a query has a single document, so that its order has no meaning; remove the query, or set "
            "single='taken'.",
            code="single-document",
        )
    if highest is not None and (highest_grade := judged.ideal.max(initial=0)) > highest:
        raise InputError(
            f"nDCG: a judgment has grade {highest_grade:g}, above highest={highest:g}; bring the grades to "
            f"that scale, or set highest={highest_grade:g}.",
            code="grade-outside-scale",
        )


_DCG_SOURCE = "Järvelin & Kekäläinen, ACM TOIS 20(4), 2002, doi:10.1145/582415.582418"

CG = Metric(
    "CG",
    cumulated_gain,
    title="The sum of the gains in the first k places.",
    formula="CG@k = Σ_{i≤k} g(gradeᵢ)",
    aliases=("cumulated_gain",),
    high=None,
    source=_DCG_SOURCE,
    sees="the grades of the first k documents",
    blind_to="their order, and the number of relevant documents",
    prefix_only=True,
    ideal_order_optimal=True,
    additive=True,
    bounds="exact",
)
DCG = Metric(
    "DCG",
    dcg,
    title="The sum of the gains in the first k places, discounted by rank.",
    formula="DCG@k = Σ_{i≤k} g(gradeᵢ) / log₂(i + 1)",
    aliases=("discounted_cumulated_gain",),
    high=None,
    source=_DCG_SOURCE,
    sees="the grade and the rank of every judged document above the cutoff",
    blind_to="the number of relevant documents: easy queries with many of them dominate a mean",
    prefix_only=True,
    ideal_order_optimal=True,
    additive=True,
    bounds="exact",
)
nDCG = Metric(  # noqa: N816 the field's own name
    "nDCG",
    ndcg,
    title="Discounted gain of the ranking over that of the ideal ranking.",
    formula="nDCG@k = DCG@k / IDCG@k,   DCG@k = Σ_{i≤k} g(gradeᵢ) / log₂(i + 1)",
    aliases=("NDCG", "MSnDCG"),
    trec=("ndcg", "ndcg_cut"),
    source=_DCG_SOURCE,
    sees="the grade and the rank of every judged document above the cutoff",
    blind_to=(
        "unjudged documents, which count as not relevant (see Judged@k), and good documents below the "
        "cutoff; rel has no effect on it"
    ),
    prefix_only=True,
    whole_list_when=(("ideal", "retrieved"), ("ideal", "known")),
    ideal_order_optimal=True,
    bounds="safe",
)


def ndcg_at_relevant(judged: Judged, *, gain: Gain = "linear", levels: Levels = "exact") -> Floats:
    """Mean of nDCG@i over the ranks i of all documents with a gain.

        nDCGRel = 1/M · ( Σ_{retrieved with gain, at rank i} nDCG@i + missing · nDCG@n )

    with M judged documents of positive gain; those that are missing count at the
    end of the list, n, against the whole ideal.

    Returns:
        ``(T,)``; NaN where no judged document has a gain.

    >>> from rankgate.measurement.metrics.judged_block import block
    >>> ndcg_at_relevant(block([[1, 0, 1]])).round(4)  # (1 + (1 + 1/2) / (1 + 1/log₂3)) / 2
    array([0.9599])
    """
    gains = retrieved_gains(judged, gain)
    best_gains = ideal_gains(judged, gain, levels=levels)
    gain_sums, ideal = (np.cumsum(gains / np.log2(judged.rank + 1.0), axis=-1), _cumulated_dcg(best_gains))
    has_gain = gains > 0
    prefix = np.take_along_axis(ideal, np.minimum(judged.rank, best_gains.shape[-1]) - 1, axis=-1)
    at_ranks = np.divide(gain_sums, prefix, out=np.zeros(gain_sums.shape), where=has_gain & (prefix > 0))
    gain_count = count(best_gains > 0)
    missing_sum = (gain_count - count(has_gain)) * ratio(gain_sums[:, -1], ideal[:, -1])
    return ratio(total(at_ranks) + missing_sum, gain_count)


def ndcg_at_levels(
    judged: Judged, *, gain: Gain = "linear", levels: Levels = "exact", rel: float = 1
) -> Floats:
    """Mean of nDCG at the ranks where a perfect ranking steps down a level of gain.

        RnDCG = mean of nDCG@m over m = |judged with gain ≥ l|, for each gain l > 0,
                and over the length of the list where it is longer by two or more

    With one level of gain it is the counterpart of Rprec.

    Returns:
        ``(T,)``; NaN for a query without a relevant document or without a gain.

    >>> from rankgate.measurement.metrics.judged_block import block
    >>> ndcg_at_levels(block([[1, 0]], ideal=[[1, 1, 0]])).round(4)  # 1 / (1 + 1/log₂3)
    array([0.6131])
    """
    best_gains = ideal_gains(judged, gain, levels=levels)
    ideal = _cumulated_dcg(best_gains)
    terms = retrieved_gains(judged, gain) / np.log2(judged.rank + 1.0)
    value, points = np.zeros(len(best_gains)), np.zeros(len(best_gains), dtype=np.int64)
    for level in np.unique(best_gains[best_gains > 0])[::-1]:
        has_level = (best_gains == level).any(axis=-1)
        value += np.where(has_level, _ndcg_at(judged, terms, ideal, count(best_gains >= level)), 0)
        points += has_level
    longer = judged.retrieved > count(best_gains > 0) + 1
    value += np.where(longer, _ndcg_at(judged, terms, ideal, judged.retrieved), 0)
    undefined = (judged.at_level(rel).relevant == 0) | (ideal[:, -1] <= 0)
    return np.where(undefined, np.nan, ratio(value, points + longer))


def _cumulated_dcg(best_gains: Floats) -> Floats:
    """The discounted gain of each prefix of the ideal ranking, ``(T, I)``."""
    return np.cumsum(best_gains / np.log2(np.arange(2.0, best_gains.shape[-1] + 2)), axis=-1)


def _ndcg_at(judged: Judged, terms: Floats, ideal: Floats, cutoffs: Counts) -> Floats:
    """The normalised discounted gain at a cutoff of each query's own, ``(T,)``."""
    gain_sum = total(np.where(judged.rank <= cutoffs[:, None], terms, 0))
    column = np.clip(cutoffs, 1, ideal.shape[-1])[:, None] - 1
    return ratio(gain_sum, np.take_along_axis(ideal, column, axis=-1)[:, 0])


_NDCG_REL_SOURCE = "trec_eval; after Järvelin & Kekäläinen, 2002, doi:10.1145/582415.582418"

nDCGRel = Metric(  # noqa: N816 after nDCG
    "nDCGRel",
    ndcg_at_relevant,
    title="The mean of nDCG at the ranks of all documents that have a gain.",
    formula="nDCGRel = 1/M · ( Σ_{with gain, at rank i} nDCG@i + missing · nDCG@n )",
    trec=("ndcg_rel",),
    at=None,
    source=_NDCG_REL_SOURCE,
    sees="grades and ranks of all judged documents, as AP sees ranks",
    blind_to="unjudged documents, which count as not relevant; rel has no effect on it",
)
RnDCG = Metric(
    "RnDCG",
    ndcg_at_levels,
    title="The mean of nDCG at the ranks where a perfect ranking steps down a grade.",
    formula="RnDCG = mean of nDCG@m over m = |judged with gain ≥ l|, for each gain l > 0",
    trec=("Rndcg",),
    at=None,
    source=_NDCG_REL_SOURCE,
    sees="the match of each grade with the places of its own",
    blind_to="the order within those places; one more judgment moves the ranks it looks at",
)

"""Metrics on the scale of the grades: sum, mean, share, and discounted gain."""

from typing import Annotated

import numpy as np

from rankgate.core.declare import Cutoff, Range
from rankgate.core.errors import UsageError
from rankgate.measurement.metrics.graded.gains_ideals import (
    Depth,
    Gain,
    Ideal,
    ideal_norm,
    ideal_ranking,
    retrieved_gains,
)
from rankgate.measurement.metrics.judged_block import Judged, Places, Steps
from rankgate.measurement.metrics.metric_declaration import Metric


def average_grade(
    judged: Judged, *, cutoff: Cutoff | None = None, gain: Gain = "linear", denominator: Places = "cutoff"
) -> Steps:
    """Mean of the grades of the first k documents.

        AvgGrade@k = 1/k · Σ_{i≤k} gradeᵢ

    Args:
        judged: the block.
        cutoff: k; without it the whole list counts.
        gain: the gain of a grade; an unjudged document has gain 0.
        denominator: all k places, even where the list is shorter (`cutoff`); the documents
            returned (`returned`); or those that are judged (`judged`), so that the
            unjudged are left out instead of counted as 0.

    Returns:
        ``(T,)``; NaN for a divisor of 0.

    >>> from rankgate.measurement.metrics.judged_block import block
    >>> average_grade(block([[3, None, 0]]), cutoff=2).value
    array([1.5])
    >>> average_grade(block([[3, None, 0]]), cutoff=2, denominator="judged").value
    array([3.])
    """
    places = judged.places(cutoff, denominator)
    gains = retrieved_gains(judged, gain)
    return Steps(gains, judged.within(cutoff), places, summed="CG", divisor="places")


def hits(judged: Judged, *, cutoff: Cutoff | None = None, rel: float = 1) -> Steps:
    """Relevant documents in the first k places.

        Hits@k = |relevant at ranks ≤ k|

    Args:
        judged: the block.
        cutoff: k; without it the whole list counts.
        rel: the smallest grade that counts as relevant.

    Returns:
        ``(T,)``; 0 if no document is relevant.

    >>> from rankgate.measurement.metrics.judged_block import block
    >>> hits(block([[1, 0, 2]]), cutoff=2).value
    array([1.])
    """
    return Steps(judged.hits(rel), judged.within(cutoff))


def ncg(
    judged: Judged,
    *,
    cutoff: Cutoff | None = None,
    gain: Gain = "linear",
    ideal: Ideal = "judged",
    depth: Depth = "cutoff",
) -> Steps:
    """Gain of the first k places over that of the ideal ranking's first k.

        NCG@k = CG@k / ICG@k,   CG@k = Σ_{i≤k} g(gradeᵢ)

    Args:
        judged: the block.
        cutoff: k; without it the whole list counts.
        gain: g, as in nDCG.
        ideal: the documents of the ideal, as in nDCG.
        depth: the depth of the ideal, as in nDCG.

    Returns:
        ``(T,)``; NaN where no judged document is worth anything.

    >>> from rankgate.measurement.metrics.judged_block import block
    >>> ncg(block([[1, 3]], ideal=[[3, 2, 1]]), cutoff=2).value  # (1 + 3) / (3 + 2)
    array([0.8])
    """
    best_gains, _ = ideal_ranking(judged, cutoff, gain, ideal=ideal, depth=depth)
    best = Steps(best_gains)
    suffix = "" if cutoff is None else f"@{cutoff}"
    return Steps(
        retrieved_gains(judged, gain),
        judged.within(cutoff),
        ideal_norm(judged, best, gain, ideal, depth),
        summed=f"CG{suffix}",
        divisor=f"ICG{suffix}",
        ideal=best if ideal != "counted" else None,
    )


AvgGrade = Metric(
    "AvgGrade",
    average_grade,
    title="The mean grade of the first k documents.",
    formula="AvgGrade@k = 1/k · Σ_{i≤k} gradeᵢ",
    aliases=("average_grade", "mean_grade"),
    high=None,
    source="the cumulated gain of Järvelin & Kekäläinen, ACM TOIS 20(4), 2002, doi:10.1145/582415.582418, a "
    "place",
    sees="the grades of the first k documents, in the unit of the scale",
    blind_to=(
        "their order, and the number of relevant documents; unjudged documents count as grade 0 unless "
        "denominator='judged'"
    ),
    prefix_only=True,
    additive=True,
    whole_list_when=(("denominator", "retrieved"),),
    bounds="exact",
)
Hits = Metric(
    "Hits",
    hits,
    title="The number of relevant documents in the first k places.",
    formula="Hits@k = |relevant at ranks ≤ k|",
    high=None,
    source="ranx, hits",
    sees="the number of relevant documents in the first k",
    blind_to=(
        "their order, grades above rel, and the number of relevant documents; its mean is over queries, "
        "where NumRelRet is a sum"
    ),
    prefix_only=True,
    additive=True,
    bounds="exact",
)
NCG = Metric(
    "NCG",
    ncg,
    title="Gain of the first k places over that of the first k of the ideal ranking.",
    formula="NCG@k = CG@k / ICG@k,   CG@k = Σ_{i≤k} g(gradeᵢ)",
    aliases=("normalized_cumulated_gain", "nCG"),
    source="Järvelin & Kekäläinen, ACM TOIS 20(4), 2002, doi:10.1145/582415.582418",
    sees="the grades of the first k documents, besides the best there could be",
    blind_to="the order within the first k, and unjudged documents, which count as not relevant",
    prefix_only=True,
    whole_list_when=(("ideal", "retrieved"), ("ideal", "known")),
    ideal_order_optimal=True,
    bounds="safe",
)


Grade = Annotated[float, Range(0)]
_LONGEST = 1 << 24  # largest number of ranks with discounts to add


def scaled_dcg(judged: Judged, *, cutoff: Cutoff, max_grade: Grade = 4, min_grade: Grade = 0) -> Steps:
    """Discounted gain over that of a list that has the highest grade at each of its k ranks.

        SDCG@k = Σ_{i≤k} gᵢ / log₂(i + 1)  /  Σ_{i≤k} 1 / log₂(i + 1)
        gᵢ = (gradeᵢ − min) / (max − min), within 0 and 1

    Args:
        judged: the block.
        cutoff: k.
        max_grade: the highest grade of the scale; greater ones count as it.
        min_grade: the lowest; smaller ones count as it.

    Returns:
        ``(T,)``; 0 if nothing relevant is retrieved.

    >>> from rankgate.measurement.metrics.judged_block import block
    >>> scaled_dcg(block([[3, 0, 3]]), cutoff=3, max_grade=3).value.round(4)
    array([0.7039])
    """
    if cutoff > _LONGEST:
        problem = f"SDCG: cutoff={cutoff} is one number for each rank; give at most {_LONGEST}."
        raise UsageError(problem, code="invalid-cutoff")
    span = max(max_grade - min_grade, np.finfo(float).tiny)
    discount = 1 / np.log2(judged.rank + 1.0)
    return Steps(
        np.clip((judged.grade - min_grade) / span, 0, 1),
        np.where(judged.rank <= cutoff, discount, 0),
        float(np.cumsum(1 / np.log2(np.arange(2.0, cutoff + 2)))[-1]),
        weighed="discount",
        divisor="Σ discount",
    )


SDCG = Metric(
    "SDCG",
    scaled_dcg,
    title="Discounted gain over that of a list with the highest grade at each of its k ranks.",
    formula="SDCG@k = Σ_{i≤k} gᵢ / log₂(i + 1) / Σ_{i≤k} 1 / log₂(i + 1)",
    aliases=("scaled_dcg",),
    source="Moffat, Bailey, Scholer & Thomas, ADCS 2015, doi:10.1145/2838931.2838938; cwl_eval",
    sees="grades and ranks of the first k; it needs no ideal, so judgments never lower it",
    blind_to=(
        "the number of relevant documents: a query with few documents of the highest grade cannot reach 1"
    ),
    prefix_only=True,
    additive=True,
    bounds="exact",
)

"""Discounted gain on the scale of the grades, not of the ideal ranking."""

from typing import Annotated

import numpy as np

from rankgate.core.declare import Cutoff, Range
from rankgate.core.errors import UsageError
from rankgate.measurement.metrics.declare import Metric
from rankgate.measurement.metrics.judged import Floats, Judged
from rankgate.measurement.metrics.steps import Steps

Grade = Annotated[float, Range(0)]
_LONGEST = 1 << 24  # ranks whose discounts are added up


def scaled_dcg(
    judged: Judged, *, cutoff: Cutoff, max_grade: Grade = 4, min_grade: Grade = 0
) -> Floats:
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

    >>> from rankgate.measurement.metrics.judged import block
    >>> scaled_dcg(block([[3, 0, 3]]), cutoff=3, max_grade=3).round(4)
    array([0.7039])
    """
    steps = scaled_dcg_steps(judged, cutoff=cutoff, max_grade=max_grade, min_grade=min_grade)
    return steps.value


def scaled_dcg_steps(
    judged: Judged, *, cutoff: Cutoff, max_grade: Grade = 4, min_grade: Grade = 0
) -> Steps:
    """Gains on the scale, times discounts, over all discounts."""
    if cutoff > _LONGEST:
        problem = f"SDCG: cutoff={cutoff} is one number for each rank; give at most {_LONGEST}."
        raise UsageError(problem, code="invalid-cutoff")
    span = max(max_grade - min_grade, np.finfo(float).tiny)
    gain = np.clip((judged.grade - min_grade) / span, 0, 1)
    discount = 1 / np.log2(judged.rank + 1.0)
    discount_sum = float(np.cumsum(1 / np.log2(np.arange(2.0, cutoff + 2)))[-1])
    return Steps(
        gain,
        np.where(judged.rank <= cutoff, discount, 0),
        np.full(len(gain), discount_sum),
        weighed="discount",
        divisor="Σ discount",
    )


SDCG = Metric(
    "SDCG",
    scaled_dcg,
    title="Discounted gain over that of a list with the highest grade at each of its k ranks.",
    formula="SDCG@k = Σ_{i≤k} gᵢ / log₂(i + 1) / Σ_{i≤k} 1 / log₂(i + 1)",
    aliases=("scaled_dcg",),
    steps=scaled_dcg_steps,
    source="Moffat, Bailey, Scholer & Thomas, ADCS 2015, doi:10.1145/2838931.2838938; cwl_eval",
    sees="grades and ranks of the first k; it needs no ideal, so judgments never lower it",
    blind_to="how much there was to find: a query with few documents of the highest grade "
    "cannot reach 1",
    prefix_only=True,
    additive=True,
    bounds="exact",
)

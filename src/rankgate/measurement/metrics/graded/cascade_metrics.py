"""Expected reciprocal rank: a reader who stops when satisfied."""

from typing import Annotated, Literal

import numpy as np

from rankgate.core.arrays import Floats
from rankgate.core.declare import Cutoff, OnlyWith, Range
from rankgate.core.errors import InputError
from rankgate.measurement.metrics.graded.gains_ideals import GainMap, gain_of_grades
from rankgate.measurement.metrics.judged_block import PAD, Judged, Ranks, Steps, ratio
from rankgate.measurement.metrics.metric_declaration import Metric

Satisfaction = Literal["exp", "linear"] | GainMap
Scale = Literal["fixed", "query"]


def expected_reciprocal_rank(
    judged: Judged,
    *,
    cutoff: Cutoff | None = None,
    max_grade: Annotated[float, Range(0), OnlyWith("scale", "fixed")] = 4,
    decay: Annotated[float, Range(0)] = 1.0,
    unjudged: Annotated[float, Range(0)] = 0.0,
    gain: Satisfaction = "exp",
    scale: Scale = "fixed",
) -> Floats | Steps:
    """Expected reciprocal of the rank at which the reader is satisfied and stops.

        ERR@k = Σ_{i≤k} 1/i^d · pᵢ · Π_{j<i} (1 − pⱼ),   pᵢ = g(gradeᵢ) / (g(max) + 1)

    Args:
        judged: the block.
        cutoff: k; without it the whole list counts.
        max_grade: the highest grade of the scale; one number for all queries, or
            they cannot be compared.
        decay: d, how fast patience ends; 1 as published, less is a reader who minds
            the rank less.
        unjudged: the grade that a document without a judgment is taken to have.
        gain: g(x) = 2ˣ − 1 (`exp`, as published), x (`linear`), or a map from grade to
            gain (NTCIR).
        scale: the highest grade is ``max_grade`` (`fixed`), or the highest that the judgments
            of each query have (`query`, rankeval).

    Returns:
        ``(T,)``; 0 if nothing relevant is retrieved.

    Raises:
        InputError: a grade is above ``max_grade`` on a fixed scale.

    >>> from rankgate.measurement.metrics.judged_block import Ranks, block
    >>> expected_reciprocal_rank(block([[3, 2, 1]]), max_grade=3).value.round(4)
    array([0.9017])
    """
    top = _scale_top(judged, max_grade, scale, unjudged)
    rank, grade = _with_imputed_grades(judged, cutoff, unjudged) if unjudged else (judged.rank, judged.grade)
    steps = _stops_at_ranks(rank, grade, gain, top, cutoff=cutoff, decay=decay)
    return steps.value if unjudged else steps  # unjudged documents add to the sum, too


def _with_imputed_grades(judged: Judged, cutoff: int | None, unjudged: float) -> tuple[Ranks, Floats]:
    """All ranks with a document, and their grades, with a column for each rank."""
    length = int(judged.retrieved.max(initial=1))
    rank = np.arange(1, min(length, cutoff or length) + 1, dtype=np.int32)[None, :]
    grade = np.where(rank <= judged.retrieved[:, None], unjudged, 0.0)
    is_judged = judged.known & (judged.grade >= 0) & (judged.rank <= rank[0, -1])
    line, column = np.nonzero(is_judged)
    grade[line, judged.rank[line, column] - 1] = judged.grade[line, column]
    return rank, grade


def _scale_top(judged: Judged, max_grade: float, scale: Scale, unjudged: float = 0.0) -> Floats:
    """The top of the scale, ``(T, 1)`` or one number for all; no grade may be above it."""
    if scale == "query":
        return np.maximum(judged.ideal[:, :1], unjudged)
    highest_grade = max(judged.ideal[:, 0].max(initial=0), judged.grade.max(initial=0), unjudged)
    if highest_grade > max_grade:
        raise InputError(
            f"ERR: a judgment has grade {highest_grade:g}, above max_grade={max_grade:g}; set the highest "
            f"grade of the scale, such as ERR(max_grade={highest_grade:g}).",
            code="grade-outside-scale",
        )
    return np.array([float(max_grade)])


def _stops_at_ranks(
    rank: Ranks,
    grade: Floats,
    gain: Satisfaction,
    top: Floats,
    *,
    cutoff: int | None = None,
    decay: float = 1,
) -> Steps:
    """The probability that each document satisfies, times that of reaching it, over its rank."""
    stop_chance: Floats = gain_of_grades(grade, gain) / (gain_of_grades(top, gain) + 1)
    if not isinstance(gain, str):  # grade 0 may have a gain, but not in the padding
        stop_chance = np.where(rank < PAD, stop_chance, 0)
    reach_chance = np.ones_like(stop_chance)
    np.cumprod(1 - stop_chance[:, :-1], axis=-1, out=reach_chance[:, 1:])
    reach_chance = np.where(rank <= (PAD - 1 if cutoff is None else cutoff), reach_chance, 0)
    discount = rank if decay == 1 else np.power(rank, decay)
    return Steps(stop_chance, reach_chance, discount=discount, weighed="reached / rank")


def normalised_reciprocal_rank(
    judged: Judged,
    *,
    cutoff: Cutoff | None = None,
    max_grade: Annotated[float, Range(0)] = 4,
    gain: Satisfaction = "exp",
) -> Floats:
    """ERR over the ERR of the ideal ranking: nERR@k = ERR@k / ERR@k of all judged, best first.

    Args:
        judged: the block.
        cutoff: k; without it the whole list counts, and the whole ideal.
        max_grade: the highest grade of the scale.
        gain: as in ERR.

    Returns:
        ``(T,)``; NaN where no judged document is worth anything.

    Raises:
        InputError: a grade is above ``max_grade``.

    >>> from rankgate.measurement.metrics.judged_block import block
    >>> normalised_reciprocal_rank(block([[0, 3]], ideal=[[3, 0]]), max_grade=3)
    array([0.5])
    """
    top = _scale_top(judged, max_grade, "fixed")
    ideal = judged.ideal[:, :cutoff]
    places = np.arange(1, ideal.shape[-1] + 1, dtype=np.int32)
    ideal_ranks = np.where(places <= judged.judged[:, None], places, PAD)
    value = _stops_at_ranks(judged.rank, judged.grade, gain, top, cutoff=cutoff).value
    return ratio(value, _stops_at_ranks(ideal_ranks, ideal, gain, top).value)


ERR = Metric(
    "ERR",
    expected_reciprocal_rank,
    title="The expected reciprocal of the rank at which the reader is satisfied.",
    formula="ERR@k = Σ_{i≤k} 1/i · pᵢ · Π_{j<i} (1 − pⱼ),   pᵢ = (2^gradeᵢ − 1) / 2^max",
    aliases=("expected_reciprocal_rank",),
    source="Chapelle, Metzler, Zhang & Grinspan, CIKM 2009, doi:10.1145/1645953.1646033",
    sees="grades and ranks, and that a document below a perfect one is hardly ever read",
    blind_to=(
        "nearly all that follows the first very good document, and the number of relevant documents; a "
        "perfect ranking stays below 1"
    ),
    prefix_only=True,
    ideal_order_optimal=True,
    bounds="exact",
)
nERR = Metric(  # noqa: N816 the field's own name
    "nERR",
    normalised_reciprocal_rank,
    title="Expected reciprocal rank over that of the ideal ranking.",
    formula="nERR@k = ERR@k / ERR@k of all judged documents, best first",
    aliases=("NERR",),
    source="Sakai & Song, SIGIR 2011, doi:10.1145/2009916.2010055; pyNTCIREVAL",
    sees="grades and ranks as ERR does, against the best that the judgments allow",
    blind_to="nearly all that follows the first very good document",
    prefix_only=True,
    ideal_order_optimal=True,
    bounds="safe",
)

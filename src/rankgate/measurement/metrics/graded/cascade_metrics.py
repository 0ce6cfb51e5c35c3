"""Expected reciprocal rank: a reader who stops when satisfied."""

from typing import Annotated, Literal

import numpy as np

from rankgate.core.arrays import Floats
from rankgate.core.declare import Cutoff, OnlyWith, Range
from rankgate.core.errors import InputError
from rankgate.measurement.metrics.graded.gains_ideals import GainMap, gain_of_grades
from rankgate.measurement.metrics.judged_block import PAD, Judged, Ranks, Steps, cutoff_weight, ratio, total
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
) -> Floats:
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
    >>> expected_reciprocal_rank(block([[3, 2, 1]]), max_grade=3).round(4)
    array([0.9017])
    """
    top = _scale_top(judged, max_grade, scale, unjudged)
    if unjudged:
        rank, grade = _with_imputed_grades(judged, cutoff, unjudged)
    else:
        rank, grade = judged.rank[:, :cutoff], judged.grade[:, :cutoff]
    stop_chance, reach_chance = _reader_chances(_satisfaction(grade, rank, gain, top))
    stops = reach_chance * stop_chance / _rank_discount(rank, decay)
    return total(stops if cutoff is None else np.where(rank > cutoff, 0, stops))


def expected_reciprocal_rank_steps(
    judged: Judged,
    *,
    cutoff: Cutoff | None = None,
    max_grade: Annotated[float, Range(0)] = 4,
    decay: Annotated[float, Range(0)] = 1.0,
    unjudged: Annotated[float, Range(0)] = 0.0,
    gain: Satisfaction = "exp",
    scale: Scale = "fixed",
) -> Steps | None:
    """The probability of satisfaction times that of reaching the rank, divided by the rank.

    None if unjudged documents have a grade, because then they also add to the sum.
    """
    if unjudged:
        return None
    stop_chance, reach_chance = _reader_chances(
        _satisfaction(judged.grade, judged.rank, gain, _scale_top(judged, max_grade, scale))
    )
    return Steps(
        stop_chance,
        reach_chance * cutoff_weight(judged, cutoff) / _rank_discount(judged.rank, decay),
        np.ones(len(judged.rank)),
        weighed="reached / rank",
    )


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


def _satisfaction(grade: Floats, rank: Ranks, gain: Satisfaction, top: Floats) -> Floats:
    """The probability that each document satisfies; 0 in the padding, for any gain of grade 0."""
    chance: Floats = gain_of_grades(grade, gain) / (gain_of_grades(top, gain) + 1)
    return chance if isinstance(gain, str) else np.where(rank < PAD, chance, 0)


def _reader_chances(stop_chance: Floats) -> tuple[Floats, Floats]:
    """The probabilities that a document satisfies, and that the reader reaches it."""
    reach_chance = np.ones_like(stop_chance)
    np.cumprod(1 - stop_chance[:, :-1], axis=-1, out=reach_chance[:, 1:])
    return stop_chance, reach_chance


def _rank_discount(rank: Ranks, decay: float) -> Ranks | Floats:
    """The discount of a rank: itself, or a power of it."""
    return rank if decay == 1 else np.power(rank, decay)


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
    value = expected_reciprocal_rank(judged, cutoff=cutoff, max_grade=max_grade, gain=gain)
    grades = judged.ideal[:, :cutoff]
    places = np.arange(1, grades.shape[-1] + 1, dtype=np.int32)
    ideal_ranks = np.where(places <= judged.judged[:, None], places, PAD)
    stop_chance, reach_chance = _reader_chances(
        _satisfaction(grades, ideal_ranks, gain, np.array([float(max_grade)]))
    )
    return ratio(value, total(stop_chance * reach_chance / places))


ERR = Metric(
    "ERR",
    expected_reciprocal_rank,
    title="The expected reciprocal of the rank at which the reader is satisfied.",
    formula="ERR@k = Σ_{i≤k} 1/i · pᵢ · Π_{j<i} (1 − pⱼ),   pᵢ = (2^gradeᵢ − 1) / 2^max",
    aliases=("expected_reciprocal_rank",),
    steps=expected_reciprocal_rank_steps,
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

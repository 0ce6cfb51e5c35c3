"""Gains of grades, discounts by rank, and the ideal ranking that normalises them.

A gain is the value of a grade. A discount divides the gain at a rank; documents that are tied get
the mean weight of the ranks of their tie. A discounted gain is normalised by that of the ideal
ranking.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Annotated, Literal

import numpy as np

from rankgate.core.arrays import Flags, Floats
from rankgate.core.declare import OnlyWith, Range
from rankgate.measurement.metrics.judged_block import PAD, Counts, Judged, Ranks, Steps, count, total

if TYPE_CHECKING:
    from numpy.typing import NDArray


GainMap = tuple[tuple[float, float], ...]
Gain = Literal["linear", "exp", "binary", "judged", "signed"] | GainMap
"""The gain of a grade.

The grade itself (``linear``), 2 to the grade less 1 (``exp``), 1 if it is above 0 (``binary``),
1 if it is 0 or above (``judged``), the grade even where it is below 0 (``signed``), or
(grade, gain) pairs; a grade that no pair names keeps its number.
"""

Levels = Annotated[Literal["exact", "truncated"], OnlyWith("gain", mapping=True)]
"""The order of the levels of a gain map in the ideal; `truncated` is trec_eval's."""


def gain_of_grades(grade: Floats, gain: Gain) -> Floats:
    """The gain of each grade; only ``signed`` gives negative gains to negative grades."""
    if gain == "signed":
        return grade
    worth: Floats = np.maximum(grade, 0)
    if gain == "exp":
        return np.exp2(worth) - 1
    if gain == "judged":
        return (grade >= 0).astype(np.float64)
    if isinstance(gain, str):
        return worth if gain == "linear" else np.sign(worth)
    for level, value in gain:
        worth[grade == level] = value if level >= 0 else 0
    return worth


def retrieved_gains(judged: Judged, gain: Gain) -> Floats:
    """Gains by rank, ``(T, J)``."""
    gains = gain_of_grades(judged.grade, gain)
    if _has_zero_gain(gain):
        gains[judged.rank == PAD] = 0
    return gains


def ideal_gains(judged: Judged, gain: Gain, cutoff: int | None = None, levels: Levels = "exact") -> Floats:
    """Gains of the best possible ranking of all judged documents, ``(T, min(I, k))``."""
    if not _has_zero_gain(gain):
        return gain_of_grades(judged.ideal[:, :cutoff], gain)
    gains = np.maximum(gain_of_grades(judged.ideal, gain), 0)
    gains[np.arange(gains.shape[1]) >= judged.judged[:, None]] = 0
    gains.sort(axis=-1)
    gains = gains[:, ::-1]
    if levels == "truncated" and not isinstance(gain, str):
        # trec_eval's grades are whole numbers; with other grades there are no levels to truncate
        has_whole_grades = (judged.ideal % 1 == 0).all(axis=-1)
        gains = np.where(has_whole_grades[:, None], _trec_ideal(judged, gain), gains)
    return gains[:, :cutoff]


def _has_zero_gain(gain: Gain) -> bool:
    """True if grade 0, which is also the padding, may have a gain."""
    return gain == "judged" or not isinstance(gain, str)


def _trec_ideal(judged: Judged, gain: GainMap) -> Floats:
    """The ideal ranking that trec_eval 9 and 10 make from a gain map.

    There the levels are sorted on the difference of their gains cut to a whole
    number, so that gains closer than 1 count as equal and keep their order: the
    named levels as written, then the others from 0 to the topic's highest. From
    the last level backwards the ideal is laid out, up to the first gain that is
    not positive.
    """
    ideal = np.zeros_like(judged.ideal)
    for t, judged_count in enumerate(judged.judged):
        grades = judged.ideal[t, :judged_count]
        mapped_grades = {level for level, _ in gain}
        other_levels = [(lv, lv) for lv in range(int(max(grades, default=-1)) + 1) if lv not in mapped_grades]
        begin = 0
        for level, value in reversed(_merge_sort([*gain, *other_levels])):
            if value <= 0:
                break
            documents = int(np.count_nonzero(grades == level))
            ideal[t, begin : begin + documents] = value
            begin += documents
    return ideal


def _merge_sort(pairs: Sequence[tuple[float, float]]) -> list[tuple[float, float]]:
    """Merge sort by gain with truncated differences; `sorted` needs a transitive order.

    The split into halves and the preference for the left half are those of glibc's ``qsort``.
    """
    if len(pairs) < 2:  # zero or one level is in order
        return list(pairs)
    middle = len(pairs) // 2
    left_half, right_half = _merge_sort(pairs[:middle]), _merge_sort(pairs[middle:])
    sorted_pairs = []
    while left_half and right_half:
        sorted_pairs.append(
            (left_half if int(left_half[0][1] - right_half[0][1]) <= 0 else right_half).pop(0)
        )
    return [*sorted_pairs, *left_half, *right_half]


Discount = Literal["shifted", "original", "graded"]
"""By log(i + 1); by max(1, log i), none before the rank that is the base; or by log(i · grade + 1),
as recpack does, which is the first for grades of 0 and 1."""

Ties = Literal["broken", "averaged"]
"""Each document at its own rank, or at all ranks of its group of equal scores, on average."""

Base = Annotated[float, Range(1.000001)]


def rank_discounts(
    rank: Ranks | NDArray[np.int64] | NDArray[np.floating],
    cutoff: int | None,
    discount: Discount,
    base: float = 2.0,
) -> Floats:
    """The divisor of the gains at some ranks; infinite after the cutoff."""
    log: Floats = np.log2(rank if discount == "original" else rank + 1.0)
    if base != 2:  # the binary logarithm is the usual one
        log /= np.log2(base)
    if discount == "original":
        np.maximum(log, 1, out=log)
    if cutoff is not None:
        log[rank > cutoff] = np.inf
    return log


def document_discounts(judged: Judged, cutoff: int | None, discount: Discount, base: float = 2.0) -> Floats:
    """The divisor of the gain of each retrieved document, ``(T, J)``; infinite after the cutoff."""
    rank, grade = judged.rank, judged.grade
    if discount != "graded":
        return rank_discounts(rank, cutoff, discount, base)
    discounts = rank_discounts(np.where(grade > 0, rank * grade, rank), None, "shifted", base)
    return discounts if cutoff is None else np.where(rank > cutoff, np.inf, discounts)


def tied_weights(judged: Judged, cutoff: int | None, discount: Discount, base: float = 2.0) -> Floats:
    """The mean weight of each document over all orders of its group of ties, ``(T, J)``.

    A group from rank a to rank b has the weight Σ_{a≤i≤b, i≤k} 1/d(i) / (b − a + 1), which
    two prefix sums give.
    """
    with np.errstate(divide="ignore"):  # an infinite value raises an error with its query
        weights: Floats = 1 / document_discounts(judged, cutoff, discount, base)
    is_tied = (judged.last > judged.first) & (judged.rank < PAD)
    if not is_tied.any():
        return weights
    if discount != "graded":
        weights[is_tied] = _group_mean(judged, is_tied, cutoff, discount, base)
        return weights
    for level in np.unique(judged.grade[is_tied]):  # its own grade is part of a document's discount
        same_level = is_tied & (judged.grade == level)
        weights[same_level] = _group_mean(judged, same_level, cutoff, discount, base, max(float(level), 0.0))
    return weights


def _group_mean(
    judged: Judged, rows: Flags, cutoff: int | None, discount: Discount, base: float, grade: float = 0
) -> Floats:
    """The mean weight of the ranks of the group of each document, ``(·,)``."""
    first, last = judged.first[rows], judged.last[rows]
    ranks = np.arange(1, int(last.max()) + 1)
    if discount == "graded":
        discounts = rank_discounts(ranks * (grade or 1.0), None, "shifted", base)
        discounts[ranks > (cutoff or np.inf)] = np.inf
    else:
        discounts = rank_discounts(ranks, cutoff, discount, base)
    with np.errstate(divide="ignore"):
        rank_weights = 1 / discounts
    cumulated = np.concatenate([[0], np.cumsum(rank_weights)])
    return (cumulated[last] - cumulated[first - 1]) / (last - first + 1)


Ideal = Literal["judged", "retrieved", "shown", "known", "counted"]
"""Of all judged documents; of those that were retrieved, or are in the first k; of all
documents judged or retrieved, which differs from the first where a gain is below 0; or of as
many gains of 1 as the grades add up to, as if each grade were 0 or 1."""

Depth = Annotated[
    Literal["cutoff", "all", "returned"], OnlyWith("ideal", "judged", "retrieved", "known", "counted")
]
"""To k, through all documents, or to the length of the list if that is less than k."""

_LONGEST = 1 << 24  # largest number of gains in an ideal ranking


def ideal_ranking(
    judged: Judged,
    cutoff: int | None,
    gain: Gain,
    *,
    ideal: Ideal = "judged",
    depth: Depth = "cutoff",
    levels: Levels = "exact",
) -> tuple[Floats, NDArray[np.int64]]:
    """The gains of the ideal ranking and their ranks, both ``(T, I)``.

    Documents without worth need no row. Gains below 0 are at the last ranks, behind
    the unjudged documents where those are part of the ideal.
    """
    end = None if depth == "all" else cutoff
    if ideal in ("judged", "known"):
        best_gains = ideal_gains(judged, gain, end, levels)
    elif ideal == "counted":
        best_gains = _ones(judged, end)
    else:
        best_gains = np.sort(_retrieved_gains(judged, cutoff, gain, ideal), axis=-1)[:, ::-1][:, :end]
        best_gains = np.maximum(best_gains, 0)
    rank = np.broadcast_to(np.arange(1, best_gains.shape[-1] + 1), best_gains.shape)
    if gain == "signed":
        worst_gains, last = _negative_gains(judged, cutoff, ideal)
        best_gains, rank = (np.concatenate([best_gains, worst_gains], -1), np.concatenate([rank, last], -1))
        best_gains = best_gains if end is None else np.where(rank > end, 0, best_gains)
    if depth == "returned":
        best_gains = np.where(rank > judged.retrieved[:, None], 0, best_gains)
    return best_gains, rank


def _ones(judged: Judged, end: int | None) -> Floats:
    """A gain of 1 for each unit of the sum of grades, ``(T, I)``.

    Raises:
        OverflowError: the number of gains is too large for memory.
    """
    length = np.floor(total(np.maximum(judged.ideal, 0)))
    longest = min(length.max(initial=1), end or np.inf)
    if longest > _LONGEST:
        raise OverflowError
    ranks = np.arange(1, int(longest) + 1)
    return (ranks <= length[:, None]).astype(np.float64)


def ideal_norm(judged: Judged, best: Steps, gain: Gain, ideal: Ideal, depth: Depth) -> Floats:
    """The sum of an ideal; 1 where what was retrieved is worth nothing and other documents are."""
    norm = best.sum
    if ideal not in ("retrieved", "shown") and depth != "returned":
        return norm
    elsewhere = ideal_gains(judged, gain)[:, 0] > 0
    return np.where((norm <= 0) & elsewhere, 1, norm)


def _retrieved_gains(judged: Judged, cutoff: int | None, gain: Gain, ideal: Ideal) -> Floats:
    """The gains of the retrieved documents that the ideal is made of, ``(T, J)``."""
    gains = retrieved_gains(judged, gain)
    if ideal == "shown" and cutoff is not None:
        gains = np.where(judged.rank > cutoff, 0, gains)
    return gains


def _negative_gains(judged: Judged, cutoff: int | None, ideal: Ideal) -> tuple[Floats, NDArray[np.int64]]:
    """The negative gains, lowest first and at the last rank of the ideal ranking."""
    if ideal in ("judged", "known"):
        worst_gains = judged.below
    else:
        worst_gains = np.sort(np.minimum(_retrieved_gains(judged, cutoff, "signed", ideal), 0), axis=-1)
    rank = _ideal_length(judged, cutoff, ideal)[:, None] - np.arange(worst_gains.shape[-1])
    return worst_gains, np.maximum(rank, 1)


def _ideal_length(judged: Judged, cutoff: int | None, ideal: Ideal) -> Counts:
    """The number of documents in the ideal ranking, ``(T,)``."""
    retrieved = judged.retrieved
    if ideal == "shown" and cutoff is not None:
        return np.minimum(retrieved, cutoff)
    if ideal in ("retrieved", "shown"):
        return retrieved
    if ideal == "known":
        return judged.documents
    return judged.judged + count(judged.below < 0)

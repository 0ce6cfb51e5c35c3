"""Gains: the value of a grade."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Annotated, Literal

import numpy as np

from rankgate.core.declare import OnlyWith
from rankgate.measurement.metrics.judged import PAD, Floats, Judged

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
    """The worth of each grade; only ``signed`` gives worth below 0 to a negative grade."""
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


def retrieved_gains(judged: Judged, gain: Gain, cutoff: int | None = None) -> Floats:
    """Gains by rank, ``(T, J)``; with a cutoff only its columns, ``(T, min(J, k))``."""
    gains = gain_of_grades(judged.grade[:, :cutoff], gain)
    if _has_zero_gain(gain):
        gains[judged.rank[:, :cutoff] == PAD] = 0
    return gains


def ideal_gains(
    judged: Judged, gain: Gain, cutoff: int | None = None, levels: Levels = "exact"
) -> Floats:
    """Gains of the best possible ranking of all judged documents, ``(T, min(I, k))``."""
    if not _has_zero_gain(gain):
        return gain_of_grades(judged.ideal[:, :cutoff], gain)
    gains = np.maximum(gain_of_grades(judged.ideal, gain), 0)
    gains[np.arange(gains.shape[1]) >= judged.judged[:, None]] = 0
    gains.sort(axis=-1)
    gains = gains[:, ::-1]
    if levels == "truncated" and not isinstance(gain, str):
        # trec_eval's grades are whole numbers; a query with others has no levels to truncate
        has_whole_grades = (judged.ideal % 1 == 0).all(axis=-1)
        gains = np.where(has_whole_grades[:, None], _trec_ideal(judged, gain), gains)
    return gains[:, :cutoff]


def _has_zero_gain(gain: Gain) -> bool:
    """True if grade 0, which the padding has, may have a gain."""
    return gain == "judged" or not isinstance(gain, str)


def _trec_ideal(judged: Judged, gain: GainMap) -> Floats:
    """The ideal that trec_eval 9 and 10 form from a gain map.

    There the levels are sorted on the difference of their gains cut to a whole
    number, so that gains closer than 1 count as equal and keep their order: the
    named levels as written, then the others from 0 to the topic's highest. From
    the last level backwards the ideal is laid out, up to the first gain that is
    not positive.
    """
    ideal = np.zeros_like(judged.ideal)
    for t, count in enumerate(judged.judged):
        grades = judged.ideal[t, :count]
        mapped_grades = {level for level, _ in gain}
        other_levels = [
            (lv, lv) for lv in range(int(max(grades, default=-1)) + 1) if lv not in mapped_grades
        ]
        begin = 0
        for level, value in reversed(_merge_sort([*gain, *other_levels])):
            if value <= 0:
                break
            documents = int(np.count_nonzero(grades == level))
            ideal[t, begin : begin + documents] = value
            begin += documents
    return ideal


def _merge_sort(pairs: Sequence[tuple[float, float]]) -> list[tuple[float, float]]:
    """Merge sort by gain with whole differences; not `sorted`, as such an order is not transitive.

    The halves and the preference for the left are those of glibc's ``qsort``.
    """
    if len(pairs) < 2:  # one level, or none, is in order
        return list(pairs)
    middle = len(pairs) // 2
    left_half, right_half = _merge_sort(pairs[:middle]), _merge_sort(pairs[middle:])
    sorted_pairs = []
    while left_half and right_half:
        sorted_pairs.append(
            (left_half if int(left_half[0][1] - right_half[0][1]) <= 0 else right_half).pop(0)
        )
    return [*sorted_pairs, *left_half, *right_half]

"""Scales of grades: named scales, and the notation of others."""

from __future__ import annotations

import polars as pl

from rankgate.core.errors import UsageError
from rankgate.data.qrels import Scale

BINARY = Scale(0, 1, ((0, "irrelevant"), (1, "relevant")))
GRADED = Scale(0, 3, ((0, "poor"), (1, "fair"), (2, "good"), (3, "perfect")))
DETAIL = Scale(1, 10, tuple((grade, str(grade)) for grade in range(1, 11)))

SCALES = {"binary": BINARY, "graded": GRADED, "detail": DETAIL}
"""The named scales."""

MOST_GRADES = 10
"""The most grades of a listed scale: a scale with more is a range, not a list."""


def on_scale(grade: pl.Expr, scale: Scale) -> pl.Expr:
    """True if a grade lies on a scale; with labels, if it is one of them. Null stays null."""
    is_on_scale = grade.is_between(scale.lowest, scale.highest)
    if scale.labels:
        label_grades = pl.Series([grade for grade, _ in scale.labels], dtype=pl.Float64)
        is_on_scale &= grade.is_in(label_grades.implode())
    return is_on_scale


def possible_grades(scale: Scale) -> tuple[float, ...]:
    """Every grade that a scale has: those with labels, or the whole numbers of a short range.

    Empty if they cannot be listed.
    """
    grades = tuple(float(grade) for grade, _ in scale.labels)
    is_whole = float(scale.lowest).is_integer() and float(scale.highest).is_integer()
    if not grades and is_whole and scale.highest - scale.lowest < MOST_GRADES:
        grades = tuple(float(grade) for grade in range(int(scale.lowest), int(scale.highest) + 1))
    return grades


def parse_scale(scale_text: str) -> Scale:
    """A scale by name, ``lowest..highest``, or its grades: ``0,1,10,100``.

    Raises:
        UsageError: the text is not a scale.

    >>> parse_scale("0..3")
    Scale(lowest=0.0, highest=3.0, labels=())
    """
    if scale_text in SCALES:
        return SCALES[scale_text]
    try:
        if ".." in scale_text:
            lowest, highest = (float(bound) for bound in scale_text.split(".."))
            grades: list[float] = []
        else:
            grades = sorted(float(grade) for grade in scale_text.split(","))
            lowest, highest = grades[0], grades[-1]
    except ValueError:
        lowest, highest, grades = 1.0, 0.0, []
    if not lowest < highest:
        raise UsageError(
            f"{scale_text!r} is not a scale; use {', '.join(SCALES)}, a range such as 0..3, or its "
            "grades, as in 0,1,10,100.",
            code="unknown-scale",
        )
    return Scale(lowest, highest, tuple((grade, f"{grade:g}") for grade in grades))

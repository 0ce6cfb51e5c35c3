"""Scales of grades: those that have a name, and how others are written."""

from __future__ import annotations

import polars as pl

from rankgate.core.errors import UsageError
from rankgate.data.qrels import Scale

BINARY = Scale(0, 1, ((0, "irrelevant"), (1, "relevant")))
GRADED = Scale(0, 3, ((0, "poor"), (1, "fair"), (2, "good"), (3, "perfect")))
DETAIL = Scale(1, 10, tuple((grade, str(grade)) for grade in range(1, 11)))

SCALES = {"binary": BINARY, "graded": GRADED, "detail": DETAIL}
"""The scales that have a name."""

MOST_GRADES = 10
"""A scale of more grades is a range: its grades are not listed."""


def on_scale(grade: pl.Expr, scale: Scale) -> pl.Expr:
    """Whether a grade lies on a scale; with labels, whether it is one of them. Null stays null."""
    fits = grade.is_between(scale.lowest, scale.highest)
    if scale.labels:
        listed = pl.Series([each for each, _ in scale.labels], dtype=pl.Float64)
        fits &= grade.is_in(listed.implode())
    return fits


def possible_grades(scale: Scale) -> tuple[float, ...]:
    """Every grade that a scale has: those with labels, or the whole numbers of a short range.

    Empty where they cannot be listed.
    """
    grades = tuple(float(grade) for grade, _ in scale.labels)
    whole = float(scale.lowest).is_integer() and float(scale.highest).is_integer()
    if not grades and whole and scale.highest - scale.lowest < MOST_GRADES:
        grades = tuple(float(each) for each in range(int(scale.lowest), int(scale.highest) + 1))
    return grades


def scale_of(words: str) -> Scale:
    """A scale by name, ``lowest..highest``, or its grades: ``0,1,10,100``.

    Raises:
        UsageError: the words say no scale.

    >>> scale_of("0..3")
    Scale(lowest=0.0, highest=3.0, labels=())
    """
    if words in SCALES:
        return SCALES[words]
    try:
        if ".." in words:
            lowest, highest = (float(each) for each in words.split(".."))
            grades: list[float] = []
        else:
            grades = sorted(float(each) for each in words.split(","))
            lowest, highest = grades[0], grades[-1]
    except ValueError:
        lowest, highest, grades = 1.0, 0.0, []
    if not lowest < highest:
        raise UsageError(
            f"{words!r} is not a scale; use {', '.join(SCALES)}, a range such as 0..3, or its "
            "grades, as in 0,1,10,100.",
            code="unknown-scale",
        )
    return Scale(lowest, highest, tuple((each, f"{each:g}") for each in grades))

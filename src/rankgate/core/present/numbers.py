"""Format numbers for people; files for programs keep full precision."""

from __future__ import annotations

import math
from collections.abc import Iterable

UNDEFINED = "–"
"""The text of an undefined value."""


def finite_or_none(value: float | None) -> float | None:
    """The value itself; None if undefined or infinite.

    >>> finite_or_none(0.5), finite_or_none(math.nan), finite_or_none(math.inf)
    (0.5, None, None)
    """
    return value if value is not None and math.isfinite(value) else None


def format_decimal(value: float | None) -> str:
    """Four decimals.

    >>> format_decimal(2 / 3), format_decimal(-0.00001), format_decimal(None)
    ('0.6667', '0.0000', '–')
    """
    if value is None or math.isnan(value):
        return UNDEFINED
    return f"{value:z.4f}"


def format_column(values: Iterable[float | None]) -> list[str]:
    """Four decimals each, unless all are counts: whole numbers, and not just 0 and 1.

    >>> format_column([0.5, 1.0]), format_column([12.0, 1.0])
    (['0.5000', '1.0000'], ['12', '1'])
    """
    numbers = list(values)
    finite = [value for value in numbers if value is not None and math.isfinite(value)]
    counts = any(abs(value) > 1 for value in finite) and all(map(float.is_integer, finite))
    if not counts:
        return [format_decimal(value) for value in numbers]
    return [
        format_decimal(value) if value is None or not math.isfinite(value) else f"{value:.0f}"
        for value in numbers
    ]


def format_counts(values: Iterable[float | None]) -> list[str]:
    """Whole numbers if all are whole, else four decimals each.

    >>> format_counts([7.0, 1.0]), format_counts([0.5, 1.0, None])
    (['7', '1'], ['0.5000', '1.0000', '–'])
    """
    numbers = list(values)
    if all(value is None or value.is_integer() for value in numbers):
        return [UNDEFINED if value is None else f"{value:.0f}" for value in numbers]
    return [format_decimal(value) for value in numbers]


def format_grade(value: float | None) -> str:
    """A grade as raters write it; a document without one has a dash.

    >>> format_grade(3.0), format_grade(0.5), format_grade(None)
    ('3', '0.5', '–')
    """
    return UNDEFINED if value is None else f"{value:g}"

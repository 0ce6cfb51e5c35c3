"""Format numbers for people; files for programs keep full precision."""

from __future__ import annotations

import math
from collections.abc import Iterable

UNDEFINED = "–"
"""What represents a value that there is not."""


def known(value: float | None) -> float | None:
    """The value itself; None if undefined or infinite.

    >>> known(0.5), known(math.nan), known(math.inf)
    (0.5, None, None)
    """
    return value if value is not None and math.isfinite(value) else None


def decimal(value: float | None) -> str:
    """Four decimals.

    >>> decimal(2 / 3), decimal(-0.00001), decimal(None)
    ('0.6667', '0.0000', '–')
    """
    if value is None or math.isnan(value):
        return UNDEFINED
    return f"{value:z.4f}"


def column(values: Iterable[float | None]) -> list[str]:
    """Four decimals each, unless all are counts: whole numbers, and not just 0 and 1.

    >>> column([0.5, 1.0]), column([12.0, 1.0])
    (['0.5000', '1.0000'], ['12', '1'])
    """
    listed = list(values)
    known = [value for value in listed if value is not None and math.isfinite(value)]
    counts = any(abs(value) > 1 for value in known) and all(map(float.is_integer, known))
    if not counts:
        return [decimal(value) for value in listed]
    return [
        decimal(value) if value is None or not math.isfinite(value) else f"{value:.0f}"
        for value in listed
    ]


def plain(values: Iterable[float | None]) -> list[str]:
    """Whole numbers if all are whole, else four decimals each.

    >>> plain([7.0, 1.0]), plain([0.5, 1.0, None])
    (['7', '1'], ['0.5000', '1.0000', '–'])
    """
    listed = list(values)
    if all(value is None or value.is_integer() for value in listed):
        return [UNDEFINED if value is None else f"{value:.0f}" for value in listed]
    return [decimal(value) for value in listed]


def grade(value: float | None) -> str:
    """A grade as raters write it; a document without one has a dash.

    >>> grade(3.0), grade(0.5), grade(None)
    ('3', '0.5', '–')
    """
    return UNDEFINED if value is None else f"{value:g}"

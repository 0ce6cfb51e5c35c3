"""Format the figures of a comparison."""

from __future__ import annotations

import math
from collections.abc import Mapping

from rankgate.core.present.numbers import UNDEFINED

_SMALL = 0.001


def _undefined(value: float | None) -> bool:
    return value is None or math.isnan(value)


def corrected(correction: str) -> str:
    """What was done to p, as the end of a sentence.

    >>> corrected("holm over 3 tests"), corrected("none over 1 test")
    ('corrected by holm over 3 tests', 'not corrected (1 test)')
    """
    rule, _, tests = correction.partition(" over ")
    return f"not corrected ({tests})" if rule == "none" else f"corrected by {correction}"


def signed(value: float | None, digits: int = 4) -> str:
    """A difference with its sign.

    >>> signed(0.05), signed(-0.00001), signed(None)
    ('+0.0500', '+0.0000', '–')
    """
    return UNDEFINED if _undefined(value) else f"{value:+z.{digits}f}"


def p_value(value: float | None) -> str:
    """A p-value, small ones as a bound.

    >>> p_value(0.04567), p_value(0.00001), p_value(None)
    ('0.046', '<0.001', '–')
    """
    if value is None or math.isnan(value):
        return UNDEFINED
    return f"<{_SMALL}" if value < _SMALL else f"{value:.3f}"


def interval(low: float | None, high: float | None, digits: int = 4) -> str:
    """Both ends with their signs."""
    if _undefined(low) or _undefined(high):
        return UNDEFINED
    return f"[{low:+z.{digits}f}, {high:+z.{digits}f}]"


def number(value: float | None, digits: int) -> str:
    """So many decimals."""
    return UNDEFINED if _undefined(value) else f"{value:z.{digits}f}"


def whole(value: float | None) -> str:
    """A number of queries, rounded up; beyond a million nobody will collect them."""
    if value is None:
        return UNDEFINED
    return "> 1,000,000" if value > 1e6 else f"{-int(-value // 1):,}"


def won(row: Mapping[str, int | None]) -> str:
    """Queries won, tied and lost; a number about all lists together has none.

    >>> won({"wins": 3, "ties": 0, "losses": 1}), won({"wins": None})
    ('3/0/1', '')
    """
    return "" if row["wins"] is None else f"{row['wins']}/{row['ties']}/{row['losses']}"


def share(value: float | None) -> str:
    """A relative difference.

    >>> share(0.0512), share(None)
    ('+5.1%', '–')
    """
    return UNDEFINED if _undefined(value) else f"{value:+z.1%}"


def shares(low: float | None, high: float | None) -> str:
    """Both ends of a relative difference."""
    return UNDEFINED if _undefined(low) or _undefined(high) else f"[{share(low)}, {share(high)}]"


def probability(value: float | None) -> str:
    """A probability; what is nearly sure or nearly impossible as a bound.

    >>> probability(0.25), probability(0.9999), probability(1e-5)
    ('0.250', '>0.999', '<0.001')
    """
    if value is None or math.isnan(value):
        return UNDEFINED
    if value < _SMALL:
        return f"<{_SMALL}"
    return f">{1 - _SMALL}" if value > 1 - _SMALL else f"{value:.3f}"

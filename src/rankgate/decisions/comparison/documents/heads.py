"""Heads of intervals and p, which say what each is of; and which differences are significant."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from rankgate.decisions.comparison.comparison import Comparison

_SHORT = {"randomization": "random."}


def interval_head(result: Comparison, *, two_sided: bool = False) -> str:
    """The head of intervals, which no correction widens."""
    if result.interval == "simultaneous":
        return f"{result.level:.0%} interval\n(simultaneous)"
    corrected = not result.correction.startswith("none")
    sides = "two-sided " if two_sided else ""
    return f"{sides}{result.level:.0%} interval" + ("\n(uncorrected)" if corrected else "")


def p_head(result: Comparison) -> str:
    """The head of p: its test, if the interval has another method, and the correction."""
    rule = result.correction.partition(" over ")[0]
    test = "" if result.test == result.interval else _SHORT.get(result.test, result.test)
    words = ", ".join(each for each in (test, "" if rule == "none" else rule) if each)
    return f"p\n({words})" if words else "p"


def significant(row: Mapping[str, Any], level: float) -> bool:
    """Whether the corrected p of a row of ``metrics`` is below 1 minus the level."""
    p = row["p_value"]
    return p is not None and p < 1 - level and bool(row["delta"])

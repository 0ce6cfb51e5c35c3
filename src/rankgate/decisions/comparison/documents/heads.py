"""Column headings of intervals and p-values, and the test of significance."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from rankgate.decisions.comparison.comparison import Comparison

_SHORT = {"randomization": "random."}


def format_interval_heading(result: Comparison, *, two_sided: bool = False) -> str:
    """The heading of intervals, which are not corrected."""
    if result.interval == "simultaneous":
        return f"{result.level:.0%} interval\n(simultaneous)"
    is_corrected = not result.correction.startswith("none")
    prefix = "two-sided " if two_sided else ""
    return f"{prefix}{result.level:.0%} interval" + ("\n(uncorrected)" if is_corrected else "")


def format_p_heading(result: Comparison) -> str:
    """The heading of p: its test, if the interval has another method, and the correction."""
    rule = result.correction.partition(" over ")[0]
    test = "" if result.test == result.interval else _SHORT.get(result.test, result.test)
    qualifiers = ", ".join(
        qualifier for qualifier in (test, "" if rule == "none" else rule) if qualifier
    )
    return f"p\n({qualifiers})" if qualifiers else "p"


def is_significant_row(row: Mapping[str, Any], level: float) -> bool:
    """True if the corrected p of a row of ``metrics`` is below 1 minus the level."""
    p = row["p_value"]
    return p is not None and p < 1 - level and bool(row["delta"])

"""What decided each rule of a verdict, as a section of its page."""

from __future__ import annotations

from typing import TYPE_CHECKING

from rankgate.core.present.document import SIGNS, Section, Table
from rankgate.core.present.figures import interval, signed
from rankgate.core.present.grid import Grid
from rankgate.core.present.numbers import decimal

if TYPE_CHECKING:
    from rankgate.decisions.gating.verdict import Verdict

_WORDS = frozenset({0, 1, 2, 3, 4})


def section(verdict: Verdict) -> Section:
    """Every figure behind every rule: difference, interval, margin, what it could detect."""
    rows = []
    for each in verdict.rules:
        rule, found = each.rule, each.outcome
        margin, smallest = (decimal(value) for value in (found.margin, found.mde))
        rows.append(
            (f"{SIGNS[found.status]} {found.status}", rule.id, rule.kind,
             str(rule.get("metric") or ""), rule.slice or "",
             "" if found.n is None else f"{found.n:,}",
             signed(found.delta), interval(found.low, found.high), margin, smallest)
        )  # fmt: skip
    head = ("status", "rule", "kind", "metric", "slice", "queries", "change", "interval", "margin",
            "detectable")  # fmt: skip
    table = Table("", Grid(head, tuple(rows), _WORDS))
    return Section("evidence", "Evidence of each rule", (table,), "Evidence")

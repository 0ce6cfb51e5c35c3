"""The evidence for each rule of a verdict, as a section of its page."""

from __future__ import annotations

from typing import TYPE_CHECKING

from rankgate.core.present.document import SIGNS, Section, Table
from rankgate.core.present.figures import format_interval, format_signed
from rankgate.core.present.grid import Grid
from rankgate.core.present.numbers import format_decimal

if TYPE_CHECKING:
    from rankgate.decisions.gating.verdict import Verdict

_TEXT_COLUMNS = frozenset({0, 1, 2, 3, 4})


def evidence_section(verdict: Verdict) -> Section:
    """Every figure behind every rule: difference, interval, margin, what it could detect."""
    rows = []
    for rule_result in verdict.rules:
        rule, outcome = rule_result.rule, rule_result.outcome
        margin, detectable = (format_decimal(value) for value in (outcome.margin, outcome.mde))
        rows.append(
            (
                f"{SIGNS[outcome.status]} {outcome.status}",
                rule.id,
                rule.kind,
                str(rule.get("metric") or ""),
                rule.slice or "",
                "" if outcome.n is None else f"{outcome.n:,}",
                format_signed(outcome.delta),
                format_interval(outcome.low, outcome.high),
                margin,
                detectable,
            )
        )
    column_names = (
        "status",
        "rule",
        "kind",
        "metric",
        "slice",
        "queries",
        "change",
        "interval",
        "margin",
        "detectable",
    )
    table = Table("", Grid(column_names, tuple(rows), _TEXT_COLUMNS))
    return Section("evidence", "Evidence of each rule", (table,), "Evidence")

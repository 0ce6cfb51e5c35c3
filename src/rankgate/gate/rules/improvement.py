"""``improvement``: the candidate is better than the baseline."""

from __future__ import annotations

from typing import TYPE_CHECKING

from rankgate.gate.bounds import against, too_few
from rankgate.gate.declare import Kind, Parameter
from rankgate.gate.rules.noninferiority import holes, unmoved

if TYPE_CHECKING:
    from rankgate.gate.declare import Evidence, Finding, Rule


def decide(rule: Rule, evidence: Evidence) -> Finding:
    """Pass if the lower bound of the difference lies above ``by``; fail if the upper is below."""
    metric, by = rule.settings["metric"], float(rule.settings["by"])
    delta = evidence.column(rule, "delta")
    if len(delta) and not delta.any() and not too_few(delta, rule) and evidence.changed():
        return unmoved(evidence, metric, delta, by)
    found = against(rule, evidence, delta, by, by, f"{metric} moved by")
    return holes(found, evidence, metric, by) if rule.slice is None else found


KIND = Kind(
    "improvement",
    "The candidate's mean is above the baseline's.",
    (
        Parameter("metric", "string", "One of the policy's metrics.", required=True),
        Parameter("by", "number", "At least this much better.", default=0.0, low=0),
    ),
    decide,
)

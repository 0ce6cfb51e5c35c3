"""``floor``: the candidate's mean is not below a number."""

from __future__ import annotations

from typing import TYPE_CHECKING

from rankgate.gate.bounds import against, too_few
from rankgate.gate.declare import Finding, Kind, Parameter

if TYPE_CHECKING:
    from rankgate.gate.declare import Evidence, Rule


def decide(rule: Rule, evidence: Evidence) -> Finding:
    """By the interval of the mean, or by the mean of just these queries."""
    metric, least = rule.settings["metric"], float(rule.settings["at_least"])
    values = evidence.column(rule, "candidate")
    if rule.settings["of"] == "population":
        return against(rule, evidence, values, least, least, f"{metric} of the candidate is")
    if few := too_few(values, rule):
        return Finding("inconclusive", few, "Add queries that both systems ran.", len(values))
    mean = float(values.mean())
    words = f"{metric} of the candidate is {mean:.4f} over these {len(values)} queries, "
    told = "at least" if mean >= least else "below"
    return Finding(
        "pass" if mean >= least else "fail", f"{words}{told} {least:g}.",
        n=len(values), delta=mean, margin=least,
    )  # fmt: skip


KIND = Kind(
    "floor",
    "The candidate's mean is at least a number.",
    (
        Parameter("metric", "string", "One of the policy's metrics.", required=True),
        Parameter("at_least", "number", "The number.", required=True),
        Parameter("of", "string", "All queries like these, or just these.",
                  default="population", choices=("population", "these")),
    ),
    decide,
)  # fmt: skip

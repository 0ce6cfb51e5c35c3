"""Not worse than the baseline by more than a margin."""

from __future__ import annotations

from typing import TYPE_CHECKING

from rankgate.declare import Parameter, Range
from rankgate.gating.bounds import held
from rankgate.gating.rule import Outcome, RuleKind
from rankgate.gating.words import settled, unmoved

if TYPE_CHECKING:
    from rankgate.gating.evidence import Evidence
    from rankgate.gating.rule import Rule


def decide(rule: Rule, evidence: Evidence) -> Outcome:
    """Pass where the interval lies above −margin, fail where below, else inconclusive."""
    metric, margin = rule["metric"], rule["margin"]
    if margin is None:
        margin = rule["relative"] * abs(evidence.baseline(metric, rule.slice))
    if blind := unmoved(rule, evidence, margin):
        return blind
    told = held(evidence.gains(metric, rule.slice), -margin, evidence.terms)
    return settled(rule, evidence, told, margin, loss=True)


KIND = RuleKind(
    "noninferiority",
    (
        Parameter("metric", "text", "the metric, such as nDCG@10", required=True),
        Parameter(
            "margin",
            "number",
            "the largest loss that is acceptable, in the metric's units",
            range=Range(0.0),
        ),
        Parameter(
            "relative",
            "number",
            "the same as a share of the baseline's mean",
            range=Range(0.0, 1.0),
        ),
    ),
    decide,
    title="the candidate is not worse by more than a margin",
    statistical=True,
    sliced=True,
    one_of=("margin", "relative"),
    difference="margin",
    limits="loss",
)

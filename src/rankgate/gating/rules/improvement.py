"""Better than the baseline."""

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
    """Pass where the interval lies above the gain asked for, fail where below."""
    gain = rule["by"]
    if blind := unmoved(rule, evidence, gain, passes=False):
        return blind
    told = held(evidence.gains(rule["metric"], rule.slice), gain, evidence.terms)
    return settled(rule, evidence, told, gain, loss=False)


KIND = RuleKind(
    "improvement",
    (
        Parameter("metric", "text", "the metric, such as nDCG@10", required=True),
        Parameter(
            "by",
            "number",
            "the gain that must be exceeded, in the metric's units",
            0.0,
            range=Range(0.0),
        ),
    ),
    decide,
    title="the candidate is better, by more than a stated gain if one is stated",
    statistical=True,
    sliced=True,
    difference="by",
    limits="gain",
)

"""Better than the baseline."""

from __future__ import annotations

from typing import TYPE_CHECKING

from rankgate.gating.bounds import held
from rankgate.gating.declare import REQUIRED, Kind, Outcome, Parameter
from rankgate.gating.words import settled, unmoved

if TYPE_CHECKING:
    from rankgate.gating.declare import Evidence, Rule


def decide(rule: Rule, evidence: Evidence) -> Outcome:
    """Pass where the interval lies above the gain asked for, fail where below."""
    gain = rule["by"]
    if blind := unmoved(rule, evidence, gain, passes=False):
        return blind
    told = held(evidence.gains(rule["metric"], rule.slice), gain, evidence)
    return settled(rule, evidence, told, gain)


KIND = Kind(
    "improvement",
    "the candidate is better, by more than a stated gain if one is stated",
    (
        Parameter("metric", "text", "the metric, such as nDCG@10", REQUIRED),
        Parameter(
            "by", "number", "the gain that must be exceeded, in the metric's units", 0.0, 0.0
        ),
    ),
    decide,
    statistical=True,
    sliced=True,
)

"""Not worse than the baseline by more than a margin."""

from __future__ import annotations

from typing import TYPE_CHECKING

from rankgate.gating.bounds import held
from rankgate.gating.declare import REQUIRED, Kind, Outcome, Parameter
from rankgate.gating.words import settled, unmoved

if TYPE_CHECKING:
    from rankgate.gating.declare import Evidence, Rule


def decide(rule: Rule, evidence: Evidence) -> Outcome:
    """Pass where the interval lies above −margin, fail where below, else inconclusive."""
    metric, margin = rule["metric"], rule["margin"]
    if margin is None:
        margin = rule["relative"] * abs(evidence.baseline(metric, rule.slice))
    if blind := unmoved(rule, evidence, margin):
        return blind
    told = held(evidence.gains(metric, rule.slice), -margin, evidence)
    return settled(rule, evidence, told, margin)


KIND = Kind(
    "noninferiority",
    "the candidate is not worse by more than a margin",
    (
        Parameter("metric", "text", "the metric, such as nDCG@10", REQUIRED),
        Parameter("margin", "number", "the largest loss that is acceptable, in the metric's units",
                  None, 0.0),
        Parameter("relative", "number", "the same as a share of the baseline's mean", None, 0.0,
                  1.0),
    ),
    decide,
    statistical=True,
    sliced=True,
)  # fmt: skip

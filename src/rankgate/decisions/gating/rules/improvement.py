"""Better than the baseline."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from rankgate.core.declare import Parameter, Range
from rankgate.decisions.gating.bounds import check_bound
from rankgate.decisions.gating.intervals import decide_statuses
from rankgate.decisions.gating.rule import Outcome, RuleKind
from rankgate.decisions.gating.words import difference_outcome, unmoved_outcome

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from rankgate.decisions.gating.evidence import Evidence, HypotheticalValues
    from rankgate.decisions.gating.rule import Rule


def decide(rule: Rule, evidence: Evidence) -> Outcome:
    """Pass where the interval lies above the required gain, fail where below."""
    gain = rule["by"]
    if blind := unmoved_outcome(rule, evidence, gain, passes=False):
        return blind
    metric = rule["metric"]
    gains, limits = evidence.gains(metric, rule.slice), evidence.gain_range(metric)
    return difference_outcome(
        rule, evidence, check_bound(gains, gain, evidence.terms, limits), gain, loss=False
    )


def _statuses(rule: Rule, evidence: Evidence, values: HypotheticalValues) -> NDArray[np.str_]:
    bound = np.full(values.gain.shape[1], rule["by"])
    return decide_statuses(values.gain, bound, evidence.terms, evidence.gain_range(rule["metric"]))


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
    title="the candidate is better, by more than a given gain if there is one",
    statistical=True,
    sliced=True,
    needs=frozenset({"group_sums"}),
    difference="by",
    limits="gain",
    statuses=_statuses,
)

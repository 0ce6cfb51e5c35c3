"""Not worse than the baseline by more than a margin."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from rankgate.core.declare import Parameter, Range
from rankgate.decisions.comparison.whole import ResampledValue
from rankgate.decisions.gating.bounds import check_bound
from rankgate.decisions.gating.intervals import decide_statuses
from rankgate.decisions.gating.relative import gain_beyond_share, relative_contrast, shifted_range
from rankgate.decisions.gating.rule import Outcome, RuleKind
from rankgate.decisions.gating.words import difference_outcome, unmoved_outcome

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from rankgate.decisions.gating.evidence import Evidence, HypotheticalValues
    from rankgate.decisions.gating.rule import Rule


def decide(rule: Rule, evidence: Evidence) -> Outcome:
    """Pass where the interval lies above −margin, fail where below, else inconclusive."""
    metric, margin, share = rule["metric"], rule["margin"], rule["relative"]
    if margin is None:
        margin = share * abs(evidence.baseline(metric, rule.slice))
    if blind := unmoved_outcome(rule, evidence, margin):
        return blind
    gains = evidence.gains(metric, rule.slice)
    if share is None or isinstance(gains, ResampledValue):
        result = check_bound(gains, -margin, evidence.terms, evidence.gain_range(metric))
    else:
        values = evidence.measured(
            metric, rule.slice, relative_contrast(evidence.gained(metric), share)
        )
        result = check_bound(values, 0.0, evidence.terms, shifted_range(rule, evidence)).shifted(
            -margin
        )
    return difference_outcome(rule, evidence, result, margin, loss=True)


def _statuses(rule: Rule, evidence: Evidence, values: HypotheticalValues) -> NDArray[np.str_]:
    share, gain = rule["relative"], values.gain
    if share is None:
        bound, limits = -rule["margin"], evidence.gain_range(rule["metric"])
    else:
        gain, bound = gain_beyond_share(gain, values.baseline, share), 0.0
        limits = shifted_range(rule, evidence)
    return decide_statuses(gain, np.full(gain.shape[1], bound), evidence.terms, limits)


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
    needs=frozenset({"group_sums"}),
    one_of=("margin", "relative"),
    difference="margin",
    limits="loss",
    statuses=_statuses,
)

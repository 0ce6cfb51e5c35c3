"""Not worse than the baseline by more than a margin."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from rankgate.comparison.whole import Drawn
from rankgate.declare import Parameter, Range
from rankgate.gating.bounds import check_bound
from rankgate.gating.intervals import statuses
from rankgate.gating.rule import Outcome, RuleKind
from rankgate.gating.words import settled, unmoved

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from rankgate.gating.evidence import Evidence, HypotheticalValues
    from rankgate.gating.rule import Rule

    Floats = NDArray[np.float64]


def decide(rule: Rule, evidence: Evidence) -> Outcome:
    """Pass where the interval lies above −margin, fail where below, else inconclusive."""
    metric, margin, share = rule["metric"], rule["margin"], rule["relative"]
    if margin is None:
        margin = share * abs(evidence.baseline(metric, rule.slice))
    if blind := unmoved(rule, evidence, margin):
        return blind
    gains = evidence.gains(metric, rule.slice)
    if share is None or isinstance(gains, Drawn):
        result = check_bound(gains, -margin, evidence.terms, evidence.gain_range(metric))
    else:
        values = _beyond(gains, evidence.queries(metric, rule.slice)["baseline"].to_numpy(), share)
        result = check_bound(values, 0.0, evidence.terms, _range(rule, evidence)).shifted(-margin)
    return settled(rule, evidence, result, margin, loss=True)


def _statuses(rule: Rule, evidence: Evidence, values: HypotheticalValues) -> NDArray[np.str_]:
    share, gain = rule["relative"], values.gain
    if share is None:
        bound, limits = -rule["margin"], evidence.gain_range(rule["metric"])
    else:
        gain, bound = _beyond(gain, values.baseline, share), 0.0
        limits = _range(rule, evidence)
    return statuses(gain, np.full(gain.shape[1], bound), evidence.terms, limits)


def _beyond(gain: Floats, baseline: Floats, share: float) -> Floats:
    """What each query gains beyond the loss that a share of its baseline allows.

    Its mean is above 0 where the mean loss is below the share of the mean; so the interval knows
    that the margin is an estimate too.
    """
    sign = np.where(baseline.mean(axis=0) < 0, -1.0, 1.0)
    return np.asarray(gain + share * sign * baseline, np.float64)


def _range(rule: Rule, evidence: Evidence) -> tuple[float, float] | None:
    known = evidence.inputs.ranges.get(rule["metric"])
    if known is None:
        return None
    most = rule["relative"] * max(map(abs, known))
    reach = known[1] - known[0]
    return (-reach - most, reach + most) if known[0] < 0 else (-reach, reach + most)


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
    of_values=True,
    one_of=("margin", "relative"),
    difference="margin",
    limits="loss",
    statuses=_statuses,
)

"""Neither worse nor better than the baseline by more than a margin."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING

import numpy as np

from rankgate.comparison.whole import Drawn
from rankgate.declare import Parameter, Range
from rankgate.gating.bounds import check_bound
from rankgate.gating.intervals import statuses
from rankgate.gating.rule import Outcome, RuleKind
from rankgate.gating.words import unmoved, within

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from rankgate.gating.evidence import Evidence, HypotheticalValues, Terms
    from rankgate.gating.rule import Rule

    Floats = NDArray[np.float64]


def decide(rule: Rule, evidence: Evidence) -> Outcome:
    """Pass where the interval lies within ±margin, fail where outside of it, else inconclusive.

    Both ends are one-sided at 1 − alpha, which makes the pass that of two one-sided tests
    (Schuirmann 1987). A fail may come from either side, and each side has half of its alpha.
    """
    metric, margin, share = rule["metric"], rule["margin"], rule["relative"]
    if margin is None:
        margin = share * abs(evidence.baseline(metric, rule.slice))
    if blind := unmoved(rule, evidence, margin):
        return blind
    gains, terms = evidence.gains(metric, rule.slice), _both_sides(evidence.terms)
    limits = evidence.gain_range(metric)
    if share is None or isinstance(gains, Drawn):
        sides = [check_bound(each, -margin, terms, limits) for each in (gains, -gains)]
    else:
        allowed = _allowed(evidence.queries(metric, rule.slice)["baseline"].to_numpy(), share)
        widened = _widened(rule, evidence)
        sides = [
            check_bound(each + allowed, 0.0, terms, widened).shifted(-margin)
            for each in (gains, -gains)
        ]
    return within(rule, evidence, (sides[0], sides[1]), margin)


def _both_sides(terms: Terms) -> Terms:
    return replace(terms, tests=2 * terms.tests)


def _allowed(baseline: Floats, share: float) -> Floats:
    """What a share of the baseline allows each query to differ."""
    sign = np.where(baseline.mean(axis=0) < 0, -1.0, 1.0)
    return np.asarray(share * sign * baseline, np.float64)


def _widened(rule: Rule, evidence: Evidence) -> tuple[float, float] | None:
    known = evidence.inputs.ranges.get(rule["metric"])
    if known is None:
        return None
    reach, most = known[1] - known[0], rule["relative"] * max(map(abs, known))
    return (-reach - most, reach + most) if known[0] < 0 else (-reach, reach + most)


def _statuses(rule: Rule, evidence: Evidence, values: HypotheticalValues) -> NDArray[np.str_]:
    gain, terms, bound = values.gain, _both_sides(evidence.terms), 0.0
    if rule["relative"] is None:
        allowed, bound = np.zeros(1), -rule["margin"]
        limits = evidence.gain_range(rule["metric"])
    else:
        allowed, limits = _allowed(values.baseline, rule["relative"]), _widened(rule, evidence)
    bounds = np.full(gain.shape[1], bound)
    low, high = (statuses(each + allowed, bounds, terms, limits) for each in (gain, -gain))
    out = (low == "fail") | (high == "fail")
    both = (low == "pass") & (high == "pass")
    return np.where(out, "fail", np.where(both, "pass", "inconclusive"))


KIND = RuleKind(
    "equivalence",
    (
        Parameter("metric", "text", "the metric, such as nDCG@10", required=True),
        Parameter(
            "margin",
            "number",
            "the largest difference that does not matter, in the metric's units",
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
    title="the candidate is neither worse nor better by more than a margin",
    statistical=True,
    sliced=True,
    of_values=True,
    one_of=("margin", "relative"),
    difference="margin",
    limits="loss",
    statuses=_statuses,
)

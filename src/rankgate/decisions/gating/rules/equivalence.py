"""Neither worse nor better than the baseline by more than a margin."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING

import numpy as np

from rankgate.core.declare import Parameter, Range
from rankgate.decisions.comparison.whole import Drawn
from rankgate.decisions.gating.bounds import check_bound
from rankgate.decisions.gating.intervals import statuses
from rankgate.decisions.gating.relative import allowed, beyond, shifted_range
from rankgate.decisions.gating.rule import Outcome, RuleKind
from rankgate.decisions.gating.words import unmoved, within

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from rankgate.decisions.gating.evidence import Evidence, HypotheticalValues, Terms
    from rankgate.decisions.gating.rule import Rule


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
        limits, gained = shifted_range(rule, evidence), evidence.gained(metric)
        sides = [
            check_bound(
                evidence.measured(metric, rule.slice, allowed(gained, share, turned=turned)),
                0.0, terms, limits,
            ).shifted(-margin)
            for turned in (False, True)
        ]  # fmt: skip
    return within(rule, evidence, (sides[0], sides[1]), margin)


def _both_sides(terms: Terms) -> Terms:
    return replace(terms, tests=2 * terms.tests)


def _statuses(rule: Rule, evidence: Evidence, values: HypotheticalValues) -> NDArray[np.str_]:
    sides, terms, share = [values.gain, -values.gain], _both_sides(evidence.terms), rule["relative"]
    if share is None:
        bound, limits = -rule["margin"], evidence.gain_range(rule["metric"])
    else:
        sides = [beyond(each, values.baseline, share) for each in sides]
        bound, limits = 0.0, shifted_range(rule, evidence)
    bounds = np.full(values.gain.shape[1], bound)
    low, high = (statuses(each, bounds, terms, limits) for each in sides)
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

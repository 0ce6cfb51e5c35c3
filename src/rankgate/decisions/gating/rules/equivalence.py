"""Neither worse nor better than the baseline by more than a margin."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING

import numpy as np

from rankgate.core.declare import Parameter, Range
from rankgate.decisions.comparison.whole import ResampledValue
from rankgate.decisions.gating.bounds import check_bound
from rankgate.decisions.gating.intervals import decide_statuses
from rankgate.decisions.gating.relative import gain_beyond_share, relative_contrast, shifted_range
from rankgate.decisions.gating.rule import Outcome, RuleKind
from rankgate.decisions.gating.words import equivalence_outcome, unmoved_outcome

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
    if blind := unmoved_outcome(rule, evidence, margin):
        return blind
    gains, terms = evidence.gains(metric, rule.slice), _two_sided_terms(evidence.terms)
    limits = evidence.gain_range(metric)
    if share is None or isinstance(gains, ResampledValue):
        sides = [check_bound(gain, -margin, terms, limits) for gain in (gains, -gains)]
    else:
        limits, gained = shifted_range(rule, evidence), evidence.gained(metric)
        sides = [
            check_bound(
                evidence.measured(
                    metric, rule.slice, relative_contrast(gained, share, turned=turned)
                ),
                0.0,
                terms,
                limits,
            ).shifted(-margin)
            for turned in (False, True)
        ]
    return equivalence_outcome(rule, evidence, (sides[0], sides[1]), margin)


def _two_sided_terms(terms: Terms) -> Terms:
    return replace(terms, tests=2 * terms.tests)


def _statuses(rule: Rule, evidence: Evidence, values: HypotheticalValues) -> NDArray[np.str_]:
    sides, terms, share = (
        [values.gain, -values.gain],
        _two_sided_terms(evidence.terms),
        rule["relative"],
    )
    if share is None:
        bound, limits = -rule["margin"], evidence.gain_range(rule["metric"])
    else:
        sides = [gain_beyond_share(gain, values.baseline, share) for gain in sides]
        bound, limits = 0.0, shifted_range(rule, evidence)
    bounds = np.full(values.gain.shape[1], bound)
    low, high = (decide_statuses(gain, bounds, terms, limits) for gain in sides)
    is_outside = (low == "fail") | (high == "fail")
    is_inside = (low == "pass") & (high == "pass")
    return np.where(is_outside, "fail", np.where(is_inside, "pass", "inconclusive"))


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
    needs=frozenset({"group_sums"}),
    one_of=("margin", "relative"),
    difference="margin",
    limits="loss",
    statuses=_statuses,
)

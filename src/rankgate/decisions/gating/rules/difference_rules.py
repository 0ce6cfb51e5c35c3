"""Rules on differences from the baseline: non-inferiority, equivalence, improvement.

Non-inferiority means not worse than the baseline by more than a margin. Equivalence means
neither worse nor better than the baseline by more than a margin. Improvement means better than
the baseline.
"""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING

import numpy as np

from rankgate.core.declare import Parameter, Range
from rankgate.decisions.comparison.list_metrics import ResampledValue
from rankgate.decisions.gating.bounds import (
    check_bound,
    decide_statuses,
    gain_beyond_share,
    relative_contrast,
    shifted_range,
)
from rankgate.decisions.gating.outcome_sentences import (
    difference_outcome,
    equivalence_outcome,
    unmoved_outcome,
)
from rankgate.decisions.gating.rule import Outcome, RuleKind

if TYPE_CHECKING:
    from collections.abc import Callable

    from numpy.typing import NDArray

    from rankgate.decisions.gating.rule import Evidence, HypotheticalValues, Rule, Terms


def _margin_rule(
    name: str,
    decide: Callable[[Rule, Evidence], Outcome],
    statuses: Callable[[Rule, Evidence, HypotheticalValues], NDArray[np.str_]],
    *,
    title: str,
    margin_help: str,
) -> RuleKind:
    """A kind of rules on a margin, in the metric's units or as a share of the baseline's mean."""
    return RuleKind(
        name,
        (
            Parameter("metric", "text", "the metric, such as nDCG@10", required=True),
            Parameter("margin", "number", margin_help, range=Range(0.0)),
            Parameter(
                "relative", "number", "the same as a share of the baseline's mean", range=Range(0.0, 1.0)
            ),
        ),
        decide,
        title=title,
        statistical=True,
        sliced=True,
        needs=frozenset({"group_sums"}),
        one_of=("margin", "relative"),
        difference="margin",
        limits="loss",
        statuses=statuses,
    )


def decide_noninferiority(rule: Rule, evidence: Evidence) -> Outcome:
    """Pass if the interval is above −margin, fail if below, else inconclusive."""
    metric, margin, share = rule["metric"], rule["margin"], rule["relative"]
    if margin is None:
        margin = share * abs(evidence.baseline(metric, rule.slice))
    if blind := unmoved_outcome(rule, evidence, margin):
        return blind
    gains = evidence.gains(metric, rule.slice)
    if share is None or isinstance(gains, ResampledValue):
        result = check_bound(gains, -margin, evidence.terms, evidence.gain_range(metric))
    else:
        values = evidence.measured(metric, rule.slice, relative_contrast(evidence.gained(metric), share))
        result = check_bound(values, 0.0, evidence.terms, shifted_range(rule, evidence)).shifted(-margin)
    return difference_outcome(rule, evidence, result, margin, loss=True)


def _noninferiority_statuses(rule: Rule, evidence: Evidence, values: HypotheticalValues) -> NDArray[np.str_]:
    share, gain = rule["relative"], values.gain
    if share is None:
        bound, limits = -rule["margin"], evidence.gain_range(rule["metric"])
    else:
        gain, bound = gain_beyond_share(gain, values.baseline, share), 0.0
        limits = shifted_range(rule, evidence)
    return decide_statuses(gain, np.full(gain.shape[1], bound), evidence.terms, limits)


NONINFERIORITY_RULE = _margin_rule(
    "noninferiority",
    decide_noninferiority,
    _noninferiority_statuses,
    title="the candidate is not worse by more than a margin",
    margin_help="the largest loss that is acceptable, in the metric's units",
)


def decide_equivalence(rule: Rule, evidence: Evidence) -> Outcome:
    """Pass if the interval is within ±margin, fail if outside of it, else inconclusive.

    Both ends are one-sided at 1 − alpha, which makes the pass that of two one-sided tests
    (Schuirmann 1987). A fail can be on either side, so each side has half of its alpha.
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
                evidence.measured(metric, rule.slice, relative_contrast(gained, share, turned=turned)),
                0.0,
                terms,
                limits,
            ).shifted(-margin)
            for turned in (False, True)
        ]
    return equivalence_outcome(rule, evidence, (sides[0], sides[1]), margin)


def _two_sided_terms(terms: Terms) -> Terms:
    return replace(terms, tests=2 * terms.tests)


def _equivalence_statuses(rule: Rule, evidence: Evidence, values: HypotheticalValues) -> NDArray[np.str_]:
    sides, terms, share = ([values.gain, -values.gain], _two_sided_terms(evidence.terms), rule["relative"])
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


EQUIVALENCE_RULE = _margin_rule(
    "equivalence",
    decide_equivalence,
    _equivalence_statuses,
    title="the candidate is neither worse nor better by more than a margin",
    margin_help="the largest difference that does not matter, in the metric's units",
)


def decide_improvement(rule: Rule, evidence: Evidence) -> Outcome:
    """Pass if the interval is above the required gain, fail if below."""
    gain = rule["by"]
    if blind := unmoved_outcome(rule, evidence, gain, passes=False):
        return blind
    metric = rule["metric"]
    gains, limits = evidence.gains(metric, rule.slice), evidence.gain_range(metric)
    return difference_outcome(
        rule, evidence, check_bound(gains, gain, evidence.terms, limits), gain, loss=False
    )


def _improvement_statuses(rule: Rule, evidence: Evidence, values: HypotheticalValues) -> NDArray[np.str_]:
    bound = np.full(values.gain.shape[1], rule["by"])
    return decide_statuses(values.gain, bound, evidence.terms, evidence.gain_range(rule["metric"]))


IMPROVEMENT_RULE = RuleKind(
    "improvement",
    (
        Parameter("metric", "text", "the metric, such as nDCG@10", required=True),
        Parameter(
            "by", "number", "the gain that must be exceeded, in the metric's units", 0.0, range=Range(0.0)
        ),
    ),
    decide_improvement,
    title="the candidate is better, by more than a given gain if there is one",
    statistical=True,
    sliced=True,
    needs=frozenset({"group_sums"}),
    difference="by",
    limits="gain",
    statuses=_improvement_statuses,
)

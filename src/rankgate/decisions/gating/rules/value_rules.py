"""Rules on the candidate's value: an absolute floor under it, or a ceiling above it.

For a metric that is better when lower, a ceiling has the role of a floor.
"""

from __future__ import annotations

from dataclasses import replace
from functools import partial
from typing import TYPE_CHECKING

import numpy as np

from rankgate.core.declare import Parameter
from rankgate.decisions.comparison.list_metrics import ResampledValue
from rankgate.decisions.gating.bounds import ROUNDING, check_bound, decide_statuses
from rankgate.decisions.gating.outcome_sentences import measured_number, short_number, unseen_loss_sentence
from rankgate.decisions.gating.rule import Outcome, RuleKind

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from rankgate.decisions.gating.bounds import BoundCheck
    from rankgate.decisions.gating.rule import Evidence, HypotheticalValues, Rule


def decide_floor(rule: Rule, evidence: Evidence) -> Outcome:
    """Decide by the interval of the candidate's value, or by the value alone."""
    metric, floor = rule["metric"], rule["at_least"]
    ceiling = floor is None
    bound, kind = (rule["at_most"], "ceiling") if ceiling else (floor, "floor")
    values = evidence.own(metric, rule.slice)
    slice_label = f" for {rule.slice}" if rule.slice else ""
    if not isinstance(values, ResampledValue) and not len(values):
        return Outcome(
            "inconclusive", f"no query{slice_label} has a value of {metric}", "judge some queries", n=0
        )
    result = _check_value(metric, values, bound, evidence, ceiling=ceiling)
    make_outcome = partial(Outcome, n=result.n, low=result.low, high=result.high, mde=result.mde)
    advice = "lower it" if ceiling else "raise it"
    inside_word, outside_word = ("below", "above") if ceiling else ("above", "below")
    if rule["by"] == "mean" and result.mean is not None:
        is_met = result.mean <= bound + ROUNDING if ceiling else result.mean >= bound - ROUNDING
        reason = (
            f"{metric} {measured_number(result.mean, bound)}{slice_label}: {'not ' * is_met}"
            f"{outside_word} the {kind} {short_number(bound)}, by the mean alone"
        )
        return make_outcome("pass" if is_met else "fail", reason, "" if is_met else advice)
    units = "users" if isinstance(values, ResampledValue) else "queries"
    if result.why:
        return make_outcome(
            "inconclusive",
            f"{rule.slice}: {result.why}" if rule.slice else result.why,
            evidence.terms.advice if result.code else f"add {units}",
            code=result.code,
        )
    claims = {
        "pass": f": {inside_word}",
        "fail": f": {outside_word}",
        "inconclusive": f" does not show whether it is {inside_word}",
    }[result.status]
    ends = f"(bounds {measured_number(result.low, bound)} and {measured_number(result.high, bound)})"
    mean = measured_number(result.mean)
    reason = f"{metric} {mean} {ends}{slice_label}{claims} the {kind} {short_number(bound)}"
    wrong_direction = "low" if ceiling else "high"
    more_queries = f"add about {result.more:,} {units} like these" if result.more else f"add {units}"
    next_steps = {
        "pass": "",
        "fail": f"{advice}, or the {kind} was too {wrong_direction}",
        "inconclusive": more_queries,
    }
    return make_outcome(
        result.status,
        reason,
        next_steps[result.status],
        caution=unseen_loss_sentence(rule, result, ceiling=ceiling),
    )


def _check_value(
    metric: str,
    values: NDArray[np.float64] | ResampledValue,
    bound: float,
    evidence: Evidence,
    *,
    ceiling: bool,
) -> BoundCheck:
    """Compare the values with a floor, or the negated values with a ceiling."""
    limits = evidence.inputs.ranges.get(metric)
    if not ceiling:
        return check_bound(values, bound, evidence.terms, limits)
    return check_bound(-values, -bound, evidence.terms, limits and (-limits[1], -limits[0])).turned


def _floor_statuses(rule: Rule, evidence: Evidence, values: HypotheticalValues) -> NDArray[np.str_]:
    limits, ceiling = evidence.inputs.ranges.get(rule["metric"]), rule["at_least"] is None
    sign, signed_values = (-1.0, -values.candidate) if ceiling else (1.0, values.candidate)
    bound = sign * (rule["at_most"] if ceiling else rule["at_least"])
    if rule["by"] == "mean":
        return np.where(signed_values.mean(axis=0) >= bound - ROUNDING, "pass", "fail")
    if limits is not None and ceiling:
        limits = -limits[1], -limits[0]
    return decide_statuses(signed_values, np.full(signed_values.shape[1], bound), evidence.terms, limits)


FLOOR_RULE = RuleKind(
    "floor",
    (
        Parameter("metric", "text", "the metric, such as nDCG@10", required=True),
        Parameter("at_least", "number", "the floor"),
        Parameter("at_most", "number", "the ceiling, for a metric that is better when lower"),
        Parameter(
            "by",
            "text",
            "interval: for queries like these; mean: for these queries alone",
            "interval",
            choices=("interval", "mean"),
        ),
    ),
    decide_floor,
    title="the candidate's value is at least, or at most, a given number",
    statistical=True,
    sliced=True,
    needs=frozenset({"group_sums"}),
    one_of=("at_least", "at_most"),
    bounds=("at_least", "at_most"),
    statuses=_floor_statuses,
)


def decide_ceiling(rule: Rule, evidence: Evidence) -> Outcome:
    """Decide by the interval of the candidate's value, or by the value alone."""
    return decide_floor(_as_floor(rule), evidence)


def _ceiling_statuses(rule: Rule, evidence: Evidence, values: HypotheticalValues) -> NDArray[np.str_]:
    assert FLOOR_RULE.statuses is not None
    return FLOOR_RULE.statuses(_as_floor(rule), evidence, values)


def _as_floor(rule: Rule) -> Rule:
    """The ceiling rule as a floor rule with ``at_most``."""
    return replace(rule, kind=FLOOR_RULE.name, values={**rule.values, "at_least": None})


CEILING_RULE = RuleKind(
    "ceiling",
    (
        Parameter("metric", "text", "the metric, such as Gini@10", required=True),
        Parameter("at_most", "number", "the ceiling", required=True),
        *(parameter for parameter in FLOOR_RULE.takes if parameter.name == "by"),
    ),
    decide_ceiling,
    title="the candidate's value is at most a given number",
    statistical=True,
    sliced=True,
    needs=frozenset({"group_sums"}),
    bounds=("at_most",),
    statuses=_ceiling_statuses,
)

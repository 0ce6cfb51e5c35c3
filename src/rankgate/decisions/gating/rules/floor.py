"""An absolute floor under the candidate's value, or a ceiling above it."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from rankgate.core.declare import Parameter
from rankgate.decisions.comparison.whole import Drawn
from rankgate.decisions.gating.bounds import check_bound
from rankgate.decisions.gating.intervals import SLACK, statuses
from rankgate.decisions.gating.rule import Outcome, RuleKind
from rankgate.decisions.gating.words import measured, number, unseen_value

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from rankgate.decisions.gating.bounds import BoundCheck
    from rankgate.decisions.gating.evidence import Evidence, HypotheticalValues
    from rankgate.decisions.gating.rule import Rule


def decide(rule: Rule, evidence: Evidence) -> Outcome:
    """By the interval of the candidate's value, or by the value alone."""
    metric, least = rule["metric"], rule["at_least"]
    ceiling = least is None
    bound, kind = (rule["at_most"], "ceiling") if ceiling else (least, "floor")
    values = evidence.own(metric, rule.slice)
    where = f" for {rule.slice}" if rule.slice else ""
    if not isinstance(values, Drawn) and not len(values):
        return Outcome(
            "inconclusive", f"no query{where} has a value of {metric}", "judge some queries", n=0
        )
    result = _checked(metric, values, bound, evidence, ceiling=ceiling)
    figures: dict[str, Any] = {
        "n": result.n,
        "low": result.low,
        "high": result.high,
        "mde": result.mde,
    }
    mend = "lower it" if ceiling else "raise it"
    good, bad = ("below", "above") if ceiling else ("above", "below")
    if rule["by"] == "mean" and result.mean is not None:
        kept = result.mean <= bound + SLACK if ceiling else result.mean >= bound - SLACK
        reason = (
            f"{metric} {measured(result.mean, bound)}{where}: {'not ' * kept}{bad} the {kind} "
            f"{number(bound)}, by the mean alone"
        )
        return Outcome("pass" if kept else "fail", reason, "" if kept else mend, **figures)
    units = "users" if isinstance(values, Drawn) else "queries"
    if result.why:
        return Outcome(
            "inconclusive",
            f"{rule.slice}: {result.why}" if rule.slice else result.why,
            evidence.terms.advice if result.code else f"add {units}",
            code=result.code,
            **figures,
        )
    says = {
        "pass": f": {good}",
        "fail": f": {bad}",
        "inconclusive": f" does not show whether it is {good}",
    }[result.status]
    ends = f"(bounds {measured(result.low, bound)} and {measured(result.high, bound)})"
    reason = f"{metric} {measured(result.mean)} {ends}{where}{says} the {kind} {number(bound)}"
    wrong = "low" if ceiling else "high"
    more = f"add about {result.more:,} {units} like these" if result.more else f"add {units}"
    after = {"pass": "", "fail": f"{mend}, or the {kind} was too {wrong}", "inconclusive": more}
    return Outcome(
        result.status,
        reason,
        after[result.status],
        caution=unseen_value(rule, result, ceiling=ceiling),
        **figures,
    )


def _checked(
    metric: str,
    values: NDArray[np.float64] | Drawn,
    bound: float,
    evidence: Evidence,
    *,
    ceiling: bool,
) -> BoundCheck:
    """Compared with a floor, or turned and compared with a ceiling."""
    limits = evidence.inputs.ranges.get(metric)
    if not ceiling:
        return check_bound(values, bound, evidence.terms, limits)
    return check_bound(-values, -bound, evidence.terms, limits and (-limits[1], -limits[0])).turned


def _statuses(rule: Rule, evidence: Evidence, values: HypotheticalValues) -> NDArray[np.str_]:
    limits, ceiling = evidence.inputs.ranges.get(rule["metric"]), rule["at_least"] is None
    sign, own = (-1.0, -values.candidate) if ceiling else (1.0, values.candidate)
    bound = sign * (rule["at_most"] if ceiling else rule["at_least"])
    if rule["by"] == "mean":
        return np.where(own.mean(axis=0) >= bound - SLACK, "pass", "fail")
    if limits is not None and ceiling:
        limits = -limits[1], -limits[0]
    return statuses(own, np.full(own.shape[1], bound), evidence.terms, limits)


KIND = RuleKind(
    "floor",
    (
        Parameter("metric", "text", "the metric, such as nDCG@10", required=True),
        Parameter("at_least", "number", "the floor"),
        Parameter("at_most", "number", "the ceiling, for what is better when lower"),
        Parameter(
            "by",
            "text",
            "interval: for queries like these; mean: for these queries alone",
            "interval",
            choices=("interval", "mean"),
        ),
    ),
    decide,
    title="the candidate's value is at least, or at most, a given number",
    statistical=True,
    sliced=True,
    of_values=True,
    one_of=("at_least", "at_most"),
    bounds=("at_least", "at_most"),
    statuses=_statuses,
)

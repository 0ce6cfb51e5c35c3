"""An absolute floor under the candidate's mean."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from rankgate.gate.bounds import held
from rankgate.gate.declare import REQUIRED, Kind, Outcome, Parameter
from rankgate.gate.words import number

if TYPE_CHECKING:
    from rankgate.gate.declare import Evidence, Rule


def decide(rule: Rule, evidence: Evidence) -> Outcome:
    """By the interval of the candidate's mean, or by the mean alone."""
    values = evidence.queries(rule["metric"], rule.slice)["candidate"].to_numpy()
    least, metric = rule["at_least"], rule["metric"]
    if not len(values):
        return Outcome("inconclusive", f"no query has a value of {metric}", "judge some queries",
                       n=0)  # fmt: skip
    told = held(values, least, evidence)
    mean = float(values.mean())
    figures: dict[str, Any] = {
        "n": len(values),
        "low": told.low,
        "high": told.high,
        "mde": told.mde,
    }
    if rule["by"] == "mean":
        good = mean >= least
        reason = f"{metric} is {number(mean)}, the floor {number(least)} (by the mean alone)"
        return Outcome("pass" if good else "fail", reason, "" if good else "raise it", **figures)
    if told.why:
        return Outcome("inconclusive", told.why, "add queries", **figures)
    where = {"pass": "above", "fail": "below", "inconclusive": "not surely above"}[told.status]
    reason = (
        f"{metric} is {number(mean)}, at least {number(told.low)} and at most {number(told.high)}: "
        f"{where} the floor {number(least)}"
    )
    more = f"add about {told.more:,} queries" if told.more else "add queries"
    after = {"pass": "", "fail": "raise it, or the floor was too high", "inconclusive": more}
    return Outcome(told.status, reason, after[told.status], **figures)


KIND = Kind(
    "floor",
    "the candidate's mean is at least so high",
    (
        Parameter("metric", "text", "the metric, such as nDCG@10", REQUIRED),
        Parameter("at_least", "number", "the floor", REQUIRED),
        Parameter(
            "by",
            "text",
            "interval: for queries like these; mean: for these queries alone",
            "interval",
            choices=("interval", "mean"),
        ),
    ),
    decide,
    statistical=True,
)

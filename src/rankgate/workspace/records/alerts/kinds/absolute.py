"""A figure stays above, or below, a fixed value."""

from __future__ import annotations

from typing import TYPE_CHECKING

from rankgate.core.declare import Parameter, Range
from rankgate.decisions.gating.rule import Outcome
from rankgate.workspace.records.alerts.kind import AlertKind, figure

if TYPE_CHECKING:
    from rankgate.decisions.gating.rule import Rule
    from rankgate.store.records.series import Point
    from rankgate.workspace.records.alerts.kind import Watched


def decide(rule: Rule, seen: Watched) -> Outcome:
    """Fail where the last seen.points lie beyond a bound; pass where the last one does not."""
    known = [each for each in seen.points if each.value is not None]
    count = int(rule["points"])
    if not known:
        return Outcome("inconclusive", "there is no value yet")
    wrong = [_beyond(rule, each) for each in known[-count:]]
    value = figure(known[-1].value or 0.0)
    if len(wrong) == count and all(wrong):
        times = f" for {count} evaluations" if count > 1 else ""
        return Outcome("fail", f"{value} is {wrong[-1]}{times}", delta=known[-1].value)
    if wrong[-1]:
        return Outcome("inconclusive", f"{value} is {wrong[-1]}, not yet {count} times")
    return Outcome("pass", f"{value} is within its bounds", delta=known[-1].value)


def _beyond(rule: Rule, point: Point) -> str:
    """How a point lies beyond a bound; empty where it does not."""
    value = point.value or 0.0
    low = high = value
    if rule["certain"]:  # the interval as a whole
        low = value if point.low is None else point.low
        high = value if point.high is None else point.high
    least, most = rule["at_least"], rule["at_most"]
    if least is not None and high < least:
        return f"below {least:g}"
    if most is not None and low > most:
        return f"above {most:g}"
    return ""


KIND = AlertKind(
    "absolute",
    (
        Parameter("at_least", "number", "the least value that is right"),
        Parameter("at_most", "number", "the greatest value that is right"),
        Parameter("points", "int", "how many evaluations in a row must be beyond", 1,
                  range=Range(1, 100)),
        Parameter("certain", "bool", "whether the whole interval must be beyond", default=False),
    ),
    decide,
    title="a figure stays above, or below, a fixed value",
    any_of=("at_least", "at_most"),
)  # fmt: skip

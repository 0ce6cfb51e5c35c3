"""A figure stays above, or below, a fixed value."""

from __future__ import annotations

from typing import TYPE_CHECKING

from rankgate.core.declare import Parameter, Range
from rankgate.decisions.gating.rule import Outcome
from rankgate.workspace.records.alerts.kind import AlertKind, format_figure

if TYPE_CHECKING:
    from rankgate.decisions.gating.rule import Rule
    from rankgate.store.records.series import Point
    from rankgate.workspace.records.alerts.kind import WatchedSeries


def decide_absolute(rule: Rule, series: WatchedSeries) -> Outcome:
    """Fail where the last points lie beyond a bound; pass where the last one does not."""
    points = [point for point in series.points if point.value is not None]
    count = int(rule["points"])
    if not points:
        return Outcome("inconclusive", "there is no value yet")
    violations = [_find_violation(rule, point) for point in points[-count:]]
    value = format_figure(points[-1].value or 0.0)
    if len(violations) == count and all(violations):
        times = f" for {count} evaluations" if count > 1 else ""
        return Outcome("fail", f"{value} is {violations[-1]}{times}", delta=points[-1].value)
    if violations[-1]:
        return Outcome("inconclusive", f"{value} is {violations[-1]}, not yet {count} times")
    return Outcome("pass", f"{value} is within its bounds", delta=points[-1].value)


def _find_violation(rule: Rule, point: Point) -> str:
    """The bound that a point violates, as text; empty if it violates none."""
    value = point.value or 0.0
    low = high = value
    if rule["certain"]:  # the interval as a whole
        low = value if point.low is None else point.low
        high = value if point.high is None else point.high
    lower_bound, upper_bound = rule["at_least"], rule["at_most"]
    if lower_bound is not None and high < lower_bound:
        return f"below {lower_bound:g}"
    if upper_bound is not None and low > upper_bound:
        return f"above {upper_bound:g}"
    return ""


ABSOLUTE = AlertKind(
    "absolute",
    (
        Parameter("at_least", "number", "the least value that is right"),
        Parameter("at_most", "number", "the greatest value that is right"),
        Parameter(
            "points", "int", "how many evaluations in a row must be beyond", 1, range=Range(1, 100)
        ),
        Parameter("certain", "bool", "whether the whole interval must be beyond", default=False),
    ),
    decide_absolute,
    title="a figure stays above, or below, a fixed value",
    any_of=("at_least", "at_most"),
)

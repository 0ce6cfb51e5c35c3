"""A figure does not get worse than the evaluations before it."""

from __future__ import annotations

from statistics import median
from typing import TYPE_CHECKING

from rankgate.core.declare import Parameter, Range
from rankgate.decisions.gating.rule import Outcome
from rankgate.workspace.records.alerts.kind import AlertKind, figure

if TYPE_CHECKING:
    from rankgate.decisions.gating.rule import Rule
    from rankgate.store.records.series import Point
    from rankgate.workspace.records.alerts.kind import Watched


def decide(rule: Rule, seen: Watched) -> Outcome:
    """Compare the last point with the median of those before it that are comparable.

    The loss is reference - value, or value - reference where lower is better. Points before the
    last change of judgments, queries or convention are not comparable.
    """
    known = [each for each in seen.points if each.value is not None]
    if not known:
        return Outcome("inconclusive", "there is no value yet")
    last = known[-1]
    before = [each.value or 0.0 for each in known[:-1] if _inputs(each) == _inputs(last)]
    before = before[-int(rule["window"]) :]
    if len(before) < rule["least"]:
        return Outcome("inconclusive", f"{len(before)} comparable evaluations before the last one")
    reference, value = median(before), last.value or 0.0
    loss = reference - value if last.higher_is_better else value - reference
    bound = rule["margin"] if rule["margin"] is not None else rule["drop"] * abs(reference)
    words = f"{figure(value)}, the median of {len(before)} before is {figure(reference)}"
    status = "fail" if loss > bound else "pass"
    return Outcome(status, words, delta=-loss, margin=bound, n=len(before))  # type: ignore[arg-type]


def _inputs(point: Point) -> tuple[str, str, str]:
    return point.qrels_sha256, point.queries_sha256, point.convention_hash


KIND = AlertKind(
    "relative",
    (
        Parameter("drop", "number", "the largest loss that is acceptable, as a share of the "
                  "reference", range=Range(0.0)),
        Parameter("margin", "number", "the same in the metric's unit", range=Range(0.0)),
        Parameter("window", "int", "the reference is the median of so many evaluations before", 5,
                  range=Range(1, 1000)),
        Parameter("least", "int", "fewer comparable evaluations are not enough to decide", 1,
                  range=Range(1, 1000)),
    ),
    decide,
    title="a figure does not get worse than the median of the evaluations before it",
    one_of=("drop", "margin"),
)  # fmt: skip

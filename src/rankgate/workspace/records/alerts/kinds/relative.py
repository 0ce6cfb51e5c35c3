"""A figure does not get worse than the evaluations before it."""

from __future__ import annotations

from statistics import median
from typing import TYPE_CHECKING

from rankgate.core.declare import Parameter, Range
from rankgate.decisions.gating.rule import Outcome
from rankgate.workspace.records.alerts.kind import AlertKind, format_figure

if TYPE_CHECKING:
    from rankgate.decisions.gating.rule import Rule
    from rankgate.store.records.series import Point
    from rankgate.workspace.records.alerts.kind import WatchedSeries


def decide_relative(rule: Rule, series: WatchedSeries) -> Outcome:
    """Compare the last point with the median of those before it that are comparable.

    The loss is reference - value, or value - reference where lower is better. Points before the
    last change of judgments, queries or convention are not comparable.
    """
    points = [point for point in series.points if point.value is not None]
    if not points:
        return Outcome("inconclusive", "there is no value yet")
    last_point = points[-1]
    earlier_values = [
        point.value or 0.0 for point in points[:-1] if _inputs_key(point) == _inputs_key(last_point)
    ]
    earlier_values = earlier_values[-int(rule["window"]) :]
    if len(earlier_values) < rule["least"]:
        return Outcome(
            "inconclusive", f"{len(earlier_values)} comparable evaluations before the last one"
        )
    reference, value = median(earlier_values), last_point.value or 0.0
    loss = reference - value if last_point.higher_is_better else value - reference
    bound = rule["margin"] if rule["margin"] is not None else rule["drop"] * abs(reference)
    reason = (
        f"{format_figure(value)}, the median of {len(earlier_values)} before is "
        f"{format_figure(reference)}"
    )
    status = "fail" if loss > bound else "pass"
    return Outcome(status, reason, delta=-loss, margin=bound, n=len(earlier_values))  # type: ignore[arg-type]


def _inputs_key(point: Point) -> tuple[str, str, str]:
    return point.qrels_sha256, point.queries_sha256, point.convention_hash


RELATIVE = AlertKind(
    "relative",
    (
        Parameter(
            "drop",
            "number",
            "the largest loss that is acceptable, as a share of the reference",
            range=Range(0.0),
        ),
        Parameter("margin", "number", "the same in the metric's unit", range=Range(0.0)),
        Parameter(
            "window",
            "int",
            "the reference is the median of so many evaluations before",
            5,
            range=Range(1, 1000),
        ),
        Parameter(
            "least",
            "int",
            "fewer comparable evaluations are not enough to decide",
            1,
            range=Range(1, 1000),
        ),
    ),
    decide_relative,
    title="a figure does not get worse than the median of the evaluations before it",
    one_of=("drop", "margin"),
)

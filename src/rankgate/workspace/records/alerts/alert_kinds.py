"""The kinds of alerts, and the declaration of a new kind.

A kind has parameters and a function that checks a series. A new kind is one object in this module,
or an entry point of a package. These kinds require that:

- a figure stays above, or below, a fixed value (absolute),
- a figure does not change for the worse, by a change-point (change),
- a figure does not get worse than the evaluations before it (relative),
- there is a new evaluation every few days (stale),
- the last verdict of a gate is not a failure (verdict).
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import field
from datetime import datetime, timedelta
from statistics import median
from typing import TYPE_CHECKING, Any

from rankgate.core.declare import Declared, Parameter, Range, Registry, find_declared
from rankgate.core.frozen import dataclass
from rankgate.core.present.number_formats import count_noun
from rankgate.decisions.gating.rule import Outcome
from rankgate.workspace.records.history import make_history

if TYPE_CHECKING:
    import polars as pl

    from rankgate.core.value_types import JsonObject
    from rankgate.decisions.gating.rule import Rule
    from rankgate.store.records.series import Point


@dataclass(frozen=True)
class WatchedSeries:
    """A series with the data that a rule checks.

    Attributes:
        points: the points of one metric, system and slice, the oldest first.
        moment: the moment of the check.
        per_query: a function that returns the values per query of a point's record, or None.
        alert_evidence: the evidence of the open alert, if there is one.
    """

    points: Sequence[Point]
    moment: datetime
    per_query: Callable[[Point], pl.DataFrame | None]
    alert_evidence: Mapping[str, Any] = field(default_factory=dict)


@dataclass(frozen=True)
class AlertKind(Declared):
    """A kind of alert; the check uses only the declared values.

    Attributes:
        name: the name used in rules.
        title: the requirement, in a sentence.
        takes: the parameters of this kind, in addition to those of every rule.
        decide: a function from a rule and a series to the outcome; an alert is open while the rule
            fails, and closed when the rule passes.
        keep: a function to the evidence that an alert keeps from its opening on.
        one_of: parameters of which exactly one must be set.
        any_of: parameters of which one or more must be set.
    """

    takes: tuple[Parameter, ...]
    decide: Callable[[Rule, WatchedSeries], Outcome]
    keep: Callable[[Rule, WatchedSeries], JsonObject] = lambda _, __: {}
    one_of: tuple[str, ...] = ()
    any_of: tuple[str, ...] = ()

    @property
    def parameters(self) -> Mapping[str, Parameter]:
        """The kind's own parameters by name."""
        return {parameter.name: parameter for parameter in self.takes}

    def problem(self, values: JsonObject) -> str | None:
        """The problem with values that are individually valid, or None."""
        given_names = {name for name, value in values.items() if value is not None}
        if self.one_of and len(given_names.intersection(self.one_of)) != 1:
            return f"give {' or '.join(self.one_of)}, one of them."
        if self.any_of and given_names.isdisjoint(self.any_of):
            return f"give {' or '.join(self.any_of)}."
        return None


def format_figure(value: float) -> str:
    """A figure of a series, formatted for sentences."""
    return f"{value:.4f}" if abs(value) < 100 else f"{value:,.1f}"


def decide_absolute(rule: Rule, series: WatchedSeries) -> Outcome:
    """Fail if the last points are beyond a bound; pass if the last point is within the bounds."""
    points = [point for point in series.points if point.value is not None]
    count = int(rule["points"])
    if not points:
        return Outcome("inconclusive", "there is no value yet")
    violations = [_find_violation(rule, point) for point in points[-count:]]
    value = format_figure(points[-1].value or 0.0)
    if len(violations) == count and all(violations):
        times = f" for {count_noun(count, 'evaluation')}" if count > 1 else ""
        return Outcome("fail", f"{value} is {violations[-1]}{times}", delta=points[-1].value)
    if violations[-1]:
        return Outcome("inconclusive", f"{value} is {violations[-1]}, not yet {count_noun(count, 'time')}")
    return Outcome("pass", f"{value} is within its bounds", delta=points[-1].value)


def _find_violation(rule: Rule, point: Point) -> str:
    """The violated bound of a point as text; empty if the point violates no bound."""
    value = point.value or 0.0
    low = high = value
    if rule["certain"]:  # the whole interval must violate the bound
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
        Parameter("at_least", "number", "the lowest acceptable value"),
        Parameter("at_most", "number", "the highest acceptable value"),
        Parameter("points", "int", "how many evaluations in a row must be beyond", 1, range=Range(1, 100)),
        Parameter("certain", "bool", "whether the whole interval must be beyond", default=False),
    ),
    decide_absolute,
    title="a figure stays above, or below, a fixed value",
    any_of=("at_least", "at_most"),
)


_MAX_EVALUATIONS = 100  # most evaluations checked, as each has values per query


def decide_change(rule: Rule, series: WatchedSeries) -> Outcome:
    """Fail if the last change-point among comparable evaluations is a recent loss.

    Change-points are those of `rankgate history`, with its rate of false alarms.
    """
    points = [point for point in series.points if point.value is not None][-_MAX_EVALUATIONS:]
    if not points:
        return Outcome("inconclusive", "there is no value yet")
    metric_history = make_history(points, (), series.per_query, rate=rule["rate"])
    since = metric_history.breaks["at"][-1] if metric_history.breaks.height else ""
    changes = [change for change in metric_history.changes.iter_rows(named=True) if change["at"] >= since]
    if not changes:
        return Outcome("pass", f"no change in {count_noun(len(points), 'evaluation')}")
    latest = changes[-1]
    reason = (
        f"{format_figure(latest['before'])} to {format_figure(latest['after'])} on {latest['at'][:10]}, "
        f"{latest['delta']:+.4f} [{latest['low']:+.4f}, {latest['high']:+.4f}]"
    )
    is_old = series.moment - datetime.fromisoformat(latest["found_at"]) > timedelta(days=rule["days"])
    status = "fail" if latest["gain"] < -rule["least"] and not is_old else "pass"
    return Outcome(
        status,  # type: ignore[arg-type]
        reason,
        n=latest["queries"],
        delta=latest["delta"],
        low=latest["low"],
        high=latest["high"],
        margin=rule["least"],
    )


CHANGE = AlertKind(
    "change",
    (
        Parameter(
            "least", "number", "a loss up to this is acceptable, in the metric's unit", 0.0, range=Range(0.0)
        ),
        Parameter(
            "days",
            "number",
            "days after which a change is no longer reported",
            30,
            range=Range(0.0, exclusive=True),
        ),
        Parameter("rate", "number", "false alarms for each evaluation", 0.001, range=Range(1e-6, 0.1)),
    ),
    decide_change,
    title="a figure does not change for the worse, by a change-point",
)


def decide_relative(rule: Rule, series: WatchedSeries) -> Outcome:
    """Compare the last point with the median of earlier comparable points.

    The loss is reference - value, or value - reference where lower is better. Points before the
    last change of judgments, queries or convention are not comparable. See `keep_reference`.
    """
    points = [point for point in series.points if point.value is not None]
    if not points:
        return Outcome("inconclusive", "there is no value yet")
    reference = keep_reference(rule, series)
    if not reference:
        count = len(_find_earlier_values(rule, points))
        return Outcome("inconclusive", f"{count_noun(count, 'comparable evaluation')} before the last one")
    reference_value, value = float(reference["reference"]), points[-1].value or 0.0
    loss = reference_value - value if points[-1].higher_is_better else value - reference_value
    bound = rule["margin"] if rule["margin"] is not None else rule["drop"] * abs(reference_value)
    source = (
        "it was"
        if reference == series.alert_evidence.get("lasting")
        else f"the median of {reference['count']} before is"
    )
    reason = f"{format_figure(value)}, {source} {format_figure(reference_value)}"
    status = "fail" if loss > bound else "pass"
    return Outcome(status, reason, delta=-loss, margin=bound, n=reference["count"])  # type: ignore[arg-type]


def keep_reference(rule: Rule, series: WatchedSeries) -> Mapping[str, Any]:
    """The median of earlier comparable points, their number and inputs; empty if they are too few.

    An open alert keeps the reference that it was opened with, as long as the inputs are the same: a
    lasting fall would be the reference itself after a few evaluations.
    """
    points = [point for point in series.points if point.value is not None]
    if not points:
        return {}
    inputs = list(_inputs_key(points[-1]))
    lasting_reference: Mapping[str, Any] = series.alert_evidence.get("lasting") or {}
    if lasting_reference.get("inputs") == inputs:
        return lasting_reference
    earlier_values = _find_earlier_values(rule, points)
    if len(earlier_values) < rule["least"]:
        return {}
    return {"reference": median(earlier_values), "count": len(earlier_values), "inputs": inputs}


def _find_earlier_values(rule: Rule, points: Sequence[Point]) -> list[float]:
    """The values before the last point that are comparable with it, in the window of the rule."""
    last_key = _inputs_key(points[-1])
    earlier_values = [point.value or 0.0 for point in points[:-1] if _inputs_key(point) == last_key]
    return earlier_values[-int(rule["window"]) :]


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
            "least", "int", "fewer comparable evaluations are not enough to decide", 1, range=Range(1, 1000)
        ),
    ),
    decide_relative,
    keep_reference,
    title="a figure does not get worse than the median of the evaluations before it",
    one_of=("drop", "margin"),
)


def decide_stale(rule: Rule, series: WatchedSeries) -> Outcome:
    """Fail if the last evaluation is older than the limit in days, or if there is no evaluation."""
    if not series.points:
        return Outcome("fail", "there is no evaluation at all")
    days = (series.moment - series.points[-1].evaluated_at).total_seconds() / 86_400
    reason = f"the last evaluation is of {series.points[-1].evaluated_at:%Y-%m-%d}, {days:.1f} days ago"
    return Outcome("fail" if days > rule["days"] else "pass", reason, delta=days)


STALE = AlertKind(
    "stale",
    (
        Parameter(
            "days",
            "number",
            "how old the last evaluation may be",
            required=True,
            range=Range(0.0, exclusive=True),
        ),
    ),
    decide_stale,
    title="there is a new evaluation every few days",
)


def decide_verdict(rule: Rule, series: WatchedSeries) -> Outcome:
    """Fail if the last recorded verdict is a failure; optionally also if it is inconclusive."""
    verdicts = [point.verdict for point in series.points if point.verdict]
    if not verdicts:
        return Outcome("inconclusive", "there is no verdict yet")
    failing_verdicts = {"fail", "inconclusive"} if rule["inconclusive"] else {"fail"}
    reason = f"the last verdict is {verdicts[-1]}"
    return Outcome("fail" if verdicts[-1] in failing_verdicts else "pass", reason)


VERDICT = AlertKind(
    "verdict",
    (Parameter("inconclusive", "bool", "whether an inconclusive verdict counts, too", default=False),),
    decide_verdict,
    title="the last verdict of a gate is not a failure",
)


ALERTS = Registry(
    AlertKind, "kind of alert", lambda: find_declared(__name__, AlertKind), group="rankgate.alerts"
)
"""Every kind of alert, by name."""

"""A figure does not change for the worse, by a change-point."""

from __future__ import annotations

from datetime import datetime, timedelta
from typing import TYPE_CHECKING

from rankgate.core.declare import Parameter, Range
from rankgate.decisions.gating.rule import Outcome
from rankgate.workspace.records.alerts.kind import AlertKind, format_figure
from rankgate.workspace.records.follow import make_history

if TYPE_CHECKING:
    from rankgate.decisions.gating.rule import Rule
    from rankgate.workspace.records.alerts.kind import WatchedSeries

_MAX_EVALUATIONS = 100  # evaluations that are looked at, as each has a table of values per query


def decide_change(rule: Rule, series: WatchedSeries) -> Outcome:
    """Fail where the last change-point among comparable evaluations is a loss, and not too old.

    Change-points are those of `rankgate history`, with its rate of false alarms.
    """
    points = [point for point in series.points if point.value is not None][-_MAX_EVALUATIONS:]
    if not points:
        return Outcome("inconclusive", "there is no value yet")
    metric_history = make_history(points, (), series.per_query, rate=rule["rate"])
    since = metric_history.breaks["at"][-1] if metric_history.breaks.height else ""
    changes = [
        change for change in metric_history.changes.iter_rows(named=True) if change["at"] >= since
    ]
    if not changes:
        return Outcome("pass", f"no change in {len(points)} evaluations")
    latest = changes[-1]
    reason = (
        f"{format_figure(latest['before'])} to {format_figure(latest['after'])} on "
        f"{latest['at'][:10]}, "
        f"{latest['delta']:+.4f} [{latest['low']:+.4f}, {latest['high']:+.4f}]"
    )
    is_old = series.moment - datetime.fromisoformat(latest["found_at"]) > timedelta(
        days=rule["days"]
    )
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
            "least",
            "number",
            "a loss up to this is acceptable, in the metric's unit",
            0.0,
            range=Range(0.0),
        ),
        Parameter(
            "days",
            "number",
            "after so many days a change is no news",
            30,
            range=Range(0.0, exclusive=True),
        ),
        Parameter(
            "rate", "number", "false alarms for each evaluation", 0.001, range=Range(1e-6, 0.1)
        ),
    ),
    decide_change,
    title="a figure does not change for the worse, by a change-point",
)

"""There is a new evaluation every few days."""

from __future__ import annotations

from typing import TYPE_CHECKING

from rankgate.core.declare import Parameter, Range
from rankgate.decisions.gating.rule import Outcome
from rankgate.workspace.records.alerts.kind import AlertKind

if TYPE_CHECKING:
    from rankgate.decisions.gating.rule import Rule
    from rankgate.workspace.records.alerts.kind import WatchedSeries


def decide_stale(rule: Rule, series: WatchedSeries) -> Outcome:
    """Fail where the last evaluation is older than so many days, or there is none."""
    if not series.points:
        return Outcome("fail", "there is no evaluation at all")
    days = (series.moment - series.points[-1].evaluated_at).total_seconds() / 86_400
    reason = (
        f"the last evaluation is of {series.points[-1].evaluated_at:%Y-%m-%d}, {days:.1f} days ago"
    )
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

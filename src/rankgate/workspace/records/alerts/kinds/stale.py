"""There is a new evaluation every few days."""

from __future__ import annotations

from typing import TYPE_CHECKING

from rankgate.core.declare import Parameter, Range
from rankgate.decisions.gating.rule import Outcome
from rankgate.workspace.records.alerts.kind import AlertKind

if TYPE_CHECKING:
    from rankgate.decisions.gating.rule import Rule
    from rankgate.workspace.records.alerts.kind import Watched


def decide(rule: Rule, seen: Watched) -> Outcome:
    """Fail where the last evaluation is older than so many days, or there is none."""
    if not seen.points:
        return Outcome("fail", "there is no evaluation at all")
    days = (seen.moment - seen.points[-1].evaluated_at).total_seconds() / 86_400
    words = (
        f"the last evaluation is of {seen.points[-1].evaluated_at:%Y-%m-%d}, {days:.1f} days ago"
    )
    return Outcome("fail" if days > rule["days"] else "pass", words, delta=days)


KIND = AlertKind(
    "stale",
    (
        Parameter("days", "number", "how old the last evaluation may be", required=True,
                  range=Range(0.0, exclusive=True)),
    ),
    decide,
    title="there is a new evaluation every few days",
)  # fmt: skip

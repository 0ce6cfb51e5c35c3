"""The last verdict of a gate is not a failure."""

from __future__ import annotations

from typing import TYPE_CHECKING

from rankgate.core.declare import Parameter
from rankgate.decisions.gating.rule import Outcome
from rankgate.workspace.records.alerts.kind import AlertKind

if TYPE_CHECKING:
    from rankgate.decisions.gating.rule import Rule
    from rankgate.workspace.records.alerts.kind import WatchedSeries


def decide_verdict(rule: Rule, series: WatchedSeries) -> Outcome:
    """Fail where the last recorded verdict is a failure, or inconclusive if that counts too."""
    verdicts = [point.verdict for point in series.points if point.verdict]
    if not verdicts:
        return Outcome("inconclusive", "there is no verdict yet")
    failing_verdicts = {"fail", "inconclusive"} if rule["inconclusive"] else {"fail"}
    reason = f"the last verdict is {verdicts[-1]}"
    return Outcome("fail" if verdicts[-1] in failing_verdicts else "pass", reason)


VERDICT = AlertKind(
    "verdict",
    (
        Parameter(
            "inconclusive", "bool", "whether an inconclusive verdict counts, too", default=False
        ),
    ),
    decide_verdict,
    title="the last verdict of a gate is no failure",
)

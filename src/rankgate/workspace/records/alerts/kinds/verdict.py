"""The last verdict of a gate is no failure."""

from __future__ import annotations

from typing import TYPE_CHECKING

from rankgate.core.declare import Parameter
from rankgate.decisions.gating.rule import Outcome
from rankgate.workspace.records.alerts.kind import AlertKind

if TYPE_CHECKING:
    from rankgate.decisions.gating.rule import Rule
    from rankgate.workspace.records.alerts.kind import Watched


def decide(rule: Rule, seen: Watched) -> Outcome:
    """Fail where the last recorded verdict is a failure, or inconclusive if that counts too."""
    verdicts = [each.verdict for each in seen.points if each.verdict]
    if not verdicts:
        return Outcome("inconclusive", "there is no verdict yet")
    wrong = {"fail", "inconclusive"} if rule["inconclusive"] else {"fail"}
    words = f"the last verdict is {verdicts[-1]}"
    return Outcome("fail" if verdicts[-1] in wrong else "pass", words)


KIND = AlertKind(
    "verdict",
    (Parameter("inconclusive", "bool", "whether an inconclusive verdict counts, too",
               default=False),),
    decide,
    title="the last verdict of a gate is no failure",
)  # fmt: skip

"""The queries and judgments are those that a saved baseline was scored by."""

from __future__ import annotations

from typing import TYPE_CHECKING

from rankgate.core.declare import Parameter, Range
from rankgate.decisions.gating.rule import Outcome, RuleKind

if TYPE_CHECKING:
    from rankgate.decisions.gating.evidence import Drift, Evidence
    from rankgate.decisions.gating.rule import Rule


def decide(rule: Rule, evidence: Evidence) -> Outcome:
    """Pass where the baseline was not saved; else compare the drift with its limits."""
    if evidence.inputs.drift is None:
        return Outcome("pass", "both systems are scored now, by the same judgments")
    return compare_drift(rule, evidence.inputs.drift)


def compare_drift(rule: Rule, drift: Drift) -> Outcome:
    """Fail where judgments changed, or where too many queries came or went."""
    if not drift.queries and not drift.judgments:
        return Outcome("pass", f"{drift.then} queries and their judgments are as they were saved")
    is_exceeded = drift.share > rule["queries"] or (drift.judgments and rule["judgments"])
    changes = f"since the baseline was saved {drift.words}"
    if not is_exceeded:
        return Outcome("pass", f"{changes}; the policy allows it", queries=drift.queries)
    return Outcome(
        "fail", changes, "save the baseline anew by these judgments", queries=drift.queries
    )


KIND = RuleKind(
    "drift",
    (
        Parameter(
            "queries",
            "number",
            "the largest share of queries that may have come or gone",
            0.0,
            range=Range(0.0, 1.0),
        ),
        Parameter(
            "judgments",
            "bool",
            "whether other judgments of the same queries fail it",
            default=True,
        ),
    ),
    decide,
    title="queries and judgments are the same as for the saved baseline",
    without_comparison=compare_drift,
)

"""The judge that made the judgments was compared with people, and admitted."""

from __future__ import annotations

from typing import TYPE_CHECKING

from rankgate.core.declare import Parameter
from rankgate.decisions.gating.rule import Outcome, RuleKind

if TYPE_CHECKING:
    from rankgate.decisions.gating.evidence import Evidence
    from rankgate.decisions.gating.rule import Rule

_ADMIT_COMMAND = "hold the judge against people: rankgate admit PEOPLE JUDGE --format json -o {}"


def decide(rule: Rule, evidence: Evidence) -> Outcome:
    """Return the verdict of the admission, if it is about these judgments."""
    result = evidence.inputs.admissions[rule["file"]]
    next_step = _ADMIT_COMMAND.format(rule["file"])
    if result.sha256 != evidence.comparison.qrels_sha256:
        reason = (
            f"{rule['file']} is about other judgments of {result.judge} ({result.sha256[:12]}) "
            f"than these ({evidence.comparison.qrels_sha256[:12]})"
        )
        return Outcome("inconclusive", reason, next_step)
    if result.verdict == "pass":
        return Outcome("pass", f"{result.judge} was compared with people and admitted")
    if result.verdict == "fail":
        return Outcome(
            "fail",
            f"{result.judge} was compared with people and refused",
            "gate on judgments by people, or fix the judge",
        )
    return Outcome(
        "inconclusive",
        f"{result.judge} was compared with people, undecided",
        "let people judge more of the same pairs",
    )


KIND = RuleKind(
    "admitted",
    (
        Parameter(
            "file",
            "text",
            "what rankgate admit --format json wrote, next to the policy",
            required=True,
        ),
    ),
    decide,
    title="the judge behind the judgments was compared with people and admitted",
    needs=frozenset({"judgments"}),
    reads_admission=True,
)

"""Rules on judgments: an admitted judge, and the queries and judgments of a saved baseline.

The first rule requires that the judge of these judgments was compared with people, and admitted.
The second rule requires the same queries and judgments as for the saved baseline.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from rankgate.core.declare import Parameter, Range
from rankgate.core.errors import InputError, check_schema_version
from rankgate.core.frozen import dataclass
from rankgate.core.present.base_result import result_class
from rankgate.core.present.number_formats import count_noun
from rankgate.data.text.json_text import parse_json
from rankgate.decisions.gating.rule import Outcome, RuleKind

if TYPE_CHECKING:
    from rankgate.decisions.gating.rule import Drift, Evidence, Rule, RuleSources


_ADMIT_COMMAND = "compare the judge with people: rankgate admit PEOPLE JUDGE --format json -o {}"


@dataclass(frozen=True)
class Admission:
    """The admission of a judge that was compared with people (``rankgate admit``).

    Attributes:
        verdict: pass, fail or inconclusive.
        judge: the name of the judge.
        sha256: the SHA-256 of the judge's judgments.
    """

    verdict: str
    judge: str
    sha256: str


def read_admission(rule: Rule, sources: RuleSources) -> Admission:
    """Read the admission that a rule names.

    Raises:
        InputError: the file cannot be read, or is not an admission.
    """
    path = sources.folder / rule["file"]
    try:
        result: Any = parse_json(path.read_bytes(), str(path))
    except OSError as error:
        raise InputError(f"cannot be read: {error.strerror}.", source=str(path), code="cannot-read") from None
    try:
        admission = Admission(
            str(result["verdict"]), str(result["judge"]["name"]), str(result["judge"]["sha256"])
        )
    except (KeyError, TypeError):
        problem = "not an admission; write one: rankgate admit PEOPLE JUDGE --format json -o FILE."
        raise InputError(problem, source=str(path), code="wrong-document") from None
    check_schema_version(result, result_class("admission").schema_version, str(path))
    return admission


def decide_admitted(rule: Rule, evidence: Evidence) -> Outcome:
    """Return the verdict of the admission, if it is about these judgments."""
    result: Admission = evidence.inputs.by_rule[rule.id]
    next_step = _ADMIT_COMMAND.format(rule["file"])
    if result.sha256 != evidence.comparison.qrels_sha256:
        reason = (
            f"{rule['file']} is about other judgments of {result.judge} ({result.sha256[:12]}) than these "
            f"({evidence.comparison.qrels_sha256[:12]})"
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


ADMITTED_RULE = RuleKind(
    "admitted",
    (
        Parameter(
            "file", "text", "the result of rankgate admit --format json, next to the policy", required=True
        ),
    ),
    decide_admitted,
    title="the judge behind the judgments was compared with people and admitted",
    needs=frozenset({"judgments"}),
    files=("file",),
    read_input=read_admission,
)


def decide_drift(rule: Rule, evidence: Evidence) -> Outcome:
    """Pass if the baseline was not saved; else compare the drift with its limits."""
    if evidence.inputs.drift is None:
        return Outcome("pass", "both systems are scored now, by the same judgments")
    return compare_drift(rule, evidence.inputs.drift)


def compare_drift(rule: Rule, drift: Drift) -> Outcome:
    """Fail if judgments changed, or if too many queries were added or removed."""
    if not drift.queries and not drift.judgments:
        queries_text = count_noun(drift.then, "query and its", "queries and their")
        return Outcome("pass", f"{queries_text} judgments are as they were saved")
    is_exceeded = drift.share > rule["queries"] or (drift.judgments and rule["judgments"])
    changes = f"since the baseline was saved {drift.description}"
    if not is_exceeded:
        return Outcome("pass", f"{changes}; the policy allows it", queries=drift.queries)
    return Outcome("fail", changes, "save the baseline again with these judgments", queries=drift.queries)


DRIFT_RULE = RuleKind(
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
            "judgments", "bool", "true to fail if the judgments of the same queries differ", default=True
        ),
    ),
    decide_drift,
    title="queries and judgments are the same as for the saved baseline",
    without_comparison=compare_drift,
)

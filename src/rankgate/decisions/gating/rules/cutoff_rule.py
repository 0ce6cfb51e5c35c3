"""The rule on a threshold of scores: silence where there is no answer, relevant documents kept."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from rankgate.core.declare import Parameter, Range
from rankgate.decisions.cutoffs.demands import check_threshold, demand_text
from rankgate.decisions.cutoffs.scored_questions import JUDGED, ScoredQuestions
from rankgate.decisions.gating.rule import Outcome, RuleKind
from rankgate.measurement.stats.score_thresholds import Demand, Subject

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping

    from rankgate.data.run import Run
    from rankgate.decisions.gating.rule import Evidence, Rule
    from rankgate.measurement.evaluation.scored_system import Scorer
    from rankgate.measurement.stats.score_thresholds import QuestionScores

_SUBJECTS: tuple[Subject, ...] = ("silent", "kept")
_KINDS = {"silent": "questions without an answer", "kept": "questions with a relevant document"}


def read_cutoff_scores(rules: Iterable[Rule], scorer: Scorer, run: Run) -> dict[str, QuestionScores]:
    """The candidate's scores of questions, for each rule that needs them.

    Raises:
        InputError, UsageError: as `ScoredQuestions.read`.
    """
    return {
        rule.id: ScoredQuestions.read(scorer, run, rule["no_answer"], rule["rel"]).scores(
            rule["keep"], rule.slice
        )
        for rule in rules
        if rule.kind == CUTOFF_RULE.name
    }


def decide_cutoff(rule: Rule, evidence: Evidence) -> Outcome:
    """Compare shares at the threshold with their floors, by exact bounds or bounds by betting.

    Pass if all lower bounds are at least the floors, fail if an upper bound is below its floor, else
    inconclusive.
    """
    scores, terms = evidence.inputs.cutoffs[rule.id], evidence.terms
    subjects = [subject for subject in _SUBJECTS if rule[subject] is not None]
    rows = []
    for subject in subjects:
        demand = Demand(rule[subject], terms.alpha, subject == "silent" or rule["keep"] != "share")
        tests = terms.tests * len(subjects)
        rows.append(check_threshold(subject, demand, scores, rule["threshold"], tests))
    undecided = [row for row in rows if row["status"] == "inconclusive"]
    failed = [row for row in rows if row["status"] == "fail"]
    reason = "; ".join(_reason(rule, row) for row in failed or undecided or rows)
    n = min(row["n"] for row in rows)
    if failed:
        advice = "raise the threshold" if failed[0]["subject"] == "silent" else "lower the threshold"
        return Outcome("fail", reason, f"{advice}; rankgate cutoff shows what each costs", n=n)
    if undecided:
        return Outcome("inconclusive", reason, _missing_text(undecided[0]), n=n)
    return Outcome("pass", reason, n=n)


def _reason(rule: Rule, row: Mapping[str, Any]) -> str:
    demand = demand_text(row["subject"], row["floor"], rule["keep"])
    shares = (
        f"{row['share']:.1%}, at least {row['low']:.1%} and at most {row['high']:.1%}" if row["n"] else "–"
    )
    slice_label = f" for {rule.slice}" if rule.slice else ""
    return f"{demand}{slice_label}: at {rule['threshold']:g} {shares}, of {row['n']} {_KINDS[row['subject']]}"


def _missing_text(row: Mapping[str, Any]) -> str:
    kind = _KINDS[row["subject"]]
    return (
        f"judge about {row['missing']:,} more {kind}" if row["missing"] else f"change the threshold: {kind}"
    )


CUTOFF_RULE = RuleKind(
    "cutoff",
    (
        Parameter("threshold", "number", "a document is shown if its score is at least this", required=True),
        Parameter(
            "silent",
            "number",
            "the smallest share of the questions without an answer that must return nothing",
            range=Range(0.0, 1.0, exclusive=True),
        ),
        Parameter(
            "kept", "number", "the smallest share of what must be kept", range=Range(0.0, 1.0, exclusive=True)
        ),
        Parameter(
            "keep",
            "text",
            "what must be kept: the mean share of a question's relevant documents, or questions that keep "
            "one of them, or all",
            "share",
            choices=("share", "one", "all"),
        ),
        Parameter(
            "no_answer", "text", "the questions without an answer: judged, named, or TAG=VALUE", JUDGED
        ),
        Parameter("rel", "number", "the smallest grade that counts as relevant", 1.0),
    ),
    decide_cutoff,
    title="a threshold of the candidate's scores keeps what matters, and hides what has no answer",
    statistical=True,
    sliced=True,
    any_of=("silent", "kept"),
)

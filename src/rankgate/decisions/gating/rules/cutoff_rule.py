"""The rule on a threshold of scores: silence where there is no answer, relevant documents kept."""

from __future__ import annotations

from typing import TYPE_CHECKING

from rankgate.core.declare import Parameter, Range
from rankgate.decisions.cutoffs.demands import check_threshold, demand_text
from rankgate.decisions.cutoffs.scored_questions import JUDGED, ScoredQuestions
from rankgate.decisions.gating.outcome_sentences import percent
from rankgate.decisions.gating.rule import Outcome, RuleKind
from rankgate.measurement.stats.score_thresholds import Demand, Subject

if TYPE_CHECKING:
    from collections.abc import Iterable

    from rankgate.data.run import Run
    from rankgate.decisions.gating.rule import Evidence, Rule
    from rankgate.measurement.evaluation.scored_system import Scorer

_SUBJECTS: tuple[Subject, ...] = ("silent", "kept")
_KINDS = {"silent": "questions without an answer", "kept": "questions with a relevant document"}


def read_scored_questions(rules: Iterable[Rule], scorer: Scorer, run: Run) -> dict[str, ScoredQuestions]:
    """The candidate's scores of questions, for each rule that needs them.

    Raises:
        InputError, UsageError: as `ScoredQuestions.read`.
    """
    return {
        rule.id: ScoredQuestions.read(scorer, run, rule["no_answer"], rule["rel"])
        for rule in rules
        if rule.kind == CUTOFF_RULE.name
    }


def decide_cutoff(rule: Rule, evidence: Evidence) -> Outcome:
    """Compare the shares at the threshold with their floors, by exact bounds.

    Pass if all lower bounds are at least the floors, fail if an upper bound is below its floor, else
    inconclusive.
    """
    terms, threshold = evidence.terms, rule["threshold"]
    scores = evidence.inputs.cutoffs[rule.id].scores(rule["keep"], rule.slice, terms.seed)
    subjects = [subject for subject in _SUBJECTS if rule[subject] is not None]
    tests, outcomes = terms.tests * len(subjects), []
    for subject in subjects:
        row = check_threshold(subject, Demand(rule[subject], terms.alpha), scores, threshold, tests)
        shares = f"{percent(row['share'])} " if row["n"] else ""
        slice_label = f" for {rule.slice}" if rule.slice else ""
        bounds = f"(bounds {percent(row['low'], row['floor'])} and {percent(row['high'], row['floor'])})"
        reason = (
            f"{demand_text(subject, row['floor'], rule['keep'])}{slice_label}: "
            f"{shares}{bounds} at {threshold:g}, by {row['n']:,} {_KINDS[subject]}"
        )
        advice = {
            "pass": "",
            "fail": f"{'raise' if subject == 'silent' else 'lower'} the threshold (rankgate cutoff)",
            "inconclusive": f"judge about {row['missing']:,} more {_KINDS[subject]}"
            if row.get("missing")
            else "take another threshold (rankgate cutoff)",
        }[row["status"]]
        outcomes.append(Outcome(row["status"], reason, advice, n=row["n"]))
    order = ("fail", "inconclusive", "pass")
    return min(outcomes, key=lambda outcome: order.index(outcome.status))


CUTOFF_RULE = RuleKind(
    "cutoff",
    (
        Parameter("threshold", "number", "a document is shown if its score is at least this", required=True),
        *(
            Parameter(name, "number", help_, range=Range(0.0, 1.0, exclusive=True))
            for name, help_ in (
                ("silent", "the smallest share of the questions without an answer that must return nothing"),
                ("kept", "the smallest share of what must be kept"),
            )
        ),
        Parameter(
            "keep",
            "text",
            "what must be kept: the mean share of a question's relevant documents (of which one is drawn), "
            "or questions that keep one of them, or all",
            "share",
            choices=("share", "one", "all"),
        ),
        Parameter(
            "no_answer", "text", "the questions without an answer: judged, named, or TAG=VALUE", JUDGED
        ),
        Parameter("rel", "number", "the smallest grade that counts as relevant", 1.0),
    ),
    decide_cutoff,
    title="the candidate's scores can be cut off at a threshold",
    statistical=True,
    sliced=True,
    any_of=("silent", "kept"),
)

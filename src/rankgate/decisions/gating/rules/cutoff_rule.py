"""The rule on a threshold of scores: silence where there is no answer, relevant documents kept."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from rankgate.core.declare import Parameter, Range
from rankgate.decisions.cutoffs.demands import check_threshold, demand_text
from rankgate.decisions.cutoffs.scored_questions import JUDGED, ScoredQuestions
from rankgate.decisions.gating.outcome_sentences import percent
from rankgate.decisions.gating.rule import Outcome, RuleKind
from rankgate.measurement.stats.score_thresholds import Demand, Subject

if TYPE_CHECKING:
    from collections.abc import Mapping

    from rankgate.decisions.gating.rule import Evidence, Rule, RuleSources, Status

_STATUSES: tuple[Status, ...] = ("fail", "inconclusive", "pass")
_SUBJECTS: tuple[Subject, ...] = ("silent", "kept")
_KINDS = {"silent": "questions without an answer", "kept": "questions with a relevant document"}


def read_scored_questions(rule: Rule, sources: RuleSources) -> ScoredQuestions:
    """The candidate's scores of questions.

    Raises:
        InputError, UsageError: as `ScoredQuestions.read`.
    """
    assert sources.scorer is not None
    run = sources.scorer.collection.run(sources.run)
    return ScoredQuestions.read(sources.scorer, run, rule["no_answer"], rule["rel"])


def decide_cutoff(rule: Rule, evidence: Evidence) -> Outcome:
    """Compare the shares at the threshold with their floors, by exact bounds.

    Pass if all lower bounds are at least the floors, fail if an upper bound is below its floor, else
    inconclusive.
    """
    terms, threshold = evidence.terms, rule["threshold"]
    scores = evidence.inputs.by_rule[rule.id].scores(rule["keep"], rule.slice, terms.seed)
    subjects = [subject for subject in _SUBJECTS if rule[subject] is not None]
    tests = terms.tests * len(subjects)
    rows = [
        check_threshold(subject, Demand(rule[subject], terms.alpha), scores, threshold, tests)
        for subject in subjects
    ]
    status = next(name for name in _STATUSES if any(row["status"] == name for row in rows))
    rows = [row for row in rows if row["status"] == status]
    slice_label = f" for {rule.slice}" if rule.slice else ""
    reasons = [
        f"{demand_text(row['subject'], row['floor'], rule['keep'])}{slice_label}: {_figures_text(row)}"
        for row in rows
    ]
    kind, missing = _KINDS[rows[0]["subject"]], rows[0].get("missing")
    advice = {
        "pass": "",
        "fail": f"{'raise' if rows[0]['subject'] == 'silent' else 'lower'} the threshold (rankgate cutoff)",
        "inconclusive": f"judge about {missing:,} more {kind}" if missing else "take another threshold",
    }
    return Outcome(status, "; ".join(reasons), advice[status], n=min(row["n"] for row in rows))


def _figures_text(row: Mapping[str, Any]) -> str:
    kind = _KINDS[row["subject"]]
    if not row["n"]:
        return f"there are no {kind}"
    share, low, high = (percent(row[name], row["floor"]) for name in ("share", "low", "high"))
    return f"{share} (bounds {low} and {high}) at {row['threshold']:g}, by {row['n']:,} {kind}"


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
    needs=frozenset({"judgments"}),
    read_input=read_scored_questions,
)

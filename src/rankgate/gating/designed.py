"""What a gate with a sample of queries cannot decide, and what would decide."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

from rankgate.errors import UsageError
from rankgate.stats.interval import student_quantile
from rankgate.stats.represented import sample_needed

if TYPE_CHECKING:
    from rankgate.comparison.design import Design
    from rankgate.gating.evidence import Evidence
    from rankgate.gating.policy import Policy
    from rankgate.gating.rule import Rule
    from rankgate.gating.saved.baselines import Saved
    from rankgate.stats.represented import Represented


def refuse_undesigned(rules: Policy, of_lists: Sequence[str], saved: Saved | None) -> None:
    """Stop where rules or inputs do not go with a sample.

    Args:
        rules: the policy.
        of_lists: the metrics of lists that it names.
        saved: a saved baseline that a model should have judged.

    Raises:
        UsageError: what does not.
    """
    if rules["interval"] != "t":
        raise UsageError(
            f'interval = "{rules["interval"]}": with a sample of queries, intervals are those of '
            'Student\'s t; set interval = "t" in the policy.',
            code="conflicting-options",
        )
    if of_lists:
        raise UsageError(
            f"{', '.join(of_lists)}: a sample of queries is for metrics of rankings; leave out "
            "those of lists.",
            code="conflicting-options",
        )
    if saved is not None:
        raise UsageError(
            f"the saved baseline {saved.baseline.name} has values of judged queries only; give its "
            "run, so that the predicted judgments can score it.",
            code="conflicting-options",
        )


def more_people(
    found: Represented, bound: float, evidence: Evidence, design: Design, rule: Rule
) -> str:
    """How many more queries people must judge where a model has judged all of them."""
    terms, n = evidence.terms, len(found.values)
    if design.documents is not None:
        return _more_documents(found, bound, evidence, design, rule)
    every = design.size(rule["metric"], rule.slice)
    reach = student_quantile(n - 1, 1 - terms.alpha) + student_quantile(n - 1, terms.power)
    size = sample_needed(found, found.mean - bound, reach, every)
    if size is None:
        return (
            f"people's judgments of all {every:,} queries that the model judged would not show it "
            "either: let the model judge more queries"
        )
    return (
        f"let people judge about {max(1, size - n):,} more of the {every:,} queries that the model "
        "judged, drawn at random, if the difference stays"
    )


def _more_documents(
    found: Represented, bound: float, evidence: Evidence, design: Design, rule: Rule
) -> str:
    """How many more documents people must judge where a model has judged all of them."""
    terms, n, metric = evidence.terms, len(found.values), rule["metric"]
    reach = student_quantile(n - 1, 1 - terms.alpha) + student_quantile(n - 1, terms.power)
    queries = evidence.queries(metric, rule.slice)["query_id"].to_list()
    error = abs(found.mean - bound) / reach
    contrast = evidence.gained(metric)
    more = design.documents_needed(found, queries, metric, contrast, error)
    if more is None:
        return (
            f"people's judgments of all documents of these {n:,} queries would not show it either: "
            "add queries"
        )
    return (
        f"let people judge about {max(1, more):,} more documents of these {n:,} queries, drawn at "
        "random, if the difference stays"
    )

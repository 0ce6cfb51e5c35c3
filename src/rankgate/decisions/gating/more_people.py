"""How much more people must judge, where a model judged more, until a rule can decide."""

from __future__ import annotations

from typing import TYPE_CHECKING

from rankgate.measurement.stats.interval import student_quantile
from rankgate.measurement.stats.represented import sample_needed

if TYPE_CHECKING:
    from rankgate.decisions.comparison.design import Design
    from rankgate.decisions.gating.evidence import Evidence
    from rankgate.decisions.gating.rule import Rule
    from rankgate.measurement.stats.represented import Represented


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

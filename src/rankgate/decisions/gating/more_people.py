"""Human judgments that a rule still needs where a model has judged more."""

from __future__ import annotations

from typing import TYPE_CHECKING

from rankgate.measurement.stats.interval import student_quantile
from rankgate.measurement.stats.represented import sample_size_needed

if TYPE_CHECKING:
    from rankgate.decisions.comparison.design import Design
    from rankgate.decisions.gating.evidence import Evidence
    from rankgate.decisions.gating.rule import Rule
    from rankgate.measurement.stats.represented import PopulationEstimate


def advise_more_queries(
    estimate: PopulationEstimate, bound: float, evidence: Evidence, design: Design, rule: Rule
) -> str:
    """Advise on further queries for people to judge where a model has judged all of them."""
    terms, n = evidence.terms, len(estimate.values)
    if design.documents is not None:
        return _advise_more_documents(estimate, bound, evidence, design, rule)
    count = design.size(rule["metric"], rule.slice)
    quantile_sum = student_quantile(n - 1, 1 - terms.alpha) + student_quantile(n - 1, terms.power)
    size = sample_size_needed(estimate, estimate.mean - bound, quantile_sum, count)
    if size is None:
        return (
            f"people's judgments of all {count:,} queries that the model judged would not show it "
            "either: let the model judge more queries"
        )
    return (
        f"let people judge about {max(1, size - n):,} more of the {count:,} queries that the model "
        "judged, drawn at random, if the difference stays"
    )


def _advise_more_documents(
    estimate: PopulationEstimate, bound: float, evidence: Evidence, design: Design, rule: Rule
) -> str:
    """Advise on further documents for people to judge where a model has judged all of them."""
    terms, n, metric = evidence.terms, len(estimate.values), rule["metric"]
    quantile_sum = student_quantile(n - 1, 1 - terms.alpha) + student_quantile(n - 1, terms.power)
    queries = evidence.queries(metric, rule.slice)["query_id"].to_list()
    error = abs(estimate.mean - bound) / quantile_sum
    contrast = evidence.gained(metric)
    more = design.documents_needed(estimate, queries, metric, contrast, error)
    if more is None:
        return (
            f"people's judgments of all documents of these {n:,} queries would not show it either: "
            "add queries"
        )
    return (
        f"let people judge about {max(1, more):,} more documents of these {n:,} queries, drawn at "
        "random, if the difference stays"
    )

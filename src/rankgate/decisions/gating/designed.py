"""Inference of a gate from a sample of queries, and its limits."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING

import numpy as np

from rankgate.decisions.comparison.design import traffic_sampling_advice
from rankgate.decisions.gating.rules import RULES
from rankgate.measurement.stats.planning.power import queries_for_power
from rankgate.measurement.stats.represented import unseen_weight

if TYPE_CHECKING:
    from rankgate.decisions.comparison.design import Design
    from rankgate.decisions.gating.evidence import Evidence, Terms
    from rankgate.decisions.gating.rule import Rule


def weighed_terms(rule: Rule, evidence: Evidence, design: Design) -> Terms:
    """The terms for queries of unequal weights: degrees of freedom, or why nothing is decided."""
    terms, metric = evidence.terms, rule["metric"]
    queries = evidence.queries(metric, rule.slice)["query_id"].to_list()
    if len(queries) < terms.least:
        return terms
    tag_value = evidence.slice_of(rule.slice)
    weighing = design.weighing(queries, tag_value)
    if weighing.equal:
        return terms
    kind = RULES[rule.kind]
    contrast = evidence.gained(metric) if kind.limits else (lambda _, candidate: candidate)
    estimate = evidence.represented(metric, rule.slice, contrast)
    distance = rule.get(kind.difference) if kind.difference else None
    count = queries_for_power(
        distance or estimate.mean, estimate.sd, terms.alpha, terms.power, sides=1
    )
    weights = design.weights(queries, tag_value)
    unseen = None if weights is None else unseen_weight(weights, terms.alpha)
    return replace(
        terms,
        degrees=weighing.degrees,
        unseen=unseen,
        undecided=weighing.problem(estimate),
        advice=traffic_sampling_advice(count),
    )


def clustered_terms(rule: Rule, evidence: Evidence) -> Terms:
    """The terms for clusters of queries of unequal sizes."""
    terms, metric = evidence.terms, rule["metric"]
    if (metric, rule.slice) in evidence.inputs.wholes:
        return terms
    table = evidence.queries(metric, rule.slice)
    units = evidence.units(table)
    if units is None or units.equal or len(units.first) < terms.least:
        return terms
    if terms.interval == "guaranteed":
        return replace(terms, sizes=units.sizes.astype(np.float64))
    column = "gain" if RULES[rule.kind].limits else "candidate"
    return replace(
        terms,
        degrees=units.weighing.degrees,
        undecided=units.problem(table[column].to_numpy()),
        unseen=unseen_weight(units.sizes.astype(np.float64), terms.alpha),
        advice="leave out copies of queries, or add queries of other clusters",
    )

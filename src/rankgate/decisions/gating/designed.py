"""How a gate infers from a sample of queries, and what it cannot decide with one."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from typing import TYPE_CHECKING

import numpy as np

from rankgate.core.errors import UsageError
from rankgate.decisions.comparison.design import draw_by_weight
from rankgate.decisions.gating.rules import RULES
from rankgate.measurement.stats.planning.power import needed
from rankgate.measurement.stats.represented import unseen_weight

if TYPE_CHECKING:
    from rankgate.decisions.comparison.design import Design
    from rankgate.decisions.gating.evidence import Evidence, Terms
    from rankgate.decisions.gating.policy import Policy
    from rankgate.decisions.gating.rule import Rule
    from rankgate.decisions.gating.saved.baselines import Saved


def weighed_terms(rule: Rule, evidence: Evidence, design: Design) -> Terms:
    """How a rule infers from queries of unequal weights: degrees of freedom, or why not at all."""
    terms, metric = evidence.terms, rule["metric"]
    queries = evidence.queries(metric, rule.slice)["query_id"].to_list()
    if len(queries) < terms.least:
        return terms
    part = evidence.slice_of(rule.slice)
    weighing = design.weighing(queries, part)
    if weighing.equal:
        return terms
    kind = RULES[rule.kind]
    contrast = evidence.gained(metric) if kind.limits else (lambda _, candidate: candidate)
    estimate = evidence.represented(metric, rule.slice, contrast)
    distance = rule.get(kind.difference) if kind.difference else None
    count = needed(distance or estimate.mean, estimate.sd, terms.alpha, terms.power, sides=1)
    weights = design.weights(queries, part)
    unseen = None if weights is None else unseen_weight(weights, terms.alpha)
    return replace(
        terms, degrees=weighing.degrees, unseen=unseen, undecided=weighing.problem(estimate),
        advice=draw_by_weight(count),
    )  # fmt: skip


def clustered_terms(rule: Rule, evidence: Evidence) -> Terms:
    """How a rule infers from clusters of queries of unequal sizes."""
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
        terms, degrees=units.weighing.degrees, undecided=units.problem(table[column].to_numpy()),
        unseen=unseen_weight(units.sizes.astype(np.float64), terms.alpha),
        advice="leave out copies of queries, or add queries of other clusters",
    )  # fmt: skip


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

"""A KPI of an experiment does not lose more than a margin."""

from __future__ import annotations

from typing import TYPE_CHECKING

from rankgate.core.declare import Parameter, Range
from rankgate.decisions.gating.kpi_words import (
    BETTER,
    KPI,
    decide_kpi,
    kpi_problem,
    undecided_without_users,
)
from rankgate.decisions.gating.rule import RuleKind

if TYPE_CHECKING:
    from rankgate.decisions.gating.kpi_evidence import KpiEvidence
    from rankgate.decisions.gating.rule import Outcome, Rule


def decide(rule: Rule, evidence: KpiEvidence) -> Outcome:
    """Pass where the interval lies above −margin, fail where below, else inconclusive."""
    relative = rule["relative"] is not None
    margin = rule["relative"] if relative else rule["margin"]
    return decide_kpi(rule, evidence, -margin, relative=relative)


KIND = RuleKind(
    "kpi_noninferiority",
    (
        KPI,
        Parameter(
            "margin",
            "number",
            "the largest loss that is acceptable, in the KPI's unit",
            range=Range(0.0),
        ),
        Parameter(
            "relative",
            "number",
            "the same as a share of the control's value",
            range=Range(0.0, 1.0),
        ),
        BETTER,
    ),
    undecided_without_users,
    title="a KPI does not lose more than a margin",
    one_of=("margin", "relative"),
    check=kpi_problem,
    of_experiment=decide,
)

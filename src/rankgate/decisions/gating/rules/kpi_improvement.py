"""A KPI of an experiment gets better."""

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
    """Pass where the interval lies above the required gain, fail where below."""
    return decide_kpi(rule, evidence, rule["relative"], relative=True)


KIND = RuleKind(
    "kpi_improvement",
    (
        KPI,
        Parameter(
            "relative",
            "number",
            "the gain that must be exceeded, as a share of the control's value",
            0.0,
            range=Range(0.0),
        ),
        BETTER,
    ),
    undecided_without_users,
    title="a KPI gets better",
    check=kpi_problem,
    of_experiment=decide,
)

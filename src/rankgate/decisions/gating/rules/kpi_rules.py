"""Rules on KPIs of an experiment: non-inferiority and improvement.

The rules require that a KPI does not lose more than a margin, or that it improves.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from rankgate.core.declare import Parameter, Range
from rankgate.decisions.gating.outcome_sentences import (
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


def decide_kpi_noninferiority(rule: Rule, evidence: KpiEvidence) -> Outcome:
    """Pass if the interval is above −margin, fail if below, else inconclusive."""
    relative = rule["relative"] is not None
    margin = rule["relative"] if relative else rule["margin"]
    return decide_kpi(rule, evidence, -margin, relative=relative)


KPI_NONINFERIORITY_RULE = RuleKind(
    "kpi_noninferiority",
    (
        KPI,
        Parameter(
            "margin", "number", "the largest loss that is acceptable, in the KPI's unit", range=Range(0.0)
        ),
        Parameter("relative", "number", "the same as a share of the control's value", range=Range(0.0, 1.0)),
        BETTER,
    ),
    undecided_without_users,
    title="a KPI does not lose more than a margin",
    one_of=("margin", "relative"),
    check=kpi_problem,
    of_experiment=decide_kpi_noninferiority,
)


def decide_kpi_improvement(rule: Rule, evidence: KpiEvidence) -> Outcome:
    """Pass if the interval is above the required gain, fail if below."""
    return decide_kpi(rule, evidence, rule["relative"], relative=True)


KPI_IMPROVEMENT_RULE = RuleKind(
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
    of_experiment=decide_kpi_improvement,
)

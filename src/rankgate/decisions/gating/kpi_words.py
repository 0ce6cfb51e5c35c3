"""Outcomes of rules on KPIs with their sentences, and common parts of such rules."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

import numpy as np

from rankgate.core.declare import Parameter
from rankgate.core.errors import UsageError
from rankgate.decisions.gating.rule import Outcome

if TYPE_CHECKING:
    from rankgate.decisions.gating.evidence import Evidence
    from rankgate.decisions.gating.kpi_evidence import KpiEvidence
    from rankgate.decisions.gating.rule import Rule

KPI = Parameter("kpi", "text", "the KPI, such as search_ctr", required=True)
BETTER = Parameter(
    "better",
    "text",
    "the direction in which it is better; that of the catalogue without it",
    choices=("up", "down"),
)


def undecided_without_users(rule: Rule, evidence: Evidence) -> Outcome:  # noqa: ARG001 - the signature of rules
    """The outcome of a rule on a KPI in a gate, which has no users."""
    return Outcome("inconclusive", "it is about users of an experiment", "rankgate online watch")


def kpi_problem(values: Mapping[str, Any]) -> tuple[str, str] | None:
    """The problem of the rule's KPI: an unknown name, or no direction."""
    from rankgate.online.indicators.catalogue import KPIS

    try:
        kpi = KPIS.named(values["kpi"])
    except UsageError as error:
        return error.problem, "kpi"
    if not kpi.better and not values["better"]:
        return f"{kpi.name} is not better in one direction; say better.", "better"
    return None


def decide_kpi(rule: Rule, evidence: KpiEvidence, bound: float, *, relative: bool) -> Outcome:
    """Compare the gain of the rule's KPI with a bound.

    Args:
        rule: on a KPI.
        evidence: the experiment.
        bound: the gain that must be exceeded; below 0 it is a loss that is acceptable.
        relative: True for a gain that is a share of the control's value.
    """
    from rankgate.decisions.gating.kpi_check import check_kpi, measure_of_rule
    from rankgate.online.experiments.document import format_figure

    measure = measure_of_rule(rule)
    if reason := evidence.problem(measure):
        return Outcome(
            "inconclusive",
            f"{measure.name}: {reason}",
            "mend the experiment or its log",
            margin=abs(bound),
        )
    rows = evidence.units.of(measure)["variant"].value_counts()
    counts = dict(rows.iter_rows())
    if min(counts.get(evidence.control, 0), counts.get(evidence.treatment, 0)) < 2:
        return Outcome(
            "inconclusive",
            f"{measure.name} is null: an arm has no values of it",
            "wait for users, or log what it is made of",
            margin=abs(bound),
        )
    kpi_check = check_kpi(evidence, measure, bound, relative=relative)
    if not np.isfinite(kpi_check.low):
        return Outcome(
            "inconclusive",
            f"{measure.name} has too few values for an interval",
            "wait for more users",
            margin=abs(bound),
        )
    lower = measure.better == "down"
    difference, low, high = (
        (-kpi_check.gain, -kpi_check.high, -kpi_check.low)
        if lower
        else (kpi_check.gain, kpi_check.low, kpi_check.high)
    )
    delta_text, low_text, high_text = (
        f"{value:+.2%}" if relative else f"{value:+.4g}" for value in (difference, low, high)
    )
    interval = f"[{low_text}, {high_text}] ({1 - 2 * evidence.alpha:.2%} interval)".replace(
        "inf%", "∞"
    )
    less = ", less is better" if lower else ""
    control, treatment = (
        format_figure(arm_value, "", measure.name)
        for arm_value in (kpi_check.effect.control, kpi_check.effect.treatment)
    )
    bound_text = f"{abs(bound):.2%}" if relative else f"{abs(bound):g}"
    conclusions = {
        "pass": f"a loss of more than {bound_text} is excluded"
        if bound < 0
        else f"a gain of more than {bound_text} is shown",
        "fail": f"it loses more than the {bound_text} that is acceptable"
        if bound < 0
        else f"it does not gain {bound_text}",
        "inconclusive": f"a loss of {bound_text} is not excluded yet"
        if bound < 0
        else f"a gain of {bound_text} is not shown yet",
    }
    next_steps = {"pass": "", "fail": "stop the ramp", "inconclusive": "wait for more users"}
    return Outcome(
        kpi_check.status,
        f"{measure.name} {control} → {treatment}: {delta_text} {interval}{less}; "
        f"{conclusions[kpi_check.status]}",
        next_steps[kpi_check.status],
        n=kpi_check.effect.n,
        delta=difference,
        low=low if np.isfinite(low) else None,
        high=high if np.isfinite(high) else None,
        margin=abs(bound),
        mde=kpi_check.mde if np.isfinite(kpi_check.mde) else None,
    )

"""Outcomes of rules on KPIs, with their sentences; and what such rules have in common."""

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
    "better", "text", "the direction in which it is better; that of the catalogue without it",
    choices=("up", "down"),
)  # fmt: skip


def of_users(rule: Rule, evidence: Evidence) -> Outcome:  # noqa: ARG001 - as rules are called
    """What a gate without users makes of a rule on a KPI."""
    return Outcome("inconclusive", "it is about users of an experiment", "rankgate online watch")


def problem(values: Mapping[str, Any]) -> tuple[str, str] | None:
    """What is wrong with the KPI: none has the name, or a direction."""
    from rankgate.online.indicators.catalogue import KPIS

    try:
        kpi = KPIS.named(values["kpi"])
    except UsageError as error:
        return error.problem, "kpi"
    if not kpi.better and not values["better"]:
        return f"{kpi.name} is not better in one direction; say better.", "better"
    return None


def decided(rule: Rule, evidence: KpiEvidence, bound: float, *, relative: bool) -> Outcome:
    """Compare the gain of the rule's KPI with a bound.

    Args:
        rule: on a KPI.
        evidence: the experiment.
        bound: the gain that must be exceeded; below 0 it is a loss that is acceptable.
        relative: whether it is a share of the control's value.
    """
    from rankgate.decisions.gating.kpi_check import check, measure_of
    from rankgate.online.experiments.document import figure

    measure = measure_of(rule)
    if why := evidence.problem(measure):
        return Outcome("inconclusive", f"{measure.name}: {why}", "mend the experiment or its log",
                       margin=abs(bound))  # fmt: skip
    rows = evidence.units.of(measure)["variant"].value_counts()
    counts = dict(rows.iter_rows())
    if min(counts.get(evidence.control, 0), counts.get(evidence.treatment, 0)) < 2:
        return Outcome("inconclusive", f"{measure.name} is null: an arm has no values of it",
                       "wait for users, or log what it is made of", margin=abs(bound))  # fmt: skip
    found = check(evidence, measure, bound, relative=relative)
    if not np.isfinite(found.low):
        return Outcome("inconclusive", f"{measure.name} has too few values for an interval",
                       "wait for more users", margin=abs(bound))  # fmt: skip
    lower = measure.better == "down"
    difference, low, high = (
        (-found.gain, -found.high, -found.low) if lower else (found.gain, found.low, found.high)
    )
    shown, first, last = (f"{value:+.2%}" if relative else f"{value:+.4g}"
                          for value in (difference, low, high))  # fmt: skip
    interval = f"[{first}, {last}] ({1 - 2 * evidence.alpha:.2%} interval)".replace("inf%", "∞")
    less = ", less is better" if lower else ""
    control, treatment = (
        figure(each, "", measure.name) for each in (found.effect.control, found.effect.treatment)
    )
    wanted = f"{abs(bound):.2%}" if relative else f"{abs(bound):g}"
    words = {
        "pass": f"a loss of more than {wanted} is excluded" if bound < 0
        else f"a gain of more than {wanted} is shown",
        "fail": f"it loses more than the {wanted} that is acceptable" if bound < 0
        else f"it does not gain {wanted}",
        "inconclusive": f"a loss of {wanted} is not excluded yet" if bound < 0
        else f"a gain of {wanted} is not shown yet",
    }  # fmt: skip
    after = {"pass": "", "fail": "stop the ramp", "inconclusive": "wait for more users"}
    return Outcome(
        found.status,
        f"{measure.name} {control} → {treatment}: {shown} {interval}{less}; "
        f"{words[found.status]}",
        after[found.status], n=found.effect.n, delta=difference,
        low=low if np.isfinite(low) else None, high=high if np.isfinite(high) else None,
        margin=abs(bound), mde=found.mde if np.isfinite(found.mde) else None,
    )  # fmt: skip

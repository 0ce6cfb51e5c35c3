"""One step of a ramp: its units, its faults, and the outcomes of the rules on KPIs."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from datetime import date
from typing import TYPE_CHECKING, Any

from rankgate.core.errors import InputError
from rankgate.core.frozen import dataclass
from rankgate.decisions.gating.kpi_check import measure_of_rule
from rankgate.decisions.gating.kpi_evidence import KpiEvidence
from rankgate.decisions.gating.policy_experiment import PolicyExperiment, experiment_from
from rankgate.decisions.gating.rules import RULES
from rankgate.decisions.gating.verdict import RuleResult
from rankgate.online.experiments.ab import analyse_experiment
from rankgate.online.experiments.analysis import ArmComparison
from rankgate.online.experiments.estimate import ComparisonMethod
from rankgate.online.experiments.unit_events import read_units_from_events

if TYPE_CHECKING:
    from rankgate.decisions.gating.policy import Policy
    from rankgate.decisions.gating.rule import Rule, Status
    from rankgate.online.experiments.experiment import Experiment
    from rankgate.online.experiments.measure import Measure
    from rankgate.online.indicators.built import KpiTables


@dataclass(frozen=True)
class RampStep:
    """A step of a ramp that has begun.

    Attributes:
        place: its position in the ramp, from 0.
        share: of the treatment.
        since: its first day; None for that of the log.
        until: its last day so far.
        values: the keys of the step in the policy.
        last: True if it is the last step of the ramp.
    """

    place: int
    share: float
    since: date | None
    until: date
    values: Mapping[str, Any]
    last: bool


@dataclass(frozen=True)
class StepResult:
    """The result of a step that has ended or is under way.

    Attributes:
        status: pass, fail or inconclusive.
        why: the reason, in a few words.
        rules: with their outcomes.
        experiment: its figures.
        units: of the treatment.
    """

    status: Status
    why: str
    rules: tuple[RuleResult, ...]
    experiment: Experiment
    units: int


def experiment_of(policy: Policy) -> PolicyExperiment:
    """The experiment of a policy that is watched.

    Raises:
        InputError: it has none, or no rules on KPIs.
    """
    if not policy.experiment or not kpi_rules(policy):
        missing = "rules on KPIs" if policy.experiment else "an [experiment]"
        problem = f"to watch it the policy needs {missing}; see rankgate policy."
        raise InputError(problem, source=policy.source, code="invalid-policy")
    return experiment_from(policy.experiment)


def kpi_rules(policy: Policy) -> tuple[Rule, ...]:
    """The rules on KPIs of a policy."""
    return tuple(rule for rule in policy.rules if RULES[rule.kind].of_experiment is not None)


def measures_of(policy: Policy) -> tuple[Measure, ...]:
    """The KPIs of these rules, each once."""
    return tuple({rule["kpi"]: measure_of_rule(rule) for rule in kpi_rules(policy)}.values())


def decide_step(
    built: KpiTables, policy: Policy, step: RampStep, alpha: float, kpi_problems: Mapping[str, str]
) -> StepResult:
    """Decide a step.

    Args:
        built: the tables of the log.
        policy: the demands.
        step: the step that has begun.
        alpha: the allowed probability of a false pass of the step.
        kpi_problems: by KPI the reason why the log cannot show it.
    """
    rules = kpi_rules(policy)
    experiment = experiment_of(policy)
    design, test = experiment.design, experiment.test
    measures = measures_of(policy)
    units = read_units_from_events(
        built,
        measures,
        design.unit,
        start=step.since,
        end=step.until,
        covariates=design.cuped,
    )
    control, treatment = experiment.arms
    planned_shares = {control: 1 - step.share, treatment: step.share}
    extra_arms = sorted(set(units.counts) - set(planned_shares))
    margins = {
        rule["kpi"]: rule["relative"]
        for rule in rules
        if rule.kind == "kpi_noninferiority" and rule["relative"] is not None
    }
    method = ComparisonMethod(1 - alpha, test.relative, test.looks)
    arms = ArmComparison(
        control, (treatment,), measures, method, margins, power=policy["power"], why=kpi_problems
    )
    settings = {
        "level": 1 - alpha,
        "power": policy["power"],
        "correction": test.correction,
        "sequential": test.sequential,
        "relative": test.relative,
        "tuned_to": test.tuned_to,
        "prior": test.prior,
        "cuped": design.cuped,
        "source": units.source,
    }
    compared_units = units if not extra_arms else units.among(_is_planned_arm(planned_shares))
    result = analyse_experiment(
        compared_units, planned_shares, arms, design.unit, settings, crossed=design.crossed
    )
    invalid = "; ".join(notice.text for notice in result.blocking)
    blocking = [rule for rule in rules if rule.tier == "block"]
    evidence = KpiEvidence(
        compared_units,
        control,
        treatment,
        alpha,
        max(1, len(blocking)),
        policy["power"],
        test.tuned_to,
        kpi_problems,
        invalid,
    )
    results = tuple(
        RuleResult(rule, RULES[rule.kind].of_experiment(rule, evidence))  # type: ignore[misc]
        for rule in rules
    )
    count = compared_units.counts.get(treatment, 0)
    status, reason = _status(results, step, count, invalid=invalid)
    return StepResult(status, reason, results, result, count)


def _is_planned_arm(planned_shares: Mapping[str, float]) -> Any:  # noqa: ANN401 - an expression of Polars
    import polars as pl

    return pl.col("variant").is_in(list(planned_shares))


def _status(
    results: Sequence[RuleResult], step: RampStep, units: int, *, invalid: str
) -> tuple[Status, str]:
    """Fail if a blocking rule failed; pass if those that must pass did, after enough days."""
    by_id = {result.rule.id: result for result in results}
    blocking = {name for name, result in by_id.items() if result.rule.tier == "block"}
    failed = sorted(name for name in blocking if by_id[name].outcome.status == "fail")
    if failed:
        return "fail", f"failed: {', '.join(failed)}"
    if invalid:
        return "inconclusive", "the experiment is not valid"
    return _pending_status(by_id, blocking, step, units)


def _pending_status(
    by_id: Mapping[str, RuleResult], blocking: set[str], step: RampStep, units: int
) -> tuple[Status, str]:
    """The status of a step in which no rule failed, and the reason."""
    required_rules = set(step.values["passes"]) or (blocking if step.last else set())
    not_passed = sorted(name for name in required_rules if by_id[name].outcome.status != "pass")
    if not_passed:
        return "inconclusive", f"not passed yet: {', '.join(not_passed)}"
    null = sorted(name for name in blocking if by_id[name].outcome.n is None)
    if null:
        return "inconclusive", f"no figures for {', '.join(null)}"
    days = (step.until - step.since).days + 1 if step.since else 0
    if step.since and days < step.values["days"]:
        return "inconclusive", f"day {days} of {step.values['days']}"
    if units < step.values["units"]:
        return "inconclusive", f"{units:,} of {step.values['units']:,} units"
    return "pass", "no rule failed" if not required_rules else "passed"

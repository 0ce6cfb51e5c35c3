"""Steps of a ramp, and the stages before it.

A stage before a ramp has a result and a share of the error budget. A step of a ramp has units,
faults, and the outcomes of the rules on KPIs.
"""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from datetime import date
from typing import TYPE_CHECKING, Any

from rankgate.core.errors import InputError, check_schema_version
from rankgate.core.frozen import dataclass
from rankgate.core.present.base_result import result_class
from rankgate.core.present.number_formats import count_noun
from rankgate.decisions.gating.kpi_check import measure_of_rule
from rankgate.decisions.gating.kpi_evidence import KpiEvidence
from rankgate.decisions.gating.policy_experiment import PolicyExperiment, experiment_from
from rankgate.decisions.gating.policy_settings import STAGES
from rankgate.decisions.gating.rules import RULES
from rankgate.decisions.gating.verdict import RuleResult
from rankgate.online.experiments.analyse_experiment import ArmComparison
from rankgate.online.experiments.common_days import compare_on_common_days
from rankgate.online.experiments.compare_arms import analyse_experiment
from rankgate.online.experiments.estimate_effects import ComparisonMethod
from rankgate.online.experiments.units import read_units_from_events

if TYPE_CHECKING:
    from rankgate.decisions.gating.policy import Policy
    from rankgate.decisions.gating.rule import Rule, Status
    from rankgate.online.experiments.experiment_result import Experiment
    from rankgate.online.experiments.units import Measure
    from rankgate.online.indicators.search_tables import KpiTables


_NO_RESULT = "no result; name its JSON in [earlier]"


@dataclass(frozen=True)
class EarlierStage:
    """One stage of a launch.

    Attributes:
        name: gate, replay, interleaving or ramp.
        alpha: the share of the error budget that it may spend.
        status: pass, fail or inconclusive; None if the stage is not part of the launch.
        source: the file of its result, or the reason why it is inconclusive.
    """

    name: str
    alpha: float
    status: Status | None
    source: str


def read_earlier_stages(policy: Policy) -> tuple[EarlierStage, ...]:
    """The stages before the ramp, from the files that the policy names.

    A stage is inconclusive if the policy declares it without a result, or if its result is missing,
    is of another policy, or has a lower level than the budget requires. The two-sided interval of a
    replay or of interleaving must have a level of 1 − 2 alpha or more: the stage passes if the
    interval is above the margin, and fails if it is below.

    Raises:
        InputError: a file that is not JSON of the stage's result.
    """
    stages = []
    for name in STAGES[:-1]:
        alpha = policy.budget.get(name, policy["alpha"])
        if name in policy.earlier:
            stages.append(EarlierStage(name, alpha, *_read_result(policy, name, alpha)))
        elif name in policy.stages:
            stages.append(EarlierStage(name, alpha, "inconclusive", _NO_RESULT))
        else:
            stages.append(EarlierStage(name, alpha, None, ""))
    return tuple(stages)


def _read_result(policy: Policy, name: str, alpha: float) -> tuple[Status, str]:
    file_name = policy.earlier[name]
    path = policy.folder / file_name
    if not path.is_file():
        return "inconclusive", f"{file_name} is not there yet"
    try:
        values = json.loads(path.read_text(encoding="utf-8"))
        check_schema_version(values, result_class(values["kind"]).schema_version, str(path))
        status, details = _policy_status(values, policy, name, alpha)
    except (ValueError, KeyError, TypeError, AttributeError, OSError):
        problem = f"not the JSON of a result of the {name}; write it with --format json."
        raise InputError(problem, source=str(path), code="invalid-result") from None
    return status, f"{file_name}{details}"


def _policy_status(values: Mapping[str, Any], policy: Policy, name: str, alpha: float) -> tuple[Status, str]:
    if values.get("kind") in _INTERVAL_READERS:
        if values["level"] < 1 - 2 * alpha - 1e-9:
            needed = f"{1 - 2 * alpha:.4f}".rstrip("0")
            return "inconclusive", f" has the level {values['level']:g}; ask for --level {needed}"
        ends = _INTERVAL_READERS[values["kind"]](values, policy)
        return _compare_with_margin(ends, policy.earlier[f"{name}_margin"])
    status: Status = {"pass": "pass", "fail": "fail", "inconclusive": "inconclusive"}[values["verdict"]]  # type: ignore[assignment]
    digest = values.get("sha256") or (values.get("hashes") or {}).get("policy")
    if digest and digest != policy.sha256:
        return "inconclusive", " belongs to another policy, or to an earlier version of this one"
    return status, ""


def _compare_with_margin(ends: tuple[float, float] | None, margin: float) -> tuple[Status, str]:
    if ends is None:
        return "inconclusive", " allows no conclusion"
    low, high = ends
    ends_text = f": {low:+.2%} to {high:+.2%}"
    return ("pass" if low > -margin else "fail" if high < -margin else "inconclusive"), ends_text


def _preference_interval(values: Mapping[str, Any], policy: Policy) -> tuple[float, float] | None:
    """The interval of the preference for the treatment; None if the log is not valid.

    For methods with equal mean credits under no preference, this is the interval of credits.
    """
    control, treatment = experiment_of(policy).arms
    unbalanced = values["p_teams"] is not None and values["p_teams"] < 0.001
    for pair in values["pairs"]:
        if {pair["one"], pair["other"]} != {control, treatment} or unbalanced:
            continue
        names = ("low", "high") if values["test"] == "sign" else ("credit_low", "credit_high")
        low, high = (pair[name] for name in names)
        if low is None or high is None:
            return None
        return (low, high) if pair["other"] == treatment else (-high, -low)
    if unbalanced:
        return None
    raise KeyError(treatment)


def _reward_interval(values: Mapping[str, Any], policy: Policy) -> tuple[float, float] | None:  # noqa: ARG001 - as `_preference_interval`
    """The interval of the relative gain of reward; None if the log gives no estimate."""
    for row in values["estimates"]:
        if row["estimator"] == values["estimator"] and values["logged"]:
            if row["delta_low"] is None:
                return None
            return row["delta_low"] / values["logged"], row["delta_high"] / values["logged"]
    return None


def _replay_interval(values: Mapping[str, Any], policy: Policy) -> tuple[float, float] | None:  # noqa: ARG001 - as `_preference_interval`
    """The interval of the relative gain of DCG, which cannot fall if users are satisfied sooner."""
    for row in values["measures"]:
        if row["measure"] == "dcg" and row["logged"]:
            return row["delta_low"] / row["logged"], row["delta_high"] / row["logged"]
    return None


_INTERVAL_READERS = {
    "preference": _preference_interval,
    "off_policy_estimate": _reward_interval,
    "counterfactual_replay": _replay_interval,
}
"""The reader of the interval, by kind of result."""


@dataclass(frozen=True)
class RampStep:
    """A step of a ramp that has begun.

    Attributes:
        place: its position in the ramp, from 0.
        share: the share of the treatment.
        since: the first day of the step; None for the first day of the log.
        until: the last day of the step so far.
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
        rules: the rules with their outcomes.
        experiment: the figures of the experiment.
        units: the units of the treatment.
    """

    status: Status
    why: str
    rules: tuple[RuleResult, ...]
    experiment: Experiment
    units: int


def experiment_of(policy: Policy) -> PolicyExperiment:
    """The experiment of a watched policy.

    Raises:
        InputError: the policy has no experiment, or no rules on KPIs.
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
    """The KPIs of these rules, without duplicates."""
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
        kpi_problems: by KPI, the reason why the log has no figures of the KPI.
    """
    rules = kpi_rules(policy)
    experiment = experiment_of(policy)
    design, test = experiment.design, experiment.test
    measures = measures_of(policy)
    units = read_units_from_events(
        built, measures, design.unit, start=step.since, end=step.until, covariates=design.cuped
    )
    control, treatment = experiment.arms
    planned_shares = {control: 1 - step.share, treatment: step.share}
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
    planned_units = units.on_arms(_is_planned_arm(planned_shares))
    compared_units, day_findings = compare_on_common_days(planned_units, planned_shares)
    result = analyse_experiment(
        compared_units,
        planned_shares,
        arms,
        design.unit,
        settings,
        crossed=design.crossed,
        day_findings=day_findings,
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
    count = planned_units.counts.get(treatment, 0)
    status, reason = _step_status(results, step, count, invalid=invalid)
    return StepResult(status, reason, results, result, count)


def _is_planned_arm(planned_shares: Mapping[str, float]) -> Any:  # noqa: ANN401 - an expression of Polars
    import polars as pl

    return pl.col("variant").is_in(list(planned_shares))


def _step_status(
    results: Sequence[RuleResult], step: RampStep, units: int, *, invalid: str
) -> tuple[Status, str]:
    """Fail if a blocking rule failed; pass if all required rules passed, after enough days."""
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
        return "inconclusive", f"{units:,} of {count_noun(step.values['units'], 'unit')}"
    return "pass", "no rule failed" if not required_rules else "passed"

"""One step of a ramp: its units, its faults, and how the rules on KPIs end."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from datetime import date
from typing import TYPE_CHECKING, Any

from rankgate.core.frozen import dataclass
from rankgate.decisions.gating.kpi_check import measure_of
from rankgate.decisions.gating.kpi_evidence import KpiEvidence
from rankgate.decisions.gating.rules import RULES
from rankgate.decisions.gating.verdict import RuleResult
from rankgate.online.experiments.ab import analysed
from rankgate.online.experiments.analysis import ArmComparison
from rankgate.online.experiments.estimate import Method
from rankgate.online.experiments.unit_events import from_events

if TYPE_CHECKING:
    from rankgate.decisions.gating.policy import Policy
    from rankgate.decisions.gating.rule import Rule, Status
    from rankgate.online.experiments.experiment import Experiment
    from rankgate.online.experiments.measure import Measure
    from rankgate.online.indicators.built import KpiTables


@dataclass(frozen=True)
class Step:
    """A step of a ramp that has begun.

    Attributes:
        place: from 0.
        share: of the treatment.
        since: its first day; None for that of the log.
        until: its last day so far.
        values: what the policy says of it.
        last: whether it is the last of the ramp.
    """

    place: int
    share: float
    since: date | None
    until: date
    values: Mapping[str, Any]
    last: bool


@dataclass(frozen=True)
class StepResult:
    """How a step ended, or stands.

    Attributes:
        status: pass, fail or inconclusive.
        why: in a few words.
        rules: with their outcomes.
        experiment: its figures.
        units: of the treatment.
    """

    status: Status
    why: str
    rules: tuple[RuleResult, ...]
    experiment: Experiment
    units: int


def kpi_rules(policy: Policy) -> tuple[Rule, ...]:
    """The rules on KPIs of a policy."""
    return tuple(rule for rule in policy.rules if RULES[rule.kind].of_experiment is not None)


def measures_of(policy: Policy) -> tuple[Measure, ...]:
    """The KPIs of these rules, each once."""
    return tuple({rule["kpi"]: measure_of(rule) for rule in kpi_rules(policy)}.values())


def decided(
    built: KpiTables, policy: Policy, step: Step, alpha: float, why: Mapping[str, str]
) -> StepResult:
    """Decide a step.

    Args:
        built: the tables of the log.
        policy: what is demanded.
        step: what has begun.
        alpha: the allowed probability of a false pass of the step.
        why: by KPI why the log forbids it.
    """
    chosen = kpi_rules(policy)
    about = policy.experiment
    measures = measures_of(policy)
    units = from_events(built, measures, about["unit"], start=step.since, end=step.until,
                        covariates=about["cuped"])  # fmt: skip
    control, treatment = about["control"], about["treatment"]
    planned = {control: 1 - step.share, treatment: step.share}
    extra = sorted(set(units.counts) - set(planned))
    margins = {rule["kpi"]: rule["relative"] for rule in chosen
               if rule.kind == "kpi_noninferiority" and rule["relative"] is not None}  # fmt: skip
    method = Method(1 - alpha, "fieller", about["tuned_to"])
    arms = ArmComparison(control, (treatment,), measures, method, margins, power=policy["power"],
                    why=why)  # fmt: skip
    settings = {"level": 1 - alpha, "power": policy["power"], "correction": "holm",
                "sequential": True, "relative": method.relative, "tuned_to": about["tuned_to"],
                "prior": arms.prior, "cuped": about["cuped"], "source": units.source}  # fmt: skip
    among = units if not extra else units.among(_one_of(planned))
    found = analysed(among, planned, arms, about["unit"], settings, crossed=about["crossed"])
    invalid = "; ".join(each.text for each in found.blocking)
    blocking = [rule for rule in chosen if rule.tier == "block"]
    evidence = KpiEvidence(among, control, treatment, alpha, max(1, len(blocking)),
                           policy["power"], about["tuned_to"], why, invalid)  # fmt: skip
    ended = tuple(RuleResult(rule, RULES[rule.kind].of_experiment(rule, evidence))  # type: ignore[misc]
                  for rule in chosen)  # fmt: skip
    count = among.counts.get(treatment, 0)
    status, words = _status(ended, step, count, invalid=invalid)
    return StepResult(status, words, ended, found, count)


def _one_of(planned: Mapping[str, float]) -> Any:  # noqa: ANN401 - an expression of Polars
    import polars as pl

    return pl.col("variant").is_in(list(planned))


def _status(
    ended: Sequence[RuleResult], step: Step, units: int, *, invalid: str
) -> tuple[Status, str]:
    """Fail if a blocking rule failed; pass if those that must pass did, after enough days."""
    by_id = {each.rule.id: each for each in ended}
    blocking = {name for name, each in by_id.items() if each.rule.tier == "block"}
    failed = sorted(name for name in blocking if by_id[name].outcome.status == "fail")
    if failed:
        return "fail", f"failed: {', '.join(failed)}"
    if invalid:
        return "inconclusive", "the experiment is not valid"
    return _passed(by_id, blocking, step, units)


def _passed(
    by_id: Mapping[str, RuleResult], blocking: set[str], step: Step, units: int
) -> tuple[Status, str]:
    """Whether a step in which no rule failed has all that it needs."""
    must = set(step.values["passes"]) or (blocking if step.last else set())
    waiting = sorted(name for name in must if by_id[name].outcome.status != "pass")
    if waiting:
        return "inconclusive", f"not passed yet: {', '.join(waiting)}"
    null = sorted(name for name in blocking if by_id[name].outcome.n is None)
    if null:
        return "inconclusive", f"no figures for {', '.join(null)}"
    days = (step.until - step.since).days + 1 if step.since else 0
    if step.since and days < step.values["days"]:
        return "inconclusive", f"day {days} of {step.values['days']}"
    if units < step.values["units"]:
        return "inconclusive", f"{units:,} of {step.values['units']:,} units"
    return "pass", "no rule failed" if not must else "passed"

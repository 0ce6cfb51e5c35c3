"""Watch an experiment: what its policy says of it today; the verb ``watch``."""

from __future__ import annotations

from dataclasses import replace
from datetime import date, timedelta
from pathlib import Path
from typing import TYPE_CHECKING, Any

import polars as pl

from rankgate.core.errors import InputError, UsageError
from rankgate.decisions.gating.policy import Policy, read
from rankgate.decisions.gating.ramps.ramp_verdict import STAGES, STEPS, RampVerdict
from rankgate.decisions.gating.ramps.stages import Stage, earlier
from rankgate.decisions.gating.ramps.step import Step, StepResult, decided, kpi_rules, measures_of
from rankgate.online.database import MEMORY, Database
from rankgate.online.events.events import Events
from rankgate.online.experiments.unit_events import kpi_tables
from rankgate.online.faults.diagnose import diagnosed
from rankgate.online.indicators.catalogue import KPIS, has_events

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from rankgate.decisions.gating.rule import Status
    from rankgate.online.events.events import EventsLike, OpenEvents


def watch(
    policy: str | Path | Policy,
    events: EventsLike | None = None,
    *,
    today: str = "",
    memory: str = MEMORY,
) -> RampVerdict:
    """Decide what the policy of a launch allows today.

    Every step of the ramp that has begun is decided by its own days: intervals hold at every look,
    so that one may look on each of them. A step passes when the rules that it names pass (in the
    last one all that block), none that blocks fails, and it has had its days and units; then the
    next share is allowed. A rule that fails stops the ramp. What the error budget leaves to the
    ramp is shared by its steps.

    Args:
        policy: a policy with ``[experiment]`` and rules on KPIs.
        events: what users did, instead of the events that the policy names.
        today: the last day that counts, as in 2026-03-09; by default that of the log.
        memory: how much DuckDB may use before it uses the disk.

    Raises:
        InputError: a policy or a log that cannot be read; a policy without an experiment, or
            without rules on KPIs.
        UsageError: no events; a day that is none.
        MissingExtraError: DuckDB or Ibis is not installed.
    """
    rules = policy if isinstance(policy, Policy) else read(policy)
    about = rules.experiment
    if not about or not kpi_rules(rules):
        lacking = "rules on KPIs" if about else "an [experiment]"
        problem = f"to watch it the policy needs {lacking}; see rankgate policy."
        raise InputError(problem, source=rules.source, code="invalid-policy")
    if events is None:
        if not about["events"]:
            raise UsageError("name the events, here or in [experiment].", code="missing-input")
        events = rules.folder / about["events"]
    before = earlier(rules)
    events = _read_as(rules, Events.of(events), memory)
    with events.open() as log:
        why = _why(log, rules)
        last = _last(log.base, today)
        steps = _steps(rules, last)
        alpha = rules.budget.get("ramp", rules["alpha"]) / max(len(rules.ramp), 1)
        built = kpi_tables(log.base, measures_of(rules), about["unit"], ())
        found = [decided(built, rules, step, alpha, why) for step in steps]
    return _verdict(rules, before, steps, found, str(last))


def _read_as(policy: Policy, events: Events, memory: str) -> Events:
    """The events, read as the policy states where the call states nothing."""
    about = policy.experiment
    mapping = policy.folder / about["mapping"] if about["mapping"] else None
    return replace(
        events, mapping=mapping if events.mapping is None else events.mapping,
        without_bots=events.without_bots or about["without_bots"], memory=memory,
    )  # fmt: skip


def _why(log: OpenEvents, policy: Policy) -> dict[str, str]:
    """By KPI the faults of the log that forbid it."""
    found = diagnosed(log.base, log.manifest)
    kinds = log.kinds
    why = {}
    for rule in kpi_rules(policy):
        kpi = KPIS[rule["kpi"]]
        codes = [each.code for each in found.blocking(kpi.made_of) if each.code != "sample-ratio"]
        if codes:
            why[kpi.name] = f"a fault of the log forbids it: {', '.join(codes)}"
        elif not has_events(kpi, kinds):
            why[kpi.name] = "the log has no events for it"
    return why


def _last(base: Database, today: str) -> date:
    """The last day that counts."""
    if today:
        try:
            return date.fromisoformat(today)
        except ValueError:
            problem = f"{today!r} is not a day, such as 2026-03-09."
            raise UsageError(problem, code="invalid-day") from None
    found: date | None = base.one('SELECT CAST(max("at") AS DATE) FROM events')
    if found is None:
        raise InputError("no event has a time.", source="the log", code="no-times")
    return found


def _steps(policy: Policy, last: date) -> list[Step]:
    """The steps that have begun; an experiment without a ramp is one step of equal shares."""
    first = policy.experiment["start"]
    if not policy.ramp:
        values: Mapping[str, Any] = {"share": 0.5, "days": 1, "units": 0, "passes": ()}
        since = date.fromisoformat(first) if first else None
        return [Step(0, 0.5, since, last, values, last=True)]
    found: list[Step] = []
    began = [step["since"] and date.fromisoformat(step["since"]) for step in policy.ramp]
    for place, (says, since) in enumerate(zip(policy.ramp, began, strict=True)):
        if not since or since > last:
            break
        after = began[place + 1] if place + 1 < len(began) else None
        until = min(last, after - timedelta(days=1)) if after else last
        found.append(
            Step(place, says["share"], since, until, says, last=place + 1 == len(policy.ramp))
        )
    return found


def _verdict(
    policy: Policy,
    before: Sequence[Stage],
    steps: Sequence[Step],
    found: Sequence[StepResult],
    day: str,
) -> RampVerdict:
    """The verdict of today, from the stages before the ramp and the steps that have begun."""
    notes = []
    stages = {each.status for each in before if each.status}
    statuses: set[Status] = {each.status for each in found[-1:]}
    if any(each.status == "fail" for each in found):
        statuses.add("fail")
    for step, result in zip(steps[:-1], found[:-1], strict=True):
        if result.status != "pass":
            notes.append(f"step {step.place + 1} had not passed when the next one began: "
                         f"{result.why}")  # fmt: skip
    verdict: Status = "pass"
    if "fail" in statuses | stages:
        verdict = "fail"
    elif "inconclusive" in statuses | stages:
        verdict = "inconclusive"
    notes += [f"{each.name}: {each.source}" for each in before
              if each.status not in {None, "pass"}]  # fmt: skip
    ramp = policy.budget.get("ramp", policy["alpha"])
    rows = [(each.name, each.alpha, each.status, each.source) for each in before]
    own = found[-1].status if found else None
    rows.append(("ramp", ramp, own, ""))
    about = policy.experiment
    return RampVerdict(
        verdict, day, (about["control"], about["treatment"]),
        _allowed(policy, verdict, steps),
        found[-1].rules if found else (), _table(policy, steps, found),
        pl.DataFrame(rows, schema=STAGES, orient="row"),
        found[-1].experiment if found else None, policy.source, policy.sha256, tuple(notes),
        policy["inconclusive"],
    )  # fmt: skip


def _allowed(policy: Policy, verdict: Status, steps: Sequence[Step]) -> float:
    """The share that the treatment may have: the next one, the present one, or none."""
    shares = [step["share"] for step in policy.ramp] or [0.5]
    place = len(steps) if policy.ramp else 1  # steps that have begun
    if verdict == "fail":
        return 0.0
    if verdict == "inconclusive":
        return float(shares[place - 1]) if place else 0.0
    return float(shares[place]) if place < len(shares) else 1.0


def _table(policy: Policy, steps: Sequence[Step], found: Sequence[StepResult]) -> pl.DataFrame:
    """Every step of the ramp, with the status of those that have begun."""
    alpha = policy.budget.get("ramp", policy["alpha"]) / max(len(policy.ramp), 1)
    rows: list[tuple[Any, ...]] = [
        (step.place + 1, step.share, str(step.since or ""), str(step.until), result.units, alpha,
         result.status, result.why)
        for step, result in zip(steps, found, strict=True)
    ]  # fmt: skip
    rows += [(place + 1, step["share"], None, None, None, alpha, None, None)
             for place, step in enumerate(policy.ramp) if place >= len(steps)]  # fmt: skip
    return pl.DataFrame(rows, schema=STEPS, orient="row")

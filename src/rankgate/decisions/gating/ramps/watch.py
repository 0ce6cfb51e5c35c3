"""The verb ``watch``: decisions on a running experiment by its policy.

`RampVerdict` is the result: the verdict on a day of a launch, and the allowed share.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import field, replace
from datetime import date, timedelta
from pathlib import Path
from typing import TYPE_CHECKING, ClassVar

import polars as pl

from rankgate.core.errors import InputError, UsageError
from rankgate.core.frozen import dataclass
from rankgate.core.present.base_result import NoticeText, Result
from rankgate.core.present.columns import Column, Columns
from rankgate.core.present.document_model import Entries, PlainRows, Points, Section
from rankgate.core.present.layout import Group, View
from rankgate.core.present.number_formats import UNDEFINED
from rankgate.decisions.gating.policy import Policy, read
from rankgate.decisions.gating.ramps.ramp_steps import (
    EarlierStage,
    RampStep,
    StepResult,
    decide_step,
    experiment_of,
    measures_of,
    read_earlier_stages,
)
from rankgate.decisions.gating.rule import Status
from rankgate.decisions.gating.verdict import RuleResult, exit_code
from rankgate.online.events.events import Events
from rankgate.online.experiments.experiment_result import Experiment
from rankgate.online.experiments.units import make_kpi_tables, reasons_without_figures
from rankgate.online.log_database import MEMORY, Database

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from rankgate.core.present.document_model import Block
    from rankgate.core.value_types import JsonObject
    from rankgate.online.events.events import EventsLike


STEPS = Columns(
    "One row per step of the ramp.",
    Column("step", pl.Int64, "the number of the step, from 1"),
    Column("share", pl.Float64, "the share of units that the treatment has", ".2%"),
    Column(
        "since",
        pl.String,
        "the first day; empty where it is that of the log, null where the step has not begun",
        empty=UNDEFINED,
    ),
    Column(
        "until",
        pl.String,
        "the last day so far: the one before the next step, or that of the log; null where the step has not "
        "begun",
        empty=UNDEFINED,
    ),
    Column("units", pl.Int64, "units of the treatment; null where the step has not begun"),
    Column("alpha", pl.Float64, "the share of the error budget that the step spends"),
    Column("status", pl.String, "pass, fail or inconclusive; null where it has not begun", empty="not begun"),
    Column("why", pl.String, "the reason of the status; null where it has not begun"),
)
STAGES = Columns(
    "One row per stage that spends the error budget.",
    Column("stage", pl.String, "the stage of the launch: gate, replay, interleaving or ramp"),
    Column("alpha", pl.Float64, "the share of the error budget that it spends"),
    Column(
        "status",
        pl.String,
        "pass, fail or inconclusive; null where the stage is no part of the launch, or has not begun",
        empty="not asked for",
    ),
    Column(
        "source",
        pl.String,
        "the file of its result with what decides, or the reason why it is inconclusive; empty of the ramp, "
        "and where the stage is no part of the launch",
        header="result",
    ),
)


def _rule_entries(result: RampVerdict) -> Iterator[Block]:
    yield Entries(tuple(rule_result.entry() for rule_result in result.rules))


def _experiment_section(result: RampVerdict) -> Iterator[Section]:
    """The figures of the current step."""
    if result.experiment is not None:
        sections = result.experiment.document().sections
        blocks = tuple(block for section in sections for block in section.blocks)
        yield Section("experiment", "The experiment in this step", blocks)


@dataclass(frozen=True)
class RampVerdict(Result):
    """The decision of a policy about an experiment on a day.

    Attributes:
        verdict: pass: the next step is allowed; fail: the ramp stops; inconclusive: it stays.
        day: the last day of the log that was looked at.
        names: of the control and the treatment.
        allowed: the share of units that the treatment may have from now on.
        rules: those on KPIs with their outcomes in the current step.
        steps: the columns of `STEPS`: the steps of the ramp, with the status of those that have
            begun.
        stages: the columns of `STAGES`.
        experiment: the figures of the current step; None before the first one.
        policy: the file.
        sha256: of its content.
        notes: notes on the verdict as a whole.
        exit: the policy's word for inconclusive: inconclusive, pass or fail.
    """

    kind = "ramp_verdict"
    main_table = "rules"
    KEYS: ClassVar[Mapping[str, str]] = {"status": "exit_code"}
    DERIVED: ClassVar[tuple[str, ...]] = ("status",)
    label = "Ramp"
    order = 1
    SCHEMAS: ClassVar = {"steps": STEPS, "stages": STAGES}
    headline_text = "{names[1]} against {names[0]} on {day}"
    lead = ("{allowed_sentence}",)
    layout = (
        Group(
            "rules",
            "Rules",
            (
                _rule_entries,
                View("steps", "ramp"),
                View(
                    "stages",
                    "error budget",
                    row_filter=pl.col("status").is_not_null() | (pl.col("stage") == "ramp"),
                ),
                lambda result: (Points(result.notes),),
                "policy: {policy} ({sha256:hash})",
            ),
        ),
        _experiment_section,
    )
    notice_texts = (NoticeText("ramp", "{row}", source="notes"), "experiment.notices")

    verdict: Status
    day: str
    names: tuple[str, str]
    allowed: float
    rules: tuple[RuleResult, ...]
    steps: pl.DataFrame
    stages: pl.DataFrame
    experiment: Experiment | None
    policy: str
    sha256: str
    notes: tuple[str, ...] = field(default=())
    exit: str = "inconclusive"

    @property
    def outcome(self) -> str:
        """The verdict."""
        return self.verdict

    @property
    def allowed_sentence(self) -> str:
        """The share of units that the treatment may have from now on."""
        treatment = self.names[1]
        if self.verdict == "fail":
            return f"Stop: take {treatment} back to 0% of the units."
        if self.verdict == "pass" and self.allowed >= 1:
            return f"Launch: {treatment} may have all units."
        if self.verdict == "pass":
            return f"Go on: {treatment} may have {self.allowed:.2%} of the units."
        return f"Stay: {treatment} may have {self.allowed:.2%} of the units, and no more."

    def csv_rows(self) -> PlainRows:
        """The rules with their outcomes."""
        rows = [tuple(rule_result.to_dict().values())[:-1] for rule_result in self.rules]
        header = tuple(self.rules[0].to_dict())[:-1] if self.rules else ("id",)
        return PlainRows(header, rows)

    @property
    def passed(self) -> bool:
        """True if the next step is allowed."""
        return self.verdict == "pass"

    @property
    def status(self) -> int:
        """The exit code: 0 pass, 1 fail, 3 inconclusive unless the policy maps it."""
        return exit_code(self.verdict, self.exit)

    def __bool__(self) -> bool:
        raise TypeError("a verdict is not yes or no, it may be inconclusive; ask .passed.")


def watch(
    policy: str | Path | Policy, events: EventsLike | None = None, *, today: str = "", memory: str = MEMORY
) -> RampVerdict:
    """Decide what the policy of a launch allows today.

    Every step of the ramp that has begun is decided by its own days: intervals hold at every look,
    so that one may look on each of them. A step passes when the rules that it names pass (in the
    last one all that block), none that blocks fails, and it has had its days and units; then the
    next share is allowed. A rule that fails stops the ramp. The steps of the ramp share its
    part of the error budget.

    Args:
        policy: a policy with ``[experiment]`` and rules on KPIs.
        events: the events of users, in place of the events that the policy names.
        today: the last day that counts, as in 2026-03-09; by default that of the log.
        memory: the memory that DuckDB may use before it uses the disk.

    Raises:
        InputError: a policy or a log that cannot be read; a policy without an experiment, or
            without rules on KPIs.
        UsageError: no events; an invalid day.
        MissingExtraError: DuckDB or Ibis is not installed.
    """
    rules = policy if isinstance(policy, Policy) else read(policy)
    experiment = experiment_of(rules)
    if events is None:
        if not experiment.events:
            raise UsageError("name the events, here or in [experiment].", code="missing-input")
        events = rules.folder / experiment.events
    earlier_stages = read_earlier_stages(rules)
    events = _events_of_policy(rules, Events.of(events), memory)
    with events.open() as log:
        measures = measures_of(rules)
        kpi_problems = reasons_without_figures(log, measures, events)
        last = _last_day(log.base, today)
        steps = _begun_steps(rules, last)
        alpha = rules.budget.get("ramp", rules["alpha"]) / max(len(rules.ramp), 1)
        tables_of_log = make_kpi_tables(log.base, measures, experiment.design.unit, events.success)
        results = [decide_step(tables_of_log, rules, step, alpha, kpi_problems) for step in steps]
    return _verdict(rules, earlier_stages, steps, results, str(last))


def _events_of_policy(policy: Policy, events: Events, memory: str) -> Events:
    """The events with the mapping and filters of the policy, unless the call states its own."""
    experiment = experiment_of(policy)
    mapping = policy.folder / experiment.mapping if experiment.mapping else None
    return replace(
        events,
        mapping=mapping if events.mapping is None else events.mapping,
        without_bots=events.without_bots or experiment.without_bots,
        memory=memory,
    )


def _last_day(base: Database, today: str) -> date:
    """The last day that counts."""
    if today:
        try:
            return date.fromisoformat(today)
        except ValueError:
            problem = f"{today!r} is not a day, such as 2026-03-09."
            raise UsageError(problem, code="invalid-day") from None
    last_day: date | None = base.first_value('SELECT CAST(max("at") AS DATE) FROM events')
    if last_day is None:
        raise InputError("no event has a time.", source="the log", code="no-times")
    return last_day


def _begun_steps(policy: Policy, last: date) -> list[RampStep]:
    """The steps that have begun; an experiment without a ramp is one step of equal shares."""
    if not policy.ramp:
        values: JsonObject = {"share": 0.5, "days": 1, "units": 0, "passes": ()}
        since = experiment_of(policy).design.first_day
        return [RampStep(0, 0.5, since, last, values, last=True)]
    begun_steps: list[RampStep] = []
    start_days = [step["since"] and date.fromisoformat(step["since"]) for step in policy.ramp]
    for index, (step_values, since) in enumerate(zip(policy.ramp, start_days, strict=True)):
        if not since or since > last:
            break
        next_start = start_days[index + 1] if index + 1 < len(start_days) else None
        until = min(last, next_start - timedelta(days=1)) if next_start else last
        begun_steps.append(
            RampStep(
                index, step_values["share"], since, until, step_values, last=index + 1 == len(policy.ramp)
            )
        )
    return begun_steps


def _verdict(
    policy: Policy,
    before: Sequence[EarlierStage],
    steps: Sequence[RampStep],
    results: Sequence[StepResult],
    day: str,
) -> RampVerdict:
    """The verdict of today, from the stages before the ramp and the steps that have begun."""
    notes = []
    stages = {stage.status for stage in before if stage.status}
    statuses: set[Status] = {result.status for result in results[-1:]}
    if any(result.status == "fail" for result in results):
        statuses.add("fail")
    for step, result in zip(steps[:-1], results[:-1], strict=True):
        if result.status != "pass":
            notes.append(f"step {step.place + 1} had not passed when the next one began: {result.why}")
    verdict: Status = "pass"
    if "fail" in statuses | stages:
        verdict = "fail"
    elif "inconclusive" in statuses | stages:
        verdict = "inconclusive"
    notes += [f"{stage.name}: {stage.source}" for stage in before if stage.status not in {None, "pass"}]
    ramp = policy.budget.get("ramp", policy["alpha"])
    rows = [(stage.name, stage.alpha, stage.status, stage.source) for stage in before]
    last_status = results[-1].status if results else None
    rows.append(("ramp", ramp, last_status, ""))
    return RampVerdict(
        verdict,
        day,
        experiment_of(policy).arms,
        _allowed_share(policy, verdict, steps),
        results[-1].rules if results else (),
        _step_table(policy, steps, results),
        pl.DataFrame(rows, schema=STAGES, orient="row"),
        results[-1].experiment if results else None,
        policy.source,
        policy.sha256,
        tuple(notes),
        policy["inconclusive"],
    )


def _allowed_share(policy: Policy, verdict: Status, steps: Sequence[RampStep]) -> float:
    """The share that the treatment may have: the next share, the present share, or 0."""
    treatment_shares = [step["share"] for step in policy.ramp] or [0.5]
    begun_count = len(steps) if policy.ramp else 1  # steps that have begun
    if verdict == "fail":
        return 0.0
    if verdict == "inconclusive":
        return float(treatment_shares[begun_count - 1]) if begun_count else 0.0
    return float(treatment_shares[begun_count]) if begun_count < len(treatment_shares) else 1.0


def _step_table(policy: Policy, steps: Sequence[RampStep], results: Sequence[StepResult]) -> pl.DataFrame:
    """Every step of the ramp, with the status of those that have begun."""
    alpha = policy.budget.get("ramp", policy["alpha"]) / max(len(policy.ramp), 1)
    rows: list[tuple[object, ...]] = [
        (
            step.place + 1,
            step.share,
            str(step.since or ""),
            str(step.until),
            result.units,
            alpha,
            result.status,
            result.why,
        )
        for step, result in zip(steps, results, strict=True)
    ]
    rows += [
        (index + 1, step["share"], None, None, None, alpha, None, None)
        for index, step in enumerate(policy.ramp)
        if index >= len(steps)
    ]
    return pl.DataFrame(rows, schema=STEPS, orient="row")

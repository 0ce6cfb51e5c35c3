"""A day of a launch as a document: the rules, the steps, the error budget, the experiment."""

from __future__ import annotations

from typing import TYPE_CHECKING

from rankgate.core.present.document import (
    SIGNS,
    Chart,
    Document,
    Entries,
    Entry,
    PlainRows,
    Points,
    Section,
    Table,
    solid,
)
from rankgate.core.present.grid import Grid, printable
from rankgate.core.present.numbers import UNDEFINED
from rankgate.online.experiments import document as experiments

if TYPE_CHECKING:
    from rankgate.decisions.gating.ramps.ramp_verdict import RampVerdict
    from rankgate.decisions.gating.verdict import RuleResult


def document(result: RampVerdict) -> Document:
    """What is allowed, why, and on what figures."""
    control, treatment = map(printable, result.names)
    title = f"{treatment} against {control} on {result.day}"
    blocks = solid((
        Entries(tuple(map(_entry, result.rules))),
        Table("ramp", _steps(result)),
        Table("error budget", _stages(result)),
        Points(result.notes),
        f"policy: {printable(result.policy)} ({result.sha256[:12]})",
    ))  # fmt: skip
    sections = [Section("rules", "Rules", blocks)]
    if result.experiment is not None:
        own = experiments.document(result.experiment)
        shown = [each for part in own.sections for each in part.blocks]
        if (
            not any(isinstance(each, Chart) for each in shown)
            or not result.experiment.metrics.height
        ):
            shown = [each for each in shown if not isinstance(each, Chart)]
        sections.append(Section("experiment", "The experiment in this step", tuple(shown)))
    rows = [tuple(each.to_dict().values())[:-1] for each in result.rules]
    head = tuple(result.rules[0].to_dict())[:-1] if result.rules else ("id",)
    return Document(title, result.verdict, (allowed(result),), tuple(sections),
                    PlainRows(head, rows))  # fmt: skip


def allowed(result: RampVerdict) -> str:
    """What may be done today, in a sentence."""
    treatment = printable(result.names[1])
    if result.verdict == "fail":
        return f"Stop: take {treatment} back to 0% of the units."
    if result.verdict == "pass" and result.allowed >= 1:
        return f"Launch: {treatment} may have all units."
    if result.verdict == "pass":
        return f"Go on: {treatment} may have {result.allowed:.2%} of the units."
    return f"Stay: {treatment} may have {result.allowed:.2%} of the units, and no more."


def _entry(each: RuleResult) -> Entry:
    rule, outcome = each.rule, each.outcome
    tier = "" if rule.tier == "block" else f" ({rule.tier})"
    further = (f"next: {outcome.next}",) if outcome.next else ()
    label = f"{SIGNS[outcome.status]} {outcome.status}"
    return Entry(label, (f"{rule.id}{tier}", outcome.reason, *further))


def _steps(result: RampVerdict) -> Grid:
    rows = [
        (str(row["step"]), f"{row['share']:.2%}", row["since"] or UNDEFINED,
         row["until"] or UNDEFINED,
         UNDEFINED if row["units"] is None else f"{row['units']:,}", f"{row['alpha']:.4f}",
         row["status"] or "not begun", row["why"] or "")
        for row in result.steps.iter_rows(named=True)
    ]  # fmt: skip
    head = ("step", "share", "since", "until", "units", "alpha", "status", "why")
    return Grid(head, tuple(rows), frozenset({2, 3, 6, 7}))


def _stages(result: RampVerdict) -> Grid:
    rows = [
        (row["stage"], f"{row['alpha']:.4f}", row["status"] or "not asked for",
         printable(row["source"] or ""))
        for row in result.stages.iter_rows(named=True)
        if row["status"] or row["stage"] == "ramp"
    ]  # fmt: skip
    return Grid(("stage", "alpha", "status", "result"), tuple(rows), frozenset({0, 2, 3}))

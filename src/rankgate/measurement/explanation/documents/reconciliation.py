"""Documents of reconciliations: groups of conventions and the steps between them."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

from rankgate.core.present.document import Chart, Document, Entries, Entry, PlainRows, Warnings
from rankgate.core.present.document import make_document as made
from rankgate.core.present.grid import make_printable
from rankgate.core.present.numbers import UNDEFINED, format_decimal
from rankgate.measurement.explanation.bridge import Bridge
from rankgate.measurement.explanation.reconciliation import Reconciliation

if TYPE_CHECKING:
    from rankgate.measurement.explanation.convention_path import Step
    from rankgate.measurement.explanation.finding import Finding, Fit
    from rankgate.measurement.explanation.reconciliation import Group

_MOST_DIGITS = 12  # numbers that are nearer are one group

NOTHING_FITS = "nothing that was tried gives it; the nearest are"

_AMBIGUOUS = (
    "several fit: the number alone does not show which was used; more digits, or a second metric, "
    "would show it"
)


def document(result: Reconciliation) -> Document:
    """The conventions by their number, and the differences between them."""
    digits = digits_for([group.value for group in result.groups])
    refused = tuple(Entry(refusal.convention, (refusal.reason,)) for refusal in result.refusals)
    rows = PlainRows(
        ("convention", "value"),
        [(name, group.value) for group in result.groups for name in group.conventions],
    )
    return made(
        title(result),
        _warnings(result),
        Chart("rankgate.measurement.explanation.charts.reconciled:draw", result),
        Entries(tuple(_group(group, digits) for group in result.groups)),
        Entries(refused, "cannot take these data"),
        rows=rows,
    )


def bridge_document(result: Bridge) -> Document:
    """The mean at the start, each step that changes it, the mean at the end."""
    begin, end = result.begin, result.end
    entries = [Entry(format_decimal(result.before), (f"{begin['name']} ({begin['hash']})",))]
    entries += [Entry(effect_text(step), (step_text(step),)) for step in result.steps if step.moves]
    entries.append(Entry(format_decimal(result.after), (f"{end['name']} ({end['hash']})",)))
    unchanged = tuple(change_text(step) for step in result.steps if not step.moves)
    without = Entries((Entry("no effect", unchanged),) if unchanged else ())
    return made(title(result), _warnings(result), Entries(tuple(entries)), without)


def finding_document(result: Finding) -> Document:
    """The conventions that give the value, or the nearest."""
    is_ambiguous = len(result.fits) > 1 or any(len(fit.conventions) > 1 for fit in result.fits[:1])
    fits = _fits(result.fits or result.nearest)
    explanation = _AMBIGUOUS if is_ambiguous else ""
    nothing = "" if result.fits else NOTHING_FITS
    return made(title(result), _warnings(result), nothing, Entries(fits), explanation)


def title(result: Reconciliation | Bridge | Finding) -> str:
    """The question and its data, in a line."""
    if isinstance(result, Reconciliation):
        count = sum(len(group.conventions) for group in result.groups)
        summary = f"{_numbers(len(result.groups))} under {count} conventions"
    elif isinstance(result, Bridge):
        summary = f"from {result.begin['name']} to {result.end['name']}"
    else:
        off = "" if not result.percent else ", taken as a percentage"
        tried_text = f"{len(result.tried)} metrics under {result.conventions} conventions tried"
        summary = f"conventions that give {result.reported}{off}; {tried_text}"
    run, qrels = make_printable(result.run), make_printable(result.qrels)
    return f"{result.metric} of run {run} by judgments {qrels}: {summary}"


def _warnings(result: Reconciliation | Bridge | Finding) -> Warnings:
    return Warnings(tuple(notice.text for notice in result.notices))


def _group(group: Group, digits: int) -> Entry:
    value = UNDEFINED if group.value is None else f"{group.value:.{digits}f}"
    names = ", ".join(group.conventions)
    if group.nearest is None or not group.steps:
        return Entry(value, (names,))
    steps = [f"{effect_text(step, digits)}  {change_text(step)}" for step in group.steps]
    return Entry(value, (names, f"from {group.nearest} to {group.member}:", *steps))


def digits_for(values: Sequence[float | None]) -> int:
    """Four decimals, or as many as distinguish the numbers."""
    defined = [value for value in values if value is not None]
    for digits in range(4, _MOST_DIGITS):
        if len({f"{value:.{digits}f}" for value in defined}) == len(defined):
            return digits
    return _MOST_DIGITS


def _fits(fits: Sequence[Fit]) -> tuple[Entry, ...]:
    """One entry for each number; cutoffs that make no difference share one."""
    rows: dict[tuple[float, tuple[str, ...]], list[str]] = {}
    for fit in fits:
        rows.setdefault((fit.mean, fit.conventions), []).append(fit.metric)
    return tuple(
        Entry(f"{mean:.6f}", (", ".join(metrics), ", ".join(names)))
        for (mean, names), metrics in rows.items()
    )


def _numbers(count: int) -> str:
    return "one number" if count == 1 else f"{count} numbers"


def effect_text(step: Step, digits: int = 4) -> str:
    """The effect as the difference of the two means as they are printed, so that it adds up."""
    if step.before is None or step.after is None:
        return UNDEFINED
    return f"{round(step.after, digits) - round(step.before, digits):+z.{digits}f}"


def change_text(step: Step) -> str:
    """The axes of a step, each with its old and new value."""
    changes = zip(step.axes, step.begin, step.end, strict=True)
    return ", ".join(f"{axis}: {begin} → {end}" for axis, begin, end in changes)


def step_text(step: Step) -> str:
    """The step with its effect on single queries."""
    if step.moved is None:
        return change_text(step)
    if step.query_id is None:
        return f"{change_text(step)}; moves no query, but the number of those that count"
    queries = "1 query" if step.moved == 1 else f"{step.moved} queries, most"
    before, after = format_decimal(step.query_before), format_decimal(step.query_after)
    return (
        f"{change_text(step)}; moves {queries} {make_printable(step.query_id)} ({before} → {after})"
    )

"""Documents of reconciliations: groups of conventions and the steps between them."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

from rankgate.core.present.document import Chart, Document, Entries, Entry, PlainRows, Warnings
from rankgate.core.present.document import document as made
from rankgate.core.present.grid import printable
from rankgate.core.present.numbers import UNDEFINED, decimal
from rankgate.measurement.explanation.bridge import Bridge
from rankgate.measurement.explanation.reconciliation import Reconciliation

if TYPE_CHECKING:
    from rankgate.measurement.explanation.convention_path import Step
    from rankgate.measurement.explanation.finding import Finding, Fit
    from rankgate.measurement.explanation.reconciliation import Group

_MOST_DIGITS = 12  # numbers that are nearer are one group

NOTHING = "nothing that was tried gives it; the nearest are"

_SEVERAL = (
    "several fit: the number alone does not show which was used; more digits, or a second metric, "
    "would show it"
)


def document(result: Reconciliation) -> Document:
    """The conventions by the number that they give, and what separates them."""
    digits = digits_for([group.value for group in result.groups])
    refused = tuple(Entry(each.convention, (each.reason,)) for each in result.refusals)
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
    entries = [Entry(decimal(result.before), (f"{begin['name']} ({begin['hash']})",))]
    entries += [Entry(effect(step), (moved(step),)) for step in result.steps if step.moves]
    entries.append(Entry(decimal(result.after), (f"{end['name']} ({end['hash']})",)))
    still = tuple(change(step) for step in result.steps if not step.moves)
    without = Entries((Entry("no effect", still),) if still else ())
    return made(title(result), _warnings(result), Entries(tuple(entries)), without)


def finding_document(result: Finding) -> Document:
    """What gives the value, or what is nearest."""
    several = len(result.fits) > 1 or any(len(fit.conventions) > 1 for fit in result.fits[:1])
    found = _fits(result.fits or result.nearest)
    words = _SEVERAL if several else ""
    nothing = "" if result.fits else NOTHING
    return made(title(result), _warnings(result), nothing, Entries(found), words)


def title(result: Reconciliation | Bridge | Finding) -> str:
    """What was asked, of which data, in a line."""
    if isinstance(result, Reconciliation):
        count = sum(len(group.conventions) for group in result.groups)
        rest = f"{_numbers(len(result.groups))} under {count} conventions"
    elif isinstance(result, Bridge):
        rest = f"from {result.begin['name']} to {result.end['name']}"
    else:
        off = "" if not result.percent else ", taken as a percentage"
        tried = f"{len(result.tried)} metrics under {result.conventions} conventions tried"
        rest = f"conventions that give {result.reported}{off}; {tried}"
    run, qrels = printable(result.run), printable(result.qrels)
    return f"{result.metric} of run {run} by judgments {qrels}: {rest}"


def _warnings(result: Reconciliation | Bridge | Finding) -> Warnings:
    return Warnings(tuple(notice.text for notice in result.notices))


def _group(group: Group, digits: int) -> Entry:
    value = UNDEFINED if group.value is None else f"{group.value:.{digits}f}"
    names = ", ".join(group.conventions)
    if group.nearest is None or not group.steps:
        return Entry(value, (names,))
    steps = [f"{effect(step, digits)}  {change(step)}" for step in group.steps]
    return Entry(value, (names, f"from {group.nearest} to {group.member}:", *steps))


def digits_for(values: Sequence[float | None]) -> int:
    """Four decimals, or as many as it takes to see that numbers differ."""
    known = [value for value in values if value is not None]
    for digits in range(4, _MOST_DIGITS):
        if len({f"{value:.{digits}f}" for value in known}) == len(known):
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


def effect(step: Step, digits: int = 4) -> str:
    """The effect as the difference of the two means as they are printed, so that it adds up."""
    if step.before is None or step.after is None:
        return UNDEFINED
    return f"{round(step.after, digits) - round(step.before, digits):+z.{digits}f}"


def change(step: Step) -> str:
    """The axes of a step, each with what it was and what it is."""
    changes = zip(step.axes, step.begin, step.end, strict=True)
    return ", ".join(f"{axis}: {begin} → {end}" for axis, begin, end in changes)


def moved(step: Step) -> str:
    """The step with what it does to single queries."""
    if step.moved is None:
        return change(step)
    if step.query_id is None:
        return f"{change(step)}; moves no query, but the number of those that count"
    queries = "1 query" if step.moved == 1 else f"{step.moved} queries, most"
    before, after = decimal(step.query_before), decimal(step.query_after)
    return f"{change(step)}; moves {queries} {printable(step.query_id)} ({before} → {after})"

"""Reconciliations: groups of conventions, the way from one to another, whose number it is."""

from __future__ import annotations

from typing import TYPE_CHECKING

from rankgate.explanation.reconcile import Bridge, Reconciliation
from rankgate.present import as_json
from rankgate.present.as_text import WIDTH
from rankgate.present.grid import printable
from rankgate.present.numbers import UNDEFINED, decimal
from rankgate.present.paragraphs import beside, indented, wrapped

if TYPE_CHECKING:
    from collections.abc import Sequence

    from rankgate.explanation.convention_path import Step
    from rankgate.explanation.reconcile import Group
    from rankgate.explanation.reported import Finding, Fit

FORMS = ("text", "json")
"""The forms of a reconciliation, by the name that ``--format`` takes."""

_MOST_DIGITS = 12  # what is nearer is one group
_NUMBER = [7]  # the width of a mean, or of an effect with its sign


def render(told: Reconciliation | Bridge | Finding, form: str, width: int = WIDTH) -> str:
    """A result of ``reconcile``, ``bridge`` or ``reported`` in one of `FORMS`."""
    if form == "json":
        return as_json.dumped(told.to_dict())
    if isinstance(told, Reconciliation):
        return _groups(told, width)
    return _steps(told, width) if isinstance(told, Bridge) else _finding(told, width)


def title(told: Reconciliation | Bridge | Finding) -> str:
    """What was asked, of which data, in a line."""
    if isinstance(told, Reconciliation):
        count = sum(len(group.conventions) for group in told.groups)
        rest = f"{_numbers(len(told.groups))} under {count} conventions"
    elif isinstance(told, Bridge):
        rest = f"from {told.begin['name']} to {told.end['name']}"
    else:
        off = "" if not told.percent else ", taken as a percentage"
        tried = f"{len(told.tried)} metrics under {told.conventions} conventions tried"
        rest = f"who gives {told.reported}{off}; {tried}"
    run, qrels = printable(told.run), printable(told.qrels)
    return f"{told.metric} of run {run} by judgments {qrels}: {rest}"


def _groups(told: Reconciliation, width: int) -> str:
    parts = [_paragraph(title(told), width)]
    digits = digits_for([group.value for group in told.groups])
    parts += [_group(group, digits, width) for group in told.groups]
    if told.refusals:
        widths = [max(len(each.convention) for each in told.refusals)]
        rows = [beside([e.convention], [e.reason], widths, width - 2) for e in told.refusals]
        parts.append(f"cannot take these data\n{indented(''.join(rows))}")
    return "\n".join(parts)


def _group(group: Group, digits: int, width: int) -> str:
    room = digits + 3
    value = UNDEFINED if group.value is None else f"{group.value:.{digits}f}"
    head = beside([value.rjust(room)], [", ".join(group.conventions)], [room], width)
    if group.nearest is None:
        return head
    way = f"from {group.nearest} to {group.member}:"
    rows = [beside([""], [way], [room], width)] if group.steps else []
    rows += [
        beside([effect(step, digits).rjust(room)], [change(step)], [room + 4], width)
        for step in group.steps
    ]
    return head + "".join(rows)


def digits_for(values: Sequence[float | None]) -> int:
    """Four decimals, or as many as it takes to see that numbers differ."""
    known = [value for value in values if value is not None]
    for digits in range(4, _MOST_DIGITS):
        if len({f"{value:.{digits}f}" for value in known}) == len(known):
            return digits
    return _MOST_DIGITS


def _steps(told: Bridge, width: int) -> str:
    begin, end = told.begin["name"], told.end["name"]
    rows = [
        beside([_right(decimal(told.before))], [f"{begin} ({told.begin['hash']})"], _NUMBER, width)
    ]
    rows += [
        beside([_right(effect(step))], [moved(step)], _NUMBER, width)
        for step in told.steps
        if step.moves
    ]
    rows.append(
        beside([_right(decimal(told.after))], [f"{end} ({told.end['hash']})"], _NUMBER, width)
    )
    parts = [_paragraph(title(told), width), "".join(rows)]
    if still := [change(step) for step in told.steps if not step.moves]:
        parts.append(beside(["no effect"], still, [len("no effect")], width))
    return "\n".join(parts)


def _finding(told: Finding, width: int) -> str:
    parts = [_paragraph(title(told), width)]
    if told.fits:
        parts.append(_fits(told.fits, width))
        if len(told.fits) > 1 or len(told.fits[0].conventions) > 1:
            parts.append(_paragraph(_SEVERAL, width))
    else:
        parts.append(_paragraph(NOTHING, width))
        parts.append(_fits(told.nearest, width))
    return "\n".join(parts)


NOTHING = "nothing that was tried gives it; the nearest are"

_SEVERAL = (
    "several fit: the number alone does not say which was used; more digits, or a second metric, "
    "would tell them apart"
)


def _fits(fits: Sequence[Fit], width: int) -> str:
    """One row a number; cutoffs that make no difference stand together."""
    rows: dict[tuple[float, tuple[str, ...]], list[str]] = {}
    for fit in fits:
        rows.setdefault((fit.mean, fit.conventions), []).append(fit.metric)
    told = (
        f"{f'{mean:.6f}':>9}  {', '.join(metrics)}\n" + beside([""], [", ".join(names)], [9], width)
        for (mean, names), metrics in rows.items()
    )
    return "\n".join(told)


def _paragraph(text: str, width: int) -> str:
    return "\n".join(wrapped(text, width)) + "\n"


def _numbers(count: int) -> str:
    return "one number" if count == 1 else f"{count} numbers"


def _right(word: str) -> str:
    return word.rjust(_NUMBER[0])


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

"""Reconciliations as tables, for media that break lines themselves."""

from __future__ import annotations

from typing import TYPE_CHECKING

from rankgate.explanation.documents.reconciliation import change, digits_for, effect, moved
from rankgate.present.grid import Grid
from rankgate.present.numbers import UNDEFINED, decimal

if TYPE_CHECKING:
    from rankgate.explanation.reconcile import Bridge, Reconciliation
    from rankgate.explanation.reported import Finding


def groups(told: Reconciliation) -> Grid:
    """One row a number: who gives it, and what separates it from that of the first row."""
    digits = digits_for([group.value for group in told.groups])
    rows = []
    for group in told.groups:
        value = UNDEFINED if group.value is None else f"{group.value:.{digits}f}"
        steps = "; ".join(f"{change(step)} ({effect(step, digits)})" for step in group.steps)
        way = f"from {group.nearest} to {group.member}: {steps}" if steps else ""
        rows.append((value, ", ".join(group.conventions), way))
    return Grid(("mean", "conventions", "what separates them"), tuple(rows), frozenset({1, 2}))


def refusals(told: Reconciliation) -> Grid:
    """One row a convention that cannot take the data."""
    rows = tuple((each.convention, each.reason) for each in told.refusals)
    return Grid(("cannot take these data", "why"), rows, frozenset({0, 1}))


def steps(told: Bridge) -> Grid:
    """The mean at the start, one row a step that moves anything, the mean at the end."""
    begin, end = told.begin, told.end
    rows = [
        (decimal(told.before), f"{begin['name']} ({begin['hash']})"),
        *((effect(step), moved(step)) for step in told.steps if step.moves),
        (decimal(told.after), f"{end['name']} ({end['hash']})"),
    ]
    return Grid(("mean", "one axis at a time"), tuple(rows), frozenset({1}))


def fits(told: Finding) -> Grid:
    """One row a number that fits, or the nearest where none does."""
    rows = tuple(
        (f"{fit.mean:.6f}", fit.metric, ", ".join(fit.conventions))
        for fit in told.fits or told.nearest
    )
    return Grid(("mean", "metric", "conventions"), rows, frozenset({1, 2}))

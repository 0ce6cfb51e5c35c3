"""Document of a split log: sizes, overlaps and warnings."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING

from rankgate.core.present.document import Document, Entries, Entry, PlainRows, Table, Warnings
from rankgate.core.present.document import document as made
from rankgate.core.present.grid import Grid

if TYPE_CHECKING:
    from rankgate.recommenders.split import Fold, Split

_DRAWN = frozenset({"leave-one-out", "random", "cold-users", "cold-items"})


def document(result: Split) -> Document:
    """How the log was split, a row for each part, what the parts share, and warnings."""
    entries = tuple(Entry(label, (line,)) for label, line in _facts(result))
    table = result.to_polars()
    return made(
        _title(result),
        Table("", parts(result)),
        Entries(entries),
        Warnings(result.warnings),
        rows=PlainRows(tuple(table.columns), table.rows()),
    )


def parts(result: Split) -> Grid:
    """Every part of every fold, a row each."""
    many = len(result.folds) > 1
    clock = any(part.first for fold in result.folds for part in fold.parts)
    rows = []
    for number, fold in enumerate(result.folds, 1):
        for part in fold.parts:
            name = f"{number} {part.name}" if many else part.name
            counts = [f"{n:,}" for n in (part.rows, part.users, part.items)]
            times = [_short(part.first), _short(part.last)] if clock else []
            rows.append((name, *counts, *times))
    head = ("part", "interactions", "users", "items", *(("first", "last") if clock else ()))
    return Grid(head, tuple(rows))


def _title(result: Split) -> str:
    plan = result.plan
    how = {"leave-last": f"{plan.last} of each user", "windows": f"{plan.windows} folds"}
    share = how.get(
        plan.way, "" if plan.way == "leave-one-out" or plan.cut is not None else f"{plan.share:.0%}"
    )
    seed = f", seed {plan.seed}" if plan.way in _DRAWN or "sampled" in result.candidates else ""
    return f"{result.log} split by {plan.way}{', ' if share else ''}{share}{seed}"


def _facts(result: Split) -> list[tuple[str, str]]:
    rows = [("judgments", _truth(result)), ("candidates", _candidates(result))]
    if result.repeated:
        rows.append(("left out", _so_many(result.repeated, "rows equal to another")))
    return [*rows, ("shared", _shared(result))]


def _truth(result: Split) -> str:
    rule = result.rule
    count = _sum(result, lambda fold: fold.judged)
    relevant = _sum(result, lambda fold: fold.relevant)
    weights = ", ".join(f"{kind} {weight:g}" for kind, weight in rule.weights.items())
    weighed = f"; kinds weigh {weights}" if weights else ""
    floors = ", ".join(f"{kind} {least:g}" for kind, least in rule.least.items())
    weighed += f"; values of kinds at least {floors}" if floors else ""
    least = (
        "any value"
        if rule.tells_zero and not rule.threshold
        else f"value {rule.threshold:g} or more"
    )
    return (
        f"{count:,} of the test, {relevant:,} relevant: {least}"
        f"{weighed}; the {rule.repeats} of repeats; grades {rule.grades}"
    )


def _candidates(result: Split) -> str:
    words = {"unseen": "all items but those the user had in training", "all": "all items"}
    if result.candidates in words:
        return words[result.candidates]
    short = _sum(result, lambda fold: fold.short)
    fewer = f"; {_so_many(short, 'users had fewer to draw from')}" if short else ""
    return f"{result.candidates}: each user's judged items and negatives that were drawn{fewer}"


def _shared(result: Split) -> str:
    leaks = [fold.leaks for fold in result.folds]
    sums = [
        (sum(each.users_only_test for each in leaks), "users only in the test"),
        (sum(each.items_only_test for each in leaks), "items only in the test"),
        (sum(each.users_only_train for each in leaks), "users only in training"),
        (sum(each.pairs_again for each in leaks), "pairs of the test in training too"),
        (sum(each.ahead for each in leaks), "rows of training not before the first of the test"),
        (sum(each.same_time for each in leaks), "users with one time on both sides"),
    ]
    return "; ".join(_so_many(count, what) for count, what in sums if count) or "nothing"


def _so_many(count: int, what: str) -> str:
    """A number of what is in the plural, its first word being the noun."""
    return f"1 {what.replace('s ', ' ', 1)}" if count == 1 else f"{count:,} {what}"


def _sum(result: Split, of: Callable[[Fold], int]) -> int:
    return sum(of(fold) for fold in result.folds)


def _short(time: str) -> str:
    """A time to the second, dates of midnight without it."""
    return time.removesuffix("T00:00:00Z")

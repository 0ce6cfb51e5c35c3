"""Document of a split log: sizes, overlaps and warnings.

The results of recommenders as tables and words come first.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING

from rankgate.core.present.document_model import Document, Entries, Entry, Grid, PlainRows, Table, Warnings
from rankgate.core.present.document_model import make_document as made
from rankgate.core.present.number_formats import count_noun

if TYPE_CHECKING:
    from rankgate.recommenders.split import Fold, Split


_RANDOM_WAYS = frozenset({"leave-one-out", "random", "cold-users", "cold-items"})


def split_document(result: Split) -> Document:
    """The method of the split, a row for each part, the overlap of parts, and warnings."""
    entries = tuple(Entry(label, (line,)) for label, line in _facts(result))
    table = result.to_polars()
    return made(
        _title(result),
        Table("", part_grid(result)),
        Entries(entries),
        Warnings(result.warnings),
        rows=PlainRows(tuple(table.columns), table.rows()),
    )


def part_grid(result: Split) -> Grid:
    """One row for every part of every fold."""
    has_folds = len(result.folds) > 1
    clock = any(split_part.first for fold in result.folds for split_part in fold.parts)
    rows = []
    for number, fold in enumerate(result.folds, 1):
        for split_part in fold.parts:
            name = f"{number} {split_part.name}" if has_folds else split_part.name
            counts = [f"{n:,}" for n in (split_part.rows, split_part.users, split_part.items)]
            times = [_short_time(split_part.first), _short_time(split_part.last)] if clock else []
            rows.append((name, *counts, *times))
    header = ("part", "interactions", "users", "items", *(("first", "last") if clock else ()))
    return Grid(header, tuple(rows))


def _title(result: Split) -> str:
    plan = result.plan
    amounts = {"leave-last": f"{plan.last} of each user", "windows": count_noun(plan.windows, "fold")}
    has_no_share = plan.way in {"leave-one-out", "elsewhere"} or plan.cut is not None
    share = amounts.get(plan.way, "" if has_no_share else f"{plan.share:.0%}")
    parts = [share, f"the {plan.target} of each user" * (plan.target != "all")]
    parts.append(f"fold-in {plan.fold_in:.0%}" * bool(plan.fold_in))
    seed = f", seed {plan.seed}" if plan.way in _RANDOM_WAYS or "sampled" in result.candidates else ""
    return f"{', '.join([f'{result.log} split by {plan.way}', *filter(None, parts)])}{seed}"


def _facts(result: Split) -> list[tuple[str, str]]:
    rows = [("judgments", _truth(result)), ("candidates", _candidates(result))]
    if result.repeated:
        rows.append(("left out", f"{count_noun(result.repeated, 'row')} equal to another"))
    if result.plan.core:
        core = f"{count_noun(result.outside_core, 'row')} outside the {result.plan.core}-core"
        rows.append(("left out", f"{core}, which counts the interactions of the test too"))
    if result.plan.gap:
        rows.append(("sessions", f"end at pauses of more than {result.plan.gap:g} minutes"))
    users = {split_part.name: split_part.users for split_part in result.folds[0].parts}
    without_target = users.get("fold-in", 0) - users["test"] - users.get("validation", 0)
    if without_target > 0:
        count = count_noun(without_target, "user or session", "users or sessions")
        rows.append(("no target", f"{count} with one interaction, which is fold-in"))
    return [*rows, ("shared", _shared(result))]


def _truth(result: Split) -> str:
    rule = result.rule
    count = _sum_over_folds(result, lambda fold: fold.judged)
    relevant = _sum_over_folds(result, lambda fold: fold.relevant)
    weights = ", ".join(f"{kind} {weight:g}" for kind, weight in rule.weights.items())
    kinds_note = f"; kinds weigh {weights}" if weights else ""
    floors = ", ".join(f"{kind} {lowest:g}" for kind, lowest in rule.least.items())
    kinds_note += f"; values of kinds at least {floors}" if floors else ""
    relevance_rule = (
        "any value" if rule.tells_zero and not rule.threshold else f"value {rule.threshold:g} or more"
    )
    return (
        f"{count:,} of the test, {relevant:,} relevant: {relevance_rule}"
        f"{kinds_note}; the {rule.repeats} of repeats; grades {rule.grades}"
    )


def _candidates(result: Split) -> str:
    descriptions = {"unseen": "all items but those the user had in training", "all": "all items"}
    if result.plan.fold_in or result.plan.target == "last":
        descriptions["unseen"] += " or the fold-in"
    if result.candidates in descriptions:
        return descriptions[result.candidates]
    short_users = _sum_over_folds(result, lambda fold: fold.short)
    fewer = f"; {count_noun(short_users, 'user')} had fewer to draw from" if short_users else ""
    return f"{result.candidates}: each user's judged items and negatives that were drawn{fewer}"


def _shared(result: Split) -> str:
    leaks = [fold.leaks for fold in result.folds]
    sums = [
        (sum(fold_leaks.users_only_test for fold_leaks in leaks), "user", "only in the test"),
        (sum(fold_leaks.items_only_test for fold_leaks in leaks), "item", "only in the test"),
        (sum(fold_leaks.users_only_train for fold_leaks in leaks), "user", "only in training"),
        (sum(fold_leaks.pairs_again for fold_leaks in leaks), "pair", "of the test in training too"),
        (
            sum(fold_leaks.ahead for fold_leaks in leaks),
            "row",
            "of training not before the first of the test",
        ),
        (sum(fold_leaks.same_time for fold_leaks in leaks), "user", "with one time on both sides"),
    ]
    texts = (f"{count_noun(count, noun)} {leak}" for count, noun, leak in sums if count)
    return "; ".join(texts) or "nothing"


def _sum_over_folds(result: Split, figure: Callable[[Fold], int]) -> int:
    return sum(figure(fold) for fold in result.folds)


def _short_time(time: str) -> str:
    """A time to the second; a time of midnight is only a date."""
    return time.removesuffix("T00:00:00Z")

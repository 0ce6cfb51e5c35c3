"""Assign rows of a log to parts, and derive judgments from the test set."""

from __future__ import annotations

from collections.abc import Callable, Collection
from dataclasses import replace
from typing import TYPE_CHECKING

import numpy as np
import polars as pl

from rankgate.core.errors import InputError, UsageError
from rankgate.core.frozen import dataclass
from rankgate.data.logs.relevance import truth
from rankgate.data.logs.splits import masks_of

if TYPE_CHECKING:
    from rankgate.data.logs.interactions import Interactions
    from rankgate.data.logs.relevance import Truth
    from rankgate.data.logs.splits import Flags, SplitPlan
    from rankgate.data.logs.splits import Masks as Outer
    from rankgate.data.qrels import Qrels

_PAIR = ["query_id", "doc_id"]


@dataclass(frozen=True, eq=False)
class Masks:
    """Which rows of a log are in which part, ``(n,)`` each; a row may be in none.

    Attributes:
        train: what is learned from.
        validation: what settings are chosen by; None where there is no such part.
        test: what is predicted.
    """

    train: Flags
    validation: Flags | None
    test: Flags

    def rows(self, chosen: slice) -> Masks:
        """The same for some of the rows."""
        tuned = None if self.validation is None else self.validation[chosen]
        return Masks(self.train[chosen], tuned, self.test[chosen])


@dataclass(frozen=True, eq=False)
class FoldParts:
    """The rows of one fold, and the ground truth of them; None if there is none.

    Attributes:
        train: what is learned from.
        validation: what settings are chosen by.
        test: what is predicted.
        tuning: ground truth of the validation.
        judgments: ground truth of the test.
    """

    train: Interactions
    validation: Interactions | None
    test: Interactions
    tuning: Qrels | None
    judgments: Qrels | None


def masks(
    log: Interactions, plan: SplitPlan, of: Callable[[Interactions, SplitPlan], Outer] = masks_of
) -> list[Masks]:
    """The masks of each fold; only users and times are looked at, and items by `cold-items`.

    Args:
        log: the interactions.
        plan: how to split.
        of: gives the masks of a log and a plan without validation.

    Raises:
        UsageError, InputError: as `masks_of`.
    """
    found = []
    for train, test in of(log, plan):
        if not plan.validation:
            found.append(Masks(train, None, test))
            continue
        known = log.kept(pl.Series(train))
        ((learned, tuned),) = of(known, plan_of_validation(plan))
        found.append(Masks(_within(train, learned), _within(train, tuned), test))
    return found


def plan_of_validation(plan: SplitPlan) -> SplitPlan:
    """How training is split again, for a validation set as large as the test."""
    share = plan.share if plan.way.startswith("cold") else min(0.5, plan.share / (1 - plan.share))
    return replace(plan, validation=False, cut=None, share=share, seed=plan.seed + 1)


def parts(log: Interactions, chosen: Masks, rule: Truth, *, unseen: bool) -> FoldParts:
    """The parts of a log, or of a stretch of whole users.

    Args:
        log: the interactions.
        chosen: which are in which part.
        rule: how interactions become judgments.
        unseen: whether what a user had before is no ground truth.
    """
    train, test = log.kept(pl.Series(chosen.train)), log.kept(pl.Series(chosen.test))
    if chosen.validation is None:
        return FoldParts(train, None, test, None, _judged(test, train, rule, "test", unseen=unseen))
    validation = log.kept(pl.Series(chosen.validation))
    known = log.kept(pl.Series(chosen.train | chosen.validation))
    return FoldParts(
        train,
        validation,
        test,
        _judged(validation, train, rule, "validation", unseen=unseen),
        _judged(test, known, rule, "test", unseen=unseen),
    )


def refuse_unknown_kinds(rule: Truth, kinds: Collection[str]) -> None:
    """Check that every kind of which the rule says something is in the log.

    Raises:
        UsageError: one is not.
    """
    for kind in (*rule.weights, *rule.least):
        if kind not in kinds:
            known = ", ".join(sorted(kinds)[:10])
            raise UsageError(
                f"no interaction is of the kind '{kind}'; there are {known}.", code="unknown-choice"
            )


def nothing_judged(rule: Truth, label: str) -> InputError:
    """The error where nothing is left to be predicted."""
    if rule.weights:
        return InputError(
            "no interaction is of a kind that counts.", source=label, code="no-interactions"
        )
    problem = "every pair of the test is in training too; choose candidates all, or another way."
    return InputError(problem, source=label, code="no-interactions")


def _within(outer: Flags, inner: Flags) -> Flags:
    """A mask of the rows that another mask keeps, as one of all rows."""
    out = np.zeros(len(outer), bool)
    out[outer] = inner
    return out


def _judged(
    part: Interactions, known: Interactions, rule: Truth, name: str, *, unseen: bool
) -> Qrels | None:
    """Ground truth of a part, with `unseen` without what the user had before; None for none."""
    rows = part.table
    if unseen:
        had = known.table.select(_PAIR)
        rows = rows.join(had, on=_PAIR, how="anti", maintain_order="left")
    own = rule
    if rule.weights:  # a kind may be missing here and be elsewhere
        kinds = rows["kind"].unique().to_list()
        own = replace(rule, weights={k: w for k, w in rule.weights.items() if k in kinds})
        rows = rows.filter(pl.col("kind").is_in(list(own.weights)))
    if rows.is_empty():
        return None
    found = truth(replace(part, table=rows), own, name)
    return found if own == rule else replace(found, made_by=rule.to_dict())

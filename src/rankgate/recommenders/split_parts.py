"""Assign rows of a log to parts, and derive judgments from the test set."""

from __future__ import annotations

import shlex
from collections.abc import Callable, Collection, Mapping
from dataclasses import replace
from typing import TYPE_CHECKING

import numpy as np
import polars as pl

from rankgate.core.errors import InputError, UsageError
from rankgate.core.frozen import dataclass
from rankgate.core.present.codec import encode
from rankgate.data.logs.interactions import sort_by_user
from rankgate.data.logs.log_judgments import truth
from rankgate.data.logs.splits import divide_test, make_masks

if TYPE_CHECKING:
    from rankgate.core.arrays import Flags
    from rankgate.data.logs.interactions import Interactions
    from rankgate.data.logs.log_judgments import Truth
    from rankgate.data.logs.splits import Masks as Outer
    from rankgate.data.logs.splits import SplitPlan
    from rankgate.data.qrels import Qrels

_PAIR = ["query_id", "doc_id"]


@dataclass(frozen=True, eq=False)
class FoldMasks:
    """The rows of a log in each part, ``(n,)`` masks; a row may be in no part.

    Attributes:
        train: rows to learn from.
        validation: rows for choosing settings; None where there is no such part.
        test: rows to predict.
        fold_in: rows of users who are not in training, for models to get as input; None where there
            is no such part.
    """

    train: Flags
    validation: Flags | None
    test: Flags
    fold_in: Flags | None = None

    def rows(self, row_range: slice) -> FoldMasks:
        """The masks for some of the rows."""
        validation, fold_in = (
            None if mask is None else mask[row_range] for mask in (self.validation, self.fold_in)
        )
        return FoldMasks(self.train[row_range], validation, self.test[row_range], fold_in)


@dataclass(frozen=True, eq=False)
class FoldParts:
    """The rows of one fold with their ground truth, which may be None.

    Attributes:
        train: the training interactions.
        validation: interactions for choosing settings.
        test: interactions to predict.
        tuning: ground truth of the validation.
        judgments: ground truth of the test.
        fold_in: interactions for models to get as input, of users who are not in training.
    """

    train: Interactions
    validation: Interactions | None
    test: Interactions
    tuning: Qrels | None
    judgments: Qrels | None
    fold_in: Interactions | None = None

    @property
    def logs(self) -> dict[str, Interactions]:
        """The interactions of each part by its name."""
        logs = {
            "train": self.train,
            "validation": self.validation,
            "fold-in": self.fold_in,
            "test": self.test,
        }
        return {name: log for name, log in logs.items() if log is not None}


def fold_masks_of(
    log: Interactions,
    plan: SplitPlan,
    split_function: Callable[[Interactions, SplitPlan], Outer] = make_masks,
) -> list[FoldMasks]:
    """The masks of each fold, computed only from users and times (for `cold-items`, also items).

    Args:
        log: the interactions.
        plan: the split.
        split_function: a function that makes the masks for a log and a plan without validation.

    Raises:
        UsageError, InputError: see `make_masks`.
    """
    fold_masks = []
    for train, period in split_function(log, plan):
        fold_in, test = divide_test(log.table, period, plan)
        if not plan.validation:
            fold_masks.append(FoldMasks(train, None, test, fold_in))
            continue
        training_log = log.filter_rows(pl.Series(train))
        ((is_training, is_validation),) = split_function(training_log, plan_of_validation(plan))
        is_fold_in, is_validation = divide_test(training_log.table, is_validation, plan)
        if fold_in is not None and is_fold_in is not None:
            fold_in |= _nested_mask(train, is_fold_in)
        is_training, is_validation = (_nested_mask(train, mask) for mask in (is_training, is_validation))
        fold_masks.append(FoldMasks(is_training, is_validation, test, fold_in))
    return fold_masks


def join_parts(train: Interactions, test: Interactions) -> tuple[Interactions, FoldMasks]:
    """A log that was split elsewhere: all its rows, and the rows of each part.

    Raises:
        InputError: one part has times, or a unit of times, that the other has not.
    """
    if train.unit != test.unit:
        raise InputError(
            f"its times are in another unit ({test.unit}) than those of training ({train.unit}).",
            source=test.place.label,
            code="mixed-times",
        )
    tables = [log.table.with_columns(is_test=pl.lit(value)) for log, value in ((train, False), (test, True))]
    rows = sort_by_user(pl.concat(tables), timed=train.timed)
    is_test = rows["is_test"].to_numpy()
    return replace(train, table=rows.drop("is_test")), FoldMasks(~is_test, None, is_test)


def plan_of_validation(plan: SplitPlan) -> SplitPlan:
    """The plan for splitting training, with a validation set as large as the test."""
    share = plan.share if plan.way.startswith("cold") else min(0.5, plan.share / (1 - plan.share))
    return replace(plan, validation=False, cut=None, share=share, seed=plan.seed + 1)


def split_parts(log: Interactions, fold_masks: FoldMasks, rule: Truth, *, unseen: bool) -> FoldParts:
    """The parts of a log, or of some whole users of the log.

    Args:
        log: the interactions.
        fold_masks: the rows of each part.
        rule: the rule by which interactions become judgments.
        unseen: True to leave earlier items of a user out of the ground truth.
    """
    train, test = (log.filter_rows(pl.Series(mask)) for mask in (fold_masks.train, fold_masks.test))
    fold_in, earlier = None, fold_masks.train
    if fold_masks.fold_in is not None:
        fold_in, earlier = log.filter_rows(pl.Series(fold_masks.fold_in)), earlier | fold_masks.fold_in
    if fold_masks.validation is None:
        known_log = log.filter_rows(pl.Series(earlier))
        judgments = _part_judgments(test, known_log, rule, "test", unseen=unseen)
        return FoldParts(train, None, test, None, judgments, fold_in)
    validation = log.filter_rows(pl.Series(fold_masks.validation))
    before_validation, before_test = (
        log.filter_rows(pl.Series(mask)) for mask in (earlier, earlier | fold_masks.validation)
    )
    return FoldParts(
        train,
        validation,
        test,
        _part_judgments(validation, before_validation, rule, "validation", unseen=unseen),
        _part_judgments(test, before_test, rule, "test", unseen=unseen),
        fold_in,
    )


_MAX_KINDS = 10  # kinds that an error names

SHOWN_KINDS = frozenset({"impression", "impressions", "show", "shown", "exposure", "display"})
"""Kinds of events that say only that an item was shown."""


def check_kinds(rule: Truth, kinds: Collection[str]) -> None:
    """Check that the log has every kind of interaction in the rule, and that several have weights.

    Args:
        rule: the rule by which interactions become judgments.
        kinds: the kinds of the log, or the number of rows of each kind.

    Raises:
        UsageError: a kind is missing; the log has several kinds and the rule does not weigh them.
    """
    if len(kinds) > 1 and not rule.tells_zero:
        counts = kinds if isinstance(kinds, Mapping) else dict.fromkeys(sorted(kinds))
        weights = {kind: int(kind.lower() not in SHOWN_KINDS) for kind in [*counts][:_MAX_KINDS]}
        kind_texts = (f"{kind} ({counts[kind]:,})" if counts[kind] else kind for kind in weights)
        options = " ".join(f"--weight {shlex.quote(kind)}={weight}" for kind, weight in weights.items())
        raise UsageError(
            f"events of {len(kinds)} kinds, {', '.join(kind_texts)}, and what each is worth is not given; "
            f"write {options}, with your weights (in Python Truth({weights})).",
            code="missing-weights",
        )
    for kind in (*rule.weights, *rule.least):
        if kind not in kinds:
            present_kinds = ", ".join(sorted(kinds)[:_MAX_KINDS])
            raise UsageError(
                f"no interaction is of the kind '{kind}'; there are {present_kinds}.", code="unknown-choice"
            )


def no_judgments_error(rule: Truth, label: str) -> InputError:
    """The error for a split without any judgment to predict."""
    if rule.weights:
        return InputError("no interaction is of a kind that counts.", source=label, code="no-interactions")
    problem = "every pair of the test is in training too; choose candidates all, or another way."
    return InputError(problem, source=label, code="no-interactions")


def _nested_mask(outer: Flags, inner: Flags) -> Flags:
    """The inner mask, which covers the rows of the outer mask, as a mask of all rows."""
    full_mask = np.zeros(len(outer), bool)
    full_mask[outer] = inner
    return full_mask


def _part_judgments(
    log: Interactions, known_log: Interactions, rule: Truth, name: str, *, unseen: bool
) -> Qrels | None:
    """Ground truth of a part; with `unseen`, without items of the user's past; None if empty."""
    rows = log.table
    if unseen:
        known_pairs = known_log.table.select(_PAIR)
        rows = rows.join(known_pairs, on=_PAIR, how="anti", maintain_order="left")
    part_rule = rule
    if rule.weights:  # a kind may be missing here but exist in other rows
        kinds = rows["kind"].unique().to_list()
        part_rule = replace(rule, weights={k: w for k, w in rule.weights.items() if k in kinds})
        rows = rows.filter(pl.col("kind").is_in(list(part_rule.weights)))
    if rows.is_empty():
        return None
    judgments = truth(replace(log, table=rows), part_rule, name)
    return judgments if part_rule == rule else replace(judgments, made_by=encode(rule))

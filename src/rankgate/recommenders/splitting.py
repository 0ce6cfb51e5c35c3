"""Split a log into training and test sets; check for leakage."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from typing import TYPE_CHECKING, Literal, cast

import polars as pl

from rankgate.core.errors import InputError, UsageError
from rankgate.data.logs.interactions import kind_counts, sort_by_user
from rankgate.data.logs.log_judgments import Truth
from rankgate.data.logs.read_logs import read_interactions
from rankgate.data.logs.splits import (
    CANDIDATES,
    ELSEWHERE,
    SplitMethodName,
    SplitPlan,
    core_rows,
    sample,
    session_ids,
)
from rankgate.data.spark_tables import is_on_spark, run_on_spark
from rankgate.recommenders.split import Fold, FoldCount, Split, warnings_of
from rankgate.recommenders.split_parts import (
    FoldMasks,
    check_kinds,
    fold_masks_of,
    join_parts,
    no_judgments_error,
    split_parts,
)

if TYPE_CHECKING:
    from rankgate.data.input_types import OnSpark
    from rankgate.data.logs.interactions import Interactions, LogLike, Unit

EqualRows = Literal["once", "each"]
"""The count of rows that are equal in every column: once, or each of them."""


def split(
    log: LogLike | OnSpark,
    plan: SplitMethodName | SplitPlan = "global",
    rule: Truth | None = None,
    *,
    candidates: str = "unseen",
    negatives: int = 99,
    columns: Mapping[str, str] | None = None,
    time_unit: Unit | None = None,
    equal_rows: EqualRows | None = None,
    test: LogLike | None = None,
) -> Split:
    """Split a log into training and test sets.

    Args:
        log: a path (``-`` is standard input) or a frame with columns for user, item and, where
            there are any, time, kind and value; or a log as it is. A table on Spark is split there,
            and its parts stay there, in ``maker`` of the result.
        plan: the split: a `SplitPlan`, or the name of a method, such as leave-last.
        rule: the rule that makes judgments of interactions; by default each is relevant.
        candidates: the items that may be recommended: those unseen by the user in training
            (unseen), all, or a sample (sampled). Unless it is all, what a user had in training is
            not ground truth either.
        negatives: with `sampled` candidates: how many items are drawn for each user.
        columns: the log's column for query_id, doc_id, at, kind or value; detected by name without
            it.
        time_unit: the unit of numeric times; inferred from their size if not given.
        equal_rows: count equal rows once, or count each of them; by default once, but each where a
            log has no times and its repeats are summed or averaged.
        test: the test set of a log that was split elsewhere, of which the log is the training set:
            the parts are checked for leaks as they are, and judgments are made of the test set.

    Raises:
        InputError: a log that cannot be read; nothing to learn from or to predict; a k-core
            without rows.
        UsageError: an unknown word, or times that the way needs and that are not there.

    >>> import polars as pl
    >>> log = pl.DataFrame({"user": list("uuvv"), "item": list("abab"), "time": [1, 4, 2, 3]})
    >>> pooled = split(log, "leave-last")
    >>> pooled.qrels.table.rows()
    [('u', 'b', 1.0), ('v', 'b', 1.0)]
    """
    number, repeats_rule = negative_count(candidates, negatives), counted_rows(equal_rows, rule)
    plan = SplitPlan.of(plan)
    if is_on_spark(log):
        has_fold_in = plan.fold_in or plan.target == "last"
        if test is not None or plan.core or plan.gap or has_fold_in or plan.way in {"sessions", ELSEWHERE}:
            raise UsageError(
                "Spark makes no k-core, sessions or fold-in, and checks no log that was split elsewhere; "
                "give a file or frame.",
                code="not-on-spark",
            )
        spark_split: Split = run_on_spark(
            "split",
            log,
            plan,
            rule,
            candidates=candidates,
            negatives=negatives,
            columns=columns,
            time_unit=time_unit,
            equal_rows=repeats_rule,
        )
        return spark_split
    rows = read_interactions(cast("LogLike", log), columns, unit=time_unit, same=repeats_rule)
    plan, rule, read_count = plan.dated(rows.unit), rule or Truth(), len(rows.table)
    if plan.gap:
        sessions = rows.table.with_columns(session_ids(rows, plan.gap))
        rows = replace(rows, table=sort_by_user(sessions, timed=True))
    if plan.core:
        rows = rows.filter_rows(pl.Series(core_rows(rows.table, plan.core)))
        if rows.table.is_empty():
            problem = (
                f"no users and items have {plan.core} interactions with each other; choose a smaller core."
            )
            raise InputError(problem, source=rows.place.label, code="no-interactions")
    outside_core = read_count - len(rows.table)
    if test is None:
        masks = fold_masks_of(rows, plan)
    else:
        if plan not in {SplitPlan(), SplitPlan(ELSEWHERE)}:
            raise UsageError(
                "a log that was split elsewhere is not split again; leave the options of the way out.",
                code="conflicting-options",
            )
        test_rows = read_interactions(test, columns, unit=time_unit, same=repeats_rule)
        plan, (rows, two_files) = SplitPlan(ELSEWHERE), join_parts(rows, test_rows)
        masks = [two_files]
    check_kinds(rule, kind_counts(rows.table))
    unseen = candidates != "all"
    folds = tuple(_fold(rows, fold, plan, rule, unseen=unseen, negatives=number) for fold in masks)
    mark = candidates_label(candidates, number)
    result = warnings_of(plan, candidates, folds, rule)
    return Split(rows.name, rows.unit, rows.repeated, plan, rule, mark, folds, result, outside_core)


def counted_rows(equal_rows: EqualRows | None, rule: Truth | None) -> str:
    """The count of equal rows, as `order_rows` takes it."""
    return equal_rows or ("timed" if rule is not None and rule.repeats in {"sum", "mean"} else "once")


def negative_count(candidates: str, negatives: int) -> int | None:
    """The number of items to draw for each user; None if no items are drawn.

    Raises:
        UsageError: the set of candidates is unknown, or has too few items.
    """
    if candidates not in CANDIDATES:
        raise UsageError(f"candidates='{candidates}'; choose {', '.join(CANDIDATES)}.", code="unknown-choice")
    if negatives < 1:
        raise UsageError("at least one negative must be drawn for each user.", code="out-of-range")
    return negatives if candidates == "sampled" else None


def candidates_label(candidates: str, negatives: int | None) -> str:
    """The name of a set of candidates; for a sample, with the number of items."""
    return candidates if negatives is None else f"{candidates}({negatives})"


def _fold(
    rows: Interactions,
    fold_masks: FoldMasks,
    plan: SplitPlan,
    rule: Truth,
    *,
    unseen: bool,
    negatives: int | None,
) -> Fold:
    fold_parts = split_parts(rows, fold_masks, rule, unseen=unseen)
    judgments = fold_parts.judgments
    if judgments is None or (fold_parts.validation is not None and fold_parts.tuning is None):
        raise no_judgments_error(rule, rows.place.label)
    candidate_sample = None
    if negatives is not None:
        candidate_sample = sample(judgments.table, rows.table, negatives, plan.seed)
        judgments = replace(judgments, name=f"test.sampled-{negatives}")
    count = FoldCount(plan, rows.unit)
    count.add(fold_parts, candidate_sample)
    return replace(
        count.figures(),
        train=fold_parts.train,
        validation=fold_parts.validation,
        test=fold_parts.test,
        judgments=judgments,
        tuning=fold_parts.tuning,
        fold_in=fold_parts.fold_in,
        sample=candidate_sample,
    )

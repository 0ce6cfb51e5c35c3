"""Split a log into training and test sets; check for leakage."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from typing import TYPE_CHECKING, Literal

from rankgate.core.errors import UsageError
from rankgate.data.logs.candidates import CANDIDATES, sample
from rankgate.data.logs.reading import read_interactions
from rankgate.data.logs.relevance import Truth
from rankgate.data.logs.splits import SplitPlan, Way
from rankgate.recommenders.split import Fold, FoldCount, Split, warnings_of
from rankgate.recommenders.split_parts import (
    Masks,
    masks,
    nothing_judged,
    parts,
    refuse_unknown_kinds,
)

if TYPE_CHECKING:
    from rankgate.data.logs.clock import Unit
    from rankgate.data.logs.interactions import Interactions, LogLike

EqualRows = Literal["once", "each"]
"""Rows that are equal in every column count once, or each of them."""


def split(
    log: LogLike,
    plan: Way | SplitPlan = "global",
    rule: Truth | None = None,
    *,
    candidates: str = "unseen",
    negatives: int = 99,
    columns: Mapping[str, str] | None = None,
    time_unit: Unit | None = None,
    equal_rows: EqualRows = "once",
) -> Split:
    """Split a log into training and test sets.

    Args:
        log: a path (``-`` is standard input) or a frame with columns for user, item and, where
            there are any, time, kind and value; or a log as it is.
        plan: how to split: a `SplitPlan`, or the name of a way, such as leave-last.
        rule: how interactions become judgments; by default each is relevant.
        candidates: the items that may be recommended: those unseen by the user in training
            (unseen), all, or a sample (sampled). Unless it is all, what a user had in training is
            no ground truth either.
        negatives: with `sampled` candidates: how many items are drawn for each user.
        columns: the log's column for query_id, doc_id, at, kind or value; detected by name without
            it.
        time_unit: the unit of numeric times; inferred from their size if not given.
        equal_rows: count equal rows once, or count each of them.

    Raises:
        InputError: a log that cannot be read; nothing to learn from or to predict.
        UsageError: an unknown word, or times that the way needs and that are not there.

    >>> import polars as pl
    >>> log = pl.DataFrame({"user": list("uuvv"), "item": list("abab"), "time": [1, 4, 2, 3]})
    >>> pooled = split(log, "leave-last")
    >>> pooled.qrels.table.rows()
    [('u', 'b', 1.0), ('v', 'b', 1.0)]
    """
    number = negatives_of(candidates, negatives)
    rows = read_interactions(log, columns, unit=time_unit, same=equal_rows)
    plan, rule = SplitPlan.of(plan).dated(rows.unit), rule or Truth()
    refuse_unknown_kinds(rule, rows.table["kind"].unique().to_list())
    unseen = candidates != "all"
    folds = tuple(
        _fold(rows, fold, plan, rule, unseen=unseen, negatives=number) for fold in masks(rows, plan)
    )
    mark = marked(candidates, number)
    result = warnings_of(plan, candidates, folds)
    return Split(rows.name, rows.unit, rows.repeated, plan, rule, mark, folds, result)


def negatives_of(candidates: str, negatives: int) -> int | None:
    """How many items to draw for each user; None where none are drawn.

    Raises:
        UsageError: no such set of candidates, or too few.
    """
    if candidates not in CANDIDATES:
        raise UsageError(
            f"candidates='{candidates}'; choose {', '.join(CANDIDATES)}.", code="unknown-choice"
        )
    if negatives < 1:
        raise UsageError("at least one negative must be drawn for each user.", code="out-of-range")
    return negatives if candidates == "sampled" else None


def marked(candidates: str, negatives: int | None) -> str:
    """The name of a set of candidates, with the number where a sample is drawn."""
    return candidates if negatives is None else f"{candidates}({negatives})"


def _fold(
    rows: Interactions,
    chosen: Masks,
    plan: SplitPlan,
    rule: Truth,
    *,
    unseen: bool,
    negatives: int | None,
) -> Fold:
    made = parts(rows, chosen, rule, unseen=unseen)
    judgments = made.judgments
    if judgments is None or (made.validation is not None and made.tuning is None):
        raise nothing_judged(rule, rows.place.label)
    drawn = None
    if negatives is not None:
        drawn = sample(judgments.table, rows.table, negatives, plan.seed)
        judgments = replace(judgments, name=f"test.sampled-{negatives}")
    count = FoldCount(plan, rows.unit)
    count.add(made, drawn)
    return replace(
        count.figures(),
        train=made.train,
        validation=made.validation,
        test=made.test,
        judgments=judgments,
        tuning=made.tuning,
        sample=drawn,
    )

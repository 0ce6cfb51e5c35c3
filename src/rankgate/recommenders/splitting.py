"""Split a log into training and test sets; check for leakage."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from typing import TYPE_CHECKING, Any

from rankgate.core.errors import UsageError
from rankgate.data.logs.candidates import CANDIDATES, sample
from rankgate.data.logs.clock import Unit, instant
from rankgate.data.logs.reading import read_interactions
from rankgate.data.logs.relevance import Grades, Repeats, Truth
from rankgate.data.logs.splits import SplitPlan
from rankgate.recommenders.split import Fold, FoldCount, Split, warnings_of
from rankgate.recommenders.split_parts import (
    Masks,
    masks,
    nothing_judged,
    parts,
    refuse_unknown_kinds,
)

if TYPE_CHECKING:
    from rankgate.data.logs.interactions import Interactions, LogLike


def split(
    log: LogLike,
    way: str = "global",
    *,
    share: float = 0.2,
    last: int = 1,
    cut: str | None = None,
    windows: int = 5,
    validation: bool = False,
    candidates: str = "unseen",
    negatives: int = 99,
    weights: Mapping[str, float] | None = None,
    threshold: float = 0.0,
    least: Mapping[str, float] | None = None,
    repeats: Repeats = "max",
    grades: Grades = "binary",
    columns: Mapping[str, str] | None = None,
    time_unit: Unit | None = None,
    seed: int = 0,
) -> Split:
    """Split a log into training and test sets.

    Args:
        log: a path or a frame with columns for user, item and, where there are any, time, kind
            and value.
        way: ``global`` (by one time), ``user`` (the last share of each user), ``leave-last``,
            ``leave-one-out``, ``random``, ``windows``, ``cold-users`` or ``cold-items``.
        share: the share of the interactions in the test set.
        last: with `leave-last`: how many interactions of each user are in the test set.
        cut: with `global`: the time at which the test set begins.
        windows: with `windows`: the number of folds.
        validation: also make a validation set, as large as the test set, from the time before it.
        candidates: the items that may be recommended: those unseen by the user in training
            (unseen), all, or a sample (sampled).
        negatives: with `sampled` candidates: how many items are drawn for each user.
        weights: the weight of a kind of interaction; kinds that are not named are ignored.
        threshold: items with at least this value (rating or weight) are relevant.
        least: the lowest value at which an interaction of a kind counts, such as rating=4 or
            dwell=30.
        repeats: how several interactions with one item are combined.
        grades: write judgments as 1 or 0 (binary), or as the value itself (value).
        columns: the log's column for query_id, doc_id, at, kind or value; detected by name without
            it.
        time_unit: the unit of numeric times; inferred from their size if not given.
        seed: of everything that is drawn.

    Raises:
        InputError: a log that cannot be read; nothing to learn from or to predict.
        UsageError: an unknown word, or times that the way needs and that are not there.

    >>> import polars as pl
    >>> log = pl.DataFrame({"user": list("uuvv"), "item": list("abab"), "time": [1, 4, 2, 3]})
    >>> pooled = split(log, "leave-last")
    >>> pooled.qrels.table.rows()
    [('u', 'b', 1.0), ('v', 'b', 1.0)]
    """
    return split_by(
        log,
        SplitPlan(way, share, last, None, windows, validation, seed),
        Truth(weights or {}, threshold, repeats, grades, least or {}),
        candidates=candidates,
        negatives=negatives,
        cut=cut,
        columns=columns,
        unit=time_unit,
    )


def split_by(
    log: LogLike,
    plan: SplitPlan | None = None,
    rule: Truth | None = None,
    *,
    candidates: str = "unseen",
    negatives: int = 99,
    cut: str | None = None,
    columns: Mapping[str, str] | None = None,
    from_: str | None = None,
    unit: Any = None,  # noqa: ANN401 - a word, checked by the reader
    same: str = "once",
) -> Split:
    """Split a log by a plan; `split` says it in words.

    Args:
        log: a path (``-`` is standard input), a frame, or a log as it is.
        plan: how to split.
        rule: how interactions become judgments.
        candidates: which items lists may hold. With ``unseen`` what a user had in training is no
            ground truth either.
        negatives: how many items are drawn for each user with ``sampled``.
        cut: the moment from which on `global` predicts, as a date or as the log writes times.
        columns: our column -> the log's.
        from_: the name of the log's format.
        unit: the unit of times that are numbers.
        same: whether rows that are equal in every column count ``once`` or ``each``.

    Raises:
        InputError: a log that cannot be read; nothing to learn from or to predict.
        UsageError: an unknown way or set of candidates; times that the way needs and that are not
            there.
    """
    number = negatives_of(candidates, negatives)
    rows = read_interactions(log, columns, from_=from_, unit=unit, same=same)
    plan, rule = plan or SplitPlan(), rule or Truth()
    if cut is not None:
        plan = replace(plan, cut=instant(cut, rows.unit))
    refuse_unknown_kinds(rule, rows.table["kind"].unique().to_list())
    unseen = candidates != "all"
    folds = tuple(
        _fold(rows, each, plan, rule, unseen=unseen, negatives=number) for each in masks(rows, plan)
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

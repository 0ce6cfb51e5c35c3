"""Split a log into what is learned from and what is predicted; check that nothing leaks."""

from __future__ import annotations

from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING, Any

from rankgate.data.candidates import CANDIDATES, WARNING, Sample, sample
from rankgate.data.clock import instant
from rankgate.data.logs import read_interactions
from rankgate.data.splits import WAYS, Plan, masks_of
from rankgate.data.truth import Truth, truth
from rankgate.errors import InputError, UsageError
from rankgate.services.leaks import Leaks, Part, leaks_of, part_of

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from rankgate.data.interactions import Interactions
    from rankgate.data.qrels import Qrels

SCHEMA_VERSION = 1

__all__ = ["CANDIDATES", "WAYS", "Fold", "Plan", "Split", "Truth", "split", "way_facts"]

_AHEAD = "training has interactions that are later than some that are predicted"


@dataclass(frozen=True)
class Fold:
    """One split of the log.

    Attributes:
        train: what is learned from.
        validation: what settings are chosen by; None where there is no such part.
        test: what is predicted.
        judgments: ground truth of the test.
        tuning: ground truth of the validation.
        sample: the sampled candidates, where they were asked for.
        parts: the figures of each part.
        leaks: what the parts have in common, and whatever else may spoil figures.
    """

    train: Interactions
    validation: Interactions | None
    test: Interactions
    judgments: Qrels
    tuning: Qrels | None
    sample: Sample | None
    parts: tuple[Part, ...]
    leaks: Leaks

    def to_dict(self) -> dict[str, Any]:
        """Plain values for JSON."""
        return {
            "parts": [part.to_dict() for part in self.parts],
            "leaks": self.leaks.to_dict(),
            "judgments": len(self.judgments.table),
            "short_of_negatives": self.sample.short if self.sample else 0,
        }


@dataclass(frozen=True)
class Split:
    """A log in parts.

    Attributes:
        log: its name.
        unit: what its times are written in.
        repeated: rows that stood there twice, and were left out.
        plan: how it was split.
        rule: how interactions became judgments.
        candidates: ``all``, ``unseen`` or ``sampled(m)``.
        folds: one, or one for each window.
        warnings: what to know before trusting a figure, one sentence each.
    """

    log: str
    unit: str
    repeated: int
    plan: Plan
    rule: Truth
    candidates: str
    folds: tuple[Fold, ...]
    warnings: tuple[str, ...] = field(default=())

    def to_dict(self) -> dict[str, Any]:
        """Plain values for JSON."""
        return {
            "schema_version": SCHEMA_VERSION,
            "log": self.log,
            "unit": self.unit,
            "repeated": self.repeated,
            "plan": self.plan.to_dict(),
            "truth": self.rule.to_dict(),
            "candidates": self.candidates,
            "folds": [fold.to_dict() for fold in self.folds],
            "warnings": list(self.warnings),
        }


def split(
    log: Any,  # noqa: ANN401 - a path, a frame, or a log as it is
    plan: Plan | None = None,
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
    """Split a log.

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
    if candidates not in CANDIDATES:
        raise UsageError(f"candidates='{candidates}'; choose {', '.join(CANDIDATES)}.")
    if negatives < 1:
        raise UsageError("at least one negative must be drawn for each user.")
    rows = read_interactions(log, columns, from_=from_, unit=unit, same=same)
    plan, rule = plan or Plan(), rule or Truth()
    if cut is not None:
        plan = replace(plan, cut=instant(cut, rows.unit))
    number = negatives if candidates == "sampled" else None
    folds = tuple(
        _fold(rows, rows.kept(_series(train)), rows.kept(_series(test)), plan, rule,
              unseen=candidates != "all", negatives=number)
        for train, test in masks_of(rows, plan)
    )  # fmt: skip
    word = folds[0].sample.mark if folds[0].sample else candidates
    told = _warnings(plan, candidates, folds)
    return Split(rows.name, rows.unit, rows.repeated, plan, rule, word, folds, told)


def way_facts() -> tuple[tuple[str, str], ...]:
    """Every way to split, with what it does."""
    return tuple((name, way.title) for name, way in WAYS.items())


def _series(mask: Any) -> Any:  # noqa: ANN401 - an array; polars is loaded by what made it
    from polars import Series  # noqa: PLC0415 - as above

    return Series(mask)


def _fold(
    rows: Interactions,
    train: Interactions,
    test: Interactions,
    plan: Plan,
    rule: Truth,
    *,
    unseen: bool,
    negatives: int | None,
) -> Fold:
    validation, known = None, train
    if plan.validation:
        inner = replace(plan, validation=False, cut=None, share=_again(plan), seed=plan.seed + 1)
        ((learned, tuned),) = masks_of(train, inner)
        train, validation = train.kept(_series(learned)), train.kept(_series(tuned))
    judgments = _judged(test, known, rule, "test", unseen=unseen)
    tuning = _judged(validation, train, rule, "validation", unseen=unseen) if validation else None
    drawn = None
    if negatives is not None:
        drawn = sample(judgments, rows.table, negatives, plan.seed)
        judgments = replace(judgments, name=f"test.sampled-{negatives}")
    named = {"train": train, "validation": validation, "test": test}
    parts = tuple(part_of(name, part) for name, part in named.items() if part is not None)
    return Fold(
        train, validation, test, judgments, tuning, drawn, parts, leaks_of(train, validation, test)
    )


def _again(plan: Plan) -> float:
    """The share of what is left that is as large as the test."""
    return plan.share if plan.way.startswith("cold") else min(0.5, plan.share / (1 - plan.share))


def _judged(
    part: Interactions, known: Interactions, rule: Truth, name: str, *, unseen: bool
) -> Qrels:
    """Ground truth of a part; with `unseen` without what the user had before."""
    if unseen:
        pair = ["query_id", "doc_id"]
        fresh = part.table.join(known.table.select(pair).unique(), on=pair, how="anti",
                                maintain_order="left")  # fmt: skip
        if fresh.is_empty():
            problem = (
                "every pair of the test is in training too; choose candidates all, or another way."
            )
            raise InputError(problem, source=part.place.label)
        part = replace(part, table=fresh)
    return truth(part, rule, name)


def _warnings(plan: Plan, candidates: str, folds: Sequence[Fold]) -> tuple[str, ...]:
    told = []
    ahead = sum(fold.leaks.ahead for fold in folds)
    if ahead:
        told.append(
            f"{_AHEAD} ({ahead:,}): systems learn from what they could not have known "
            "(Meng et al. 2020; Ji et al. 2023); global is the way without."
        )
    if candidates == "sampled":
        told.append(WARNING)
    if plan.way == "random":
        told.append("a random split is good for teaching, not for a claim.")
    unknown = sum(fold.leaks.items_only_test for fold in folds)
    if unknown and not plan.way.startswith("cold"):
        told.append(
            f"{unknown:,} items are in the test only: a system that learns ids cannot find them."
        )
    return tuple(told)

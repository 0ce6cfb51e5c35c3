"""What there is to say of a split: how it was made, how large its parts are, what they share."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

from rankgate.data.logs.candidates import WARNING
from rankgate.recommenders.leaks import LeakCount, Leaks, PartCount, SplitPart

if TYPE_CHECKING:
    from collections.abc import Sequence

    from rankgate.data.logs.candidates import Sample
    from rankgate.data.logs.clock import Unit
    from rankgate.data.logs.relevance import Truth
    from rankgate.data.logs.splits import SplitPlan
    from rankgate.recommenders.split_parts import FoldParts

SCHEMA_VERSION = 1

_AHEAD = "training has interactions that are later than some that are predicted"
_ORDERED = frozenset({"global", "windows"})  # all of training lies before the test, by their making


@dataclass(frozen=True)
class FoldFigures:
    """The figures of one fold.

    Attributes:
        parts: of each part.
        leaks: what the parts have in common, and whatever else may spoil figures.
        judged: judgments of the test.
        relevant: those of them above 0.
        short: users with fewer items to draw from than were to be drawn.
    """

    parts: tuple[SplitPart, ...]
    leaks: Leaks
    judged: int
    relevant: int
    short: int

    def to_dict(self) -> dict[str, Any]:
        """Plain values for JSON."""
        return {
            "parts": [part.to_dict() for part in self.parts],
            "leaks": self.leaks.to_dict(),
            "judgments": self.judged,
            "short_of_negatives": self.short,
        }


@dataclass(frozen=True)
class SplitFigures:
    """A log in parts, in figures.

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
    plan: SplitPlan
    rule: Truth
    candidates: str
    folds: tuple[FoldFigures, ...]
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


class FoldCount:
    """The figures of one fold, counted stretch by stretch of whole users."""

    def __init__(self, plan: SplitPlan, unit: Unit) -> None:
        self._unit = unit
        self._leaks = LeakCount(unit not in {"none", "place"} and plan.way not in _ORDERED)
        self._parts: dict[str, PartCount] = {}
        self._judged = self._relevant = self._short = 0

    def add(self, made: FoldParts, drawn: Sample | None) -> None:
        """Count the parts of some users, whom no other call has."""
        named = {"train": made.train, "validation": made.validation, "test": made.test}
        for name, log in named.items():
            if log is not None:
                self._parts.setdefault(name, PartCount()).add(log.table)
        self._leaks.add(made.train, made.validation, made.test)
        if made.judgments is not None:
            grades = made.judgments.table["grade"]
            self._judged += len(grades)
            self._relevant += int((grades > 0).sum())
        self._short += drawn.short if drawn else 0

    def figures(self) -> FoldFigures:
        """What was counted so far."""
        result = tuple(count.part(name, self._unit) for name, count in self._parts.items())
        return FoldFigures(result, self._leaks.leaks(), self._judged, self._relevant, self._short)


def warnings_of(plan: SplitPlan, candidates: str, folds: Sequence[FoldFigures]) -> tuple[str, ...]:
    """What to know before trusting a figure on these folds."""
    items = []
    ahead = sum(fold.leaks.ahead for fold in folds)
    if ahead:
        items.append(
            f"{_AHEAD} ({ahead:,}): systems learn from what they could not have known "
            "(Meng et al. 2020; Ji et al. 2023); global is the way without."
        )
    if candidates == "sampled":
        items.append(WARNING)
    if plan.way == "random":
        items.append("a random split is good for teaching, not for a claim.")
    unknown = sum(fold.leaks.items_only_test for fold in folds)
    if unknown and not plan.way.startswith("cold"):
        what = "1 item is" if unknown == 1 else f"{unknown:,} items are"
        items.append(f"{what} in the test only: a system that learns ids cannot find new items.")
    return tuple(items)

"""The result of ``split``: method, sizes and overlaps of the parts."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any, ClassVar, TypeVar

import polars as pl

from rankgate.core.errors import UsageError
from rankgate.core.frozen import dataclass
from rankgate.core.present.codec import encoded
from rankgate.core.present.resolve import resolved
from rankgate.core.present.result import Notice, Result
from rankgate.data.logs.candidates import WARNING
from rankgate.data.logs.relevance import Truth
from rankgate.data.logs.splits import SplitPlan
from rankgate.recommenders.leaks import LeakCount, Leaks, PartCount, SplitPart

if TYPE_CHECKING:
    from rankgate.data.logs.candidates import Sample
    from rankgate.data.logs.clock import Unit
    from rankgate.data.logs.interactions import Interactions
    from rankgate.data.qrels import Qrels
    from rankgate.recommenders.split_parts import FoldParts

Kept = TypeVar("Kept")

_AHEAD = "training has interactions later than some in the test set"
ORDERED = frozenset({"global", "windows"})  # all of training lies before the test, by their making


@dataclass(frozen=True)
class Fold:
    """One split of the log: its figures, and its tables where they are in memory.

    Attributes:
        parts: of each part.
        leaks: what the parts have in common, and anything else that may spoil figures.
        judged: judgments of the test.
        relevant: those of them above 0.
        short: users with fewer items to draw from than were to be drawn.
        train: what is learned from.
        validation: what settings are chosen by; None where there is no such part.
        test: what is predicted.
        judgments: ground truth of the test.
        tuning: ground truth of the validation.
        sample: the sampled candidates, where they were asked for.
    """

    parts: tuple[SplitPart, ...]
    leaks: Leaks
    judged: int
    relevant: int
    short: int
    train: Interactions | None = None
    validation: Interactions | None = None
    test: Interactions | None = None
    judgments: Qrels | None = None
    tuning: Qrels | None = None
    sample: Sample | None = None

    def to_dict(self) -> dict[str, Any]:
        """The figures as plain values for JSON."""
        return {
            "parts": encoded(self.parts),
            "leaks": encoded(self.leaks),
            "judgments": self.judged,
            "relevant": self.relevant,
            "short_of_negatives": self.short,
        }

    @classmethod
    def from_dict(cls, values: Mapping[str, Any]) -> Fold:
        """The figures that ``to_dict`` wrote."""
        return cls(
            tuple(SplitPart(**part) for part in values["parts"]),
            Leaks(**values["leaks"]),
            values["judgments"],
            values["relevant"],
            values["short_of_negatives"],
        )


@dataclass(frozen=True)
class Split(Result):
    """A log in parts.

    Attributes:
        log: its name.
        unit: what its times are written in.
        repeated: rows that appeared twice, and were left out.
        plan: how it was split.
        rule: how interactions became judgments.
        candidates: ``all``, ``unseen`` or ``sampled(m)``.
        folds: one, or one for each window.
        warnings: what to know before trusting a figure, one sentence each.
    """

    kind: ClassVar[str] = "split"
    KEYS: ClassVar[Mapping[str, str]] = {"rule": "truth"}
    document_from: ClassVar[str] = "rankgate.recommenders.documents.split:document"

    log: str
    unit: str
    repeated: int
    plan: SplitPlan
    rule: Truth
    candidates: str
    folds: tuple[Fold, ...]
    warnings: tuple[str, ...] = ()

    @property
    def notices(self) -> tuple[Notice, ...]:
        """The warnings."""
        return tuple(Notice("split", words) for words in self.warnings)

    @property
    def train(self) -> pl.DataFrame:
        """What is learned from, in the first fold.

        Raises:
            UsageError: the split is figures only.
        """
        return _in_memory(self.folds[0].train).table

    @property
    def test(self) -> pl.DataFrame:
        """What is predicted, in the first fold.

        Raises:
            UsageError: the split is figures only.
        """
        return _in_memory(self.folds[0].test).table

    @property
    def qrels(self) -> Qrels:
        """Ground truth of the test, in the first fold.

        Raises:
            UsageError: the split is figures only.
        """
        return _in_memory(self.folds[0].judgments)

    def write(self, folder: str | Path, to: str = "csv") -> tuple[str, ...]:
        """Write every part into a folder.

        Returns:
            The names of the files.

        Raises:
            UsageError: no such format, a folder that cannot be made, or a split of figures only.
        """
        names: tuple[str, ...] = resolved("rankgate.recommenders.split_files:written")(
            self, folder, to
        )
        return names

    def __len__(self) -> int:
        """How many folds there are."""
        return len(self.folds)

    def _table(self) -> pl.DataFrame:
        """The parts: ``fold``, ``name``, ``rows``, ``users``, ``items``, ``first``, ``last``."""
        return pl.DataFrame(
            [
                {"fold": number, **vars(part)}
                for number, fold in enumerate(self.folds, 1)
                for part in fold.parts
            ]
        )


def _in_memory(part: Kept | None) -> Kept:
    if part is None:
        raise UsageError(
            "this split has figures only; split the log again for its tables.", code="no-table"
        )
    return part


class FoldCount:
    """The figures of one fold, counted stretch by stretch of whole users."""

    def __init__(self, plan: SplitPlan, unit: Unit) -> None:
        self._unit = unit
        self._leaks = LeakCount(unit not in {"none", "place"} and plan.way not in ORDERED)
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

    def figures(self) -> Fold:
        """What was counted so far."""
        result = tuple(count.part(name, self._unit) for name, count in self._parts.items())
        return Fold(result, self._leaks.leaks(), self._judged, self._relevant, self._short)


def warnings_of(plan: SplitPlan, candidates: str, folds: Sequence[Fold]) -> tuple[str, ...]:
    """What to know before trusting a figure on these folds."""
    items = []
    ahead = sum(fold.leaks.ahead for fold in folds)
    if ahead:
        items.append(
            f"{_AHEAD} ({ahead:,}): systems learn from the future "
            "(Meng et al. 2020; Ji et al. 2023); the way global avoids that."
        )
    if candidates == "sampled":
        items.append(WARNING)
    if plan.way == "random":
        items.append("a random split is good for teaching, not for conclusions about systems.")
    unknown = sum(fold.leaks.items_only_test for fold in folds)
    if unknown and not plan.way.startswith("cold"):
        what = "1 item is" if unknown == 1 else f"{unknown:,} items are"
        items.append(f"{what} in the test only: a system that learns ids cannot find new items.")
    return tuple(items)

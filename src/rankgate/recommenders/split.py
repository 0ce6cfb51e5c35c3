"""The result of ``split``: method, sizes and overlaps of the parts."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import field
from pathlib import Path
from typing import TYPE_CHECKING, Any, ClassVar, Protocol, TypeVar

import polars as pl

from rankgate.core.errors import UsageError
from rankgate.core.frozen import dataclass
from rankgate.core.present.codec import encode
from rankgate.core.present.resolve import load_name
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

TableT = TypeVar("TableT")

_AHEAD_WARNING = "training has interactions later than some in the test set"
ORDERED_WAYS = frozenset(
    {"global", "windows"}
)  # all of training lies before the test by construction


@dataclass(frozen=True)
class Fold:
    """One split of the log: its figures, and its tables where they are in memory.

    Attributes:
        parts: of each part.
        leaks: overlaps of the parts, and other facts that may distort figures.
        judged: judgments of the test.
        relevant: those of them above 0.
        short: users with fewer items to draw from than the requested number.
        train: the training interactions.
        validation: interactions for choosing settings; None where there is no such part.
        test: interactions to predict.
        judgments: ground truth of the test.
        tuning: ground truth of the validation.
        sample: the sampled candidates, where they were requested.
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
            "parts": encode(self.parts),
            "leaks": encode(self.leaks),
            "judgments": self.judged,
            "relevant": self.relevant,
            "short_of_negatives": self.short,
        }

    @classmethod
    def from_dict(cls, values: Mapping[str, Any]) -> Fold:
        """The figures that ``to_dict`` wrote."""
        return cls(
            tuple(SplitPart(**values_of_part) for values_of_part in values["parts"]),
            Leaks(**values["leaks"]),
            values["judgments"],
            values["relevant"],
            values["short_of_negatives"],
        )


class RemoteParts(Protocol):
    """The parts of a split that are not on this machine."""

    def write(self, split: Split, folder: str | Path, to: str) -> tuple[str, ...]:
        """Write every part, in the way of `Split.write`."""
        ...


@dataclass(frozen=True)
class Split(Result):
    """A log in parts.

    Attributes:
        log: its name.
        unit: the unit of its times.
        repeated: rows that appeared twice, and were left out.
        plan: the method of the split.
        rule: the rule by which interactions became judgments.
        candidates: ``all``, ``unseen`` or ``sampled(m)``.
        folds: one, or one for each window.
        warnings: warnings about figures, one sentence each.
        maker: the parts of a log on Spark, as Spark DataFrames: ``maker.train``, ``test``,
            ``qrels``, and ``folds`` with those of each fold.
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
    maker: RemoteParts | None = field(
        default=None, compare=False, repr=False, metadata={"stored": False}
    )

    def __getstate__(self) -> dict[str, Any]:
        """The state without parts on Spark, which another process does not have."""
        return {**self.__dict__, "maker": None}

    @property
    def notices(self) -> tuple[Notice, ...]:
        """The warnings."""
        return tuple(Notice("split", warning) for warning in self.warnings)

    @property
    def train(self) -> pl.DataFrame:
        """The training interactions of the first fold.

        Raises:
            UsageError: the split is figures only, or its parts are on Spark.
        """
        return self._in_memory(self.folds[0].train).table

    @property
    def test(self) -> pl.DataFrame:
        """The interactions to predict, of the first fold.

        Raises:
            UsageError: the split is figures only, or its parts are on Spark.
        """
        return self._in_memory(self.folds[0].test).table

    @property
    def qrels(self) -> Qrels:
        """The judgments of the test, of the first fold.

        Raises:
            UsageError: the split is figures only, or its parts are on Spark.
        """
        return self._in_memory(self.folds[0].judgments)

    def write(self, folder: str | Path, to: str = "csv") -> tuple[str, ...]:
        """Write every part into a folder.

        Returns:
            The names of the files.

        Raises:
            UsageError: no such format, a folder that cannot be made, or a split of figures only.
        """
        names: tuple[str, ...]
        if self.maker is not None:
            names = self.maker.write(self, folder, to)
        else:
            names = load_name("rankgate.recommenders.split_files:write_split")(self, folder, to)
        return names

    def _in_memory(self, table: TableT | None) -> TableT:
        if table is None:
            problem = "this split has figures only; split the log again for its tables."
            if self.maker is not None:
                problem = "the parts are on Spark; take them from `maker`, or write them."
            raise UsageError(problem, code="no-table")
        return table

    def __len__(self) -> int:
        """The number of folds."""
        return len(self.folds)

    def _table(self) -> pl.DataFrame:
        """The parts: ``fold``, ``name``, ``rows``, ``users``, ``items``, ``first``, ``last``."""
        return pl.DataFrame(
            [
                {"fold": number, **vars(split_part)}
                for number, fold in enumerate(self.folds, 1)
                for split_part in fold.parts
            ]
        )


class FoldCount:
    """The figures of one fold, counted over runs of whole users."""

    def __init__(self, plan: SplitPlan, unit: Unit) -> None:
        self._unit = unit
        self._leaks = LeakCount(unit not in {"none", "place"} and plan.way not in ORDERED_WAYS)
        self._parts: dict[str, PartCount] = {}
        self._judged = self._relevant = self._short = 0

    def add(self, fold_parts: FoldParts, candidate_sample: Sample | None) -> None:
        """Count the parts of some users, who are in no other call."""
        logs = {
            "train": fold_parts.train,
            "validation": fold_parts.validation,
            "test": fold_parts.test,
        }
        for name, log in logs.items():
            if log is not None:
                self._parts.setdefault(name, PartCount()).add(log.table)
        self._leaks.add(fold_parts.train, fold_parts.validation, fold_parts.test)
        if fold_parts.judgments is not None:
            grades = fold_parts.judgments.table["grade"]
            self._judged += len(grades)
            self._relevant += int((grades > 0).sum())
        self._short += candidate_sample.short if candidate_sample else 0

    def figures(self) -> Fold:
        """The counts so far."""
        result = tuple(count.part(name, self._unit) for name, count in self._parts.items())
        return Fold(result, self._leaks.leaks(), self._judged, self._relevant, self._short)


def warnings_of(plan: SplitPlan, candidates: str, folds: Sequence[Fold]) -> tuple[str, ...]:
    """Warnings about figures on these folds."""
    warnings = []
    ahead = sum(fold.leaks.ahead for fold in folds)
    if ahead:
        warnings.append(
            f"{_AHEAD_WARNING} ({ahead:,}): systems learn from the future "
            "(Meng et al. 2020; Ji et al. 2023); the way global avoids that."
        )
    if candidates == "sampled":
        warnings.append(WARNING)
    if plan.way == "random":
        warnings.append("a random split is good for teaching, not for conclusions about systems.")
    unknown_items = sum(fold.leaks.items_only_test for fold in folds)
    if unknown_items and not plan.way.startswith("cold"):
        subject = "1 item is" if unknown_items == 1 else f"{unknown_items:,} items are"
        warnings.append(
            f"{subject} in the test only: a system that learns ids cannot find new items."
        )
    return tuple(warnings)

"""The result of ``split``: method, sizes and overlaps of the parts.

Overlap and leakage between the parts of a split log come first.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import field
from pathlib import Path
from typing import TYPE_CHECKING, Any, ClassVar, Protocol, TypeVar

import numpy as np
import polars as pl

from rankgate.core.errors import UsageError
from rankgate.core.frozen import dataclass
from rankgate.core.present.base_result import NoticeText, Result
from rankgate.core.present.columns import Column, Columns
from rankgate.core.present.document_model import Entries, Entry
from rankgate.core.present.layout import NOTICES, View
from rankgate.core.present.lazy_names import load_name
from rankgate.core.present.number_formats import count_noun
from rankgate.data.logs.interactions import Interactions, format_instant
from rankgate.data.logs.log_judgments import Truth
from rankgate.data.logs.splits import WARNING, Sample, SplitPlan
from rankgate.data.qrels import Qrels  # noqa: TC001 - the types of fields are read

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from rankgate.data.logs.interactions import Unit
    from rankgate.recommenders.split_parts import FoldParts


_PAIR = ["query_id", "doc_id"]


@dataclass(frozen=True)
class SplitPart:
    """One part: its interactions, users and items, and the first and last time in it."""

    name: str
    rows: int
    users: int
    items: int
    first: str
    last: str


@dataclass(frozen=True)
class Leaks:
    """Overlaps between parts that may distort figures on a split.

    Attributes:
        users_only_test: users of the test who are not in training.
        items_only_test: items of the test that are not in training.
        users_only_train: users without interactions in the test.
        pairs_again: pairs of the test that are in training too.
        ahead: rows of training (and validation) that are not before the first row of the test;
            0 where the log has no clock.
        same_time: users with the same time in their last row of training and first row of the
            test: the order of these rows is unknown.
    """

    users_only_test: int
    items_only_test: int
    users_only_train: int
    pairs_again: int
    ahead: int
    same_time: int


@dataclass(eq=False)
class PartCount:
    """The figures of one part, counted over runs of whole users."""

    rows: int = 0
    users: int = 0
    items: pl.Series = field(default_factory=lambda: pl.Series(dtype=pl.String))
    first: int | None = None
    last: int | None = None

    def add(self, table: pl.DataFrame) -> None:
        """Count the rows of some users, each of whom appears in only one call."""
        if table.is_empty():
            return
        self.rows += len(table)
        self.users += table["query_id"].n_unique()
        self.items = pl.concat([self.items, table["doc_id"].unique()]).unique()
        if not table["at"].null_count():
            times = table["at"].to_numpy()
            low, high = int(times.min()), int(times.max())
            self.first = low if self.first is None else min(self.first, low)
            self.last = high if self.last is None else max(self.last, high)

    def readable_figures(self, name: str, unit: Unit) -> SplitPart:
        """The figures up to now, with readable times."""
        ends = (self.first, self.last)
        readable_times = [
            "" if time is None or unit == "place" else format_instant(time, unit) for time in ends
        ]
        return SplitPart(name, self.rows, self.users, len(self.items), *readable_times)


@dataclass(eq=False)
class LeakCount:
    """The overlap of parts, counted by ranges of whole users.

    Attributes:
        clock: True if times are comparable between users.
        learned: the items of training and validation.
        tested: the items of the test.
        counted: the sums over users for `Leaks`, by name.
        least: the first time of the test up to now.
        earlier: times of training before it; a later call may find an earlier test time.
    """

    clock: bool
    learned: pl.Series = field(default_factory=lambda: pl.Series(dtype=pl.String))
    tested: pl.Series = field(default_factory=lambda: pl.Series(dtype=pl.String))
    counted: dict[str, int] = field(default_factory=dict)
    least: int | None = None
    earlier: list[NDArray[np.int64]] = field(default_factory=list)

    def add(self, train: Interactions, validation: Interactions | None, test: Interactions) -> None:
        """Count some users, each of whom appears in only one call."""
        tables = [train.table, *([validation.table] if validation else [])]
        training, test_rows = pl.concat(tables), test.table
        self.learned = pl.concat([self.learned, training["doc_id"].unique()]).unique()
        self.tested = pl.concat([self.tested, test_rows["doc_id"].unique()]).unique()
        repeated_pairs = test_rows.select(_PAIR).unique().join(training.select(_PAIR), on=_PAIR, how="semi")
        new_counts = {
            "users_only_test": _count_users_only_in(test_rows, training),
            "users_only_train": _count_users_only_in(training, test_rows),
            "pairs_again": len(repeated_pairs),
            "same_time": _same_time(training, test_rows) if test.timed else 0,
            "ahead": self._ahead(training, test_rows) if self.clock else 0,
        }
        self.counted = {name: self.counted.get(name, 0) + count for name, count in new_counts.items()}

    def leaks(self) -> Leaks:
        """The counts up to now."""
        unknown_items = self.tested.filter(~self.tested.is_in(self.learned.implode()))
        return Leaks(items_only_test=len(unknown_items), **self.counted)

    def _ahead(self, training: pl.DataFrame, test: pl.DataFrame) -> int:
        """The number of rows of training not before the test that these rows add."""
        self.earlier.append(training["at"].to_numpy())
        if not test.is_empty():
            low = int(test["at"].to_numpy().min())
            self.least = low if self.least is None else min(self.least, low)
        if self.least is None:
            return 0
        first_test_time, count = self.least, 0
        for index, times in enumerate(self.earlier):
            is_before_test = times < first_test_time
            count += int(np.count_nonzero(~is_before_test))
            self.earlier[index] = times[is_before_test]
        return count


def _count_users_only_in(table: pl.DataFrame, other_table: pl.DataFrame) -> int:
    """The number of users that are only in the first table."""
    users = (rows.select("query_id").unique() for rows in (table, other_table))
    return len(next(users).join(next(users), on="query_id", how="anti"))


def _same_time(training: pl.DataFrame, test: pl.DataFrame) -> int:
    last = training.group_by("query_id").agg(pl.col("at").max())
    first = test.group_by("query_id").agg(pl.col("at").min())
    return len(last.join(first, on=["query_id", "at"]))


TableT = TypeVar("TableT")

_AHEAD_WARNING = "training has interactions later than some in the test set"
ORDERED_WAYS = frozenset({"global", "windows"})  # by construction, training is before the test


@dataclass(frozen=True)
class Fold:
    """One split of the log: its figures, and its tables where they are in memory.

    Attributes:
        parts: the figures of each part.
        leaks: overlaps of the parts, and other facts that may distort figures.
        judged: judgments of the test.
        relevant: those of them above 0.
        short: users with fewer items to draw from than the requested number.
        values: the lowest and the highest value of the test; None where it is not counted.
        train: the training interactions.
        validation: interactions for choosing settings; None where there is no such part.
        test: interactions to predict.
        judgments: ground truth of the test.
        tuning: ground truth of the validation.
        sample: the sampled candidates, where they were requested.
        fold_in: interactions for models to get as input, of users who are not in training; None
            where there is no such part.
    """

    KEYS: ClassVar[Mapping[str, str]] = {"judged": "judgments", "short": "short_of_negatives"}

    parts: tuple[SplitPart, ...]
    leaks: Leaks
    judged: int
    relevant: int
    short: int
    values: tuple[float, float] | None = None
    train: Interactions | None = field(default=None, metadata={"stored": False})
    validation: Interactions | None = field(default=None, metadata={"stored": False})
    test: Interactions | None = field(default=None, metadata={"stored": False})
    judgments: Qrels | None = field(default=None, metadata={"stored": False})
    tuning: Qrels | None = field(default=None, metadata={"stored": False})
    sample: Sample | None = field(default=None, metadata={"stored": False})
    fold_in: Interactions | None = field(default=None, metadata={"stored": False})


class RemoteParts(Protocol):
    """The parts of a split that are stored on other machines."""

    def write(self, split: Split, folder: str | Path, to: str) -> tuple[str, ...]:
        """Write every part, as `Split.write` does."""
        ...


def _short_time(time: str) -> str:
    """A time to the second; a time of midnight is only a date."""
    return time.removesuffix("T00:00:00Z")


_PARTS = Columns(
    "One row per part of a fold.",
    Column("fold", pl.Int64, "the number of the fold, from 1"),
    Column("name", pl.String, "the part", header="part"),
    Column("rows", pl.Int64, "its interactions", header="interactions"),
    Column("users", pl.Int64, "its users"),
    Column("items", pl.Int64, "its items"),
    Column("first", pl.String, "the time of its first interaction", _short_time),
    Column("last", pl.String, "the time of its last interaction", _short_time),
)


_RANDOM_WAYS = frozenset({"leave-one-out", "random", "cold-users", "cold-items"})


def _facts(result: Split) -> Iterator[Entries]:
    """The judgments, the candidates, what was left out, and the overlap of parts."""
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
    rows.append(("shared", _shared(result)))
    yield Entries(tuple(Entry(label, (line,)) for label, line in rows))


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
        outside_core: rows outside the k-core, which were left out.
        maker: the parts of a log on Spark, as Spark DataFrames: ``maker.train``, ``test``,
            ``qrels``, and ``folds`` with those of each fold.
    """

    kind = "split"
    KEYS: ClassVar[Mapping[str, str]] = {"rule": "truth"}
    main_table = "parts"
    layout = (
        View(
            "parts",
            cells=("fold", "name", "rows", "users", "items", "first", "last"),
            columns=_PARTS,
            keys=2,
            optional=("first", "last"),
            varying=("fold",),
        ),
        _facts,
        NOTICES,
    )
    notice_texts = (NoticeText("split", "{row}", source="warnings"),)

    log: str
    unit: str
    repeated: int
    plan: SplitPlan
    rule: Truth
    candidates: str
    folds: tuple[Fold, ...]
    warnings: tuple[str, ...] = ()
    outside_core: int = 0
    maker: RemoteParts | None = field(default=None, compare=False, repr=False, metadata={"stored": False})

    def __getstate__(self) -> dict[str, Any]:
        """The state without parts on Spark, which another process cannot use."""
        return {**self.__dict__, "maker": None}

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
    def fold_in(self) -> pl.DataFrame:
        """The interactions of unknown users that models get as input, of the first fold.

        Raises:
            UsageError: the split has no fold-in, is figures only, or its parts are on Spark.
        """
        return self._in_memory(self.folds[0].fold_in).table

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

    @property
    def headline(self) -> str:
        """The method of the split."""
        plan = self.plan
        amounts = {"leave-last": f"{plan.last} of each user", "windows": count_noun(plan.windows, "fold")}
        has_no_share = plan.way in {"leave-one-out", "elsewhere"} or plan.cut is not None
        share = amounts.get(plan.way, "" if has_no_share else f"{plan.share:.0%}")
        parts = [share, f"the {plan.target} of each user" * (plan.target != "all")]
        parts.append(f"fold-in {plan.fold_in:.0%}" * bool(plan.fold_in))
        seed = f", seed {plan.seed}" if plan.way in _RANDOM_WAYS or "sampled" in self.candidates else ""
        return f"{', '.join([f'{self.log} split by {plan.way}', *filter(None, parts)])}{seed}"

    @property
    def parts(self) -> pl.DataFrame:
        """The parts: ``fold``, ``name``, ``rows``, ``users``, ``items``, ``first``, ``last``."""
        return pl.DataFrame(
            [
                {"fold": number, **vars(split_part)}
                for number, fold in enumerate(self.folds, 1)
                for split_part in fold.parts
            ]
        )


class FoldCount:
    """The figures of one fold, counted by ranges of whole users."""

    def __init__(self, plan: SplitPlan, unit: Unit) -> None:
        self._unit = unit
        self._leaks = LeakCount(unit not in {"none", "place"} and plan.way not in ORDERED_WAYS)
        self._parts: dict[str, PartCount] = {}
        self._judged = self._relevant = self._short = 0
        self._values: tuple[float, float] | None = None

    def add(self, fold_parts: FoldParts, candidate_sample: Sample | None) -> None:
        """Count the parts of some users, each of whom appears in only one call."""
        for name, log in fold_parts.logs.items():
            self._parts.setdefault(name, PartCount()).add(log.table)
        self._leaks.add(fold_parts.train, fold_parts.validation, fold_parts.test)
        if fold_parts.judgments is not None:
            grades = fold_parts.judgments.table["grade"]
            self._judged += len(grades)
            self._relevant += int((grades > 0).sum())
        self._short += candidate_sample.short if candidate_sample else 0
        if not fold_parts.test.table.is_empty():
            values = fold_parts.test.table["value"].to_numpy()
            ends = (*(self._values or ()), float(values.min()), float(values.max()))
            self._values = min(ends), max(ends)

    def figures(self) -> Fold:
        """The counts up to now."""
        result = tuple(count.readable_figures(name, self._unit) for name, count in self._parts.items())
        return Fold(result, self._leaks.leaks(), self._judged, self._relevant, self._short, self._values)


_MOST_STARS = 10  # a higher value is a count


def warnings_of(
    plan: SplitPlan, candidates: str, folds: Sequence[Fold], rule: Truth | None = None
) -> tuple[str, ...]:
    """Warnings about figures on these folds."""
    warnings = []
    values = [value for fold in folds for value in fold.values or (0,)]
    low, high = min(values), max(values)
    if rule is not None and not rule.tells_zero and max(rule.threshold, 0) <= low < high <= _MOST_STARS:
        warnings.append(
            f"the threshold {rule.threshold:g} makes every value from {low:g} to {high:g} relevant; if they "
            f"are ratings, a low one says that the user does not like the item: set it, such as --threshold "
            f"{low + 0.75 * (high - low):.0f}."
        )
    ahead = sum(fold.leaks.ahead for fold in folds)
    if ahead:
        warnings.append(
            f"{_AHEAD_WARNING} ({ahead:,}): systems learn from the future (Meng et al. 2020; Ji et al. "
            "2023); the way global avoids that."
        )
    if candidates == "sampled":
        warnings.append(WARNING)
    if plan.way == "random":
        warnings.append("a random split is good for teaching, not for conclusions about systems.")
    unknown_items = sum(fold.leaks.items_only_test for fold in folds)
    if unknown_items and not plan.way.startswith("cold"):
        warnings.append(
            f"{count_noun(unknown_items, 'item is', 'items are')} in the test only: a system that learns ids "
            "cannot find new items."
        )
    return tuple(warnings)

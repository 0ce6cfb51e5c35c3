"""Overlap and leakage between the parts of a split log."""

from __future__ import annotations

from dataclasses import field
from typing import TYPE_CHECKING

import numpy as np
import polars as pl

from rankgate.core.frozen import dataclass
from rankgate.data.logs.clock import format_instant

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from rankgate.data.logs.clock import Unit
    from rankgate.data.logs.interactions import Interactions

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
        users_only_train: users who have nothing in the test.
        pairs_again: pairs of the test that are in training too.
        ahead: rows of training (and validation) that are not before the first row of the test;
            0 where the log has no clock.
        same_time: users whose last row of training has the time of their first row of the test:
            their order is unknown.
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
        """Count the rows of some users, who are in no other call."""
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

    def part(self, name: str, unit: Unit) -> SplitPart:
        """The figures so far, times in readable form."""
        ends = (self.first, self.last)
        readable_times = [
            "" if time is None or unit == "place" else format_instant(time, unit) for time in ends
        ]
        return SplitPart(name, self.rows, self.users, len(self.items), *readable_times)


@dataclass(eq=False)
class LeakCount:
    """The overlap of parts, counted over runs of whole users.

    Attributes:
        clock: True if times are comparable between users.
        learned: the items of training and validation.
        tested: those of the test.
        counted: the sums over users that `Leaks` has, by name.
        least: the first time of the test so far.
        earlier: times of training before it, which may turn out not to be earlier.
    """

    clock: bool
    learned: pl.Series = field(default_factory=lambda: pl.Series(dtype=pl.String))
    tested: pl.Series = field(default_factory=lambda: pl.Series(dtype=pl.String))
    counted: dict[str, int] = field(default_factory=dict)
    least: int | None = None
    earlier: list[NDArray[np.int64]] = field(default_factory=list)

    def add(self, train: Interactions, validation: Interactions | None, test: Interactions) -> None:
        """Count some users, who are in no other call."""
        tables = [train.table, *([validation.table] if validation else [])]
        training, test_rows = pl.concat(tables), test.table
        self.learned = pl.concat([self.learned, training["doc_id"].unique()]).unique()
        self.tested = pl.concat([self.tested, test_rows["doc_id"].unique()]).unique()
        repeated_pairs = (
            test_rows.select(_PAIR).unique().join(training.select(_PAIR), on=_PAIR, how="semi")
        )
        new_counts = {
            "users_only_test": _count_users_only_in(test_rows, training),
            "users_only_train": _count_users_only_in(training, test_rows),
            "pairs_again": len(repeated_pairs),
            "same_time": _same_time(training, test_rows) if test.timed else 0,
            "ahead": self._ahead(training, test_rows) if self.clock else 0,
        }
        self.counted = {
            name: self.counted.get(name, 0) + count for name, count in new_counts.items()
        }

    def leaks(self) -> Leaks:
        """The counts so far."""
        unknown_items = self.tested.filter(~self.tested.is_in(self.learned.implode()))
        return Leaks(items_only_test=len(unknown_items), **self.counted)

    def _ahead(self, training: pl.DataFrame, test: pl.DataFrame) -> int:
        """The number of further rows of training that are not before the test, with these rows."""
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
    """The number of users that only the first table has."""
    users = (rows.select("query_id").unique() for rows in (table, other_table))
    return len(next(users).join(next(users), on="query_id", how="anti"))


def _same_time(training: pl.DataFrame, test: pl.DataFrame) -> int:
    last = training.group_by("query_id").agg(pl.col("at").max())
    first = test.group_by("query_id").agg(pl.col("at").min())
    return len(last.join(first, on=["query_id", "at"]))

"""Overlap and leakage between the parts of a split log."""

from __future__ import annotations

from dataclasses import field
from typing import TYPE_CHECKING

import numpy as np
import polars as pl

from rankgate.core.frozen import dataclass
from rankgate.data.logs.clock import shown

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
    """What may spoil figures on a split.

    Attributes:
        users_only_test: users that are predicted for and were never learned from.
        items_only_test: items likewise.
        users_only_train: users that nothing is predicted for.
        pairs_again: pairs of the test that are in training too.
        ahead: rows of training (and validation) that are not before the first row of the test;
            0 where the log has no clock.
        same_time: users whose last row of training has the time of their first row of the test:
            which came first, nobody knows.
    """

    users_only_test: int
    items_only_test: int
    users_only_train: int
    pairs_again: int
    ahead: int
    same_time: int


@dataclass(eq=False)
class PartCount:
    """The figures of one part, counted stretch by stretch of whole users."""

    rows: int = 0
    users: int = 0
    items: pl.Series = field(default_factory=lambda: pl.Series(dtype=pl.String))
    first: int | None = None
    last: int | None = None

    def add(self, table: pl.DataFrame) -> None:
        """Count the rows of some users, which no other call has."""
        if table.is_empty():
            return
        self.rows += len(table)
        self.users += table["query_id"].n_unique()
        self.items = pl.concat([self.items, table["doc_id"].unique()]).unique()
        if not table["at"].null_count():
            at = table["at"].to_numpy()
            low, high = int(at.min()), int(at.max())
            self.first = low if self.first is None else min(self.first, low)
            self.last = high if self.last is None else max(self.last, high)

    def part(self, name: str, unit: Unit) -> SplitPart:
        """The figures so far, times as people read them."""
        ends = (self.first, self.last)
        items = ["" if at is None or unit == "place" else shown(at, unit) for at in ends]
        return SplitPart(name, self.rows, self.users, len(self.items), *items)


@dataclass(eq=False)
class LeakCount:
    """What parts have in common, counted stretch by stretch of whole users.

    Attributes:
        clock: whether times hold for all users.
        learned: the items of training and validation.
        tested: those of the test.
        counted: the sums over users that `Leaks` has, by name.
        least: the first time of the test so far.
        earlier: times of training before it, which a later stretch may yet reach below.
    """

    clock: bool
    learned: pl.Series = field(default_factory=lambda: pl.Series(dtype=pl.String))
    tested: pl.Series = field(default_factory=lambda: pl.Series(dtype=pl.String))
    counted: dict[str, int] = field(default_factory=dict)
    least: int | None = None
    earlier: list[NDArray[np.int64]] = field(default_factory=list)

    def add(self, train: Interactions, validation: Interactions | None, test: Interactions) -> None:
        """Count some users, whom no other call has."""
        tables = [train.table, *([validation.table] if validation else [])]
        learned, tested = pl.concat(tables), test.table
        self.learned = pl.concat([self.learned, learned["doc_id"].unique()]).unique()
        self.tested = pl.concat([self.tested, tested["doc_id"].unique()]).unique()
        again = tested.select(_PAIR).unique().join(learned.select(_PAIR), on=_PAIR, how="semi")
        more = {
            "users_only_test": _only(tested, learned),
            "users_only_train": _only(learned, tested),
            "pairs_again": len(again),
            "same_time": _same_time(learned, tested) if test.timed else 0,
            "ahead": self._ahead(learned, tested) if self.clock else 0,
        }
        self.counted = {name: self.counted.get(name, 0) + count for name, count in more.items()}

    def leaks(self) -> Leaks:
        """What was counted so far."""
        unknown = self.tested.filter(~self.tested.is_in(self.learned.implode()))
        return Leaks(items_only_test=len(unknown), **self.counted)

    def _ahead(self, learned: pl.DataFrame, tested: pl.DataFrame) -> int:
        """How many more rows of training are not before the test, now that these are there."""
        self.earlier.append(learned["at"].to_numpy())
        if not tested.is_empty():
            low = int(tested["at"].to_numpy().min())
            self.least = low if self.least is None else min(self.least, low)
        if self.least is None:
            return 0
        least, found = self.least, 0
        for place, times in enumerate(self.earlier):
            before = times < least
            found += int(np.count_nonzero(~before))
            self.earlier[place] = times[before]
        return found


def _only(mine: pl.DataFrame, others: pl.DataFrame) -> int:
    """Users that only the first has."""
    users = (each.select("query_id").unique() for each in (mine, others))
    return len(next(users).join(next(users), on="query_id", how="anti"))


def _same_time(learned: pl.DataFrame, tested: pl.DataFrame) -> int:
    last = learned.group_by("query_id").agg(pl.col("at").max())
    first = tested.group_by("query_id").agg(pl.col("at").min())
    return len(last.join(first, on=["query_id", "at"]))

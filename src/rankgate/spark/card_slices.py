"""Slices of scorecards on Spark: of users, of items, and of pairs of both."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import replace
from typing import TYPE_CHECKING, Any, ClassVar, Literal, Protocol

import numpy as np
import polars as pl

from rankgate.core.errors import UsageError
from rankgate.core.frozen import dataclass
from rankgate.data import read_run
from rankgate.data.logs.items import read_described
from rankgate.measurement.evaluation.lists.inputs import Tables
from rankgate.recommenders.scorecard_slices import (
    ACTIVITY,
    HISTORY,
    NEW,
    POPULARITY,
    REPEAT,
    column_of,
    parts_of,
)
from rankgate.spark.user_parts import by_activity, by_column

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from rankgate.data.inputs import TableLike
    from rankgate.data.logs.items import Described, Whose
    from rankgate.data.logs.user_items import Meetings
    from rankgate.measurement.evaluation.accumulate import Accumulator
    from rankgate.spark.prepared import Prepared


class CardSlice(Protocol):
    """One slice: its parts, and what of a cell of whole users is in each of them."""

    @property
    def name(self) -> str:
        """What it is called."""

    @property
    def of(self) -> Whose | Literal["pairs"]:
        """What its parts are parts of."""

    @property
    def parts(self) -> tuple[str, ...]:
        """The values, in order."""

    def empty(self, every: Accumulator) -> list[Accumulator]:
        """For each part an accumulator that has seen nothing.

        Args:
            every: the accumulator of all users and items.
        """

    def cut(self, judged: pl.DataFrame, runs: Sequence[pl.DataFrame]) -> Iterator[Cut]:
        """For each part how many it has in a cell, and the judgments and runs it measures."""

    def size(self, at: int, counted: int) -> int:
        """How many a part has, by its place and by what executors counted."""


Cut = tuple[int, pl.DataFrame, Sequence[Any]]
"""How many users or pairs a part has in a cell, its judgments, and each of its runs."""


@dataclass(frozen=True)
class ItemSlice:
    """A slice of the items, all of which are known beforehand.

    Attributes:
        name: of the slice.
        parts: the values that items have, in order.
        masks: for each part ``(I,)``, which items it has.
    """

    name: str
    parts: tuple[str, ...]
    masks: tuple[NDArray[np.bool_], ...]
    of: ClassVar[Whose] = "items"

    def empty(self, every: Accumulator) -> list[Accumulator]:
        """For each part an accumulator of its items."""
        return [every.of_items(mask) for mask in self.masks]

    def cut(self, judged: pl.DataFrame, runs: Sequence[pl.DataFrame]) -> Iterator[Cut]:
        """The whole cell for each part: accumulators take its items."""
        yield from ((0, judged, runs) for _ in self.parts)

    def size(self, at: int, counted: int) -> int:  # noqa: ARG002 - known beforehand
        """The items of a part."""
        return int(np.count_nonzero(self.masks[at]))


@dataclass(frozen=True)
class PairSlice:
    """Judged pairs of user and item that training has, and all others.

    Attributes:
        met: training.
        accuracy: an accumulator of the metrics of accuracy, which has seen nothing.
        drop_seen: whether items of training leave users' lists.
    """

    met: Meetings
    accuracy: Accumulator
    drop_seen: bool
    name: ClassVar[str] = HISTORY
    of: ClassVar[Literal["pairs"]] = "pairs"
    parts: ClassVar[tuple[str, ...]] = (REPEAT, NEW)

    def empty(self, every: Accumulator) -> list[Accumulator]:  # noqa: ARG002 - lists have no parts
        """For each part an accumulator of accuracy."""
        return [self.accuracy] * len(self.parts)

    def cut(self, judged: pl.DataFrame, runs: Sequence[pl.DataFrame]) -> Iterator[Cut]:
        """For each part its pairs; a list is empty if its user has judged pairs only."""
        had, *ranked = (self._met(each) for each in (judged, *runs))
        for repeat in (True, False):
            table = judged.filter(had == repeat)
            users = table["query_id"].unique()
            served = pl.DataFrame({"query_id": users, "state": ["zero"] * len(users)})
            own = []
            for run, seen in zip(runs, ranked, strict=True):
                rows = run.clear() if repeat and self.drop_seen else run.filter(seen == repeat)
                found = read_run(rows if len(rows) else {})
                own.append(replace(found, queries=served))
            pairs = table.select("query_id", "doc_id").n_unique()
            yield pairs, table, own

    def size(self, at: int, counted: int) -> int:  # noqa: ARG002 - of other slices sizes are known
        """The judged pairs of a part, which executors counted."""
        return counted

    def _met(self, rows: pl.DataFrame) -> pl.Series:
        return pl.Series(self.met.has(rows["query_id"], rows["doc_id"]))


@dataclass(frozen=True)
class SliceTables:
    """The slices that are asked for, and the tables that have their columns.

    Attributes:
        names: of the slices.
        tables: of users and items.
    """

    names: tuple[str, ...]
    tables: Tables

    @classmethod
    def of(
        cls,
        names: Sequence[str],
        users: TableLike | None,
        items: Described | None,
        *,
        trained: bool,
    ) -> SliceTables:
        """Read the table of users, if there are slices.

        Raises:
            InputError: a table that cannot be read.
            UsageError: an unknown slice, or a slice that needs training when none is given.
        """
        read = Tables(
            items,
            None if users is None or not names else read_described(users, "users"),
            None,
            "",
        )
        for name in names:
            if name not in {ACTIVITY, POPULARITY, HISTORY}:
                column_of(name, read)
            elif not trained:
                problem = f"the slice {name} comes from training; give it with training."
                raise UsageError(problem, code="missing-input")
        return cls(tuple(names), read)

    @property
    def by_items(self) -> bool:
        """Whether there is a slice of items."""
        return any(self._of(name) == "items" for name in self.names)

    def slices(
        self, work: Prepared, every: Accumulator, accuracy: Accumulator | None, *, drop_seen: bool
    ) -> tuple[CardSlice, ...]:
        """The slices, as ``rankgate.scorecard`` has them.

        Args:
            work: judgments and runs, whose users there are.
            every: the accumulator of all users and items.
            accuracy: that of the metrics of accuracy only; None if there are none.
            drop_seen: whether items of training leave users' lists.

        Raises:
            UsageError: a column with too many values.
        """
        found: list[CardSlice] = []
        for name in self.names:
            train = every.train
            if name in {ACTIVITY, HISTORY}:
                assert train is not None  # as `of` checked
                if name == ACTIVITY:
                    found.append(by_activity(work, train))
                elif accuracy is not None:
                    found.append(PairSlice(train, accuracy, drop_seen))
            elif self._of(name) == "items":
                found.append(self._of_items(name, every))
            else:
                table, column = column_of(name, self.tables)
                found.append(by_column(name, table.ids, table.words(column)))
        return tuple(found)

    def _of(self, name: str) -> str:
        if name in {ACTIVITY, HISTORY}:
            return "users" if name == ACTIVITY else "pairs"
        return "items" if name == POPULARITY else column_of(name, self.tables)[0].of

    def _of_items(self, name: str, every: Accumulator) -> ItemSlice:
        assert every.catalogue is not None
        parts = parts_of(name, every.catalogue, self.tables)
        values, masks = ([each.value for each in parts], [each.mask for each in parts])
        return ItemSlice(name, tuple(values), tuple(masks))

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
from rankgate.data.logs.items import read_described_table
from rankgate.measurement.evaluation.lists.inputs import Tables
from rankgate.recommenders.scorecard_slices import (
    ACTIVITY,
    HISTORY,
    NEW,
    POPULARITY,
    REPEAT,
    column_of,
    slice_segments,
)
from rankgate.spark.user_parts import slice_by_activity, slice_by_column

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from rankgate.data.inputs import TableLike
    from rankgate.data.logs.items import DescribedTable, TableKind
    from rankgate.data.logs.user_items import UserItems
    from rankgate.measurement.evaluation.accumulate import Accumulator
    from rankgate.spark.prepared import SparkMeasurement


class CardSlice(Protocol):
    """One slice: its parts, and the rows of each part in a cell of whole users."""

    @property
    def name(self) -> str:
        """The name of the slice."""

    @property
    def of(self) -> TableKind | Literal["pairs"]:
        """The kind of its parts: users, items or pairs."""

    @property
    def parts(self) -> tuple[str, ...]:
        """The values, in order."""

    def empty(self, all_accumulator: Accumulator) -> list[Accumulator]:
        """An empty accumulator for each part.

        Args:
            all_accumulator: the accumulator of all users and items.
        """

    def cut(self, judged: pl.DataFrame, runs: Sequence[pl.DataFrame]) -> Iterator[PartCell]:
        """The size of each part in a cell, with its judgments and runs."""

    def size(self, index: int, counted: int) -> int:
        """The size of a part, by its index and by the count of executors."""


PartCell = tuple[int, pl.DataFrame, Sequence[Any]]
"""The number of users or pairs of a part in a cell, its judgments, and each of its runs."""


@dataclass(frozen=True)
class ItemSlice:
    """A slice of the items, which are all known in advance.

    Attributes:
        name: of the slice.
        parts: the values that items have, in order.
        masks: for each part ``(I,)``, True for its items.
    """

    name: str
    parts: tuple[str, ...]
    masks: tuple[NDArray[np.bool_], ...]
    of: ClassVar[TableKind] = "items"

    def empty(self, all_accumulator: Accumulator) -> list[Accumulator]:
        """An accumulator of its items for each part."""
        return [all_accumulator.of_items(mask) for mask in self.masks]

    def cut(self, judged: pl.DataFrame, runs: Sequence[pl.DataFrame]) -> Iterator[PartCell]:
        """The whole cell for each part: accumulators take its items."""
        yield from ((0, judged, runs) for _ in self.parts)

    def size(self, index: int, counted: int) -> int:  # noqa: ARG002 - known beforehand
        """The items of a part."""
        return int(np.count_nonzero(self.masks[index]))


@dataclass(frozen=True)
class PairSlice:
    """Judged pairs of user and item that training has, and all others.

    Attributes:
        met: the items of each user in training.
        accuracy: an empty accumulator of the metrics of accuracy.
        drop_seen: True if items of training leave users' lists.
    """

    met: UserItems
    accuracy: Accumulator
    drop_seen: bool
    name: ClassVar[str] = HISTORY
    of: ClassVar[Literal["pairs"]] = "pairs"
    parts: ClassVar[tuple[str, ...]] = (REPEAT, NEW)

    def empty(self, all_accumulator: Accumulator) -> list[Accumulator]:  # noqa: ARG002 - lists have no parts
        """An accumulator of accuracy for each part."""
        return [self.accuracy] * len(self.parts)

    def cut(self, judged: pl.DataFrame, runs: Sequence[pl.DataFrame]) -> Iterator[PartCell]:
        """The pairs of each part; a list is empty if its user has judged pairs only."""
        is_judged_repeat, *is_ranked_repeat = (self._met(rows) for rows in (judged, *runs))
        for repeat in (True, False):
            table = judged.filter(is_judged_repeat == repeat)
            users = table["query_id"].unique()
            served = pl.DataFrame({"query_id": users, "state": ["zero"] * len(users)})
            part_runs = []
            for run, is_repeat in zip(runs, is_ranked_repeat, strict=True):
                rows = run.clear() if repeat and self.drop_seen else run.filter(is_repeat == repeat)
                part_run = read_run(rows if len(rows) else {})
                part_runs.append(replace(part_run, queries=served))
            pairs = table.select("query_id", "doc_id").n_unique()
            yield pairs, table, part_runs

    def size(self, index: int, counted: int) -> int:  # noqa: ARG002 - of other slices sizes are known
        """The judged pairs of a part, which executors counted."""
        return counted

    def _met(self, rows: pl.DataFrame) -> pl.Series:
        return pl.Series(self.met.has(rows["query_id"], rows["doc_id"]))


@dataclass(frozen=True)
class SliceTables:
    """The requested slices, and the tables that have their columns.

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
        items: DescribedTable | None,
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
            None if users is None or not names else read_described_table(users, "users"),
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
        """True if there is a slice of items."""
        return any(self._of(name) == "items" for name in self.names)

    def slices(
        self,
        work: SparkMeasurement,
        all_accumulator: Accumulator,
        accuracy: Accumulator | None,
        *,
        drop_seen: bool,
    ) -> tuple[CardSlice, ...]:
        """The slices, as ``rankgate.scorecard`` has them.

        Args:
            work: judgments and runs, with their users.
            all_accumulator: the accumulator of all users and items.
            accuracy: that of the metrics of accuracy only; None if there are none.
            drop_seen: True if items of training leave users' lists.

        Raises:
            UsageError: a column with too many values.
        """
        card_slices: list[CardSlice] = []
        for name in self.names:
            train = all_accumulator.train
            if name in {ACTIVITY, HISTORY}:
                assert train is not None  # as `of` checked
                if name == ACTIVITY:
                    card_slices.append(slice_by_activity(work, train))
                elif accuracy is not None:
                    card_slices.append(PairSlice(train, accuracy, drop_seen))
            elif self._of(name) == "items":
                card_slices.append(self._of_items(name, all_accumulator))
            else:
                table, column = column_of(name, self.tables)
                card_slices.append(slice_by_column(name, table.ids, table.words(column)))
        return tuple(card_slices)

    def _of(self, name: str) -> str:
        if name in {ACTIVITY, HISTORY}:
            return "users" if name == ACTIVITY else "pairs"
        return "items" if name == POPULARITY else column_of(name, self.tables)[0].of

    def _of_items(self, name: str, all_accumulator: Accumulator) -> ItemSlice:
        assert all_accumulator.catalogue is not None
        parts = slice_segments(name, all_accumulator.catalogue, self.tables)
        values, masks = (
            [slice_part.value for slice_part in parts],
            [slice_part.mask for slice_part in parts],
        )
        return ItemSlice(name, tuple(values), tuple(masks))

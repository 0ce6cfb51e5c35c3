"""Slices of scorecards on Spark: of users, of items, and of pairs of both.

Slices of users come first: by activity in training, or by a column of users.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import replace
from functools import reduce
from typing import TYPE_CHECKING, Any, ClassVar, Literal, Protocol

import numpy as np
import polars as pl

from rankgate.core.errors import UsageError
from rankgate.core.frozen import dataclass
from rankgate.data import read_run
from rankgate.data.logs.item_tables import read_described_table
from rankgate.measurement.evaluation.lists.list_inputs import Tables
from rankgate.recommenders.scorecard_slices import (
    ACTIVITY,
    HISTORY,
    NEW,
    POPULARITY,
    REPEAT,
    column_of,
    slice_segments,
    split_values,
)

if TYPE_CHECKING:
    from numpy.typing import NDArray
    from pyspark.sql import DataFrame

    from rankgate.data.input_types import TableLike
    from rankgate.data.logs.item_tables import DescribedTable, TableKind
    from rankgate.data.logs.large_logs import UserItems
    from rankgate.measurement.evaluation.accumulator import Accumulator
    from rankgate.spark.spark_inputs import SparkMeasurement


@dataclass(frozen=True)
class UserSlice:
    """One slice of the users.

    Attributes:
        name: the name of the slice.
        parts: the values that users have, in order.
        table: ``query_id`` and ``place``, the index of the part; a user may be in several parts.
        rest: the index of the part for users who are not in the table.
    """

    name: str
    parts: tuple[str, ...]
    table: pl.DataFrame
    rest: int
    part_kind: ClassVar[TableKind] = "users"

    def empty(self, all_accumulator: Accumulator) -> list[Accumulator]:
        """An empty accumulator for each part."""
        return [all_accumulator] * len(self.parts)

    def cut(
        self, judged: pl.DataFrame, runs: Sequence[pl.DataFrame]
    ) -> Iterator[tuple[int, pl.DataFrame, list[pl.DataFrame]]]:
        """The number of users of each part, and their judgments and rankings in a cell."""
        user_ids = pl.concat([rows["query_id"] for rows in (judged, *runs)]).unique()
        for users in self._users(user_ids):
            is_inside = pl.col("query_id").is_in(users.implode())
            yield len(users), judged.filter(is_inside), [run.filter(is_inside) for run in runs]

    def size(self, index: int, counted: int) -> int:  # noqa: ARG002 - of other slices sizes are known
        """The number of users of a part, from the counts of executors."""
        return counted

    def _users(self, user_ids: pl.Series) -> list[pl.Series]:
        """The users of each part among the given users, without duplicates."""
        joined = user_ids.alias("query_id").to_frame().join(self.table, on="query_id", how="left")
        places = joined["place"].fill_null(self.rest)
        return [joined["query_id"].filter(places == index) for index in range(len(self.parts))]


def slice_by_column(name: str, ids: pl.Series, value_texts: pl.Series) -> UserSlice:
    """Users by the values of a column; bars separate several values; users without a value last.

    Args:
        name: the name of the slice.
        ids: the ids of the users in the table.
        value_texts: their values.

    Raises:
        UsageError: the column has more values than a slice may have.
    """
    rows = pl.DataFrame({"query_id": ids.cast(pl.String), "word": value_texts})
    single_values, values = split_values(name, rows)
    part_index = pl.col("word").replace_strict(
        dict(zip(values, range(len(values)), strict=True)), return_dtype=pl.Int32
    )
    table = single_values.select("query_id", part_index.alias("place")).unique(maintain_order=True)
    return UserSlice(name, (*values, "(none)"), table, len(values))


def slice_by_activity(work: SparkMeasurement, train: UserItems) -> UserSlice:
    """Users by activity: new without items in training, light up to the median of the rest.

    Args:
        work: judgments and runs, with their users.
        train: training.
    """
    counts = pl.DataFrame({"query_id": train.users, "had": train.lengths})
    median = _median(work, counts)
    part_index = (pl.col("had") > median).cast(pl.Int32) + 1
    table = counts.filter(pl.col("had") > 0).select("query_id", part_index.alias("place"))
    return UserSlice(ACTIVITY, ("new", "light", "heavy"), table, 0)


def _median(work: SparkMeasurement, counts: pl.DataFrame) -> float:
    """The median of training items, over users with training items and judgments or lists."""
    user_tables: list[DataFrame] = [table.frame.select("query_id") for table in work.tables]
    ids = reduce(lambda first, second: first.union(second), user_tables).distinct()
    training_counts = work.spark.createDataFrame(counts.filter(pl.col("had") > 0).to_arrow())
    rows = ids.join(training_counts, "query_id").groupBy("had").count().collect()
    if not rows:
        return 0.0
    counts_by_length = sorted((int(row[0]), int(row[1])) for row in rows)
    ends = np.cumsum([number for _, number in counts_by_length])
    middle = np.searchsorted(ends, [(ends[-1] - 1) // 2, ends[-1] // 2], side="right")
    return float(np.mean([counts_by_length[row_index][0] for row_index in middle]))


class CardSlice(Protocol):
    """One slice: its parts, and the rows of each part in a cell of whole users."""

    @property
    def name(self) -> str:
        """The name of the slice."""

    @property
    def part_kind(self) -> TableKind | Literal["pairs"]:
        """The kind of members of the parts: users, items or pairs."""

    @property
    def parts(self) -> tuple[str, ...]:
        """The values of the parts, in order."""

    def empty(self, all_accumulator: Accumulator) -> list[Accumulator]:
        """An empty accumulator for each part.

        Args:
            all_accumulator: the accumulator of all users and items.
        """

    def cut(self, judged: pl.DataFrame, runs: Sequence[pl.DataFrame]) -> Iterator[PartCell]:
        """The size of each part in a cell, with its judgments and runs."""

    def size(self, index: int, counted: int) -> int:
        """The size of a part, from its index and the count of executors."""


PartCell = tuple[int, pl.DataFrame, Sequence[Any]]
"""The number of users or pairs of a part in a cell, its judgments, and each of its runs."""


@dataclass(frozen=True)
class ItemSlice:
    """A slice of the items, which are all known in advance.

    Attributes:
        name: the name of the slice.
        parts: the values that items have, in order.
        masks: for each part ``(I,)``, True for its items.
    """

    name: str
    parts: tuple[str, ...]
    masks: tuple[NDArray[np.bool_], ...]
    part_kind: ClassVar[TableKind] = "items"

    def empty(self, all_accumulator: Accumulator) -> list[Accumulator]:
        """An empty accumulator of the part's items, for each part."""
        return [all_accumulator.of_items(mask) for mask in self.masks]

    def cut(self, judged: pl.DataFrame, runs: Sequence[pl.DataFrame]) -> Iterator[PartCell]:
        """The whole cell for each part: accumulators select the items of their part."""
        yield from ((0, judged, runs) for _ in self.parts)

    def size(self, index: int, counted: int) -> int:  # noqa: ARG002 - known beforehand
        """The number of items of a part."""
        return int(np.count_nonzero(self.masks[index]))


@dataclass(frozen=True)
class PairSlice:
    """A slice of judged pairs of user and item: pairs in training, and all other pairs.

    Attributes:
        met: the training items of each user.
        accuracy: an empty accumulator of the metrics of accuracy.
        drop_seen: True if items of training leave users' lists.
    """

    met: UserItems
    accuracy: Accumulator
    drop_seen: bool
    name: ClassVar[str] = HISTORY
    part_kind: ClassVar[Literal["pairs"]] = "pairs"
    parts: ClassVar[tuple[str, ...]] = (REPEAT, NEW)

    def empty(self, all_accumulator: Accumulator) -> list[Accumulator]:  # noqa: ARG002 - lists have no parts
        """An accumulator of accuracy for each part."""
        return [self.accuracy] * len(self.parts)

    def cut(self, judged: pl.DataFrame, runs: Sequence[pl.DataFrame]) -> Iterator[PartCell]:
        """The pairs of each part, with lists; a list is empty if its user has judged pairs only."""
        is_judged_repeat, *is_ranked_repeat = (
            pl.Series(self.met.has(rows["query_id"], rows["doc_id"])) for rows in (judged, *runs)
        )
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
        """The number of judged pairs of a part, from the counts of executors."""
        return counted


@dataclass(frozen=True)
class SliceTables:
    """The requested slices, and the tables with their columns.

    Attributes:
        names: the names of the slices.
        tables: the tables of users and items.
    """

    names: tuple[str, ...]
    tables: Tables

    @classmethod
    def read(
        cls, names: Sequence[str], users: TableLike | None, items: DescribedTable | None, *, trained: bool
    ) -> SliceTables:
        """Read the table of users, if there are slices.

        Raises:
            InputError: a table that cannot be read.
            UsageError: an unknown slice, or a slice that needs training when none is given.
        """
        read = Tables(
            items, None if users is None or not names else read_described_table(users, "users"), None, ""
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
        return any(self._from_tables(name) == "items" for name in self.names)

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
            accuracy: the values of the metrics of accuracy alone, or None.
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
            elif self._from_tables(name) == "items":
                card_slices.append(self._of_items(name, all_accumulator))
            else:
                table, column = column_of(name, self.tables)
                card_slices.append(slice_by_column(name, table.ids, table.description(column)))
        return tuple(card_slices)

    def _from_tables(self, name: str) -> str:
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

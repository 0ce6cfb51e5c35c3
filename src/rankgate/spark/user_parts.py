"""Slices of users for scorecards on Spark: by activity in training, or by a column of users."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from functools import reduce
from typing import TYPE_CHECKING, ClassVar

import numpy as np
import polars as pl

from rankgate.core.frozen import dataclass
from rankgate.recommenders.scorecard_slices import ACTIVITY, split_values

if TYPE_CHECKING:
    from pyspark.sql import DataFrame

    from rankgate.data.logs.items import TableKind
    from rankgate.data.logs.user_items import UserItems
    from rankgate.measurement.evaluation.accumulate import Accumulator
    from rankgate.spark.prepared import SparkMeasurement


@dataclass(frozen=True)
class UserSlice:
    """One slice of the users.

    Attributes:
        name: of the slice.
        parts: the values that users have, in order.
        table: ``query_id`` and ``place`` among the parts; a user may be in several parts.
        rest: the place of users who are not in the table.
    """

    name: str
    parts: tuple[str, ...]
    table: pl.DataFrame
    rest: int
    of: ClassVar[TableKind] = "users"

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
        """The users of a part, which executors counted."""
        return counted

    def _users(self, user_ids: pl.Series) -> list[pl.Series]:
        """The users of each part, among some users, each once."""
        joined = user_ids.alias("query_id").to_frame().join(self.table, on="query_id", how="left")
        places = joined["place"].fill_null(self.rest)
        return [joined["query_id"].filter(places == index) for index in range(len(self.parts))]


def slice_by_column(name: str, ids: pl.Series, value_texts: pl.Series) -> UserSlice:
    """Users by the values of a column, several between bars; last those without one.

    Args:
        name: of the slice.
        ids: of the users that a table has.
        value_texts: their values.

    Raises:
        UsageError: there are more values than a slice has.
    """
    rows = pl.DataFrame({"query_id": ids.cast(pl.String), "word": value_texts})
    single_values, values = split_values(name, rows)
    part_index = pl.col("word").replace_strict(
        dict(zip(values, range(len(values)), strict=True)), return_dtype=pl.Int32
    )
    table = single_values.select("query_id", part_index.alias("place")).unique(maintain_order=True)
    return UserSlice(name, (*values, "(none)"), table, len(values))


def slice_by_activity(work: SparkMeasurement, train: UserItems) -> UserSlice:
    """Users without an item in training are new; those up to the median of the others light.

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
    """The median number of training items of users who have one and are judged or have lists."""
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

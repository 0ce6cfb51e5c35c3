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

    from rankgate.data.logs.items import Whose
    from rankgate.data.logs.user_items import Meetings
    from rankgate.measurement.evaluation.accumulate import Accumulator
    from rankgate.spark.prepared import Prepared


@dataclass(frozen=True)
class UserSlice:
    """One slice of the users.

    Attributes:
        name: of the slice.
        parts: the values that users have, in order.
        table: ``query_id`` and ``place`` among the parts; a user may be in several.
        rest: the place of users who are not in the table.
    """

    name: str
    parts: tuple[str, ...]
    table: pl.DataFrame
    rest: int
    of: ClassVar[Whose] = "users"

    def empty(self, every: Accumulator) -> list[Accumulator]:
        """For each part an accumulator that has seen nothing."""
        return [every] * len(self.parts)

    def cut(
        self, judged: pl.DataFrame, runs: Sequence[pl.DataFrame]
    ) -> Iterator[tuple[int, pl.DataFrame, list[pl.DataFrame]]]:
        """For each part its number of users, and their judgments and rankings in a cell."""
        there = pl.concat([each["query_id"] for each in (judged, *runs)]).unique()
        for users in self._users(there):
            inside = pl.col("query_id").is_in(users.implode())
            yield len(users), judged.filter(inside), [run.filter(inside) for run in runs]

    def size(self, at: int, counted: int) -> int:  # noqa: ARG002 - of other slices sizes are known
        """The users of a part, which executors counted."""
        return counted

    def _users(self, there: pl.Series) -> list[pl.Series]:
        """Which of some users, each once, are in each part."""
        found = there.alias("query_id").to_frame().join(self.table, on="query_id", how="left")
        places = found["place"].fill_null(self.rest)
        return [found["query_id"].filter(places == at) for at in range(len(self.parts))]


def by_column(name: str, ids: pl.Series, words: pl.Series) -> UserSlice:
    """Users by the values of a column, several between bars; last those without one.

    Args:
        name: of the slice.
        ids: of the users that a table has.
        words: their values.

    Raises:
        UsageError: there are more values than a slice has.
    """
    rows = pl.DataFrame({"query_id": ids.cast(pl.String), "word": words})
    apart, values = split_values(name, rows)
    place = pl.col("word").replace_strict(
        dict(zip(values, range(len(values)), strict=True)), return_dtype=pl.Int32
    )
    table = apart.select("query_id", place.alias("place")).unique(maintain_order=True)
    return UserSlice(name, (*values, "(none)"), table, len(values))


def by_activity(work: Prepared, train: Meetings) -> UserSlice:
    """Users without an item in training are new; those up to the median of the others light.

    Args:
        work: judgments and runs, whose users there are.
        train: training.
    """
    counts = pl.DataFrame({"query_id": train.users, "had": train.lengths})
    median = _median(work, counts)
    place = (pl.col("had") > median).cast(pl.Int32) + 1
    table = counts.filter(pl.col("had") > 0).select("query_id", place.alias("place"))
    return UserSlice(ACTIVITY, ("new", "light", "heavy"), table, 0)


def _median(work: Prepared, counts: pl.DataFrame) -> float:
    """The median number of items in training, of users who have one and are judged or served."""
    there: list[DataFrame] = [each.frame.select("query_id") for each in work.tables]
    ids = reduce(lambda one, two: one.union(two), there).distinct()
    known = work.spark.createDataFrame(counts.filter(pl.col("had") > 0).to_arrow())
    rows = ids.join(known, "query_id").groupBy("had").count().collect()
    if not rows:
        return 0.0
    by = sorted((int(each[0]), int(each[1])) for each in rows)
    ends = np.cumsum([number for _, number in by])
    middle = np.searchsorted(ends, [(ends[-1] - 1) // 2, ends[-1] // 2], side="right")
    return float(np.mean([by[at][0] for at in middle]))

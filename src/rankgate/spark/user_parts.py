"""Parts of the users for scorecards on Spark: by activity in training, or by a column of users."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import reduce
from typing import TYPE_CHECKING

import numpy as np
import polars as pl

from rankgate.data.logs.items import read_described
from rankgate.errors import UsageError
from rankgate.recommenders.scorecard_slices import ACTIVITY, HISTORY, POPULARITY, split_values

if TYPE_CHECKING:
    from pyspark.sql import DataFrame

    from rankgate.data.inputs import TableLike
    from rankgate.data.logs.user_items import Meetings
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

    def users(self, there: pl.Series) -> list[pl.Series]:
        """Which of some users, each once, are in each part."""
        found = there.alias("query_id").to_frame().join(self.table, on="query_id", how="left")
        places = found["place"].fill_null(self.rest)
        return [found["query_id"].filter(places == at) for at in range(len(self.parts))]


def user_slices(
    names: Sequence[str],
    work: Prepared,
    train: Meetings | None,
    users: TableLike | None,
) -> tuple[UserSlice, ...]:
    """The slices of these names, as ``rankgate.scorecard`` has them.

    Args:
        names: activity, or columns of the table of users, which may be said as ``users.COLUMN``.
        work: judgments and runs, whose users there are.
        train: training.
        users: the table of users.

    Raises:
        InputError: a table that cannot be read.
        UsageError: a slice of items or of pairs, which runs on one machine; a column that is not
            there, or has too many values; activity without training.
    """
    table = None if users is None else read_described(users, "users")
    columns = [] if table is None else table.columns.columns
    found = []
    for name in names:
        column = name.removeprefix("users.")
        if name == ACTIVITY:
            found.append(_activity(work, train))
        elif table is not None and column in columns:
            found.append(_valued(name, table.ids, table.words(column)))
        else:
            known = ", ".join([ACTIVITY, *(f"users.{each}" for each in columns)])
            where = (
                "slices of items and of pairs are those of one machine"
                if name in (POPULARITY, HISTORY) or name.startswith("items.")
                else f"no slice is called '{name}'"
            )
            problem = f"{where}; on Spark there are {known}."
            raise UsageError(problem, code="unknown-slice")
    return tuple(found)


def _valued(name: str, ids: pl.Series, words: pl.Series) -> UserSlice:
    """The users by the values of a column, several between bars; last those without one."""
    rows = pl.DataFrame({"query_id": ids.cast(pl.String), "word": words})
    apart, values = split_values(name, rows)
    place = pl.col("word").replace_strict(
        dict(zip(values, range(len(values)), strict=True)), return_dtype=pl.Int32
    )
    table = apart.select("query_id", place.alias("place")).unique(maintain_order=True)
    return UserSlice(name, (*values, "(none)"), table, len(values))


def _activity(work: Prepared, train: Meetings | None) -> UserSlice:
    """Users without an item in training are new; those up to the median of the others light."""
    if train is None:
        raise UsageError(
            f"the slice {ACTIVITY} comes from training; give it with train.", code="missing-input"
        )
    had = np.bincount(train.owner, minlength=len(train.users))
    counts = pl.DataFrame({"query_id": train.users, "had": had})
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

"""Slices of users and items for a scorecard."""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING, Literal

import numpy as np
import polars as pl

from rankgate.core.errors import UsageError
from rankgate.core.frozen import dataclass
from rankgate.core.present.number_formats import count_noun
from rankgate.data.memory.ids import find_positions
from rankgate.measurement.metrics.lists.popularity import is_long_tail

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from rankgate.data.logs.item_tables import DescribedTable, TableKind
    from rankgate.data.logs.large_logs import UserItems
    from rankgate.measurement.evaluation.lists.list_inputs import Tables
    from rankgate.measurement.scoring.item_catalogue import Catalogue

ACTIVITY, POPULARITY, HISTORY = "activity", "popularity", "history"
REPEAT, NEW = "repeat", "new"
MAX_VALUES = 20
"""The largest number of values of a column that is a slice."""


@dataclass(frozen=True)
class Segment:
    """A part of the users, the items, or the judged pairs of both.

    Attributes:
        slice: the criterion: activity, popularity, history, or a column.
        of: users, items or pairs.
        value: the value that all members have.
        mask: ``(T,)``, ``(I,)`` or, for judgments, ``(J,)``: True for members; several segments can
            have the same member.
    """

    slice: str
    of: TableKind | Literal["pairs"]
    value: str
    mask: NDArray[np.bool_]


def slice_segments(
    name: str, catalogue: Catalogue, tables: Tables, repeated: NDArray[np.bool_] | None = None
) -> list[Segment]:
    """The parts of a slice.

    ``activity``: users without an item in training are new; of the remaining users those with at
    most the median number of items are light, the others heavy. ``popularity``: items of the head
    (the most popular fifth of the catalogue), and of the tail. ``history``: judged pairs of user
    and item that are in training (repeat), and all other pairs (new). Any other name is a column
    of the table of users or of items, which may be written as ``users.COLUMN`` or
    ``items.COLUMN``; bars separate several values.

    Args:
        name: the name of the slice.
        catalogue: users and items.
        tables: the tables of users and items.
        repeated: ``(J,)``, True for judgments of pairs in training; None without training data.

    Raises:
        UsageError: an input is missing, or has too many values.
    """
    if name in {ACTIVITY, POPULARITY, HISTORY} and catalogue.seen is None:
        raise UsageError(
            f"the slice {name} comes from training; give it with training.", code="missing-input"
        )
    if name == ACTIVITY:
        assert catalogue.history is not None
        groups = _activity_masks(catalogue.history.lengths).items()
        return [Segment(ACTIVITY, "users", value, mask) for value, mask in groups if mask.any()]
    if name == HISTORY:
        assert repeated is not None
        history_parts = (Segment(name, "pairs", REPEAT, repeated), Segment(name, "pairs", NEW, ~repeated))
        return [segment for segment in history_parts if segment.mask.any()]
    if name == POPULARITY:
        assert catalogue.seen is not None
        tail = is_long_tail(catalogue.seen)
        return [Segment(name, "items", "head", ~tail), Segment(name, "items", "tail", tail)]
    table, column = column_of(name, tables)
    kind = table.of
    ids = catalogue.queries if kind == "users" else catalogue.items
    values_by_id = pl.DataFrame({"id": table.ids, "word": table.description(column).cast(pl.String)})
    values = pl.DataFrame({"id": ids}).join(values_by_id, on="id", how="left", maintain_order="left")["word"]
    return list(_value_segments(name, kind, values))


def user_activity(users: pl.Series, train: UserItems) -> pl.Series:
    """The activity of each user: new, light or heavy, as in `slice_segments`.

    Args:
        users: the ids of users, each once.
        train: the items of each user in training.
    """
    item_counts = np.append(train.lengths, 0)
    activities = np.full(len(users), "", object)
    for word, mask in _activity_masks(item_counts[find_positions(users, train.users)]).items():
        activities[mask] = word
    return pl.Series(ACTIVITY, activities.tolist(), pl.String)


def _activity_masks(item_counts: NDArray[np.int64]) -> dict[str, NDArray[np.bool_]]:
    """The masks of new, light and heavy users, by their number of items."""
    median = float(np.median(item_counts[item_counts > 0])) if item_counts.any() else 0.0
    return {
        "new": item_counts == 0,
        "light": (item_counts > 0) & (item_counts <= median),
        "heavy": item_counts > median,
    }


def column_of(name: str, tables: Tables) -> tuple[DescribedTable, str]:
    """The table that has the column of a slice, and the name of the column in the table.

    Raises:
        UsageError: no table has the column, or both tables have it.
    """
    given_tables = [
        table_or_none for table_or_none in (tables.users, tables.items) if table_or_none is not None
    ]
    table_name, _, column = name.partition(".")
    for table in given_tables:
        if column and table_name == table.of:
            return table, column
    having = [table for table in given_tables if name in table.columns.columns]
    if len(having) == 1:
        return having[0], name
    if having:
        raise UsageError(
            f"users and items both have '{name}'; write users.{name} or items.{name}.", code="ambiguous-input"
        )
    slice_names = [ACTIVITY, POPULARITY, HISTORY]
    slice_names += [
        f"{table.of}.{column_name}" for table in given_tables for column_name in table.columns.columns
    ]
    raise UsageError(f"unknown slice '{name}'; known: {', '.join(slice_names)}.", code="unknown-slice")


def split_values(name: str, rows: pl.DataFrame) -> tuple[pl.DataFrame, list[str]]:
    """The values of a column separated by bars: rows with one value each, and all values.

    Args:
        name: the name of the slice.
        rows: a table with a column ``word``.

    Raises:
        UsageError: there are more values than the limit for a slice.
    """
    word_column = pl.col("word")
    single_values = rows.with_columns(word_column.cast(pl.String).str.split("|")).explode("word")
    single_values = single_values.with_columns(word_column.str.strip_chars()).filter(word_column != "")
    values = single_values["word"].unique().sort().to_list()
    if len(values) > MAX_VALUES:
        raise UsageError(
            f"'{name}' has {count_noun(len(values), 'value')}, and a slice at most {MAX_VALUES}; put them in "
            "groups.",
            code="out-of-range",
        )
    return single_values, values


def _value_segments(name: str, kind: TableKind, cell_values: pl.Series) -> Iterator[Segment]:
    """A part for each value, in byte order; users or items without a value come last."""
    rows = pl.DataFrame({"row": np.arange(len(cell_values)), "word": cell_values})
    single_values, values = split_values(name, rows)
    has_no_value = np.ones(len(cell_values), bool)
    for value in values:
        mask = np.zeros(len(cell_values), bool)
        mask[single_values.filter(pl.col("word") == value)["row"].to_numpy()] = True
        has_no_value &= ~mask
        yield Segment(name, kind, value, mask)
    if has_no_value.any():
        yield Segment(name, kind, "(none)", has_no_value)

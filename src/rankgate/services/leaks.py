"""What the parts of a split log have in common, and how large they are."""

from __future__ import annotations

from dataclasses import asdict, dataclass
from typing import TYPE_CHECKING, Any

import polars as pl

from rankgate.data.clock import shown

if TYPE_CHECKING:
    from rankgate.data.interactions import Interactions

_PAIR = ["query_id", "doc_id"]


@dataclass(frozen=True)
class Part:
    """One part: its interactions, users and items, and the first and last time in it."""

    name: str
    rows: int
    users: int
    items: int
    first: str
    last: str

    def to_dict(self) -> dict[str, Any]:
        """Plain values for JSON."""
        return asdict(self)


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

    def to_dict(self) -> dict[str, Any]:
        """Plain values for JSON."""
        return asdict(self)


def part_of(name: str, log: Interactions) -> Part:
    """The figures of one part."""
    table = log.table
    first, last = "", ""
    if log.timed and log.unit != "place":
        at = table["at"].to_numpy()
        first, last = shown(int(at.min()), log.unit), shown(int(at.max()), log.unit)
    users, items = (table[column].n_unique() for column in _PAIR)
    return Part(name, len(table), users, items, first, last)


def leaks_of(train: Interactions, validation: Interactions | None, test: Interactions) -> Leaks:
    """What the parts have in common."""
    learned = pl.concat([train.table, *([validation.table] if validation else [])])
    users, items = (_only(test.table, learned, column) for column in _PAIR)
    clock = test.unit not in {"none", "place"}
    again = test.table.select(_PAIR).unique().join(learned.select(_PAIR).unique(), on=_PAIR)
    return Leaks(
        users_only_test=users,
        items_only_test=items,
        users_only_train=_only(learned, test.table, "query_id"),
        pairs_again=len(again),
        ahead=int((learned["at"] >= test.table["at"].min()).sum()) if clock else 0,
        same_time=_same_time(learned, test.table) if test.timed else 0,
    )


def _only(mine: pl.DataFrame, others: pl.DataFrame, column: str) -> int:
    return len(mine.select(column).unique().join(others.select(column).unique(), on=column,
                                                 how="anti"))  # fmt: skip


def _same_time(learned: pl.DataFrame, test: pl.DataFrame) -> int:
    last = learned.group_by("query_id").agg(pl.col("at").max())
    first = test.group_by("query_id").agg(pl.col("at").min())
    return len(last.join(first, on=["query_id", "at"]))

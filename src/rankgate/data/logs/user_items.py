"""Compact user-item pairs of a log, for metrics on lists."""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING

import numpy as np
import polars as pl

from rankgate.core.errors import InputError
from rankgate.core.frozen import dataclass
from rankgate.data.logs.interactions import Interactions, parse_log_rows
from rankgate.data.logs.reading import open_log
from rankgate.data.memory.growing import GrowingArray
from rankgate.data.memory.ids import (
    NOT_FOUND,
    GrowingIds,
    find_positions,
    unique_codes,
    unique_sorted,
)
from rankgate.data.streams.prefetch import read_ahead
from rankgate.data.stretches import range_starts

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from rankgate.data.logs.interactions import LogLike

_PAIR_COLUMNS = ["query_id", "doc_id"]
_BLOCK_SIZE = 1 << 20
_ITEM_BITS = 32  # of a number, for the item


@dataclass(frozen=True, eq=False)
class UserItems:
    """The users and items of a log, and the pairs of users and items with an interaction.

    Attributes:
        users: ``(U,)`` ids, each once.
        items: ``(I,)`` ids, each once.
        starts: ``(U + 1,)``, the first pair of each user.
        item: ``(n,)``, the position of each pair's item, user after user, rising for each; no pair
            appears twice.
    """

    users: pl.Series
    items: pl.Series
    starts: NDArray[np.int64]
    item: NDArray[np.int32]

    @classmethod
    def of(cls, users: pl.Series, items: pl.Series, keys: NDArray[np.int64]) -> UserItems:
        """From the keys that `pack_pairs` makes, in any order; the keys are sorted in place."""
        unique_keys = unique_sorted(keys)
        starts = np.searchsorted(unique_keys, np.arange(len(users) + 1) << _ITEM_BITS)
        return cls(users, items, starts, unique_keys.astype(np.int32))

    @property
    def lengths(self) -> NDArray[np.int64]:
        """The number of items of each user, ``(U,)``."""
        return np.diff(self.starts)

    @property
    def owner(self) -> NDArray[np.int32]:
        """The position of each pair's user, ``(n,)``, rising."""
        return np.repeat(np.arange(len(self.users), dtype=np.int32), self.lengths)

    @property
    def people(self) -> int:
        """The number of users with any item."""
        return int(np.count_nonzero(self.lengths))

    @property
    def shown(self) -> pl.Series:
        """The items of all users."""
        return self.items.gather(unique_codes(self.item))

    @property
    def frame(self) -> pl.DataFrame:
        """``query_id`` and ``doc_id`` of each pair."""
        columns = self.users.gather(self.owner), self.items.gather(self.item)
        return pl.DataFrame(
            [column.alias(name) for column, name in zip(columns, _PAIR_COLUMNS, strict=True)]
        )

    def has(self, users: pl.Series, items: pl.Series) -> NDArray[np.bool_]:
        """True for each pair of a user and an item with an interaction, in pieces."""
        has_pair = np.zeros(len(users), np.bool_)
        for begin in range(0, len(users) if len(self.item) else 0, _BLOCK_SIZE):
            block = slice(begin, begin + _BLOCK_SIZE)
            owner, item = (
                find_positions(users[block], self.users),
                find_positions(items[block], self.items),
            )
            has_pair[block] = (owner != NOT_FOUND) & (item != NOT_FOUND) & self._met(owner, item)
        return has_pair

    def _met(self, owner: NDArray[np.int64], item: NDArray[np.int64]) -> NDArray[np.bool_]:
        """True if a user has an item: a binary search over all pairs at once.

        Args:
            owner: ``(m,)``, positions of users; `NOT_FOUND` gives an arbitrary result.
            item: ``(m,)``, positions of items.
        """
        lower, user_end = self.starts[owner], self.starts[owner + 1]
        upper, last_pair = user_end, len(self.item) - 1
        for _ in range(int(self.lengths.max(initial=0)).bit_length()):
            middle = np.minimum((lower + upper) // 2, last_pair)
            is_below = (self.item[middle] < item) & (lower < upper)
            lower, upper = np.where(is_below, middle + 1, lower), np.where(is_below, upper, middle)
        has_pair: NDArray[np.bool_] = (lower < user_end) & (
            self.item[np.minimum(lower, last_pair)] == item
        )
        return has_pair


def read_user_items(log: LogLike) -> UserItems:
    """The pairs of a log, which is read piece by piece; times and kinds are ignored.

    Raises:
        InputError: as ``read_interactions``, but for times.
    """
    users, items, keys = GrowingIds(), GrowingIds(), GrowingArray(np.int64)
    for rows in _read_pairs(log):
        starts = range_starts(rows["query_id"])  # rows of a user mostly are together
        user_codes = users.codes(rows["query_id"].gather(starts))
        owner = np.repeat(user_codes, np.diff(starts, append=len(rows)))
        keys.add(unique_sorted(pack_pairs(owner, items.codes(rows["doc_id"]))))
    return UserItems.of(users.ids, items.ids, keys.values)


def pack_pairs(owner: NDArray[np.int64], item: NDArray[np.int64]) -> NDArray[np.int64]:
    """Pack the positions of a user and an item into one number; rising numbers are rising users.

    >>> pack_pairs(np.array([0, 1]), np.array([7, 2])).tolist()
    [7, 4294967298]
    """
    return owner << _ITEM_BITS | item


def _read_pairs(log: LogLike) -> Iterator[pl.DataFrame]:
    """``query_id`` and ``doc_id`` of every row, checked, piece by piece."""
    if isinstance(log, Interactions):
        yield log.table.select(_PAIR_COLUMNS)
        return
    raw, first_row = open_log(log), 0
    for frame in read_ahead(raw.pieces):
        pairs = frame.select(name for name in (*_PAIR_COLUMNS, "value") if name in frame.columns)
        for pair_block in pairs.iter_slices(_BLOCK_SIZE):
            yield parse_log_rows(pair_block, raw.place.after(first_row))[0].select(_PAIR_COLUMNS)
            first_row += len(pair_block)
    if not first_row:
        raise InputError("no interactions found.", source=raw.place.label, code="no-interactions")

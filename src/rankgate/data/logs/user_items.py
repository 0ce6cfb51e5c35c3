"""Compact user-item pairs of a log, for metrics on lists."""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING

import numpy as np
import polars as pl

from rankgate.core.errors import InputError
from rankgate.core.frozen import dataclass
from rankgate.data.logs.interactions import Interactions, checked
from rankgate.data.logs.reading import opened
from rankgate.data.memory.growing import GrowingArray
from rankgate.data.memory.ids import NOWHERE, Growing, places, present, rising
from rankgate.data.streams.prefetch import ahead
from rankgate.data.stretches import starts_of

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from rankgate.data.logs.interactions import LogLike

_PAIR = ["query_id", "doc_id"]
_PIECE = 1 << 20
_BITS = 32  # of a number, for the item


@dataclass(frozen=True, eq=False)
class Meetings:
    """The users and items of a log, and which of them met.

    Attributes:
        users: ``(U,)`` ids, each once.
        items: ``(I,)`` ids, each once.
        starts: ``(U + 1,)``, where the pairs of each user begin.
        item: ``(n,)``, the place of each pair's item, user after user, rising for each; no pair
            appears twice.
    """

    users: pl.Series
    items: pl.Series
    starts: NDArray[np.int64]
    item: NDArray[np.int32]

    @classmethod
    def of(cls, users: pl.Series, items: pl.Series, keys: NDArray[np.int64]) -> Meetings:
        """From what `packed` makes of every meeting, in any order; the keys are sorted in place."""
        each = rising(keys)
        starts = np.searchsorted(each, np.arange(len(users) + 1) << _BITS)
        return cls(users, items, starts, each.astype(np.int32))

    @property
    def lengths(self) -> NDArray[np.int64]:
        """How many items each user met, ``(U,)``."""
        return np.diff(self.starts)

    @property
    def owner(self) -> NDArray[np.int32]:
        """The place of each pair's user, ``(n,)``, rising."""
        return np.repeat(np.arange(len(self.users), dtype=np.int32), self.lengths)

    @property
    def people(self) -> int:
        """How many users met anything."""
        return int(np.count_nonzero(self.lengths))

    @property
    def shown(self) -> pl.Series:
        """The items that anybody met."""
        return self.items.gather(present(self.item))

    @property
    def frame(self) -> pl.DataFrame:
        """``query_id`` and ``doc_id`` of each pair."""
        columns = self.users.gather(self.owner), self.items.gather(self.item)
        return pl.DataFrame([each.alias(name) for each, name in zip(columns, _PAIR, strict=True)])

    def has(self, users: pl.Series, items: pl.Series) -> NDArray[np.bool_]:
        """Which pairs of a user and an item met, looked up piece by piece."""
        found = np.zeros(len(users), np.bool_)
        for begin in range(0, len(users) if len(self.item) else 0, _PIECE):
            some = slice(begin, begin + _PIECE)
            owner, item = places(users[some], self.users), places(items[some], self.items)
            found[some] = (owner != NOWHERE) & (item != NOWHERE) & self._met(owner, item)
        return found

    def _met(self, owner: NDArray[np.int64], item: NDArray[np.int64]) -> NDArray[np.bool_]:
        """Whether each user met an item: the middle of what is left is compared, again and again.

        Args:
            owner: ``(m,)``, places of users; `NOWHERE` looks anywhere.
            item: ``(m,)``, places of items.
        """
        low, end = self.starts[owner], self.starts[owner + 1]
        high, last = end, len(self.item) - 1
        for _ in range(int(self.lengths.max(initial=0)).bit_length()):
            middle = np.minimum((low + high) // 2, last)
            less = (self.item[middle] < item) & (low < high)
            low, high = np.where(less, middle + 1, low), np.where(less, high, middle)
        met: NDArray[np.bool_] = (low < end) & (self.item[np.minimum(low, last)] == item)
        return met


def read_meetings(log: LogLike) -> Meetings:
    """The pairs of a log, which is read piece by piece; times and kinds are no matter.

    Raises:
        InputError: as ``read_interactions``, but for times.
    """
    users, items, keys = Growing(), Growing(), GrowingArray(np.int64)
    for rows in _rows(log):
        starts = starts_of(rows["query_id"])  # rows of a user mostly are together
        heads = users.codes(rows["query_id"].gather(starts))
        owner = np.repeat(heads, np.diff(starts, append=len(rows)))
        keys.add(rising(packed(owner, items.codes(rows["doc_id"]))))
    return Meetings.of(users.ids, items.ids, keys.values)


def packed(owner: NDArray[np.int64], item: NDArray[np.int64]) -> NDArray[np.int64]:
    """A user's and an item's place in one number; rising numbers are rising users.

    >>> packed(np.array([0, 1]), np.array([7, 2])).tolist()
    [7, 4294967298]
    """
    return owner << _BITS | item


def _rows(log: LogLike) -> Iterator[pl.DataFrame]:
    """``query_id`` and ``doc_id`` of every row, checked, piece by piece."""
    if isinstance(log, Interactions):
        yield log.table.select(_PAIR)
        return
    raw, first = opened(log), 0
    for whole in ahead(raw.pieces):
        wanted = whole.select(name for name in (*_PAIR, "value") if name in whole.columns)
        for piece in wanted.iter_slices(_PIECE):
            yield checked(piece, raw.place.after(first))[0].select(_PAIR)
            first += len(piece)
    if not first:
        raise InputError("no interactions found.", source=raw.place.label, code="no-interactions")

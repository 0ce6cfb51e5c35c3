"""Compact user-item pairs of a log, for metrics on lists."""

from __future__ import annotations

from collections.abc import Iterator
from functools import cached_property
from typing import TYPE_CHECKING

import numpy as np
import polars as pl

from rankgate.data.logs.interactions import Interactions, checked
from rankgate.data.logs.reading import opened
from rankgate.data.memory.ids import Growing, places, present, rising
from rankgate.data.streams.prefetch import ahead
from rankgate.data.stretches import starts_of
from rankgate.errors import InputError
from rankgate.frozen import dataclass

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
        owner: ``(n,)``, the place of each pair's user, rising.
        item: ``(n,)``, of its item; no pair appears twice.
    """

    users: pl.Series
    items: pl.Series
    owner: NDArray[np.int32]
    item: NDArray[np.int32]

    @classmethod
    def of(cls, users: pl.Series, items: pl.Series, keys: NDArray[np.int64]) -> Meetings:
        """From what `packed` makes of every meeting, in any order."""
        each = rising(keys)
        return cls(users, items, (each >> _BITS).astype(np.int32), each.astype(np.int32))

    @cached_property
    def people(self) -> int:
        """How many users met anything."""
        return len(present(self.owner))

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
        keys = packed(self.owner.astype(np.int64), self.item.astype(np.int64))
        found = np.zeros(len(users), np.bool_)
        for begin in range(0, len(users) if len(keys) else 0, _PIECE):
            some = slice(begin, begin + _PIECE)
            owner, item = places(users[some], self.users), places(items[some], self.items)
            asked = packed(owner, item)
            at = np.minimum(np.searchsorted(keys, asked), len(keys) - 1)
            found[some] = (keys[at] == asked) & (owner >= 0) & (item >= 0)
        return found


def read_meetings(log: LogLike) -> Meetings:
    """The pairs of a log, which is read piece by piece; times and kinds are no matter.

    Raises:
        InputError: as ``read_interactions``, but for times.
    """
    users, items = Growing(), Growing()
    parts = []
    for rows in _rows(log):
        starts = starts_of(rows["query_id"])  # rows of a user mostly are together
        heads = users.codes(rows["query_id"].gather(starts))
        owner = np.repeat(heads, np.diff(starts, append=len(rows)))
        parts.append(rising(packed(owner, items.codes(rows["doc_id"]))))
    keys = np.concatenate(parts)
    parts.clear()
    return Meetings.of(users.ids, items.ids, keys)


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

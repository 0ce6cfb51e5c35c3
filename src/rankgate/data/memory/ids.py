"""The ids of rows and columns: given, or the numbers from 0; and the place of an id among them."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import field
from functools import cached_property
from typing import TYPE_CHECKING, Any

import numpy as np
import polars as pl

from rankgate.core.errors import InputError
from rankgate.core.frozen import dataclass

if TYPE_CHECKING:
    from numpy.typing import NDArray

NOWHERE = -1
"""The place of an id that is not among others."""

_MANY = 8  # times as many ids as places
_BLOCK = 1 << 20  # numbers that are looked at together, so that no copy of all is made


@dataclass(frozen=True, eq=False)
class Ids:
    """What the places 0, 1, … are called.

    Attributes:
        size: how many there are.
        given: their names, each once; None where the places are their own names.
    """

    size: int
    given: pl.Series | None = None

    @classmethod
    def of(cls, names: Sequence[object] | None, size: int, what: str) -> Ids:
        """The ids of an array's rows or columns.

        Raises:
            InputError: not as many as there are rows or columns, one that is empty, one twice.
        """
        if names is None:
            return cls(size)
        given = pl.Series([str(each) for each in names], dtype=pl.String)
        if len(given) != size:
            problem = f"{len(given)} of them for {size} in the array; give one for each."
            raise InputError(problem, source=what, code="wrong-shape")
        if (given == "").any():
            raise InputError("an id is empty; give each a name.", source=what, code="empty-value")
        if given.n_unique() < size:
            twice = given.filter(given.is_duplicated())[0]
            raise InputError(
                f"'{twice}' appears twice; ids must be unique.", source=what, code="duplicate-id"
            )
        return cls(size, given)

    @cached_property
    def names(self) -> pl.Series:
        """``(size,)`` strings."""
        if self.given is not None:
            return self.given
        return pl.int_range(self.size, eager=True).cast(pl.String)

    def codes(self, ids: pl.Series) -> NDArray[np.int64]:
        """The place of each id; `NOWHERE` where it is not among these.

        >>> Ids(3).codes(pl.Series(["2", "02", "7", "x"])).tolist()
        [2, -1, -1, -1]
        """
        if self.given is not None:
            return places(ids, self.given)
        number = ids.cast(pl.Int64, strict=False)
        own = (number.cast(pl.String) == ids) & (number >= 0) & (number < self.size)
        return np.where(own.fill_null(value=False), number.fill_null(NOWHERE), NOWHERE)

    def into(self, others: Ids) -> NDArray[np.int64]:
        """The place of each of these among others, ``(size,)``."""
        if self.given is None and others.given is None:
            own = np.arange(self.size)
            return np.where(own < others.size, own, NOWHERE)
        return others.codes(self.names)


@dataclass(eq=False)
class Growing:
    """Ids by their places, in the order in which they were met.

    Attributes:
        ids: those met so far, each once.
    """

    ids: pl.Series = field(default_factory=lambda: pl.Series("id", [], dtype=pl.String))

    def codes(self, ids: pl.Series) -> NDArray[np.int64]:
        """The place of each id; new ones get the next places.

        >>> Growing().codes(pl.Series(["b", "a", "b"])).tolist()
        [0, 1, 0]
        """
        found = places(ids, self.ids)
        fresh = ids.filter(pl.Series(found == NOWHERE)).unique(maintain_order=True)
        if len(fresh):
            self.ids = pl.concat([self.ids, fresh])
            found = places(ids, self.ids)
        return found


def places(ids: pl.Series, among: pl.Series) -> NDArray[np.int64]:
    """The place of each id in a series of different ids; `NOWHERE` where it is not in it."""
    if len(ids) > _MANY * len(among):  # quicker, but for the making of its table
        coded = ids.cast(pl.Enum(among), strict=False).to_physical()
        return coded.cast(pl.Int64).fill_null(NOWHERE).to_numpy()
    known = pl.DataFrame({"id": among, "place": np.arange(len(among), dtype=np.int64)})
    found = pl.DataFrame({"id": ids}).join(known, on="id", how="left", maintain_order="left")
    return found["place"].fill_null(NOWHERE).to_numpy()


def present(codes: NDArray[np.integer[Any]]) -> NDArray[np.int64]:
    """Each of some places once, rising: quicker than to sort them, as places are near 0.

    >>> present(np.array([3, 1, 3])).tolist()
    [1, 3]
    """
    flat = codes.ravel()
    there = np.zeros(int(flat.max(initial=-1)) + 1, np.bool_)
    for begin in range(0, len(flat), _BLOCK):
        there[flat[begin : begin + _BLOCK]] = True
    return np.flatnonzero(there)


def rising(keys: NDArray[Any]) -> NDArray[Any]:
    """Each of some numbers once, rising; those that do not rise are sorted in their own memory.

    >>> rising(np.array([3, 1, 3])).tolist()
    [1, 3]
    """
    starts = range(0, len(keys), _BLOCK)
    windows = (keys[at : at + _BLOCK + 1] for at in starts)
    if all((each[1:] > each[:-1]).all() for each in windows):
        return keys
    keys.sort()
    end, last = 0, None
    for at in starts:
        part = keys[at : at + _BLOCK]
        fresh = np.append(last is None or part[0] != last, part[1:] != part[:-1])
        last, once = part[-1], part[fresh]
        keys[end : end + len(once)] = once
        end += len(once)
    return keys[:end]

"""Ids of rows and columns (given names, or numbers from 0), and the look-up of positions."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import field
from functools import cached_property
from typing import TYPE_CHECKING, Any
from uuid import UUID

import numpy as np
import polars as pl

from rankgate.core.errors import InputError, short_repr
from rankgate.core.frozen import dataclass
from rankgate.core.present.number_formats import count_noun

if TYPE_CHECKING:
    from numpy.typing import NDArray


class GrowingArray:
    """An array that grows in place, because joining pieces would need twice the memory."""

    def __init__(self, dtype: type[np.generic]) -> None:
        self.values = np.empty(0, dtype)

    def add(self, values: NDArray[Any]) -> None:
        """Append values."""
        size = len(self.values)
        self.values.resize(size + len(values), refcheck=False)  # no other array shares this memory
        self.values[size:] = values


NOT_FOUND = -1
"""The position of an id that is not among others."""

_MIN_LOOKUP_RATIO = 8  # least number of ids per entry of the vocabulary
_BLOCK = 1 << 20  # numbers in a block, so that not all numbers are copied at once


@dataclass(frozen=True, eq=False)
class Ids:
    """Names for the positions 0, 1, … of rows or columns.

    Attributes:
        size: the number of ids.
        given: the names, each once; None if the positions are the names.
    """

    size: int
    given: pl.Series | None = None

    @classmethod
    def from_axis(cls, names: Sequence[object] | None, size: int, label: str) -> Ids:
        """Make the ids of an array's rows or columns.

        Raises:
            InputError: the number of ids is wrong, or an id is empty or repeated.
        """
        if names is None:
            return cls(size)
        id_texts = pl.Series([str(name) for name in names], dtype=pl.String)
        if len(id_texts) != size:
            problem = f"{count_noun(len(id_texts), 'id')} for {size} in the array; give one for each."
            raise InputError(problem, source=label, code="wrong-shape")
        if (id_texts == "").any():
            raise InputError("an id is empty; give each a name.", source=label, code="empty-value")
        if id_texts.n_unique() < size:
            repeated_id = id_texts.filter(id_texts.is_duplicated())[0]
            raise InputError(
                f"'{repeated_id}' appears twice; ids must be unique.", source=label, code="duplicate-id"
            )
        return cls(size, id_texts)

    @property
    def unnamed(self) -> int | None:
        """The number of ids if positions are the names; None otherwise."""
        return self.size if self.given is None else None

    @cached_property
    def names(self) -> pl.Series:
        """``(size,)`` strings."""
        if self.given is not None:
            return self.given
        return pl.int_range(self.size, eager=True).cast(pl.String)

    def codes(self, ids: pl.Series) -> NDArray[np.int64]:
        """The position of each of some ids; `NOT_FOUND` for unknown ids.

        >>> Ids(3).codes(pl.Series(["2", "02", "7", "x"])).tolist()
        [2, -1, -1, -1]
        """
        if self.given is not None:
            return find_positions(ids, self.given)
        number = ids.cast(pl.Int64, strict=False)
        is_known = (number.cast(pl.String) == ids) & (number >= 0) & (number < self.size)
        return np.where(is_known.fill_null(value=False), number.fill_null(NOT_FOUND), NOT_FOUND)

    def positions_in(self, other_ids: Ids) -> NDArray[np.int64]:
        """The position of each id of this object among other ids, ``(size,)``."""
        if self.given is None and other_ids.given is None:
            positions = np.arange(self.size)
            return np.where(positions < other_ids.size, positions, NOT_FOUND)
        return other_ids.codes(self.names)


@dataclass(eq=False)
class GrowingIds:
    """A growing set of ids with positions, in the order of first appearance.

    Attributes:
        ids: the ids so far, each once.
    """

    ids: pl.Series = field(default_factory=lambda: pl.Series("id", [], dtype=pl.String))

    def codes(self, ids: pl.Series) -> NDArray[np.int64]:
        """The position of each id; new ids get the next positions.

        >>> GrowingIds().codes(pl.Series(["b", "a", "b"])).tolist()
        [0, 1, 0]
        """
        positions = find_positions(ids, self.ids)
        new_ids = ids.filter(pl.Series(positions == NOT_FOUND)).unique(maintain_order=True)
        if len(new_ids):
            self.ids = pl.concat([self.ids, new_ids])
            positions = find_positions(ids, self.ids)
        return positions


def find_positions(ids: pl.Series, vocabulary: pl.Series) -> NDArray[np.int64]:
    """The position of each id in a series of distinct ids; `NOT_FOUND` for unknown ids."""
    if len(ids) > _MIN_LOOKUP_RATIO * len(vocabulary):  # quicker, apart from building its table
        coded = ids.cast(pl.Enum(vocabulary), strict=False).to_physical()
        return coded.cast(pl.Int64).fill_null(NOT_FOUND).to_numpy()
    position_of_id = pl.DataFrame({"id": vocabulary, "place": np.arange(len(vocabulary), dtype=np.int64)})
    joined = pl.DataFrame({"id": ids}).join(position_of_id, on="id", how="left", maintain_order="left")
    return joined["place"].fill_null(NOT_FOUND).to_numpy()


def unique_codes(codes: NDArray[np.integer[Any]]) -> NDArray[np.int64]:
    """The distinct positions in rising order; faster than sorting, because positions are small.

    >>> unique_codes(np.array([3, 1, 3])).tolist()
    [1, 3]
    """
    flat_codes = codes.ravel()
    is_present = np.zeros(int(flat_codes.max(initial=-1)) + 1, np.bool_)
    for begin in range(0, len(flat_codes), _BLOCK):
        is_present[flat_codes[begin : begin + _BLOCK]] = True
    return np.flatnonzero(is_present)


def unique_sorted(keys: NDArray[Any]) -> NDArray[Any]:
    """The distinct numbers in rising order; unsorted numbers are sorted in place.

    >>> unique_sorted(np.array([3, 1, 3])).tolist()
    [1, 3]
    """
    starts = range(0, len(keys), _BLOCK)
    windows = (keys[start : start + _BLOCK + 1] for start in starts)
    if all((window[1:] > window[:-1]).all() for window in windows):
        return keys
    keys.sort()
    end, last_key = 0, None
    for start in starts:
        block = keys[start : start + _BLOCK]
        is_new = np.append(last_key is None or block[0] != last_key, block[1:] != block[:-1])
        last_key, unique_keys = block[-1], block[is_new]
        keys[end : end + len(unique_keys)] = unique_keys
        end += len(unique_keys)
    return keys[:end]


def text_ids(ids: Iterable[object], label: str) -> list[str]:
    """Convert ids to texts that differ if the ids differ.

    Raises:
        InputError: an id is neither a text nor a whole number, or two ids give one text.
    """
    texts = [text_id(value) for value in ids]
    if len(set(texts)) < len(texts):
        problem = f"two ids of {label} are one text, as 1 and '1' are; use texts."
        raise InputError(problem, source="ids", code="duplicate-id")
    return texts


def text_id(value: object) -> str:
    """An id as text.

    Raises:
        InputError: the id is neither a text, nor a whole number, nor a UUID.
    """
    if isinstance(value, bool) or not isinstance(value, str | int | np.integer | UUID):
        problem = f"the id {short_repr(value)} is a {type(value).__name__}; use texts or whole numbers."
        raise InputError(problem, source="ids", code="invalid-id")
    return str(value)

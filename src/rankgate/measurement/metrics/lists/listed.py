"""What metrics on lists see: the first K of each of T lists, and what is known of items and users.

Shapes: T lists, K places, I items of the catalogue, F features, G categories or groups.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import replace
from functools import reduce
from operator import add
from typing import Any, TypeAlias

import numpy as np
from numpy.typing import NDArray

from rankgate.core.frozen import dataclass
from rankgate.measurement.metrics.judged import total
from rankgate.measurement.metrics.lists.ragged import NONE, Ragged, narrow

__all__ = [
    "NONE", "Codes", "Flags", "Floats", "Listed", "Sums", "among", "blocks", "firsts_of",
    "mean_of", "over", "shared", "taken", "totals", "unit",
]  # fmt: skip

Codes: TypeAlias = NDArray[np.int64]
Floats: TypeAlias = NDArray[np.float64]
Flags: TypeAlias = NDArray[np.bool_]

_BLOCK = 1 << 20  # numbers of a block; a few such fit the cache
_TABLES = 8  # a block has so many times the items of the catalogue, which cost once a block
_FEW = 16  # places of lists that are compared with one another
_HALF, _WHOLE = 2.0**26, 2.0**53
_BY_USER = ("relevant", "history", "baseline", "earlier", "before", "drawn", "judged")
"""The fields of `Listed` with a row for each user."""


@dataclass(frozen=True, slots=True, eq=False)
class Listed:
    """The first K of each of T lists. Matrices of codes are padded with `NONE` behind the end.

    Attributes:
        items: ``(T, K)``, the code of each item from 0.
        catalogue: I, the number of items that could have been shown.
        seen: ``(I,)``, how many people each item was known to before; None if nobody says so.
        people: how many people those are of.
        relevant: ``(T, ·)``, the items that are relevant to each user, in any order; kernels get
            a matrix.
        history: ``(T, ·)``, the items that each user had before; kernels get a matrix.
        baseline: ``(T, ·)``, what a simple system shows, such as the most popular items.
        earlier: ``(T, ·)``, what the same system showed last time.
        drawn: ``(T, R, ·)``, other rankings that a system which draws them may show just as well.
        before: ``(T, ·)``, all that it ever showed; what it showed last time if not given.
        features: ``(I, F)``, numbers that describe each item.
        similarities: ``(I, I)``, the similarity of two items, 1 for the same; for any similarity.
        categories: ``(I, G)``, the share of each category in each item; rows add up to 1, or to 0
            where nothing is known.
        groups: ``(I,)``, the group of each item from 0; `NONE` where it is in none.
        judged: ``(T,)``, whether anything is known of the relevance of items to each user;
            metrics that need to know it look at these users only. None is all of them.
    """

    items: Codes
    catalogue: int
    seen: Codes | None = None
    people: int = 0
    relevant: Codes | Ragged | None = None
    history: Codes | Ragged | None = None
    baseline: Codes | None = None
    earlier: Codes | None = None
    features: Floats | None = None
    categories: Floats | None = None
    groups: Codes | None = None
    before: Codes | None = None
    similarities: Floats | None = None
    drawn: Codes | None = None
    judged: Flags | None = None

    @property
    def known(self) -> Flags | None:
        """Which items of the catalogue training has, ``(I,)``; None if nobody says so."""
        return None if self.seen is None else self.seen > 0

    @property
    def shown(self) -> Flags:
        """Which places hold an item, ``(T, K)``."""
        valid: Flags = self.items != NONE
        return valid

    @property
    def lengths(self) -> Codes:
        """How many items each list holds, ``(T,)``."""
        lengths: Codes = np.count_nonzero(self.shown, axis=-1)
        return lengths

    def first(self, cutoff: int | None) -> Listed:
        """The same lists cut at a rank; the obvious, the earlier and the drawn ones too."""
        if cutoff is None:
            return self
        cut = {
            name: each[..., :cutoff]
            for name in ("baseline", "earlier", "drawn")
            if (each := getattr(self, name)) is not None
        }
        return replace(self, items=self.items[:, :cutoff], **cut)

    def rows(self, chosen: slice | Codes) -> Listed:
        """Some of the lists."""
        cut = {name: each[chosen] for name in _BY_USER if (each := getattr(self, name)) is not None}
        return replace(self, items=self.items[chosen], **cut)

    def parts(self, wanted: Iterable[str]) -> Iterator[Listed]:
        """The same lists in parts of bounded size, with matrices of what is wanted.

        Args:
            wanted: names of fields.
        """
        ragged = {name: each for name in wanted if isinstance(each := getattr(self, name), Ragged)}
        lengths = np.zeros(len(self.items), np.int64)
        for each in ragged.values():
            np.maximum(lengths, each.lengths, out=lengths)
        for block in blocks(self):
            for rows in narrow(slice(block.start, min(block.stop, len(lengths))), lengths):
                matrices: dict[str, Any] = {
                    name: each[rows].matrix() for name, each in ragged.items()
                }
                yield replace(self.rows(rows), **matrices)

    def sums(self, weights: Floats | None = None, looked: Floats | None = None) -> Sums:
        """What the lists show together; see `Sums`."""
        return Sums.of(self, weights, looked)


@dataclass(frozen=True, slots=True, eq=False)
class Sums:
    """What many lists show together: sums over lists, so that parts add up to the whole.

    A list counts with its weight, 1 if none is given.

    Attributes:
        counts: ``(I,)``, places of lists that show each item.
        distinct: ``(I,)``, lists that show each item; the same where no list repeats an item.
        scaled: ``(·, I)``, the same, each list divided by the root of its number of items; in
            addends that are exact, so that batches add up to the same bits in any order.
        exposure: ``(·, I)``, places of lists that show each item, each worth what it is looked at;
            in addends likewise; None if no metric needs it.
        lists: all lists.
        filled: lists that show anything.
        squares: the sum of the squared weights of these.
        known: ``(I,)``, which items training has; the same for all parts.
    """

    counts: Floats
    distinct: Floats
    scaled: Floats
    exposure: Floats | None
    lists: float
    filled: float
    squares: float
    known: Flags | None = None

    @classmethod
    def of(
        cls, listed: Listed, weights: Floats | None = None, looked: Floats | None = None
    ) -> Sums:
        """The sums over some lists, block by block.

        Args:
            listed: the lists.
            weights: ``(T,)``, of the lists.
            looked: ``(K,)``, what each place is looked at.
        """
        weight = np.ones(len(listed.items)) if weights is None else weights
        parts = (cls._of(listed.rows(each), weight[each], looked) for each in blocks(listed))
        return reduce(add, parts)

    @classmethod
    def _of(cls, listed: Listed, weight: Floats, looked: Floats | None) -> Sums:
        shown, first = listed.shown, firsts_of(listed.items)
        every = _Places.of(listed, shown)
        once = every if np.array_equal(first, shown) else _Places.of(listed, first)
        root, full = weight / np.sqrt(np.maximum(once.lengths, 1)), every.lengths > 0
        exposure = None
        if looked is not None:
            worth = np.broadcast_to(weight[:, None] * looked, shown.shape)[shown]
            exposure = np.stack([every.sums(part) for part in _halves(worth)])
        counts = every.of_lists(weight)
        return cls(
            counts,
            counts if once is every else once.of_lists(weight),
            np.stack([once.of_lists(part) for part in _halves(root)]),
            exposure,
            float(weight.sum()),
            float(weight[full].sum()),
            float((weight[full] ** 2).sum()),
            listed.known,
        )

    def __add__(self, other: Sums) -> Sums:
        """The sums over both."""
        both = self.exposure is not None and other.exposure is not None
        return Sums(
            self.counts + other.counts,
            self.distinct + other.distinct,
            self.scaled + other.scaled,
            self.exposure + other.exposure if both else None,  # type: ignore[operator]
            self.lists + other.lists,
            self.filled + other.filled,
            self.squares + other.squares,
            self.known,
        )


@dataclass(frozen=True, eq=False)
class _Places:
    """Some places of lists.

    Attributes:
        codes: ``(n,)``, the items there, list by list.
        lengths: ``(T,)``, how many places of each list.
        counts: ``(I,)``, places by item.
    """

    codes: Codes
    lengths: Codes
    counts: Codes

    @classmethod
    def of(cls, listed: Listed, chosen: Flags) -> _Places:
        """The places of lists that are chosen, ``(T, K)``."""
        codes = listed.items[chosen]
        counts = np.bincount(codes, minlength=listed.catalogue)
        return cls(codes, np.count_nonzero(chosen, axis=-1), counts)

    def of_lists(self, worth: Floats) -> Floats:
        """By item the sum of what each list is worth, ``(T,)``; exact for few binary digits."""
        there = worth[self.lengths > 0]
        if len(there) and (there == there[0]).all():
            similarities: Floats = self.counts * there[0]
            return similarities
        return self.sums(np.repeat(worth, self.lengths))

    def sums(self, worth: Floats) -> Floats:
        """By item the sum of what each place is worth, ``(n,)``."""
        found = np.bincount(self.codes, weights=worth, minlength=len(self.counts))
        return found.astype(np.float64, copy=False)


def _halves(worth: Floats) -> tuple[Floats, Floats]:
    """Numbers to 2^-53 in two addends; sums of each are exact up to 2^27, in any order.

    >>> high, low = _halves(np.array([0.6]))
    >>> high + low
    array([0.6])
    """
    high = np.rint(worth * _HALF) / _HALF
    low: Floats = np.rint((worth - high) * _WHOLE) / _WHOLE
    return high, low


def blocks(listed: Listed) -> Iterator[slice]:
    """Lists in pieces of bounded size, one after the other; an empty one where there are none."""
    rows, width = listed.items.shape
    step = max(1, max(_BLOCK, _TABLES * listed.catalogue) // max(1, width))
    yield from (slice(begin, begin + step) for begin in range(0, max(1, rows), step))


def firsts_of(items: Codes) -> Flags:
    """Which places show an item for the first time in their list, ``(T, K) -> (T, K)``.

    >>> firsts_of(np.array([[3, 1, 3], [2, NONE, NONE]])).tolist()
    [[True, True, False], [True, False, False]]
    """
    first: Flags = items != NONE
    width = items.shape[-1]
    if width <= _FEW:  # quicker than to sort
        for step in range(1, width):
            first[:, step:] &= items[:, step:] != items[:, :-step]
        return first
    ordered = np.sort(items, axis=-1)
    again = (ordered[:, 1:] == ordered[:, :-1]) & (ordered[:, 1:] != NONE)
    rows = np.flatnonzero(again.any(axis=-1))
    if len(rows):
        by = np.argsort(items[rows], axis=-1, kind="stable")
        same = np.zeros(by.shape, bool)
        np.put_along_axis(same, by[:, 1:], again[rows], axis=-1)
        first[rows] &= ~same
    return first


def among(items: Codes, others: Codes) -> Flags:
    """Which items of each row are in the same row of another matrix, ``(T, K)``.

    Args:
        items: ``(T, K)``, padded with `NONE`.
        others: ``(T, ·)``, padded likewise.

    >>> among(np.array([[0, 1], [1, NONE]]), np.array([[1], [0]])).tolist()
    [[False, True], [False, False]]
    """
    size = max(int(items.max(initial=0)), int(others.max(initial=0))) + 1
    row = np.arange(len(items))[:, None] * size
    wanted, asked = np.sort((row + others)[others != NONE]), row + items
    if not len(wanted):
        return np.zeros(items.shape, bool)
    places = np.minimum(np.searchsorted(wanted, asked), len(wanted) - 1)
    found: Flags = (wanted[places] == asked) & (items != NONE)
    return found


def shared(items: Codes | Ragged, others: Codes | Ragged) -> int:
    """How many items are in the same row of the others too, looked up in parts of the rows.

    Args:
        items: a row for each user.
        others: likewise.
    """
    lengths = np.maximum(_lengths(items), _lengths(others))
    parts = narrow(slice(0, len(lengths)), lengths)
    return sum(int(among(matrix_of(items[rows]), matrix_of(others[rows])).sum()) for rows in parts)


def matrix_of(rows: Codes | Ragged) -> Codes:
    """Rows of codes as a matrix."""
    return rows.matrix() if isinstance(rows, Ragged) else rows


def _lengths(rows: Codes | Ragged) -> Codes:
    return rows.lengths if isinstance(rows, Ragged) else np.full(len(rows), rows.shape[1])


def taken(table: Floats | Codes, codes: Codes) -> Floats:
    """The rows of an item table for a matrix of codes, 0 where a place holds nothing."""
    if not len(table):
        return np.zeros((*codes.shape, *table.shape[1:]))
    rows: Floats = table.astype(np.float64, copy=False)[codes]  # NONE takes the last for now
    valid = codes != NONE
    if not valid.all():
        rows[~valid] = 0
    return rows


def totals(table: Floats, codes: Codes) -> Floats:
    """The rows of an item table, added over each row of codes, ``(T, ·) -> (T, F)``.

    Made block by block: histories are long.
    """
    width = table.shape[1]
    out = np.zeros((len(codes), width))
    step = max(1, _BLOCK // max(1, codes.shape[1] * width))
    for begin in range(0, len(codes), step):
        out[begin : begin + step] = taken(table, codes[begin : begin + step]).sum(axis=1)
    return out


def unit(features: Floats) -> Floats:
    """Features divided by their length, ``(I, F)``; rows of 0 stay so.

    Rows are brought to a size of about 1 first, by a power of 2, so that no square overflows.
    """
    _, exponents = np.frexp(np.abs(features).max(axis=-1, initial=0, keepdims=True))
    scaled = np.ldexp(features, -exponents)
    norms = np.linalg.norm(scaled, axis=-1, keepdims=True)
    out: Floats = np.zeros(features.shape)
    np.divide(scaled, norms, out=out, where=norms > 0)
    return out


def mean_of(values: Floats, counted: Flags) -> Floats:
    """The mean over the places of each list that count, ``(T, K) -> (T,)``; NaN without any."""
    count = np.count_nonzero(counted, axis=-1)
    out: Floats = np.full(len(values), np.nan)
    np.divide(total(np.where(counted, values, 0)), count, out=out, where=count > 0)
    return out


def over(part: Floats, whole: Floats | Codes) -> Floats:
    """``part / whole``, NaN where there is nothing to divide by."""
    out: Floats = np.full(np.shape(part), np.nan)
    np.divide(part, whole, out=out, where=np.asarray(whole) > 0)
    return out

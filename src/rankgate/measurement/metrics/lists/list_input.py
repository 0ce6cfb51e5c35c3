"""The input of metrics on lists: lists, data of items and users, parts of the catalogue.

Shapes: T lists, K places, I items of the catalogue, F features, G categories or groups.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import field, replace
from functools import reduce
from operator import add
from typing import Any

import numpy as np
from numpy.typing import NDArray

from rankgate.core.arrays import Flags, Floats
from rankgate.core.frozen import dataclass
from rankgate.measurement.metrics.judged_block import total

Codes = NDArray[np.int64]

NONE = -1
"""The code of a place that holds nothing."""
_CELLS = 1 << 22  # cells of a matrix of some rows


@dataclass(frozen=True, eq=False)
class Ragged:
    """Rows of codes, stored in sequence: a matrix would be as wide as the longest row.

    Attributes:
        codes: ``(n,)``, the codes of all rows.
        starts: ``(T,)``, the start of each row.
        lengths: ``(T,)``, the number of codes in each row.
        mapping: for each code the code that replaces it, `NONE` to leave it out; None if codes are
            unchanged.
    """

    codes: NDArray[np.int32]
    starts: Codes
    lengths: Codes
    mapping: NDArray[np.int32] | None = None

    @classmethod
    def from_offsets(cls, codes: NDArray[np.int32], offsets: Codes) -> Ragged:
        """Make rows from the start of each row and the end of the last, ``(T + 1,)``."""
        return cls(codes, offsets[:-1], np.diff(offsets))

    def __len__(self) -> int:
        return len(self.lengths)

    def __getitem__(self, selection: slice | NDArray[Any]) -> Ragged:
        """Some of the rows; their codes are not copied."""
        return Ragged(self.codes, self.starts[selection], self.lengths[selection], self.mapping)

    def rows(self, row: Codes) -> Ragged:
        """The rows at some positions; an empty row for `NONE`."""
        if not len(self):
            return Ragged(self.codes, np.zeros_like(row), np.zeros_like(row), self.mapping)
        rows = self[row]
        return Ragged(self.codes, rows.starts, np.where(row == NONE, 0, rows.lengths), self.mapping)

    def mapped(self, mapping: NDArray[np.int32]) -> Ragged:
        """The same rows with other codes, by a mapping; see the attribute `mapping`."""
        if self.mapping is not None:
            mapping = np.where(self.mapping == NONE, NONE, mapping[self.mapping])
        return Ragged(self.codes, self.starts, self.lengths, mapping)

    def matrix(self) -> Codes:
        """The rows as a matrix, padded at the end, ``(T, ·)``.

        >>> rows = Ragged.from_offsets(np.array([3, 1, 2], np.int32), np.array([0, 1, 3]))
        >>> rows.matrix().tolist(), rows[1:].matrix().tolist()
        ([[3, -1], [1, 2]], [[1, 2]])
        """
        lengths, ends = self.lengths, np.cumsum(self.lengths)
        positions = np.repeat(self.starts - ends + lengths, lengths)
        positions += np.arange(len(positions))
        codes = self.codes[positions]
        if self.mapping is not None:
            codes = self.mapping[codes]
            is_present = codes != NONE
            if not is_present.all():
                owner = np.repeat(np.arange(len(lengths)), lengths)[is_present]
                codes, lengths = codes[is_present], np.bincount(owner, minlength=len(lengths))
        return pad_rows(codes, lengths)


def pad_rows(codes: NDArray[Any], lengths: Codes) -> Codes:
    """Codes by row, padded at the end, ``(T, ·)``, in 32 bits, as histories can be large.

    Args:
        codes: ``(n,)``, row by row.
        lengths: ``(T,)``, the number of codes in each row.
    """
    width = max(1, int(lengths.max(initial=0)))
    matrix: NDArray[Any] = np.full((len(lengths), width), NONE, np.int32)
    matrix[np.arange(width) < lengths[:, None]] = codes
    return matrix


def bounded_parts(rows: slice, lengths: Codes) -> Iterator[slice]:
    """Split rows so that matrices have a limited size; a single long row has its own part.

    >>> list(bounded_parts(slice(0, 4), np.array([2, 1, 1 << 23, 3])))
    [slice(0, 2, None), slice(2, 3, None), slice(3, 4, None)]
    """
    count = rows.stop - rows.start
    if count < 2 or count * int(lengths[rows].max()) <= _CELLS:
        yield rows
        return
    middle = rows.start + count // 2
    yield from bounded_parts(slice(rows.start, middle), lengths)
    yield from bounded_parts(slice(middle, rows.stop), lengths)


__all__ = [
    "NONE",
    "Codes",
    "Flags",
    "Floats",
    "Listed",
    "Sums",
    "blocks",
    "count_shared",
    "is_first",
    "is_in_row",
    "masked_mean",
    "row_totals",
    "safe_ratio",
    "take_rows",
    "unit_vectors",
]


_BLOCK = 1 << 20  # numbers in a block; a few blocks fit the cache
_TABLES = 8  # times the number of items in a block, as items cost time per block
_FEW = 16  # positions in lists that are compared with each other
_HALF, _WHOLE = 2.0**26, 2.0**53
_BY_USER = ("relevant", "history", "baseline", "earlier", "before", "drawn", "judged", "outside_places")
"""The fields of `Listed` with a row for each user."""


@dataclass(frozen=True, slots=True, eq=False)
class Listed:
    """The first K of each of T lists. Matrices of codes are padded with `NONE` behind the end.

    Attributes:
        items: ``(T, K)``, the code of each item from 0.
        catalogue: I, the number of items that could have been shown.
        seen: ``(I,)``, how many people each item was known to before; None if unknown.
        people: the number of people.
        relevant: ``(T, ·)``, the items that are relevant to each user, in any order; kernels get
            a matrix.
        history: ``(T, ·)``, the items that each user had before; kernels get a matrix.
        baseline: ``(T, ·)``, what a simple system shows, such as the most popular items.
        earlier: ``(T, ·)``, what the same system showed last time.
        drawn: ``(T, R, ·)``, other rankings that a system which draws them may show just as well.
        before: ``(T, ·)``, all earlier items; the previous list if not given.
        features: ``(I, F)``, numbers that describe each item.
        similarities: ``(I, I)``, the similarity of two items, 1 for the same; for any similarity.
        categories: ``(I, G)``, the share of each category in each item; rows add up to 1, or to 0
            where nothing is known.
        groups: ``(I,)``, the group of each item from 0; `NONE` where it is in none.
        judged: ``(T,)``, whether anything is known of the relevance of items to each user;
            metrics that need to know it look at these users only. None is all of them.
        tables: further numbers of items, ``(I, ·)``, by need.
        outside_places: ``(T, K)``, True for places that show an item outside the catalogue; they hold
            `NONE`. None without such items.
        outside_examples: some of these items by name.
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
    tables: Mapping[str, NDArray[Any]] = field(default_factory=dict)
    outside_places: Flags | None = None
    outside_examples: tuple[str, ...] = ()

    def need(self, need: str) -> Any:  # noqa: ANN401 - an array of the need's shape
        """The data of users or items by the name of a need; None where it is missing."""
        return self.tables[need] if need in self.tables else getattr(self, need, None)

    @property
    def in_training(self) -> Flags | None:
        """True for catalogue items that training has, ``(I,)``; None without training data."""
        return None if self.seen is None else self.seen > 0

    @property
    def is_filled(self) -> Flags:
        """True for places that hold an item, ``(T, K)``."""
        return self.items != NONE

    @property
    def lengths(self) -> Codes:
        """The number of items of each list, ``(T,)``."""
        return np.count_nonzero(self.is_filled, axis=-1)

    @property
    def outside_counts(self) -> Codes:
        """The number of items of each list that are outside the catalogue, ``(T,)``."""
        if self.outside_places is None:
            return np.zeros(len(self.items), np.int64)
        return np.count_nonzero(self.outside_places, axis=-1)

    @property
    def is_user(self) -> Flags:
        """True for users with judgments, and for others whom this system shows anything, ``(T,)``.

        The rest are users of other systems, who are not users of this one.
        """
        if self.judged is None:
            return np.ones(len(self.items), bool)
        return self.judged | (self.lengths > 0) | (self.outside_counts > 0)

    def without_gaps(self) -> Listed:
        """The same lists with items moved up to the places that hold none."""
        order = np.argsort(~self.is_filled, axis=-1, kind="stable")
        return replace(self, items=np.take_along_axis(self.items, order, axis=-1))

    def first(self, cutoff: int | None) -> Listed:
        """The same lists cut at a rank; the obvious, the earlier and the drawn ones too."""
        if cutoff is None:
            return self
        cut_fields = {
            name: matrix[..., :cutoff]
            for name in ("baseline", "earlier", "drawn", "outside_places")
            if (matrix := getattr(self, name)) is not None
        }
        return replace(self, items=self.items[:, :cutoff], **cut_fields)

    def rows(self, selection: slice | Codes) -> Listed:
        """Some of the lists."""
        selected_fields = {
            name: matrix[selection] for name in _BY_USER if (matrix := getattr(self, name)) is not None
        }
        return replace(self, items=self.items[selection], **selected_fields)

    def parts(self, needs: Iterable[str]) -> Iterator[Listed]:
        """The same lists in parts of bounded size, with matrices of the needed fields.

        Args:
            needs: names of fields.
        """
        ragged = {name: ragged_rows for name in needs if isinstance(ragged_rows := self.need(name), Ragged)}
        lengths = np.zeros(len(self.items), np.int64)
        for ragged_rows in ragged.values():
            np.maximum(lengths, ragged_rows.lengths, out=lengths)
        for block in blocks(self):
            for rows in bounded_parts(slice(block.start, min(block.stop, len(lengths))), lengths):
                matrices: dict[str, Any] = {
                    name: ragged_rows[rows].matrix() for name, ragged_rows in ragged.items()
                }
                yield replace(self.rows(rows), **matrices)

    def sums(self, weights: Floats | None = None, looked: Floats | None = None) -> Sums:
        """The sums over the lists; see `Sums`."""
        return Sums.from_lists(self, weights, looked)


@dataclass(frozen=True, slots=True, eq=False)
class Sums:
    """Sums over many lists; the sums of parts can be added.

    A list counts with its weight, 1 by default.

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
    def from_lists(
        cls, lists: Listed, weights: Floats | None = None, place_weights: Floats | None = None
    ) -> Sums:
        """Compute the sums over some lists, block by block.

        Args:
            lists: the lists.
            weights: ``(T,)``, the weights of the lists.
            place_weights: ``(K,)``, the attention to each position.
        """
        weight = np.ones(len(lists.items)) if weights is None else weights
        parts = (cls._from_block(lists.rows(rows), weight[rows], place_weights) for rows in blocks(lists))
        return reduce(add, parts)

    @classmethod
    def _from_block(cls, lists: Listed, weight: Floats, place_weights: Floats | None) -> Sums:
        is_shown, first = lists.is_filled, is_first(lists.items)
        all_places = _ListPlaces.from_lists(lists, is_shown)
        distinct_places = (
            all_places if np.array_equal(first, is_shown) else _ListPlaces.from_lists(lists, first)
        )
        root, is_filled = (weight / np.sqrt(np.maximum(distinct_places.lengths, 1)), all_places.lengths > 0)
        exposure = None
        if place_weights is not None:
            weighted_places = np.broadcast_to(weight[:, None] * place_weights, is_shown.shape)[is_shown]
            exposure = np.stack([all_places.sums(addend) for addend in _split_exactly(weighted_places)])
        counts = all_places.of_lists(weight)
        return cls(
            counts,
            counts if distinct_places is all_places else distinct_places.of_lists(weight),
            np.stack([distinct_places.of_lists(addend) for addend in _split_exactly(root)]),
            exposure,
            float(weight.sum()),
            float(weight[is_filled].sum()),
            float((weight[is_filled] ** 2).sum()),
            lists.in_training,
        )

    def __add__(self, other: Sums) -> Sums:
        """Add the sums over two sets of lists."""
        has_exposure = self.exposure is not None and other.exposure is not None
        return Sums(
            self.counts + other.counts,
            self.distinct + other.distinct,
            self.scaled + other.scaled,
            self.exposure + other.exposure if has_exposure else None,  # type: ignore[operator]
            self.lists + other.lists,
            self.filled + other.filled,
            self.squares + other.squares,
            self.known,
        )


@dataclass(frozen=True, eq=False)
class _ListPlaces:
    """Some positions of lists.

    Attributes:
        codes: ``(n,)``, the items at these positions, list by list.
        lengths: ``(T,)``, the number of positions in each list.
        counts: ``(I,)``, the number of positions of each item.
    """

    codes: Codes
    lengths: Codes
    counts: Codes

    @classmethod
    def from_lists(cls, lists: Listed, selection: Flags) -> _ListPlaces:
        """The positions of lists marked in a mask, ``(T, K)``."""
        codes = lists.items[selection]
        counts = np.bincount(codes, minlength=lists.catalogue)
        return cls(codes, np.count_nonzero(selection, axis=-1), counts)

    def of_lists(self, list_weights: Floats) -> Floats:
        """The sum of the values of lists by item, ``(T,)``; exact for short binary values."""
        filled_worth = list_weights[self.lengths > 0]
        if len(filled_worth) and (filled_worth == filled_worth[0]).all():
            return self.counts * filled_worth[0]
        return self.sums(np.repeat(list_weights, self.lengths))

    def sums(self, worth: Floats) -> Floats:
        """The sum of the values of ranks by item, ``(n,)``."""
        sums = np.bincount(self.codes, weights=worth, minlength=len(self.counts))
        return sums.astype(np.float64, copy=False)


def _split_exactly(worth: Floats) -> tuple[Floats, Floats]:
    """Split numbers to 2^-53 into two addends; sums of each are exact up to 2^27, in any order.

    >>> high, low = _split_exactly(np.array([0.6]))
    >>> high + low
    array([0.6])
    """
    high = np.rint(worth * _HALF) / _HALF
    low: Floats = np.rint((worth - high) * _WHOLE) / _WHOLE
    return high, low


def blocks(lists: Listed) -> Iterator[slice]:
    """Lists in pieces of limited size; a single empty piece if there are no lists."""
    rows, width = lists.items.shape
    step = max(1, max(_BLOCK, _TABLES * lists.catalogue) // max(1, width))
    yield from (slice(begin, begin + step) for begin in range(0, max(1, rows), step))


def is_first(items: Codes) -> Flags:
    """True for positions that show an item for the first time in their list, ``(T, K) -> (T, K)``.

    >>> is_first(np.array([[3, 1, 3], [2, NONE, NONE]])).tolist()
    [[True, True, False], [True, False, False]]
    """
    first: Flags = items != NONE
    width = items.shape[-1]
    if width <= _FEW:  # quicker than to sort
        for step in range(1, width):
            first[:, step:] &= items[:, step:] != items[:, :-step]
        return first
    sorted_items = np.sort(items, axis=-1)
    is_repeated = (sorted_items[:, 1:] == sorted_items[:, :-1]) & (sorted_items[:, 1:] != NONE)
    rows = np.flatnonzero(is_repeated.any(axis=-1))
    if len(rows):
        row_order = np.argsort(items[rows], axis=-1, kind="stable")
        is_repeat = np.zeros(row_order.shape, bool)
        np.put_along_axis(is_repeat, row_order[:, 1:], is_repeated[rows], axis=-1)
        first[rows] &= ~is_repeat
    return first


def is_in_row(items: Codes, other_items: Codes) -> Flags:
    """True for items that are in the same row of another matrix, ``(T, K)``.

    Args:
        items: ``(T, K)``, padded with `NONE`.
        other_items: ``(T, ·)``, padded in the same way.

    >>> is_in_row(np.array([[0, 1], [1, NONE]]), np.array([[1], [0]])).tolist()
    [[False, True], [False, False]]
    """
    size = max(int(items.max(initial=0)), int(other_items.max(initial=0))) + 1
    row = np.arange(len(items))[:, None] * size
    sorted_keys, item_keys = np.sort((row + other_items)[other_items != NONE]), row + items
    if not len(sorted_keys):
        return np.zeros(items.shape, bool)
    places = np.minimum(np.searchsorted(sorted_keys, item_keys), len(sorted_keys) - 1)
    return (sorted_keys[places] == item_keys) & (items != NONE)


def count_shared(items: Codes | Ragged, other_items: Codes | Ragged) -> int:
    """Count the items that are also in the same row of another matrix, in parts of the rows.

    Args:
        items: a row for each user.
        other_items: a row for each user.
    """
    lengths = np.maximum(_lengths(items), _lengths(other_items))
    parts = bounded_parts(slice(0, len(lengths)), lengths)
    return sum(int(is_in_row(matrix_of(items[rows]), matrix_of(other_items[rows])).sum()) for rows in parts)


def matrix_of(rows: Codes | Ragged) -> Codes:
    """Rows of codes as a matrix."""
    return rows.matrix() if isinstance(rows, Ragged) else rows


def _lengths(rows: Codes | Ragged) -> Codes:
    return rows.lengths if isinstance(rows, Ragged) else np.full(len(rows), rows.shape[1])


def take_rows(table: Floats | Codes, codes: Codes) -> Floats:
    """The rows of an item table for a matrix of codes, 0 for empty positions."""
    if not len(table):
        return np.zeros((*codes.shape, *table.shape[1:]))
    rows: Floats = table.astype(np.float64, copy=False)[codes]  # NONE takes the last row here
    valid = codes != NONE
    if not valid.all():
        rows[~valid] = 0
    return rows


def row_totals(table: Floats, codes: Codes) -> Floats:
    """The sums of rows of an item table for each row of codes, ``(T, ·) -> (T, F)``.

    The sums are computed block by block, because histories are long.
    """
    width = table.shape[1]
    row_sums = np.zeros((len(codes), width))
    step = max(1, _BLOCK // max(1, codes.shape[1] * width))
    for begin in range(0, len(codes), step):
        row_sums[begin : begin + step] = take_rows(table, codes[begin : begin + step]).sum(axis=1)
    return row_sums


def unit_vectors(features: Floats) -> Floats:
    """Features divided by their length, ``(I, F)``; rows of 0 are unchanged.

    Rows are brought to a size of about 1 first, by a power of 2, so that no square overflows.
    """
    _, exponents = np.frexp(np.abs(features).max(axis=-1, initial=0, keepdims=True))
    scaled_features = np.ldexp(features, -exponents)
    norms = np.linalg.norm(scaled_features, axis=-1, keepdims=True)
    unit_features: Floats = np.zeros(features.shape)
    np.divide(scaled_features, norms, out=unit_features, where=norms > 0)
    return unit_features


def masked_mean(values: Floats, is_counted: Flags) -> Floats:
    """The mean over the counted positions of each list, ``(T, K) -> (T,)``; NaN without any."""
    count = np.count_nonzero(is_counted, axis=-1)
    means: Floats = np.full(len(values), np.nan)
    np.divide(total(np.where(is_counted, values, 0)), count, out=means, where=count > 0)
    return means


def safe_ratio(numerator: Floats, denominator: Floats | Codes) -> Floats:
    """``part / whole``; NaN if the divisor is 0."""
    quotient: Floats = np.full(np.shape(numerator), np.nan)
    np.divide(numerator, denominator, out=quotient, where=np.asarray(denominator) > 0)
    return quotient


def restrict_lists(lists: Listed, is_included: Flags) -> Listed:
    """The same lists with only the items of a part; the remaining items move up.

    Args:
        lists: the lists, already cut if they are to be cut.
        is_included: ``(I,)``, True for items of the part.

    >>> shown = restrict_lists(Listed(np.array([[0, 2, 1]]), 3), np.array([False, True, True]))
    >>> shown.items.tolist(), shown.catalogue
    ([[1, 0, -1]], 2)
    """
    codes = np.where(is_included, np.cumsum(is_included) - 1, NONE).astype(np.int32)

    def moved(matrix: Codes | Ragged | None) -> Codes | Ragged | None:
        if matrix is None:
            return None
        if isinstance(matrix, Ragged):
            return matrix.mapped(codes)
        new_matrix: Codes = np.empty_like(matrix)
        step = max(1, _BLOCK // max(1, matrix[:1].size))
        for begin in range(0, len(matrix), step):
            chunk = matrix[begin : begin + step]
            new_codes = np.where(chunk != NONE, codes[chunk], NONE)
            order = np.argsort(new_codes == NONE, axis=-1, kind="stable")
            new_matrix[begin : begin + step] = np.take_along_axis(new_codes, order, axis=-1)
        return new_matrix

    matrices = ("items", "relevant", "history", "baseline", "earlier", "before", "drawn")
    tables = ("seen", "features", "categories", "groups")
    new_fields: dict[str, Any] = {name: moved(getattr(lists, name)) for name in matrices}
    for name in tables:
        table = getattr(lists, name)
        new_fields[name] = None if table is None else table[is_included]
    new_fields["outside_places"] = None
    new_fields["tables"] = {need: table[is_included] for need, table in lists.tables.items()}
    if lists.similarities is not None:
        new_fields["similarities"] = lists.similarities[np.ix_(is_included, is_included)]
    return replace(lists, catalogue=int(np.count_nonzero(is_included)), **new_fields)

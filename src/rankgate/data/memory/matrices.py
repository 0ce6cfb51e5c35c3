"""Matrices and padded lists, as models give them: a row a user, items by number.

What a user hands over (`Matrix`, `Lists`, or a plain array) becomes a source: `Dense`, `Sparse`
or `Padded`. Rows and items are found by their ids, and these are numbers unless names are given.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import field
from typing import TYPE_CHECKING, Any, TypeAlias

import numpy as np

from rankgate.core.errors import DuplicateError, InputError
from rankgate.core.frozen import dataclass
from rankgate.data.memory.devices import home, library
from rankgate.data.memory.ids import NOWHERE, Ids, rising

if TYPE_CHECKING:
    from numpy.typing import NDArray

    Codes: TypeAlias = NDArray[np.int64]
    Floats: TypeAlias = NDArray[np.float64]
    Flat: TypeAlias = tuple[Codes, Codes, Floats]

_MATRIX = 2
_DIRECT = 1 << 20
"""Numbers of items up to this are codes as they are, even if few of them occur."""


@dataclass(frozen=True, eq=False)
class Matrix:
    """A number for each user and item: scores of a run, or grades; a row a user.

    NaN is not ranked, or not judged; so is minus infinity as a score, and what a sparse matrix
    leaves out. A plain array is the same without names.

    Attributes:
        values: ``(U, I)``, of NumPy, torch, jax, anything that speaks DLPack, or sparse.
        query_ids: ``U`` names of users; 0, 1, … if not given.
        doc_ids: ``I`` names of items; 0, 1, … if not given.
    """

    values: Any
    query_ids: Sequence[object] | None = None
    doc_ids: Sequence[object] | None = None


@dataclass(frozen=True, eq=False)
class Lists:
    """The items of each user by number: of a run the best first, of judgments all relevant ones.

    Attributes:
        items: ``(U, K)`` whole numbers; the padding is no item, and what follows it moves up.
        values: ``(U, K)``, scores to rank by, or grades; without them the order ranks, and every
            grade is 1. NaN is no item.
        padding: the number that is no item.
        query_ids: ``U`` names of users; 0, 1, … if not given.
        doc_ids: the name of item 0, of item 1, …; numbers are names if not given.
    """

    items: Any
    values: Any = None
    padding: int = -1
    query_ids: Sequence[object] | None = None
    doc_ids: Sequence[object] | None = None


@dataclass(frozen=True, eq=False)
class Dense:
    """A whole matrix, wherever it lives."""

    name: str
    users: Ids
    items: Ids
    values: Any

    def flat(self, rows: slice) -> Flat:
        """Row (from 0), item and number of what is there in some rows."""
        block = numbers(home(self.values[rows], self.name), self.name)
        owner, item = np.nonzero(~np.isnan(block))
        return _real(owner, item, block[owner, item])


@dataclass(frozen=True, eq=False)
class Sparse:
    """What is there of a sparse matrix, row after row."""

    name: str
    users: Ids
    items: Ids
    offsets: Codes
    columns: NDArray[Any]
    values: NDArray[Any]

    def flat(self, rows: slice) -> Flat:
        """As of `Dense`."""
        offsets = self.offsets[rows.start : rows.stop + 1]
        owner = np.repeat(np.arange(len(offsets) - 1), np.diff(offsets))
        valid = slice(offsets[0], offsets[-1])
        return _real(owner, self.columns[valid].astype(np.int64), self.values[valid])


@dataclass(frozen=True, eq=False)
class Padded:
    """Lists of items by number.

    Attributes:
        name, users, items: as of the others.
        codes: ``(U, K)``, whole numbers.
        values: ``(U, K)``, or None where the order ranks.
        padding: the number that is no item.
        vocabulary: the number of each code where numbers are too great to be codes; rising.
    """

    name: str
    users: Ids
    items: Ids
    codes: NDArray[Any]
    values: NDArray[Any] | None
    padding: int
    vocabulary: NDArray[Any] | None = field(default=None)

    def lists(self, rows: slice, *, refuse: bool = True) -> Codes:
        """The items of some rows in their order, padded behind, ``(B, K)``.

        Raises:
            DuplicateError: an item appears twice in a list, and that is to be refused.
        """
        block = self.codes[rows]
        there = block != self.padding
        codes = block.astype(np.int64) if self.vocabulary is None else self._coded(block, there)
        if not there.all():
            codes = np.where(there, codes, NOWHERE)
            if (there[:, 1:] & ~there[:, :-1]).any():  # gaps: what follows moves up
                codes = np.take_along_axis(codes, np.argsort(~there, axis=1, kind="stable"), 1)
        if refuse:
            self._refuse_repeated(codes, rows.start)
        return codes

    def flat(self, rows: slice, *, refuse: bool = True) -> Flat:
        """As of `Dense`; without values numbers are -1, -2, … from the first to the last.

        Raises:
            DuplicateError: as `lists`.
        """
        if self.values is None:
            codes = self.lists(rows, refuse=refuse)
            owner, place = np.nonzero(codes != NOWHERE)
            return _real(owner, codes[owner, place], -1.0 - place)
        block = self.codes[rows]
        there = block != self.padding
        codes = block.astype(np.int64) if self.vocabulary is None else self._coded(block, there)
        if refuse:
            self._refuse_repeated(np.where(there, codes, NOWHERE), rows.start)
        owner, place = np.nonzero(there)
        return _real(owner, codes[owner, place], self.values[rows][owner, place])

    def _coded(self, block: NDArray[Any], there: NDArray[np.bool_]) -> Codes:
        assert self.vocabulary is not None
        codes: Codes = np.where(there, np.searchsorted(self.vocabulary, block), NOWHERE)
        return codes

    def _refuse_repeated(self, codes: Codes, first: int) -> None:
        ordered = np.sort(codes.astype(np.int32) if self.items.size < 1 << 31 else codes, axis=1)
        twice = (ordered[:, 1:] == ordered[:, :-1]) & (ordered[:, 1:] != NOWHERE)
        if twice.any():
            row, place = (int(each[0]) for each in np.nonzero(twice))
            item, user = self.items.names[int(ordered[row, place])], self.users.names[first + row]
            problem = f"item '{item}' appears twice in the list of '{user}'; remove one of the two."
            raise DuplicateError(problem, source=self.name)


MatrixInput: TypeAlias = Dense | Sparse | Padded


def pairs_of(source: MatrixInput) -> tuple[Codes, Codes]:
    """Row and item of what is there and not 0: who met what, where a matrix is a log."""
    rows = slice(0, source.users.size)
    repeated = {"refuse": False} if isinstance(source, Padded) else {}
    owner, item, number = source.flat(rows, **repeated)
    valid = number != 0
    return owner[valid], item[valid]


def is_source(table: object) -> bool:
    """Whether something is a matrix or lists by number: an array, and no frame."""
    if isinstance(table, Matrix | Lists | MatrixInput):
        return True
    array = hasattr(table, "__dlpack__") or hasattr(table, "tocoo")
    return array and not hasattr(table, "__arrow_c_stream__")


def source_of(table: Any, name: str) -> MatrixInput:
    """What is in an array, a `Matrix` or `Lists`.

    Raises:
        InputError: no numbers, not two dimensions, ids that are not as many or no whole numbers.
        DuplicateError: a sparse matrix with two numbers in one place.
    """
    if isinstance(table, MatrixInput):
        return table
    if isinstance(table, Lists):
        return _padded(table, name)
    given = table if isinstance(table, Matrix) else Matrix(table)
    values = given.values
    if "sparse" in str(getattr(values, "layout", "")):
        raise InputError(
            "a sparse tensor; give SciPy's matrix, or .to_dense().", source=name, code="wrong-type"
        )
    if not hasattr(values, "tocoo") and library(values) is None:
        values = home(values, name)
    if len(values.shape) == 1 and not hasattr(values, "tocoo"):
        values = values[None, :]
    refuse_shape(values, name, "(users, items)")
    users = Ids.of(given.query_ids, int(values.shape[0]), f"{name}: query_ids")
    items = Ids.of(given.doc_ids, int(values.shape[1]), f"{name}: doc_ids")
    if hasattr(values, "tocoo"):
        return _sparse(values, users, items, name)
    if isinstance(values, np.ndarray):
        numbers(values[:0], name)
    return Dense(name, users, items, values)


def _sparse(values: Any, users: Ids, items: Ids, name: str) -> Sparse:
    rows = values.tocsr()
    numbers(rows.data[:0], name)
    if rows.nnz == values.nnz and not rows.has_canonical_format:
        rows = rows.copy()
        rows.sum_duplicates()  # sorts too
    if rows.nnz != values.nnz:
        problem = "a place of the sparse matrix holds two numbers; add them up, or remove one."
        raise DuplicateError(problem, source=name)
    return Sparse(name, users, items, rows.indptr.astype(np.int64), rows.indices, rows.data)


def _padded(table: Lists, name: str) -> Padded:
    codes = home(table.items, name)
    codes = codes[None, :] if codes.ndim == 1 else codes
    refuse_shape(codes, name, "(users, places)")
    if codes.dtype.kind not in "iu":
        problem = f"items of {codes.dtype}, where whole numbers are needed; cast them to int64."
        raise InputError(problem, source=name, code="wrong-type")
    values = None if table.values is None else numbers(home(table.values, name), name)
    values = values[None, :] if values is not None and values.ndim == 1 else values
    if values is not None and values.shape != codes.shape:
        words = f"values of shape {values.shape}, where items have {codes.shape}; make them equal."
        raise InputError(words, source=name, code="wrong-shape")
    least, greatest = _ends(codes, table.padding)
    if least < 0:
        problem = f"item {least} is below 0, and the padding is {table.padding}; set padding."
        raise InputError(problem, source=name, code="wrong-shape")
    if greatest > np.iinfo(np.int64).max:
        problem = f"item {greatest} does not fit 64 bits with a sign; number items from 0."
        raise InputError(problem, source=name, code="wrong-shape")
    users = Ids.of(table.query_ids, len(codes), f"{name}: query_ids")
    if table.doc_ids is not None:
        items = Ids.of(table.doc_ids, len(table.doc_ids), f"{name}: doc_ids")
        if greatest >= items.size:
            problem = f"item {greatest}, where doc_ids names {items.size} from 0 on."
            raise InputError(problem, source=name, code="wrong-shape")
        return Padded(name, users, items, codes, values, table.padding)
    if greatest < max(_DIRECT, codes.size):
        return Padded(name, users, Ids(greatest + 1), codes, values, table.padding)
    known = rising(codes[codes != table.padding])
    names = Ids.of(known.tolist(), len(known), name)
    return Padded(name, users, names, codes, values, table.padding, known)


def _ends(codes: NDArray[Any], padding: int) -> tuple[int, int]:
    """The least and the greatest item; 0 and -1 if there is none."""
    if not codes.size:
        return 0, NOWHERE
    least, greatest = int(codes.min()), int(codes.max())
    if padding in {least, greatest}:
        valid = codes[codes != padding]
        least, greatest = (int(valid.min()), int(valid.max())) if valid.size else (0, NOWHERE)
    return least, greatest


def refuse_shape(array: Any, name: str, needed: str) -> None:
    """Refuse an array that is no matrix."""
    if len(array.shape) != _MATRIX:
        problem = f"shape {tuple(array.shape)}, where {needed} is needed; reshape it."
        raise InputError(problem, source=name, code="wrong-shape")


def numbers(array: NDArray[Any], name: str) -> NDArray[Any]:
    """An array, which holds numbers."""
    if array.dtype.kind not in "biuf":
        problem = f"an array of {array.dtype}, where numbers are needed; turn it into floats."
        raise InputError(problem, source=name, code="wrong-type")
    return array


def _real(owner: NDArray[Any], item: NDArray[Any], value: NDArray[Any]) -> Flat:
    """Without what is NaN."""
    numbers: Floats = value.astype(np.float64)
    valid = ~np.isnan(numbers)
    if valid.all():
        return owner, item, numbers
    return owner[valid], item[valid], numbers[valid]

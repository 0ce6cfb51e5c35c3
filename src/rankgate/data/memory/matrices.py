"""Matrices and padded lists, as models return them: a row per user, items by number.

A user's input (`Matrix`, `Lists`, or a plain array) becomes a source: `Dense`, `Sparse` or
`Padded`. Rows and items are identified by ids, which are numbers unless the user gives names.

The top of each row is selected on the array's own device, then copied to the CPU. NumPy, torch and
jax are called by their own functions, other libraries by the array API standard, or their arrays
are copied completely by DLPack. Only NumPy is imported here: the library of another array is
already imported.
"""

from __future__ import annotations

import math
import sys
from collections.abc import Sequence
from dataclasses import field
from typing import TYPE_CHECKING, Any, TypeAlias

import numpy as np

from rankgate.core.errors import DuplicateError, InputError
from rankgate.core.frozen import dataclass
from rankgate.data.memory.ids import NOT_FOUND, Ids, unique_sorted

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from rankgate.core.arrays import Floats
    from rankgate.data.table_rows import Positions

    Codes: TypeAlias = NDArray[np.int64]
    Flat: TypeAlias = tuple[Codes, Codes, Floats]


_FAILURES = (BufferError, RuntimeError, TypeError, ValueError)
_NARROW_DTYPES = ("float16", "bfloat16", "float8")
_DLPACK_CPU = 1  # kDLCPU of DLPack's DLDeviceType


@dataclass(frozen=True, eq=False)
class TopScores:
    """The best scores of each row of a block.

    Attributes:
        owner: ``(n,)``, the row of each best score, 0 to B - 1, rising.
        column: ``(n,)``, rising within a row.
        score: ``(n,)``.
        retrieved: ``(B,)``, the number of scores in the row that count.
        infinite: True if a score is plus infinity.
    """

    owner: NDArray[np.int64]
    column: NDArray[np.int64]
    score: NDArray[np.float64]
    retrieved: NDArray[np.int64]
    infinite: bool


def select_top_scores(
    block: Any,
    k: int | None,
    *,
    above: float | None = None,
    absent: float | None = None,
    single: bool = False,
    without: NDArray[np.bool_] | None = None,
) -> TopScores:
    """The k greatest scores of each row of ``(B, I)``, including all ties with the last.

    NaN and minus infinity do not count. Only the result is copied from the array's device.

    Args:
        block: some rows.
        k: the number of scores; None takes all.
        above: if given, only greater scores count.
        absent: if given, scores equal to it do not count.
        single: True to compare scores as 32-bit floats.
        without: ``(B, I)``, True for scores that do not count.
    """
    xp, scores = _to_floats(block)
    infinite = bool((scores == np.inf).any())
    if single:
        with np.errstate(over="ignore"):  # as in C, too large values become infinite
            scores = _cast(xp, scores, "float32")
    if without is not None:
        scores = _exclude(xp, scores, xp.asarray(without, device=scores.device))
    if absent is not None:
        scores = _exclude(xp, scores, scores == absent)
    floor = -np.inf if above is None else above
    is_selected = scores > floor  # not of NaN
    retrieved = to_numpy(xp.count_nonzero(is_selected, axis=-1)).astype(np.int64)
    if k is None or k >= scores.shape[1]:
        owner, column = _nonzero(xp, is_selected)
    elif xp is np:
        owner, column = _find_greatest(scores, k, floor)
    else:
        scores = _exclude(xp, scores, ~is_selected)
        owner, column = _nonzero(xp, is_selected & (scores >= _kth_greatest(xp, scores, k)[:, None]))
    return TopScores(
        to_numpy(owner).astype(np.int64),
        to_numpy(column).astype(np.int64),
        to_numpy(scores[owner, column]).astype(np.float64),
        retrieved,
        infinite,
    )


def _exclude(xp: Any, scores: Any, is_excluded: Any) -> Any:
    return xp.where(is_excluded, xp.full_like(scores, -np.inf), scores)


def _nonzero(xp: Any, condition: Any) -> Any:
    return xp.nonzero(condition, as_tuple=True) if _is_torch(xp) else xp.nonzero(condition)


def _find_greatest(scores: Floats, k: int, floor: float) -> tuple[Codes, Codes]:
    """Row and column of the k greatest scores above a floor in each row, and of ties with the last.

    The columns form groups: column j is in group j modulo the number of groups. The k-th greatest
    of the groups' greatest scores is at most the k-th greatest score, so that all scores that are
    searched for are in the few groups whose greatest score reaches it. Most scores are read once.
    """
    rows, width = scores.shape
    groups = math.isqrt(k * width)  # with this many, k groups hold about as many scores as there are groups
    size, remaining_count = divmod(width, groups)
    greatest = np.fmax.reduce(scores[:, : size * groups].reshape(rows, size, groups), axis=1)
    greatest[:, :remaining_count] = np.fmax(greatest[:, :remaining_count], scores[:, size * groups :])
    greatest = np.where(greatest > floor, greatest, -np.inf)
    edge = np.partition(greatest, -k, axis=1)[:, -k]
    owner, group = np.nonzero((greatest >= edge[:, None]) & (greatest > floor))
    columns = group[:, None] + groups * np.arange(size + 1)
    members = scores[owner[:, None], np.minimum(columns, width - 1)]
    is_candidate = (members > floor) & (members >= edge[owner][:, None]) & (columns < width)
    positions = np.sort((owner[:, None] * width + columns)[is_candidate])
    owner, column = np.divmod(positions, width)
    # the candidates of each row, from which the k-th greatest is taken
    counts = np.bincount(owner, minlength=rows)
    candidates = np.full((rows, counts.max(initial=k)), -np.inf, scores.dtype)
    candidates[owner, np.arange(len(owner)) - (np.cumsum(counts) - counts)[owner]] = scores[owner, column]
    is_greatest = scores[owner, column] >= np.partition(candidates, -k, axis=1)[owner, -k]
    return owner[is_greatest], column[is_greatest]


def _to_floats(block: Any) -> tuple[Any, Any]:
    """The library of an array, and the array as floats that hold its numbers exactly.

    Arrays in main memory become NumPy's, whatever library they are of.
    """
    block = block.detach() if hasattr(block, "detach") else block
    xp = array_library(block)
    dtype_name = str(block.dtype).rpartition(".")[2] if xp else ""
    if dtype_name.startswith(_NARROW_DTYPES):
        dtype_name = "float32"
    elif xp is None or not dtype_name.startswith("float"):  # whole numbers need the widest type
        xp, block, dtype_name = np, to_numpy(block), "float64"
    scores = _cast(xp, block, dtype_name)
    return (np, to_numpy(scores)) if _is_in_main_memory(scores) else (xp, scores)


def _is_in_main_memory(array: Any) -> bool:
    try:
        return bool(array.__dlpack_device__()[0] == _DLPACK_CPU)
    except _FAILURES:  # an array that is spread over several devices
        return False


def _cast(xp: Any, array: Any, kind: str) -> Any:
    dtype = getattr(xp, kind)
    if array.dtype == dtype:
        return array
    return array.to(dtype) if _is_torch(xp) else array.astype(dtype)


def _is_torch(xp: Any) -> bool:
    return bool(xp.__name__ == "torch")


def array_library(array: object) -> Any:
    """The module with the functions of an array's library; None if the library is unknown."""
    if isinstance(array, np.ndarray):
        return np
    name = type(array).__module__.partition(".")[0]
    if name == "torch":
        return sys.modules["torch"]
    return array.__array_namespace__() if hasattr(array, "__array_namespace__") else None


def _kth_greatest(xp: Any, scores: Any, k: int) -> Any:
    """The k-th greatest score of each row, by the library's own top-k if it exists."""
    if _is_torch(xp):
        return xp.topk(scores, k).values[:, -1]
    if xp.__name__ == "jax.numpy":
        return sys.modules["jax"].lax.top_k(scores, k)[0][:, -1]
    return xp.sort(scores, axis=-1)[:, -k]


def to_numpy(array: object, name: str = "array") -> NDArray[Any]:
    """Convert an array to NumPy in main memory, without a copy if possible.

    Raises:
        InputError: the array cannot be converted.
    """
    if isinstance(array, np.ndarray | list | tuple) or not hasattr(array, "__dlpack__"):
        try:
            return np.asarray(array)
        except ValueError:  # rows have several lengths
            problem = "rows of several lengths; pad them, and give the mask to from_arrays."
            raise InputError(problem, source=name, code="wrong-shape") from None
    for method in ("detach", "cpu", "get"):  # torch: leave the graph; both: copy to the CPU
        if callable(transfer := getattr(array, method, None)):
            array = transfer()
    if isinstance(array, np.ndarray):
        return array
    try:
        return np.from_dlpack(array)
    except _FAILURES as error:
        if hasattr(array, "__array__"):  # an array of jax, on any device
            return np.asarray(array)
        problem = f"not an array in main memory: {str(error).splitlines()[0]}"
        remedy = "detach it and move it there, as with .detach().cpu()."
        raise InputError(f"{problem.rstrip('.')}; {remedy}", source=name, code="wrong-type") from None


_MATRIX_DIMENSIONS = 2
_MAX_DIRECT_ITEMS = 1 << 20
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
        items: ``(U, K)`` whole numbers, or lists of several lengths; the padding is not an item, and
            what follows it moves up.
        values: ``(U, K)``, scores to rank by, or grades; without them the order ranks, and every
            grade is 1. NaN is not an item.
        padding: the number that is not an item.
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
    """A dense matrix, on any device."""

    name: str
    users: Ids
    items: Ids
    values: Any

    def flat(self, rows: slice) -> Flat:
        """Row (from 0), item and number of each entry in some of the rows."""
        block = require_numbers(to_numpy(self.values[rows], self.name), self.name)
        owner, item = np.nonzero(~np.isnan(block))
        return _drop_nan(owner, item, block[owner, item])


@dataclass(frozen=True, eq=False)
class Sparse:
    """The stored entries of a sparse matrix, row by row."""

    name: str
    users: Ids
    items: Ids
    offsets: Codes
    columns: NDArray[Any]
    values: NDArray[Any]

    def flat(self, rows: slice) -> Flat:
        """As for `Dense`."""
        offsets = self.offsets[rows.start : rows.stop + 1]
        owner = np.repeat(np.arange(len(offsets) - 1), np.diff(offsets))
        valid = slice(offsets[0], offsets[-1])
        return _drop_nan(owner, self.columns[valid].astype(np.int64), self.values[valid])


@dataclass(frozen=True, eq=False)
class Padded:
    """Lists of items by number.

    Attributes:
        name, users, items: see the other sources.
        codes: ``(U, K)``, whole numbers.
        values: ``(U, K)``, or None if the order is the ranking.
        padding: the number that is not an item.
        vocabulary: the number of each code, rising, if numbers are too large to be codes.
    """

    name: str
    users: Ids
    items: Ids
    codes: NDArray[Any]
    values: NDArray[Any] | None
    padding: int
    vocabulary: NDArray[Any] | None = field(default=None)

    def lists(self, rows: slice, *, refuse: bool = True) -> Codes:
        """The items of some rows in order, padded at the end, ``(B, K)``.

        Raises:
            DuplicateError: an item appears twice in a list, and duplicates are not allowed.
        """
        codes = self._items(rows, refuse=refuse)
        is_item = codes != NOT_FOUND
        if (is_item[:, 1:] & ~is_item[:, :-1]).any():  # after a gap, later values move up
            codes = np.take_along_axis(codes, np.argsort(~is_item, axis=1, kind="stable"), 1)
        return codes

    def flat(self, rows: slice, *, refuse: bool = True) -> Flat:
        """See `Dense`; without values numbers are -1, -2, … from the first item to the last.

        Raises:
            DuplicateError: see `lists`.
        """
        read_items = self.lists if self.values is None else self._items
        codes = read_items(rows, refuse=refuse)
        owner, position = np.nonzero(codes != NOT_FOUND)
        numbers = -1.0 - position if self.values is None else self.values[rows][owner, position]
        return _drop_nan(owner, codes[owner, position], numbers)

    def _items(self, rows: slice, *, refuse: bool) -> Codes:
        """The items of some rows at their positions, `NOT_FOUND` for padding."""
        block = self.codes[rows]
        is_item = block != self.padding
        codes = block.astype(np.int64)
        if self.vocabulary is not None:
            codes = np.searchsorted(self.vocabulary, block)
        if not is_item.all():
            codes = np.where(is_item, codes, NOT_FOUND)
        if refuse:
            sorted_codes = np.sort(codes.astype(np.int32) if self.items.size < 1 << 31 else codes, axis=1)
            is_repeated = (sorted_codes[:, 1:] == sorted_codes[:, :-1]) & (sorted_codes[:, 1:] != NOT_FOUND)
            if is_repeated.any():
                row, position = (int(indexes[0]) for indexes in np.nonzero(is_repeated))
                item, user = (
                    self.items.names[int(sorted_codes[row, position])],
                    self.users.names[rows.start + row],
                )
                problem = f"item '{item}' appears twice in the list of '{user}'; remove one of the two."
                raise DuplicateError(problem, source=self.name)
        return codes


MatrixInput: TypeAlias = Dense | Sparse | Padded


def positions_of(source: MatrixInput) -> Positions:
    """The numbers of rows and columns whose positions are the ids; 0 for items that lists number."""
    return source.users.unnamed, 0 if isinstance(source, Padded) else source.items.unnamed


def nonzero_pairs(source: MatrixInput) -> tuple[Codes, Codes]:
    """Row and item of each entry that is not 0, which are the pairs of a log as a matrix."""
    rows = slice(0, source.users.size)
    repeated = {"refuse": False} if isinstance(source, Padded) else {}
    owner, item, number = source.flat(rows, **repeated)
    valid = number != 0
    return owner[valid], item[valid]


def is_source(table: object) -> bool:
    """True for a matrix or lists by number: an array that is not a frame."""
    if isinstance(table, Matrix | Lists | MatrixInput):
        return True
    is_array = hasattr(table, "__dlpack__") or hasattr(table, "tocoo")
    return is_array and not hasattr(table, "__arrow_c_stream__")


def make_source(table: object, name: str) -> MatrixInput:
    """Make the source of an array, a `Matrix` or `Lists`.

    Raises:
        InputError: values are not numbers, there are not two dimensions, the number of ids is
            wrong, or ids are not whole numbers.
        DuplicateError: a sparse matrix has two numbers in one position.
    """
    if isinstance(table, MatrixInput):
        return table
    if isinstance(table, Lists):
        return _make_padded(table, name)
    matrix = table if isinstance(table, Matrix) else Matrix(table)
    values = matrix.values
    if "sparse" in str(getattr(values, "layout", "")):
        raise InputError(
            "a sparse tensor; give SciPy's matrix, or .to_dense().", source=name, code="wrong-type"
        )
    if not hasattr(values, "tocoo") and array_library(values) is None:
        values = to_numpy(values, name)
    if len(values.shape) == 1 and not hasattr(values, "tocoo"):
        values = values[None, :]
    refuse_shape(values, name, "(users, items)")
    users = Ids.from_axis(matrix.query_ids, int(values.shape[0]), f"{name}: query_ids")
    items = Ids.from_axis(matrix.doc_ids, int(values.shape[1]), f"{name}: doc_ids")
    if hasattr(values, "tocoo"):
        rows = values.tocsr()
        require_numbers(rows.data[:0], name)
        if rows.nnz == values.nnz and not rows.has_canonical_format:
            rows = rows.copy()
            rows.sum_duplicates()  # this also sorts
        if rows.nnz != values.nnz:
            problem = "a place of the sparse matrix holds two numbers; add them up, or remove one."
            raise DuplicateError(problem, source=name)
        return Sparse(name, users, items, rows.indptr.astype(np.int64), rows.indices, rows.data)
    if isinstance(values, np.ndarray):
        require_numbers(values[:0], name)
    return Dense(name, users, items, values)


def _make_padded(table: Lists, name: str) -> Padded:
    codes = to_numpy(_padded(table.items, table.padding), name)
    codes = codes[None, :] if codes.ndim == 1 else codes
    refuse_shape(codes, name, "(users, places)")
    if codes.dtype.kind not in "iu":
        problem = f"items of {codes.dtype}, where whole numbers are needed; cast them to int64."
        raise InputError(problem, source=name, code="wrong-type")
    values = table.values
    if values is not None:
        values = require_numbers(to_numpy(_padded(values, np.nan), name), name)
        values = values[None, :] if values.ndim == 1 else values
    lowest, greatest = _item_range(codes, table.padding)
    if values is not None and values.shape != codes.shape:
        problem = f"values of shape {values.shape}, where items have {codes.shape}; make them equal."
    elif lowest < 0:
        problem = f"item {lowest} is below 0, and the padding is {table.padding}; set padding."
    elif greatest > np.iinfo(np.int64).max:
        problem = f"item {greatest} does not fit 64 bits with a sign; number items from 0."
    elif table.doc_ids is not None and greatest >= len(table.doc_ids):
        problem = f"item {greatest}, where doc_ids names {len(table.doc_ids)} from 0 on."
    else:
        problem = ""
    if problem:
        raise InputError(problem, source=name, code="wrong-shape")
    users = Ids.from_axis(table.query_ids, len(codes), f"{name}: query_ids")
    if table.doc_ids is not None:
        items = Ids.from_axis(table.doc_ids, len(table.doc_ids), f"{name}: doc_ids")
        return Padded(name, users, items, codes, values, table.padding)
    if greatest < max(_MAX_DIRECT_ITEMS, codes.size):
        return Padded(name, users, Ids(greatest + 1), codes, values, table.padding)
    vocabulary = unique_sorted(codes[codes != table.padding])
    names = Ids.from_axis(vocabulary.tolist(), len(vocabulary), name)
    return Padded(name, users, names, codes, values, table.padding, vocabulary)


def _padded(rows: Any, padding: float) -> Any:
    """Lists of several lengths, padded at their ends; arrays and equal lists unchanged."""
    is_ragged = isinstance(rows, list | tuple) and all(
        isinstance(row, list | tuple | np.ndarray) for row in rows
    )
    lengths = {len(row) for row in rows} if is_ragged else set()
    if len(lengths) < 2:
        return rows
    longest = max(lengths)
    return [[*row, *[padding] * (longest - len(row))] for row in rows]


def _item_range(codes: NDArray[Any], padding: int) -> tuple[int, int]:
    """The lowest and the greatest item; 0 and -1 if there are no items."""
    if not codes.size:
        return 0, NOT_FOUND
    lowest, greatest = int(codes.min()), int(codes.max())
    if padding in {lowest, greatest}:
        valid = codes[codes != padding]
        lowest, greatest = (int(valid.min()), int(valid.max())) if valid.size else (0, NOT_FOUND)
    return lowest, greatest


def refuse_shape(array: Any, name: str, needed: str) -> None:
    """Check that an array is a matrix."""
    if len(array.shape) != _MATRIX_DIMENSIONS:
        problem = f"shape {tuple(array.shape)}, where {needed} is needed; reshape it."
        raise InputError(problem, source=name, code="wrong-shape")


def require_numbers(array: NDArray[Any], name: str) -> NDArray[Any]:
    """Check that an array holds numbers, and return it."""
    if array.dtype.kind not in "biuf":
        problem = f"an array of {array.dtype}, where numbers are needed; turn it into floats."
        raise InputError(problem, source=name, code="wrong-type")
    return array


def _drop_nan(owner: NDArray[Any], item: NDArray[Any], value: NDArray[Any]) -> Flat:
    """Remove entries that are NaN."""
    numbers: Floats = value.astype(np.float64)
    valid = ~np.isnan(numbers)
    if valid.all():
        return owner, item, numbers
    return owner[valid], item[valid], numbers[valid]

"""Rows of judgments or runs: positions, invalid numbers, duplicates, hashes.

The module has, in this order: the position of a row (file and line) for error messages; text to
numbers, with the text of those that are none; ranges of equal values in a column, such as the rows
of each query; sums that are equal in every call; the search for duplicate pairs over all rows,
without a Python object per row; and hashes of tables.
"""

from __future__ import annotations

import hashlib
from collections.abc import Callable, Sequence
from concurrent.futures import ThreadPoolExecutor
from typing import TYPE_CHECKING, Any, TypeAlias

import numpy as np
import polars as pl

from rankgate.core.errors import DuplicateError, InputError
from rankgate.core.frozen import dataclass

if TYPE_CHECKING:
    from collections.abc import Iterator

    from numpy.typing import NDArray


Positions: TypeAlias = "tuple[int | None, int | None]"
"""The numbers of rows and columns of an array whose positions are the ids: None for ids with names, 0 for
numbers of any size."""


@dataclass(frozen=True)
class RowLocation:
    """The origin of a table: its name in errors, and the line of each row.

    Attributes:
        label: the file, or the folder of part files.
        line: the line of a row, if lines are known.
        part: the file of a row, if the table has several files.
        positions: the size of an array whose positions are the ids of queries and documents.
        source_row: the row that a row was unfolded from, if a row held several.
    """

    label: str
    line: Callable[[int], int | None] = lambda _row: None
    part: Callable[[int], str] | None = None
    positions: Positions = (None, None)
    source_row: Callable[[int], int] = lambda row: row

    def file(self, row: int) -> str:
        """The file of a row.

        >>> RowLocation("file").file(7)
        'file'
        """
        return self.part(row) if self.part else self.label

    def row_text(self, row: int) -> str:
        """The number of a row in words, where no line says it.

        >>> RowLocation("frame").row_text(7), RowLocation("file", lambda row: row + 2).row_text(7)
        (' in row 8', '')
        """
        return "" if self.line(row) else f" in row {self.source_row(row) + 1}"

    def error(self, problem: str, row: int, code: str) -> InputError:
        """The error of a row, with its file and line."""
        return InputError(problem, source=self.file(row), line=self.line(row), code=code)

    def select(self, rows: Sequence[int]) -> RowLocation:
        """The location of a table that has some rows of this table, in a new order.

        >>> RowLocation("file", lambda row: row + 2).select([0, 3]).line(1)
        5
        """
        return self._moved(lambda row: rows[row])

    def after(self, first: int) -> RowLocation:
        """The location of a table that begins at a later row of this table.

        >>> RowLocation("file", lambda row: row + 2).after(10).line(1)
        13
        """
        return self._moved(lambda row: first + row)

    def _moved(self, row_of: Callable[[int], int]) -> RowLocation:
        file_of_row = self.part
        return RowLocation(
            self.label,
            lambda row: self.line(row_of(row)),
            None if file_of_row is None else lambda row: file_of_row(row_of(row)),
            source_row=lambda row: self.source_row(row_of(row)),
        )


NUMBER_COLUMNS = {"qrels": "grade", "run": "score"}
"""The column of numbers in judgments and in runs."""


def no_rows_error(number: str, label: str) -> InputError:
    """The error for judgments without a grade, or a run without a score.

    Args:
        number: ``grade`` or ``score``.
        label: the name of the source in the error.
    """
    if number == "grade":
        return InputError("no judgments found.", source=label, code="no-judgments")
    return InputError("there are no rankings in it.", source=label, code="no-rankings")


NUMBER_TEXT = "written"
"""The column with the text of a number that is not finite; null in all other rows."""


def with_defects(frame: pl.DataFrame, number: str) -> pl.DataFrame:
    """Convert text to numbers; ``written`` keeps the text of numbers that are not finite."""
    if frame.schema.get(number) != pl.String:
        return frame
    text = pl.col(number).str.strip_chars()
    parsed_number = text.cast(pl.Float64, strict=False)
    is_wrong = ~parsed_number.is_finite().fill_null(value=False)
    return frame.with_columns(parsed_number, pl.when(is_wrong).then(text).alias(NUMBER_TEXT))


def blank_ids(ids: pl.Series) -> pl.Series:
    r"""True for ids that are null, empty, or blanks alone.

    >>> blank_ids(pl.Series(["a", "", " \t", None])).to_list()
    [False, True, True, True]
    """
    is_blank = ids < "!"  # only these begin with a blank, and hardly any id does
    if is_blank.any():
        is_blank = ids.str.strip_chars() == ""
    return is_blank.fill_null(value=True) if is_blank.null_count() else is_blank


_ROWS_PER_PART = 1 << 15  # rows in a part, so that they fit the cache
_VALUES_PER_SORT = 1 << 12  # values to sort together
_MIN_PARALLEL = 1 << 20  # values that are worth a thread


def range_starts(column: pl.Series) -> NDArray[np.int64]:
    """The start of each range of equal values, ``(stretches,)``."""
    if column.is_empty():
        return np.zeros(0, np.int64)
    lengths = column.rle().struct.unnest()["len"].to_numpy().astype(np.int64)
    ends: NDArray[np.int64] = np.cumsum(lengths)
    return ends - lengths


def gather_ranges(
    offsets: NDArray[np.int64], ranges: NDArray[np.int64]
) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
    """The rows of some ranges, one range after another; a range may be repeated.

    Args:
        offsets: the start of each range, and the number of rows.
        ranges: the ranges to gather.

    Returns:
        for each gathered row the index in ``ranges``, and the row.
    """
    lengths = offsets[ranges + 1] - offsets[ranges]
    owner = np.repeat(np.arange(len(ranges)), lengths)
    first = np.repeat(offsets[ranges] - np.cumsum(lengths) + lengths, lengths)
    return owner, first + np.arange(len(owner))


def unique_range_starts(column: pl.Series) -> NDArray[np.int64] | None:
    """As `range_starts` if each value has only one range; else None.

    It also returns None if most ranges have one row.
    """
    starts = range_starts(column)
    if 2 * len(starts) > len(column):
        return None
    if len(starts) == 1:
        return starts
    hashes = np.sort(column[starts].hash().to_numpy())
    return None if (hashes[1:] == hashes[:-1]).any() else starts


def split_ranges(
    starts: NDArray[np.int64], size: int, rows: int = _ROWS_PER_PART
) -> Iterator[tuple[int, int, int, int]]:
    """Parts of whole ranges with a limited number of rows, or of a single longer range.

    Yields:
        the first range of each part and the one after it, their first row and the one after.
    """
    bounds = np.append(starts, size)
    first_range = 0
    while first_range < len(starts):
        first_row = int(bounds[first_range])
        next_range = max(int(np.searchsorted(bounds, first_row + rows, "right")) - 1, first_range + 1)
        yield first_range, next_range, first_row, int(bounds[next_range])
        first_range = next_range


def common_range_length(starts: NDArray[np.int64], size: int) -> int:
    """The number of rows of each range; 0 if they differ."""
    lengths = np.diff(starts, append=size)
    return int(lengths[0]) if len(lengths) and not np.ptp(lengths) else 0


def sort_ranges(values: NDArray[Any], starts: NDArray[np.int64]) -> None:
    """Sort values in place if all values of a range are greater than those of the previous range.

    Sorting short ranges takes a fifth to a twentieth of the time of sorting all values together.
    """
    if length := common_range_length(starts, len(values)):
        values.reshape(-1, length).sort(axis=1)
        return
    for _, _, begin, end in split_ranges(starts, len(values), _VALUES_PER_SORT):
        values[begin:end].sort()


def sort_halves(values: NDArray[np.uint64]) -> None:
    """Sort values in place; many values are sorted on two cores, as halves that are merged."""
    if len(values) < _MIN_PARALLEL:
        values.sort()
        return
    middle = len(values) // 2
    with ThreadPoolExecutor(1, "rankgate-sort") as executor:
        first_half = executor.submit(values[:middle].sort)
        values[middle:].sort()
        first_half.result()
    values.sort(kind="stable")  # a merge sort, because both halves are sorted


_HASH_MULTIPLIER = np.uint64(0x9E3779B97F4A7C15)  # odd, so that multiplication loses no information
_MAX_ROWS = 1 << 16  # rows that can be numbered with 16 bits
_MAX_SORTED_LENGTH = 256  # longest list for which sorting is faster than a hash table
_SLOT_BITS = 18  # bits of a slot number: 512 KB, several slots for each row


def in_row_order(values: pl.Expr) -> pl.Expr:
    """The numbers of a group, to be added by Polars in the order of the rows.

    Without this Polars adds parts of a group in threads, so that the last digit of a sum or mean of
    floats depends on the number of threads, and without ``maintain_order`` also on the call.

    >>> pl.DataFrame({"a": [1, 1], "b": [0.5, 1.5]}).group_by("a").agg(
    ...     in_row_order(pl.col("b")).mean()).rows()
    [(1, 1.0)]
    """
    return values.slice(0)  # Polars does not split a slice into parts


def hash_pairs(frame: pl.DataFrame, starts: NDArray[np.int64] | None = None) -> NDArray[np.uint64]:
    """A 64-bit hash of the query and document of each row, ``(n,)``.

    Args:
        frame: with ``query_id`` and ``doc_id``.
        starts: the start of each range of rows of one query, if known.
    """
    if starts is None:
        # both in one query of Polars, because each query takes as long as a thousand hashes
        hashes = frame.select_seq(pl.col("query_id", "doc_id").hash())
        queries: NDArray[np.uint64] = np.multiply(hashes["query_id"].to_numpy(), _HASH_MULTIPLIER)
        queries ^= hashes["doc_id"].to_numpy()
        return queries
    query_ids = frame["query_id"][starts]
    query_hashes = np.multiply(query_ids.hash().to_numpy(), _HASH_MULTIPLIER)
    queries = np.repeat(query_hashes, np.diff(starts, append=len(frame)))
    queries ^= frame["doc_id"].hash().to_numpy()
    return queries


def find_repeated_hashes(
    pairs: NDArray[np.uint64], starts: NDArray[np.int64] | None = None
) -> NDArray[np.uint64]:
    """The hashes that appear more than once; almost certainly empty without duplicate pairs.

    Args:
        pairs: the hashes.
        starts: the start of each list, if equal hashes can only be in the same list; searching
            lists that fit the cache takes an eighth of the time of sorting all hashes.
    """
    if starts is None:
        return _equal_neighbours(np.sort(pairs))
    if 0 < (length := common_range_length(starts, len(pairs))) <= _MAX_SORTED_LENGTH:  # sorted in registers
        return _equal_neighbours(np.sort(pairs.reshape(-1, length), axis=1).ravel())
    hash_ranges = (pairs[begin:end] for _, _, begin, end in split_ranges(starts, len(pairs)))
    repeated_hashes = [
        _repeated_in_slots(hash_range)
        if len(hash_range) <= _MAX_ROWS
        else _equal_neighbours(np.sort(hash_range))
        for hash_range in hash_ranges
    ]
    return np.concatenate(repeated_hashes) if repeated_hashes else pairs[:0]


def _repeated_in_slots(pairs: NDArray[np.uint64]) -> NDArray[np.uint64]:
    """The hashes that appear more than once among at most `_MAX_ROWS`, found without sorting all.

    Each row is written into the slot of its hash. A row that is not read back from its slot shares
    the slot with another row: the last one written, or another row that is not read back.
    """
    rows = np.arange(len(pairs), dtype=np.uint16)
    slots = (pairs >> np.uint64(64 - _SLOT_BITS)).view(np.int64)
    last_row = np.empty(1 << _SLOT_BITS, np.uint16)  # only slots that were written are read
    last_row[slots] = rows
    stored_rows = last_row[slots]
    overwritten_rows = np.flatnonzero(stored_rows != rows)
    hashes = pairs[overwritten_rows]
    return np.concatenate(
        [hashes[hashes == pairs[stored_rows[overwritten_rows]]], _equal_neighbours(np.sort(hashes))]
    )


def _equal_neighbours(sorted_hashes: NDArray[np.uint64]) -> NDArray[np.uint64]:
    """The hashes that equal their predecessor."""
    equal_hashes: NDArray[np.uint64] = sorted_hashes[1:][sorted_hashes[1:] == sorted_hashes[:-1]]
    return equal_hashes


def has_repeated(pairs: NDArray[np.uint64]) -> bool:
    """True if a hash is repeated; the hashes are sorted in place."""
    sort_halves(pairs)
    return bool((pairs[1:] == pairs[:-1]).any())


def refuse_repeated(ids: pl.Series, location: RowLocation, noun: str, *, code: str, fix: str = "") -> None:
    """Check that no id appears twice in a column.

    Args:
        ids: the column.
        location: the location of the rows.
        noun: the noun for an id, as in ``query``.
        code: the code of the error.
        fix: the advice; by default to remove either line.

    Raises:
        InputError: an id is repeated; the message has the id and the line of its second row.
    """
    is_repeated = ~ids.is_first_distinct()
    if is_repeated.any():
        row = int(is_repeated.arg_max() or 0)
        problem = f"{noun} '{ids[row]}' appears twice; {fix or 'remove one of the two lines'}."
        raise location.error(problem, row, code)


def refuse_duplicates(
    frame: pl.DataFrame,
    pairs: NDArray[np.uint64],
    *,
    word: str,
    place: RowLocation,
    first_row: int = 0,
    starts: NDArray[np.int64] | None = None,
) -> None:
    """Check that no two rows have the same query and document.

    Rows are compared by the hash of the pair. Equal hashes are confirmed on the strings, so that a
    collision is not an error.

    Args:
        frame: with ``query_id`` and ``doc_id``.
        pairs: their hashes.
        word: the role of a document here: ``ranked`` or ``judged``.
        place: the location of the rows.
        first_row: the row of the table where the frame begins.
        starts: the start of each query's rows, if the rows of each query are together.

    Raises:
        DuplicateError: a pair is repeated; the message has the pair and both lines.
    """
    repeated_hashes = find_repeated_hashes(pairs, starts)
    if not len(repeated_hashes):
        return
    suspects = (
        frame.select("query_id", "doc_id")
        .with_row_index("row")
        .filter(pl.Series(np.isin(pairs, repeated_hashes)))
        .group_by("query_id", "doc_id", maintain_order=True)
        .agg("row")
        .filter(pl.col("row").list.len() > 1)
    )
    if suspects.is_empty():
        return
    query, document, rows = suspects.row(0)
    first, second = (first_row + row for row in rows[:2])
    line, file = place.line(first), place.file(first)
    first_note = f" (first on line {line})" if line else ""
    if file != place.file(second):
        first_note = f" (first in {file}{f':{line}' if line else ''})"
    advice = "remove one of the two lines"
    if line is None and word == "ranked":
        advice = "keep one, or let the first count: convention('trec', ['duplicates=first'])"
    if line is not None and (file, line) == (place.file(second), place.line(second)):
        first_note, advice = "", "keep one"
    problem = f"document '{document}' is {word} twice for query '{query}'{first_note}; {advice}."
    raise DuplicateError(problem, source=place.file(second), line=place.line(second))


def sort_rankings(frame: pl.DataFrame) -> pl.DataFrame:
    """Rows by ``query_id``, falling ``score``, and falling ``doc_id``.

    Where the rows of every query are adjacent, only queries whose rows are in another order are
    sorted: most runs take a tenth of the time of sorting all rows.
    """
    columns, descending = ["query_id", "score", "doc_id"], [False, True, True]
    starts = unique_range_starts(frame["query_id"])
    if starts is None:
        return frame.sort(columns, descending=descending)
    queries = frame["query_id"].gather(starts).arg_sort().to_numpy()
    owner, rows = gather_ranges(np.append(starts, len(frame)), queries)
    scores, doc_ids = frame["score"].to_numpy()[rows], frame["doc_id"]
    is_misplaced = ~(scores[1:] <= scores[:-1])
    tied = np.flatnonzero(scores[1:] == scores[:-1])
    is_misplaced[tied] = (doc_ids.gather(rows[tied]) < doc_ids.gather(rows[tied + 1])).to_numpy()
    is_unsorted = np.zeros(len(starts), bool)
    is_unsorted[owner[1:][is_misplaced & (owner[1:] == owner[:-1])]] = True
    unsorted_positions = np.flatnonzero(is_unsorted[owner])
    unsorted_rows = rows[unsorted_positions]
    order = frame[unsorted_rows].select(pl.arg_sort_by(columns, descending=descending))
    rows[unsorted_positions] = unsorted_rows[order.to_series().to_numpy()]
    return frame[rows]


_ROWS_PER_UPDATE = 1 << 16
_NULL_LENGTH = (1 << 32) - 1  # the length for null, different from that of an empty text


def hash_table(table: pl.DataFrame) -> str:
    """SHA-256 over names, types and values in the table's order, for any storage."""
    total = hashlib.sha256()
    for column in table:
        total.update(f"{column.name}:{column.dtype}\n".encode())
        if column.dtype.is_numeric():
            total.update((column.to_numpy() + 0).tobytes())  # + 0: removes negative zero
            continue
        for begin in range(0, len(column), _ROWS_PER_UPDATE):
            text_slice = column.slice(begin, _ROWS_PER_UPDATE).cast(str)
            total.update(text_slice.str.len_bytes().fill_null(_NULL_LENGTH).to_numpy().tobytes())
            total.update(text_slice.str.join().item().encode())
    return total.hexdigest()

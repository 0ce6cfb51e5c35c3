"""Find duplicate pairs over all rows, without a Python object per row."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np
import polars as pl

from rankgate.core.errors import DuplicateError, InputError
from rankgate.data.stretches import common_range_length, sort_halves, split_ranges

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from rankgate.data.place import RowLocation

_HASH_MULTIPLIER = np.uint64(0x9E3779B97F4A7C15)  # odd, so that multiplying loses nothing
_MAX_ROWS = 1 << 16  # rows that have numbers of 16 bits
_MAX_SORTED_LENGTH = 256  # the longest list that is sorted faster than looked through
_SLOT_BITS = 18  # bits of the number of slots: 512 KB, several for each row


def hash_pairs(frame: pl.DataFrame, starts: NDArray[np.int64] | None = None) -> NDArray[np.uint64]:
    """A 64-bit hash of the query and document of each row, ``(n,)``.

    Args:
        frame: with ``query_id`` and ``doc_id``.
        starts: the start of each range of rows of one query, if known.
    """
    query_ids = frame["query_id"]
    if starts is None:
        queries: NDArray[np.uint64] = np.multiply(query_ids.hash().to_numpy(), _HASH_MULTIPLIER)
    else:
        query_hashes = np.multiply(query_ids.gather(starts).hash().to_numpy(), _HASH_MULTIPLIER)
        queries = np.repeat(query_hashes, np.diff(starts, append=len(frame)))
    queries ^= frame["doc_id"].hash().to_numpy()
    return queries


def find_repeated_hashes(
    pairs: NDArray[np.uint64], starts: NDArray[np.int64] | None = None
) -> NDArray[np.uint64]:
    """The hashes that appear twice or more; almost surely none where no pair does.

    Args:
        pairs: the hashes.
        starts: the start of each list, if equal hashes can be in one list only; searching whole
            lists that fit the cache takes an eighth of the time of sorting all.
    """
    if starts is None:
        return _equal_neighbours(np.sort(pairs))
    if (
        0 < (length := common_range_length(starts, len(pairs))) <= _MAX_SORTED_LENGTH
    ):  # sorted in registers
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
    """The hashes that appear twice or more among `_MAX_ROWS` at most, found without sorting them.

    Each row is written into the slot of its hash. One that is not read back from there met
    another row: the last of the slot, or one that is not read back either.
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
    """The hashes that are equal to the one before them."""
    equal_hashes: NDArray[np.uint64] = sorted_hashes[1:][sorted_hashes[1:] == sorted_hashes[:-1]]
    return equal_hashes


def has_repeated(pairs: NDArray[np.uint64]) -> bool:
    """True if a hash appears twice; the hashes are sorted in place."""
    sort_halves(pairs)
    return bool((pairs[1:] == pairs[:-1]).any())


def refuse_repeated(
    ids: pl.Series, location: RowLocation, noun: str, *, code: str, mend: str = ""
) -> None:
    """Check that no id appears twice in a column.

    Args:
        ids: the column.
        location: the location of the rows.
        noun: the noun for an id, as in ``query``.
        code: the code of the error.
        mend: the advice; by default to remove one of the two lines.

    Raises:
        InputError: with the id and the line of its second row.
    """
    is_repeated = ~ids.is_first_distinct()
    if is_repeated.any():
        row = int(is_repeated.arg_max() or 0)
        problem = f"{noun} '{ids[row]}' appears twice; {mend or 'remove one of the two lines'}."
        raise InputError(problem, source=location.file(row), line=location.line(row), code=code)


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

    Rows are compared by the hash of the pair; equal hashes are confirmed on the strings, so that
    a collision is never an error.

    Args:
        frame: with ``query_id`` and ``doc_id``.
        pairs: their hashes.
        word: what happens to a document here: ``ranked`` or ``judged``.
        place: the location of the rows.
        first_row: the row of the table with which the frame begins.
        starts: the start of each range of rows of one query, if each query has one.

    Raises:
        DuplicateError: with the pair and both lines.
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

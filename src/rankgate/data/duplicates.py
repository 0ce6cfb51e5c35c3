"""Find duplicate pairs over all rows, without a Python object per row."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np
import polars as pl

from rankgate.core.errors import DuplicateError, InputError
from rankgate.data.stretches import common_length, sort_halves, whole_stretches

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from rankgate.data.place import Place

_SPREAD = np.uint64(0x9E3779B97F4A7C15)  # odd, so that multiplying loses nothing
_MOST = 1 << 16  # rows that have numbers of 16 bits
_SHORT = 256  # the longest list that is sorted faster than looked through
_SLOTS = 18  # bits of the number of slots: 512 KB, several for each row


def pairs_of(frame: pl.DataFrame, starts: NDArray[np.int64] | None = None) -> NDArray[np.uint64]:
    """A 64-bit hash of the query and document of each row, ``(n,)``.

    Args:
        frame: with ``query_id`` and ``doc_id``.
        starts: where each stretch of rows of one query begins, if that is known.
    """
    query_ids = frame["query_id"]
    if starts is None:
        queries: NDArray[np.uint64] = np.multiply(query_ids.hash().to_numpy(), _SPREAD)
    else:
        heads = np.multiply(query_ids.gather(starts).hash().to_numpy(), _SPREAD)
        queries = np.repeat(heads, np.diff(starts, append=len(frame)))
    queries ^= frame["doc_id"].hash().to_numpy()
    return queries


def hashed_twice(
    pairs: NDArray[np.uint64], starts: NDArray[np.int64] | None = None
) -> NDArray[np.uint64]:
    """The hashes that appear twice or more; almost surely none where no pair does.

    Args:
        pairs: the hashes.
        starts: where each list of them begins, if equal ones can be in one list only; looking
            through whole lists that fit the cache takes an eighth of the time of sorting all.
    """
    if starts is None:
        return _neighbours(np.sort(pairs))
    if 0 < (length := common_length(starts, len(pairs))) <= _SHORT:  # sorted in registers
        return _neighbours(np.sort(pairs.reshape(-1, length), axis=1).ravel())
    parts = (pairs[begin:end] for _, _, begin, end in whole_stretches(starts, len(pairs)))
    found = [_met(part) if len(part) <= _MOST else _neighbours(np.sort(part)) for part in parts]
    return np.concatenate(found) if found else pairs[:0]


def _met(pairs: NDArray[np.uint64]) -> NDArray[np.uint64]:
    """The hashes that appear twice or more among `_MOST` at most, found without sorting them.

    Each row is written into the slot of its hash. One that is not read back from there met
    another row: the last of the slot, or one that is not read back either.
    """
    rows = np.arange(len(pairs), dtype=np.uint16)
    slots = (pairs >> np.uint64(64 - _SLOTS)).view(np.int64)
    last = np.empty(1 << _SLOTS, np.uint16)  # only slots that were written are read
    last[slots] = rows
    there = last[slots]
    lost = np.flatnonzero(there != rows)
    hashes = pairs[lost]
    return np.concatenate([hashes[hashes == pairs[there[lost]]], _neighbours(np.sort(hashes))])


def _neighbours(ordered: NDArray[np.uint64]) -> NDArray[np.uint64]:
    """Those that are equal to the one before them."""
    equal: NDArray[np.uint64] = ordered[1:][ordered[1:] == ordered[:-1]]
    return equal


def any_twice(pairs: NDArray[np.uint64]) -> bool:
    """Whether a hash appears twice; they are sorted in place."""
    sort_halves(pairs)
    return bool((pairs[1:] == pairs[:-1]).any())


def refuse_repeated(ids: pl.Series, place: Place, what: str, *, code: str, mend: str = "") -> None:
    """Check that no id appears twice in a column.

    Args:
        ids: the column.
        place: where the rows are.
        what: what an id is of, as in ``query``.
        code: of the error.
        mend: what to do; by default to remove one of the two lines.

    Raises:
        InputError: with the id and the line of its second row.
    """
    again = ~ids.is_first_distinct()
    if again.any():
        row = int(again.arg_max() or 0)
        problem = f"{what} '{ids[row]}' appears twice; {mend or 'remove one of the two lines'}."
        raise InputError(problem, source=place.file(row), line=place.line(row), code=code)


def refuse_duplicates(
    frame: pl.DataFrame,
    pairs: NDArray[np.uint64],
    *,
    word: str,
    place: Place,
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
        place: where the rows come from.
        first_row: the row of the table that the frame begins with.
        starts: where each stretch of rows of one query begins, if each has but one.

    Raises:
        DuplicateError: with the pair and both lines.
    """
    twice = hashed_twice(pairs, starts)
    if not len(twice):
        return
    suspects = (
        frame.select("query_id", "doc_id")
        .with_row_index("row")
        .filter(pl.Series(np.isin(pairs, twice)))
        .group_by("query_id", "doc_id", maintain_order=True)
        .agg("row")
        .filter(pl.col("row").list.len() > 1)
    )
    if suspects.is_empty():
        return
    query, document, rows = suspects.row(0)
    first, second = (first_row + row for row in rows[:2])
    line, file = place.line(first), place.file(first)
    before = f" (first on line {line})" if line else ""
    if file != place.file(second):
        before = f" (first in {file}{f':{line}' if line else ''})"
    mend = "remove one of the two lines"
    if line is not None and (file, line) == (place.file(second), place.line(second)):
        before, mend = "", "keep one"
    problem = f"document '{document}' is {word} twice for query '{query}'{before}; {mend}."
    raise DuplicateError(problem, source=place.file(second), line=place.line(second))

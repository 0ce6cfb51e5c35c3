"""Compute ranks: sort rows by score and break ties."""

from __future__ import annotations

from typing import TYPE_CHECKING, Protocol

import numpy as np
import polars as pl

from rankgate.core.frozen import dataclass
from rankgate.data.table_rows import sort_halves, sort_ranges

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from rankgate.measurement.scoring.convention import Ties


_SIGN = np.uint64(1 << 63)
_BLOCK = 1 << 16  # queries of rows to move at one time, so that they fit the cache


class Documents(Protocol):
    """The documents of rows: a column, or an object that finds documents by row."""

    def gather(self, rows: NDArray[np.int64], /) -> pl.Series:
        """The documents of some rows."""


@dataclass(frozen=True)
class SortedRows:
    """Rows by query, best score first; documents with equal scores are not yet ordered.

    Attributes:
        starts: ``(T,)``, the position of the first row of each query.
        size: the number of rows.
        heads: positions where a group of equal scores begins; None if no scores are equal.
        rows: ``(n,)``, the row at each position; None if rows are in order, or ordered by keys.
        keys: the query and score of all rows, and ``(n,)`` their `sort_keys`, all different and
            sorted; None if rows are in order, or given by ``rows``.
    """

    starts: NDArray[np.int64]
    size: int
    heads: NDArray[np.int64] | None = None
    rows: NDArray[np.int64] | None = None
    keys: tuple[NDArray[np.int64], NDArray[np.floating], NDArray[np.uint64]] | None = None

    def position(self, rows: NDArray[np.int64]) -> NDArray[np.int64]:
        """The position of some rows."""
        if self.keys is not None:
            owner, scores, sorted_keys = self.keys
            return np.searchsorted(sorted_keys, sort_keys(owner[rows], scores[rows], len(self.starts)))
        if self.rows is None:
            return rows
        positions = np.empty(self.size, np.int64)
        positions[self.rows] = np.arange(self.size)
        return positions[rows]

    def rows_at(self, positions: NDArray[np.int64]) -> NDArray[np.int64]:
        """The rows at some positions, if there are equal scores."""
        return positions if self.rows is None else self.rows[positions]

    @property
    def ties(self) -> int:
        """The number of groups of equal scores."""
        if self.heads is None:
            return 0
        return int((np.diff(self.heads, append=self.size) > 1).sum())


def sort_rows(
    owner: NDArray[np.int64], scores: NDArray[np.floating], T: int, counts: NDArray[np.int64] | None = None
) -> SortedRows:
    """Order rows by query and falling score.

    Args:
        owner: ``(n,)``, the query of each row, 0 to T - 1.
        scores: ``(n,)``, compared in their own precision.
        T: number of queries.
        counts: ``(T,)``, the number of rows of each query, if owners are increasing and every query
            has rows; else None.
    """
    is_contiguous = counts is not None
    if counts is None:
        counts = np.bincount(owner, minlength=T)
    starts, size = np.cumsum(counts) - counts, len(owner)
    # most files are already sorted by query and score: one pass instead of a sort
    ends = starts[1:] - 1 if is_contiguous else None
    if _in_order(owner, scores, ends):
        return SortedRows(starts, size, _group_starts(owner, scores, ends))
    # Sorting 64-bit keys is several times faster than sorting rows by two columns. If no two keys
    # are equal, a binary search finds any position, so the order of rows is not needed.
    sorted_keys = sort_keys(owner, scores, T)
    if is_contiguous:
        sort_ranges(sorted_keys, starts)
    else:
        sort_halves(sorted_keys)
    if not (sorted_keys[1:] == sorted_keys[:-1]).any():
        return SortedRows(starts, size, keys=(owner, scores, sorted_keys))
    rows = _sort_by_key(sort_keys(owner, scores, T), scores)
    return SortedRows(starts, size, _group_starts(owner[rows], scores[rows]), rows)


def _in_order(owner: NDArray[np.int64], scores: NDArray[np.floating], ends: NDArray[np.int64] | None) -> bool:
    """True if rows are sorted by query and falling score; ``ends`` are queries' last rows."""
    if ends is None and (owner[1:] < owner[:-1]).any():
        return False
    return not _within_queries(~(scores[1:] <= scores[:-1]), owner, ends).any()


def _within_queries(
    steps: NDArray[np.bool_], owner: NDArray[np.int64], ends: NDArray[np.int64] | None
) -> NDArray[np.bool_]:
    """Set False at the border of two queries, in a comparison of each row with the next one."""
    if ends is None:
        steps &= owner[1:] == owner[:-1]
    else:
        steps[ends] = False
    return steps


def _group_starts(
    owner: NDArray[np.int64], scores: NDArray[np.floating], ends: NDArray[np.int64] | None = None
) -> NDArray[np.int64] | None:
    """Positions where groups of equal scores begin; None if all scores are different."""
    is_tied = _within_queries(scores[1:] == scores[:-1], owner, ends)
    if not is_tied.any():
        return None
    return np.flatnonzero(np.append(True, ~is_tied))


def sort_keys(owner: NDArray[np.int64], scores: NDArray[np.floating], T: int) -> NDArray[np.uint64]:
    """A key with the query in the high bits and the score in the rest, best score first.

    The bits of a float, with the sign inverted, compare as integers like the floats. Equal scores
    have equal keys; scores that differ only in their last bits may also have equal keys.
    """
    high = np.uint64(max(T - 1, 1).bit_length())
    values = scores.astype(np.float64)
    values += 0.0  # removes negative zero
    bits = values.view(np.uint64)
    positive = ~np.signbit(values)
    np.bitwise_xor(bits, ~_SIGN, out=bits, where=positive)  # greater scores get lower keys
    bits >>= high
    for begin in range(0, len(bits), _BLOCK):
        queries = owner[begin : begin + _BLOCK].astype(np.uint64)
        bits[begin : begin + _BLOCK] |= queries << (np.uint64(64) - high)
    return bits


def _sort_by_key(keys: NDArray[np.uint64], scores: NDArray[np.floating]) -> NDArray[np.int64]:
    """Order rows by key, and by score if keys are equal but scores are not."""
    rows = np.argsort(keys)
    keys, scores = keys[rows], scores[rows]
    is_misordered = (keys[1:] == keys[:-1]) & (scores[1:] > scores[:-1])
    if is_misordered.any():
        # the query replaced the last bits of scores: sort again where only those differ
        group = np.cumsum(np.append(False, keys[1:] != keys[:-1]))
        mixed = np.zeros(group[-1] + 1, bool)
        mixed[group[1:][is_misordered]] = True
        unsorted_positions = np.flatnonzero(mixed[group])
        rows[unsorted_positions] = rows[unsorted_positions][
            np.lexsort((-scores[unsorted_positions], group[unsorted_positions]))
        ]
    return rows


@dataclass(frozen=True)
class TieRanks:
    """The ``rank`` of some rows, and the ``first`` and ``last`` rank in their tie group."""

    rank: NDArray[np.int64]
    first: NDArray[np.int64]
    last: NDArray[np.int64]


def rank_rows(
    sorted_rows: SortedRows, rows: NDArray[np.int64], owner: NDArray[np.int64], doc_ids: Documents, ties: Ties
) -> TieRanks:
    """The ranks of some rows from 1; ties are broken here.

    Only groups of equal scores with one of these rows are ordered by document.

    Args:
        sorted_rows: the order of all rows.
        rows: ``(m,)``, the rows to rank.
        owner: ``(m,)``, the queries of these rows.
        doc_ids: ``(n,)``, the document of every row.
        ties: the order of documents with equal scores.
    """
    position = sorted_rows.position(rows)
    begin = sorted_rows.starts[owner]
    if sorted_rows.heads is None:
        rank = position - begin + 1
        return TieRanks(rank, rank, rank)
    group = np.searchsorted(sorted_rows.heads, position, side="right") - 1
    ends = np.append(sorted_rows.heads[1:], sorted_rows.size)
    first, end = sorted_rows.heads[group], ends[group]
    tied = end - first > 1
    if tied.any():
        # documents are compared as strings only in groups with one of the given rows, because a
        # large group of equal scores with few judged documents must not sort a million names
        groups_to_order = np.unique(group[tied])
        position = position.copy()
        position[tied] = _order_ties(
            sorted_rows, sorted_rows.heads, groups_to_order, rows[tied], doc_ids, ties
        )
    return TieRanks(position - begin + 1, first - begin + 1, end - begin)


def _order_ties(
    sorted_rows: SortedRows,
    heads: NDArray[np.int64],
    groups: NDArray[np.int64],
    rows: NDArray[np.int64],
    doc_ids: Documents,
    ties: Ties,
) -> NDArray[np.int64]:
    """The positions of some rows after their tie groups are ordered by the convention."""
    lengths = np.diff(heads, append=sorted_rows.size)[groups]
    # concatenate the members of all groups, so that one sort orders them all
    label = np.repeat(np.arange(len(groups)), lengths)
    inside = np.arange(len(label)) - np.repeat(np.cumsum(lengths) - lengths, lengths)
    places_of_members = np.repeat(heads[groups], lengths) + inside
    members = sorted_rows.rows_at(places_of_members)
    if ties == "file_order":
        member_order = np.lexsort((members, label))
    else:
        down = ties == "doc_id_desc"
        names = pl.DataFrame({"group": label, "doc_id": doc_ids.gather(members)})
        sort = pl.arg_sort_by("group", "doc_id", descending=[False, down])
        member_order = names.select(sort).to_series().to_numpy().astype(np.intp)
    sorter = np.argsort(members[member_order])
    return places_of_members[sorter[np.searchsorted(members[member_order][sorter], rows)]]

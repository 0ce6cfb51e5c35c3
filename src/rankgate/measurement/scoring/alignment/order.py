"""Ranks: the one home of sorting and of ties."""

from __future__ import annotations

from typing import TYPE_CHECKING, Protocol

import numpy as np
import polars as pl

from rankgate.core.frozen import dataclass
from rankgate.data.stretches import sort_halves, sort_stretches

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from rankgate.measurement.scoring.convention import Ties

_SIGN = np.uint64(1 << 63)
_BLOCK = 1 << 16  # queries of rows that are moved at one time: they fit the cache


class Documents(Protocol):
    """The documents of rows: a column, or something that finds them."""

    def gather(self, rows: NDArray[np.int64], /) -> pl.Series:
        """Those of some rows."""


@dataclass(frozen=True)
class SortedRows:
    """Rows by query, the best score first; documents with equal scores are not yet ordered.

    Attributes:
        starts: ``(T,)``, the position where each query begins.
        size: number of rows.
        heads: positions where a group of equal scores begins; None where no two are equal.
        rows: ``(n,)``, the row at each position; None where rows are in order, or by keys.
        keys: the query and score of all rows, and ``(n,)`` their `keys`, of which no two are
            equal, sorted; None where rows are in order, or are given by ``rows``.
    """

    starts: NDArray[np.int64]
    size: int
    heads: NDArray[np.int64] | None = None
    rows: NDArray[np.int64] | None = None
    keys: tuple[NDArray[np.int64], NDArray[np.floating], NDArray[np.uint64]] | None = None

    def position(self, rows: NDArray[np.int64]) -> NDArray[np.int64]:
        """The position of some rows."""
        if self.keys is not None:
            owner, scores, ordered = self.keys
            return np.searchsorted(ordered, keys(owner[rows], scores[rows], len(self.starts)))
        if self.rows is None:
            return rows
        places = np.empty(self.size, np.int64)
        places[self.rows] = np.arange(self.size)
        return places[rows]

    def at(self, positions: NDArray[np.int64]) -> NDArray[np.int64]:
        """The rows at some positions, where there are equal scores."""
        return positions if self.rows is None else self.rows[positions]

    @property
    def ties(self) -> int:
        """Groups of equal scores."""
        if self.heads is None:
            return 0
        return int((np.diff(self.heads, append=self.size) > 1).sum())


def order(
    owner: NDArray[np.int64],
    scores: NDArray[np.floating],
    T: int,
    counts: NDArray[np.int64] | None = None,
) -> SortedRows:
    """Order rows by query and falling score.

    Args:
        owner: ``(n,)``, the query of each row, 0 to T - 1.
        scores: ``(n,)``, compared in their own precision.
        T: number of queries.
        counts: ``(T,)``, how many rows each query has, where owners are increasing and each has
            some; else None.
    """
    together = counts is not None
    if counts is None:
        counts = np.bincount(owner, minlength=T)
    starts, size = np.cumsum(counts) - counts, len(owner)
    # most files are sorted by query and score already: one pass instead of a sort
    ends = starts[1:] - 1 if together else None
    if _in_order(owner, scores, ends):
        return SortedRows(starts, size, _heads(owner, scores, ends))
    # Sorting 64-bit keys is several times faster than sorting rows by two columns, and where no
    # two keys are equal a binary search finds any position: the order of rows is never made.
    ordered = keys(owner, scores, T)
    if together:
        sort_stretches(ordered, starts)
    else:
        sort_halves(ordered)
    if not (ordered[1:] == ordered[:-1]).any():
        return SortedRows(starts, size, keys=(owner, scores, ordered))
    rows = _sorted(keys(owner, scores, T), scores)
    return SortedRows(starts, size, _heads(owner[rows], scores[rows]), rows)


def _in_order(
    owner: NDArray[np.int64], scores: NDArray[np.floating], ends: NDArray[np.int64] | None
) -> bool:
    """Whether rows are by query and falling score; ``ends`` are the last rows of queries."""
    if ends is None and (owner[1:] < owner[:-1]).any():
        return False
    return not _within(~(scores[1:] <= scores[:-1]), owner, ends).any()


def _within(
    steps: NDArray[np.bool_], owner: NDArray[np.int64], ends: NDArray[np.int64] | None
) -> NDArray[np.bool_]:
    """The same of each row and the next one, False from one query to the next."""
    if ends is None:
        steps &= owner[1:] == owner[:-1]
    else:
        steps[ends] = False
    return steps


def _heads(
    owner: NDArray[np.int64], scores: NDArray[np.floating], ends: NDArray[np.int64] | None = None
) -> NDArray[np.int64] | None:
    """Where a group of equal scores begins, in order; None where each row is its own group."""
    same = _within(scores[1:] == scores[:-1], owner, ends)
    if not same.any():
        return None
    return np.flatnonzero(np.append(True, ~same))


def keys(owner: NDArray[np.int64], scores: NDArray[np.floating], T: int) -> NDArray[np.uint64]:
    """The query in the high bits and as much of the score as fits below, best first.

    The bits of a float, with the sign turned, compare as integers like the floats; equal
    scores have equal keys, and so may scores that differ in their last bits.
    """
    high = np.uint64(max(T - 1, 1).bit_length())
    values = scores.astype(np.float64)
    values += 0.0  # no negative zero
    bits = values.view(np.uint64)
    positive = ~np.signbit(values)
    np.bitwise_xor(bits, ~_SIGN, out=bits, where=positive)  # the greater, the lower
    bits >>= high
    for begin in range(0, len(bits), _BLOCK):
        queries = owner[begin : begin + _BLOCK].astype(np.uint64)
        bits[begin : begin + _BLOCK] |= queries << (np.uint64(64) - high)
    return bits


def _sorted(keys: NDArray[np.uint64], scores: NDArray[np.floating]) -> NDArray[np.int64]:
    """Rows by key, and by score where keys are equal and scores are not."""
    rows = np.argsort(keys)
    keys, scores = keys[rows], scores[rows]
    wrong = (keys[1:] == keys[:-1]) & (scores[1:] > scores[:-1])
    if wrong.any():
        # the query took bits from the scores' ends: sort again where only those differ
        group = np.cumsum(np.append(False, keys[1:] != keys[:-1]))
        mixed = np.zeros(group[-1] + 1, bool)
        mixed[group[1:][wrong]] = True
        loose = np.flatnonzero(mixed[group])
        rows[loose] = rows[loose][np.lexsort((-scores[loose], group[loose]))]
    return rows


@dataclass(frozen=True)
class TieRanks:
    """Where some rows are: ``rank``, and the ``first`` and ``last`` rank of their tie group."""

    rank: NDArray[np.int64]
    first: NDArray[np.int64]
    last: NDArray[np.int64]


def ranks(
    placed: SortedRows,
    rows: NDArray[np.int64],
    owner: NDArray[np.int64],
    doc_ids: Documents,
    ties: Ties,
) -> TieRanks:
    """The 1-based ranks of some rows.

    Only groups of equal scores that hold one of these rows are ordered by document.

    Args:
        placed: the order of all rows.
        rows: ``(m,)``, the rows asked for.
        owner: ``(m,)``, their queries.
        doc_ids: ``(n,)``, the document of every row.
        ties: how equal scores are ordered.
    """
    position = placed.position(rows)
    begin = placed.starts[owner]
    if placed.heads is None:
        rank = position - begin + 1
        return TieRanks(rank, rank, rank)
    group = np.searchsorted(placed.heads, position, side="right") - 1
    ends = np.append(placed.heads[1:], placed.size)
    first, end = placed.heads[group], ends[group]
    tied = end - first > 1
    if tied.any():
        # documents are compared, as strings, only in groups that hold a row that was asked for:
        # a run of equal scores with a hundred judged documents must not sort a million names
        touched = np.unique(group[tied])
        position = position.copy()
        position[tied] = _broken(placed, placed.heads, touched, rows[tied], doc_ids, ties)
    return TieRanks(position - begin + 1, first - begin + 1, end - begin)


def _broken(
    placed: SortedRows,
    heads: NDArray[np.int64],
    groups: NDArray[np.int64],
    rows: NDArray[np.int64],
    doc_ids: Documents,
    ties: Ties,
) -> NDArray[np.int64]:
    """The positions of some rows once the members of their groups are in order."""
    lengths = np.diff(heads, append=placed.size)[groups]
    # the members of all groups laid end to end, so that one sort orders them all
    label = np.repeat(np.arange(len(groups)), lengths)
    inside = np.arange(len(label)) - np.repeat(np.cumsum(lengths) - lengths, lengths)
    places = np.repeat(heads[groups], lengths) + inside
    members = placed.at(places)
    if ties == "file_order":
        by = np.lexsort((members, label))
    else:
        down = ties == "doc_id_desc"
        names = pl.DataFrame({"group": label, "doc_id": doc_ids.gather(members)})
        sort = pl.arg_sort_by("group", "doc_id", descending=[False, down])
        by = names.select(sort).to_series().to_numpy().astype(np.intp)
    known = np.argsort(members[by])
    found: NDArray[np.int64] = places[known[np.searchsorted(members[by][known], rows)]]
    return found

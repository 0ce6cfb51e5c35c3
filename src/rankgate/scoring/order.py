"""Ranks: the one home of sorting and of ties."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np
import polars as pl

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from rankgate.scoring.convention import Ties

_SIGN = np.uint32(1 << 31)


@dataclass(frozen=True)
class Order:
    """Rows by query, the best score first; documents with equal scores are not yet ordered.

    Attributes:
        rows: ``(n,)``, the row at each position, or None where rows stand in order already.
        starts: ``(T,)``, the position where each query begins.
        heads: positions where a group of equal scores begins, increasing.
        size: number of rows.
    """

    rows: NDArray[np.int64] | None
    starts: NDArray[np.int64]
    heads: NDArray[np.int64]
    size: int

    def position(self, rows: NDArray[np.int64]) -> NDArray[np.int64]:
        """The position of some rows."""
        if self.rows is None:
            return rows
        places = np.empty(self.size, np.int64)
        places[self.rows] = np.arange(self.size)
        return places[rows]

    def at(self, positions: NDArray[np.int64]) -> NDArray[np.int64]:
        """The rows at some positions."""
        return positions if self.rows is None else self.rows[positions]


def order(owner: NDArray[np.int64], scores: NDArray[np.floating], T: int) -> Order:
    """Order rows by query and falling score.

    Args:
        owner: ``(n,)``, the query of each row, 0 to T - 1.
        scores: ``(n,)``, compared in their own precision.
        T: number of queries.
    """
    rows = None
    if not _in_order(owner, scores):
        rows = _sorted(owner, scores)
        owner, scores = owner[rows], scores[rows]
    starts = np.searchsorted(owner, np.arange(T))
    changed = np.empty(len(owner), bool)
    changed[:1] = True
    np.not_equal(scores[1:], scores[:-1], out=changed[1:])
    changed[starts[starts < len(owner)]] = True
    return Order(rows, starts, np.flatnonzero(changed), len(owner))


def _in_order(owner: NDArray[np.int64], scores: NDArray[np.floating]) -> bool:
    step = owner[1:] - owner[:-1]
    if len(step) and step.min() < 0:
        return False
    return bool(((scores[1:] <= scores[:-1]) | (step > 0)).all())


def _sorted(owner: NDArray[np.int64], scores: NDArray[np.floating]) -> NDArray[np.int64]:
    """One sort of 64-bit keys: the query, then the score rounded to 32 bits.

    Scores that differ only beyond 32 bits are put right afterwards; that is a few.
    """
    bits = scores.astype(np.float32).view(np.uint32)
    rising = np.where(bits & _SIGN, ~bits, bits | _SIGN)  # as integers in the order of floats
    keys = (owner.astype(np.uint64) << np.uint64(32)) | (~rising).astype(np.uint64)
    rows = np.argsort(keys)
    keys = keys[rows]
    scores = scores[rows]
    wrong = (keys[1:] == keys[:-1]) & (scores[1:] > scores[:-1])
    if wrong.any():
        fresh = np.append(True, keys[1:] != keys[:-1])  # noqa: FBT003 - a value, not a flag
        group = np.cumsum(fresh)
        mixed = np.zeros(group[-1] + 1, bool)
        mixed[group[1:][wrong]] = True
        loose = np.flatnonzero(mixed[group])
        rows[loose] = rows[loose][np.lexsort((-scores[loose], group[loose]))]
    return rows


@dataclass(frozen=True)
class Ranks:
    """Where some rows stand: ``rank``, and the ``first`` and ``last`` rank of their tie group."""

    rank: NDArray[np.int64]
    first: NDArray[np.int64]
    last: NDArray[np.int64]


def ranks(
    placed: Order,
    rows: NDArray[np.int64],
    owner: NDArray[np.int64],
    doc_ids: pl.Series,
    ties: Ties,
) -> Ranks:
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
    group = np.searchsorted(placed.heads, position, side="right") - 1
    ends = np.append(placed.heads[1:], placed.size)
    first, end = placed.heads[group], ends[group]
    tied = end - first > 1
    if tied.any():
        touched = np.unique(group[tied])
        position = position.copy()
        position[tied] = _broken(placed, touched, ends, rows[tied], doc_ids, ties)
    return Ranks(position - begin + 1, first - begin + 1, end - begin)


def _broken(
    placed: Order,
    groups: NDArray[np.int64],
    ends: NDArray[np.int64],
    rows: NDArray[np.int64],
    doc_ids: pl.Series,
    ties: Ties,
) -> NDArray[np.int64]:
    """The positions of some rows once the members of their groups are in order."""
    lengths = ends[groups] - placed.heads[groups]
    label = np.repeat(np.arange(len(groups)), lengths)
    inside = np.arange(len(label)) - np.repeat(np.cumsum(lengths) - lengths, lengths)
    members = placed.at(np.repeat(placed.heads[groups], lengths) + inside)
    if ties == "file_order":
        by = np.lexsort((members, label))
    else:
        down = ties == "doc_id_desc"
        names = pl.DataFrame({"group": label, "doc_id": doc_ids.gather(members)})
        by = names.select(pl.arg_sort_by("group", "doc_id", descending=[False, down]))
        by = by.to_series().to_numpy()
    places = np.repeat(placed.heads[groups], lengths) + inside
    known = np.argsort(members[by])
    return places[known[np.searchsorted(members[by][known], rows)]]

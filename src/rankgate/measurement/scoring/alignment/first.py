"""Cut rankings at a rank."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING

import numpy as np

from rankgate.core.frozen import dataclass
from rankgate.measurement.scoring.alignment.align import laid_out
from rankgate.measurement.scoring.alignment.order import keys, ranks

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from rankgate.measurement.scoring.alignment.met import Met
    from rankgate.measurement.scoring.alignment.order import SortedRows
    from rankgate.measurement.scoring.convention import Alignment

    Codes = NDArray[np.int64]


@dataclass(frozen=True, eq=False)
class First:
    """The first documents of each query, in no order.

    Attributes:
        row: ``(n,)``, their rows among those that were ranked.
        owner: ``(n,)``, the query of each.
        rank: ``(n,)``, its rank, from 1.
        retrieved: ``(T,)``, how many documents each query has that count.
    """

    row: Codes
    owner: Codes
    rank: Codes
    retrieved: Codes


def first(met: Met, how: Alignment, depth: int | None) -> First:
    """The documents down to a rank, judged or not.

    Args:
        met: the rows of whole queries.
        how: how rankings are formed; a depth of the convention counts as well.
        depth: the last rank; None is the whole list.
    """
    depth = min((k for k in (depth, how.depth) if k is not None), default=None)
    kept, placed = laid_out(replace(met, rows=None), how)
    rows = _near(placed, kept.owner, depth)
    owner = kept.owner[rows]
    rank = ranks(placed, rows, owner, kept.doc_ids, how.tie_order).rank
    if depth is not None:
        within = rank <= depth
        rows, owner, rank = rows[within], owner[within], rank[within]
    retrieved = np.bincount(kept.owner, minlength=len(kept.codes))
    if how.depth is not None:
        retrieved = np.minimum(retrieved, how.depth)
    return First(rows if kept.rows is None else kept.rows[rows], owner, rank, retrieved)


def _near(placed: SortedRows, owner: Codes, cutoff: int | None) -> Codes:
    """Rows among which are all that are down to a cutoff, and few others."""
    if cutoff is None:
        return np.arange(placed.size)
    counts = np.bincount(owner, minlength=len(placed.starts))
    lengths = np.minimum(counts, cutoff)
    some = lengths > 0
    last = placed.starts + lengths - 1
    if placed.keys is not None:  # they rise with the position
        _, scores, ordered = placed.keys
        limit = np.zeros(len(counts), np.uint64)
        limit[some] = ordered[last[some]]
        return np.flatnonzero(keys(owner, scores, len(counts)) <= limit[owner])
    if placed.heads is not None:  # equal scores are together: to the end of the last group
        ends = np.append(placed.heads[1:], placed.size)
        group = np.searchsorted(placed.heads, last[some], side="right") - 1
        lengths[some] = ends[group] - placed.starts[some]
    begin = np.repeat(placed.starts - np.cumsum(lengths) + lengths, lengths)
    return placed.at(begin + np.arange(len(begin)))

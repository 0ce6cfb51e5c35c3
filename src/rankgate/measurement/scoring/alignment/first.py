"""Cut rankings at a rank."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING

import numpy as np

from rankgate.core.frozen import dataclass
from rankgate.measurement.scoring.alignment.align import sort_retrieved
from rankgate.measurement.scoring.alignment.order import rank_rows, sort_keys

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from rankgate.measurement.scoring.alignment.met import AlignedRun
    from rankgate.measurement.scoring.alignment.order import SortedRows
    from rankgate.measurement.scoring.convention import Alignment

    Codes = NDArray[np.int64]


@dataclass(frozen=True, eq=False)
class TopRows:
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


def first(aligned_run: AlignedRun, how: Alignment, depth: int | None) -> TopRows:
    """The documents down to a rank, judged or not.

    Args:
        aligned_run: the rows of whole queries.
        how: how rankings are formed; a depth of the convention counts as well.
        depth: the last rank; None is the whole list.
    """
    depth = min((k for k in (depth, how.depth) if k is not None), default=None)
    retrieved_run, sorted_rows = sort_retrieved(replace(aligned_run, rows=None), how)
    rows = _candidate_rows(sorted_rows, retrieved_run.owner, depth)
    owner = retrieved_run.owner[rows]
    rank = rank_rows(sorted_rows, rows, owner, retrieved_run.doc_ids, how.tie_order).rank
    if depth is not None:
        within = rank <= depth
        rows, owner, rank = rows[within], owner[within], rank[within]
    retrieved = np.bincount(retrieved_run.owner, minlength=len(retrieved_run.codes))
    if how.depth is not None:
        retrieved = np.minimum(retrieved, how.depth)
    return TopRows(
        rows if retrieved_run.rows is None else retrieved_run.rows[rows], owner, rank, retrieved
    )


def _candidate_rows(sorted_rows: SortedRows, owner: Codes, cutoff: int | None) -> Codes:
    """Rows that include all down to a cutoff, and few others."""
    if cutoff is None:
        return np.arange(sorted_rows.size)
    counts = np.bincount(owner, minlength=len(sorted_rows.starts))
    lengths = np.minimum(counts, cutoff)
    has_rows = lengths > 0
    last = sorted_rows.starts + lengths - 1
    if sorted_rows.keys is not None:  # they rise with the position
        _, scores, sorted_keys = sorted_rows.keys
        limit = np.zeros(len(counts), np.uint64)
        limit[has_rows] = sorted_keys[last[has_rows]]
        return np.flatnonzero(sort_keys(owner, scores, len(counts)) <= limit[owner])
    if sorted_rows.heads is not None:  # equal scores are together: to the end of the last group
        ends = np.append(sorted_rows.heads[1:], sorted_rows.size)
        group = np.searchsorted(sorted_rows.heads, last[has_rows], side="right") - 1
        lengths[has_rows] = ends[group] - sorted_rows.starts[has_rows]
    begin = np.repeat(sorted_rows.starts - np.cumsum(lengths) + lengths, lengths)
    return sorted_rows.at(begin + np.arange(len(begin)))
